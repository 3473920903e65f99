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

// The libc's heap where ours is switched off; NULL: ours serves.
extern _Atomic(const struct bl_libc_heap *) bl_heap_off_to;

BL_INLINE const struct bl_libc_heap *bl_libc(void) {
    return bl_load_acquire(&bl_heap_off_to);
}

// The same for a block that does not lie in the small part; NULL too where it
// lies in the large part, which the libc has nothing of.
BL_INLINE const struct bl_libc_heap *bl_libc_of(const void *p) {
    const uintptr_t offset = (uintptr_t)p - bl_territory.large;
    const bool is_large = offset < bl_load_relaxed(&bl_territory.large_bytes);
    return is_large ? NULL : bl_libc();
}

// Whose functions ours are to call that are made of others; NULL: our own.
const struct bl_front *bl_heap_front(void);

// A run, however small; NULL and errno without memory.
void *bl_run_alloc(size_t bytes);
// Sets errno and returns NULL.
BL_COLD void *bl_out_of_memory(void);

#endif
