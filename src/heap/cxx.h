// SPDX-License-Identifier: MIT
//
// What abi_cxx.cc needs of the heap: it is C++, and the heap's own headers are
// C11 with atomics.
//
#ifndef BL_HEAP_CXX_H
#define BL_HEAP_CXX_H

#include <stddef.h>

void *malloc(size_t bytes);
void free(void *p);
void *bl_memalign(size_t align, size_t bytes);

// One line, then abort: out of memory, and nobody to throw.
void bl_new_without_library(void)
    __attribute__((cold, noreturn, visibility("hidden")));

// Of `align` 16 or less malloc's own fast path; a power of two otherwise.
static inline void *bl_new_block(size_t bytes, size_t align) {
    return align <= 16 ? malloc(bytes) : bl_memalign(align, bytes);
}

static inline void bl_delete_block(void *p) { free(p); }

#endif
