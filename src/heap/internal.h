// SPDX-License-Identifier: MIT
//
// What the files of the heap share.
//
#ifndef BL_HEAP_INTERNAL_H
#define BL_HEAP_INTERNAL_H

#include "heap/heap.h"

extern struct bl_pool bl_class_pools[BL_CLASSES];

// Starts the heap at the first call; false where it is switched off.
bool bl_heap_ready(void);
const struct bl_libc_heap *bl_libc(void);
// A run, however small; NULL and errno without memory.
void *bl_run_alloc(size_t bytes);
// Sets errno and returns NULL.
BL_COLD void *bl_out_of_memory(void);

#endif
