// SPDX-License-Identifier: MIT
//
// The fast paths of malloc and free, inlined into the ABI functions.
//
// malloc asks whether the request is of at most 1 KiB, whether the thread has
// a local (not before its first call, and not where the heap is switched off),
// and whether the page that its table shows for that size has a free block
// (`bl_no_page` has none). Larger requests take bl_malloc_slow(), whose first
// steps are the same.
//
// free asks whether the address lies in the small part (NULL and foreign
// pointers do not), whether the page's owner is this thread (a full page's
// owner is tagged, so it is not), and whether a block in use starts there.
//
#ifndef BL_HEAP_FAST_H
#define BL_HEAP_FAST_H

#include "heap/heap.h"

// Serves every size.
void *bl_malloc_slow(size_t bytes);
BL_COLD void bl_free_elsewhere(void *p);

BL_INLINE void *bl_malloc_fast(size_t bytes) {
    const struct bl_local *local = bl_self;
    if (BL_UNLIKELY(bytes > BL_DIRECT_MAX || local == NULL))
        return bl_malloc_slow(bytes);
    const size_t steps = (bytes + BL_DIRECT_STEP - 1) / BL_DIRECT_STEP;
    struct bl_page *page = local->direct[steps];
    if (BL_UNLIKELY(page->free == NULL))
        return bl_malloc_slow(bytes);
    return bl_page_pop(page);
}

BL_INLINE void bl_free_fast(void *p) {
    const uintptr_t offset = bl_small_offset(p);
    if (BL_UNLIKELY(!bl_offset_is_small(offset))) {
        bl_free_elsewhere(p);
        return;
    }
    struct bl_page *page = bl_page_at(offset);
    if (BL_UNLIKELY(bl_load_relaxed(&page->owner) != (uintptr_t)bl_self)) {
        bl_page_free_slow(page, p, "free");
        return;
    }
    bl_private_free(page, p, "free");
}

#endif
