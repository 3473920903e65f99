// SPDX-License-Identifier: MIT
//
// The fast paths of malloc and free, inlined into the ABI functions.
//
// malloc asks by one comparison whether the request is of at most 1 KiB and the
// thread has a local (not before its first call, and not where the heap is
// switched off), and whether the cache that its table shows for that size has a
// block. Larger requests take bl_malloc_slow(), whose first steps are the same.
//
// free asks likewise whether the address lies in the part of the small part
// that the thread has seen (NULL and foreign pointers do not) and there is a
// local, whether a block in use starts there, and whether the thread caches
// blocks of that page and has room for one more. Whose page it is it asks
// without a branch: caches hold blocks of many owners, and none could be
// predicted.
//
#ifndef BL_HEAP_FAST_H
#define BL_HEAP_FAST_H

#include "heap/heap.h"

// Serves every size.
void *bl_malloc_slow(size_t bytes);
// Any address, from any thread.
void bl_free_elsewhere(void *p);

// `slow` serves what the fast path does not, `served` and above among it.
BL_INLINE void *bl_malloc_below(size_t bytes, size_t served,
                                void *(*slow)(size_t)) {
    if (BL_UNLIKELY(bytes >= served))
        return slow(bytes);
    const size_t steps = (bytes + BL_DIRECT_STEP - 1) / BL_DIRECT_STEP;
    struct bl_cache *cache = bl_thread.local->direct[steps];
    if (BL_UNLIKELY(!bl_cache_has_block(cache)))
        return slow(bytes);
    return bl_cache_pop(cache);
}

BL_INLINE void *bl_malloc_fast(size_t bytes) {
    return bl_malloc_below(bytes, bl_thread.served, bl_malloc_slow);
}

// `elsewhere` takes what lies beyond `seen`.
BL_INLINE void bl_free_within(void *p, uintptr_t seen,
                              void (*elsewhere)(void *)) {
    const uintptr_t offset = bl_small_offset(p);
    if (BL_UNLIKELY(offset >= seen)) {
        elsewhere(p);
        return;
    }
    struct bl_page *slice = bl_slice_at(offset);
    struct bl_local *local = bl_thread.local;
    if (BL_UNLIKELY(bl_is_left_to_owner(slice, local) ||
                    !bl_block_is_in_use(slice, p))) {
        bl_page_free_slow(bl_page_of(slice), p, NULL);
        return;
    }
    struct bl_cache *cache = bl_cache_for(local, slice);
    if (BL_LIKELY(--cache->room >= 0))
        bl_block_push(&cache->first, slice, p);
    else
        bl_cache_overflow(cache, bl_page_of(slice), p);
}

BL_INLINE void bl_free_fast(void *p) {
    bl_free_within(p, bl_thread.small_seen, bl_free_elsewhere);
}

#endif
