// SPDX-License-Identifier: MIT
//
// Caches: per thread and class, the blocks that it hands out next. For their
// pages they are in use.
//
//  * What a thread frees it hands out first. It is still in the processor's
//    caches; and neither free nor malloc then reads the page's lists, which
//    miss them where one of many old blocks dies at a time.
//  * An empty cache is *refilled* by all the free blocks of one page, so that
//    what is made in a row lies in a row; or by those that a sleeper lends.
//  * One without room *grows* where it was emptied since it last had none, for
//    a thread that frees and makes so much in turn, in a large heap to a share
//    of it. Else it *returns* its newest blocks to their pages, those of one
//    page at a time: what is freed once and not made again goes before it is
//    cold.
//  * Blocks of other threads' pages are cached too, but for the smallest
//    (`owner_only`), in a cache that does not grow for them.
//
#include "page/internal.h"

#define FIRST_BLOCKS 32           // room of a cache that has not grown
#define MOST_BYTES (128 * BL_KIB) // and of one that has
// Or so many blocks of up to a line: to return them costs as much as of others,
// and to keep them less.
#define LINE 64
#define MOST_BLOCKS 16384
_Static_assert(MOST_BLOCKS <= INT16_MAX, "`most` holds it");
// In a small heap, of blocks above SMALL_BLOCK: each use of one costs more than
// its share of a return, and there are many classes.
#define SMALL_BLOCK 1024
#define MOST_BYTES_SMALL (32 * BL_KIB)

// In a large heap: this part of what its thread took, and of the heap, if it is
// more than the above.
#define MOST_SHARE 64
#define MOST_BYTES_LARGE (2 * BL_MIB)

static int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }
static size_t least_bytes(size_t a, size_t b) { return a < b ? a : b; }

static void set_empty(struct bl_cache *cache) {
    cache->limit = least(cache->most, FIRST_BLOCKS);
    cache->whole = cache->room = cache->limit;
}

static int32_t most_in_small_heap(size_t block_bytes) {
    if (block_bytes <= LINE)
        return MOST_BLOCKS;
    const size_t bytes =
        block_bytes > SMALL_BLOCK ? MOST_BYTES_SMALL : MOST_BYTES;
    const size_t blocks = bytes / block_bytes;
    return blocks > 1 ? (int32_t)blocks : 2;
}

void bl_cache_open(struct bl_cache *cache, size_t block_bytes) {
    cache->most = (int16_t)most_in_small_heap(block_bytes);
    set_empty(cache);
}

static void fill(struct bl_cache *cache, struct bl_block *first,
                 uint32_t count) {
    cache->emptied = true;
    cache->room = cache->limit;
    cache->whole = cache->room + (int32_t)count;
    cache->first = first;
}

// With the free blocks of a page of the thread, or with those that others have
// freed of one whose owner sleeps, before a page is made. False without memory.
static bool refill(struct bl_cache *cache, struct bl_local *local,
                   struct bl_pool *pool) {
    struct bl_entry *entry = &local->entries[pool->index];
    struct bl_page *page = bl_entry_page_at_hand(entry, pool, (uintptr_t)local);
    uint32_t count = 0;
    struct bl_block *lent = page ? NULL : bl_sleepers_lend(local, pool, &count);
    if (lent != NULL) {
        fill(cache, lent, count);
        return true;
    }
    if (page == NULL)
        page = bl_entry_fresh_page(entry, pool, (uintptr_t)local);
    if (page == NULL)
        return false;
    fill(cache, page->free, page->carved - page->used);
    page->free = NULL;
    page->used = page->carved;
    return true;
}

void *bl_cache_refill(struct bl_local *local, struct bl_pool *pool) {
    struct bl_cache *cache = &local->caches[pool->index];
    if (cache->first != NULL || cache->room != cache->whole)
        bl_overwritten(cache->first);
    bl_local_turn(local);
    if (!refill(cache, local, pool))
        return NULL;
    bl_small_see();
    return bl_cache_pop(cache);
}

// The last of the at most `most` blocks from `first` on that lie in one slice;
// *left: how many fewer than `most` they are.
static struct bl_block *row_end(struct bl_block *first, uint32_t most,
                                uint32_t *left) {
    struct bl_block *last = first;
    while (--most > 0) {
        struct bl_block *next = last->next;
        if (((uintptr_t)next ^ (uintptr_t)first) >> BL_SLICE_SHIFT != 0)
            break;
        last = next;
    }
    *left = most;
    return last;
}

static void return_newest(struct bl_cache *cache, uint32_t count) {
    cache->room += (int32_t)count;
    while (count > 0) {
        struct bl_block *const first = cache->first;
        bl_link_check(first);
        uint32_t left = 0;
        struct bl_block *const last = row_end(first, count, &left);
        cache->first = last->next;
        bl_page_return(bl_page_at(bl_small_offset(first)), first, last,
                       count - left);
        count = left;
    }
}

static int32_t most_blocks(const struct bl_cache *cache, size_t block_bytes) {
    const size_t units = bl_load_relaxed(&bl_stats.units_now);
    if (units < BL_SMALL_HEAP_UNITS)
        return cache->most;
    const size_t taken = (size_t)bl_self->pages_taken << BL_SLICE_SHIFT;
    const size_t share =
        least_bytes(taken, units << BL_HUGE_SHIFT) / MOST_SHARE;
    const size_t bytes = least_bytes(share, MOST_BYTES_LARGE);
    const size_t blocks =
        (bytes > MOST_BYTES ? bytes : MOST_BYTES) / block_bytes;
    const int32_t most = least(MOST_BLOCKS, (int32_t)blocks);
    return most > cache->most ? most : cache->most;
}

static void make_room(struct bl_cache *cache, size_t block_bytes) {
    const int32_t more =
        least(cache->limit, most_blocks(cache, block_bytes) - cache->limit);
    const bool in_turn = cache->emptied;
    cache->emptied = false;
    if (more <= 0 || !in_turn) {
        return_newest(cache, (uint32_t)cache->limit / 2);
        return;
    }
    cache->limit += more;
    cache->whole += more;
    cache->room += more;
}

void bl_cache_overflow(struct bl_cache *cache, struct bl_page *page, void *p) {
    cache->room++; // the caller took what there was not
    if (cache->limit == 0) {
        if (!bl_page_is_of_class(page))
            bl_misuse_as("free", p, BL_POOLS_BLOCK);
        bl_page_return_one(page, p);
        return;
    }
    if (bl_load_relaxed(&page->owner) == (uintptr_t)bl_self)
        make_room(cache, page->block_bytes);
    else
        return_newest(cache, (uint32_t)cache->limit / 2);
    cache->room--;
    bl_block_push(&cache->first, page, p);
}

void bl_caches_return(struct bl_local *local) {
    for (unsigned i = 0; i < BL_POOLS_RESERVED; i++) {
        struct bl_cache *cache = &local->caches[i];
        if (cache->room == cache->whole)
            continue;
        return_newest(cache, (uint32_t)(cache->whole - cache->room));
        set_empty(cache);
    }
}

void bl_cache_check(const struct bl_local *local, uint32_t index) {
    const struct bl_cache *cache = &local->caches[index];
    int32_t count = 0;
    for (const struct bl_block *b = cache->first; b; b = b->next) {
        const struct bl_page *page = bl_page_at(bl_small_offset(b));
        BL_CHECK_EQ(page->pool->index, index);
        BL_CHECK(bl_block_starts(page, b));
        count++;
    }
    BL_CHECK_EQ(cache->whole, cache->room + count);
}
