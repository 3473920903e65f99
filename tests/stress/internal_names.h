// SPDX-License-Identifier: MIT
//
// Included before everything else, it lets a program of the malloc ABI call
// the heap by its internal names, beside the libc's malloc: for sanitizers,
// which bring a malloc of their own.
//
#ifndef BL_TESTS_STRESS_INTERNAL_NAMES_H
#define BL_TESTS_STRESS_INTERNAL_NAMES_H

#include "heap/heap.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

static inline int internal_memalign(void **out, size_t align, size_t bytes) {
    *out = bl_memalign(align, bytes);
    return *out != NULL ? 0 : ENOMEM;
}

#define malloc bl_malloc
#define calloc bl_calloc
#define realloc bl_realloc
#define free bl_free
#define malloc_usable_size bl_usable_size
#define malloc_trim(pad) bl_heap_trim()
#define posix_memalign internal_memalign
#define STRESS_WITHOUT_FORKS 1 // the runtime's fork handlers are not linked

#endif
