// SPDX-License-Identifier: MIT
//
// Lenders: which class serves whose requests, thread by thread.
//
// Eighty classes, a page for each and in every thread, are megabytes that a
// small process has no blocks for. So, where several threads share a small
// heap, classes go by groups of four: the first page for any of them is one of
// the largest, and one that has nothing left borrows, before a page is taken
// for it, from the larger ones that have. What borrows stays with its lender
// until that has nothing either: the table of sizes shows the lender's cache,
// so that the fast path knows nothing of this. Nor does free: a block belongs
// to the class of its page. Otherwise every class is its own lender.
//
// What dies at random leaves some of the lender's blocks at hand nearly always,
// and a class with many blocks would never have pages of its own: its blocks
// would be larger than asked for, and fill more pages than borrowing saves. So
// a class borrows some hundred blocks and no more.
//
// Powers of two are the largest of their groups and never borrow, so a block
// of 2^n bytes is aligned to 2^n; classes below 64 bytes do not either, since
// others do not cache their blocks (`owner_only`), nor where rounding would
// double them.
//
// Invariant: class c's lender is c or a larger one of its group, and the table
// shows the lender's cache for the sizes of c.
//
#include "page/internal.h"

#define GROUP 4 // classes
// A group's first page has at least eight blocks.
#define GROUP_BLOCK_MAX (BL_SLICE_BYTES / 8)
// A class borrows about so many blocks in the life of its thread.
#define BORROWED_MOST 512

static uint32_t group_of(uint32_t index) { return index / GROUP; }
static uint32_t top_of(uint32_t index) { return index | (GROUP - 1); }

// Blocks that can be had without another page. `bl_no_page` has none.
static size_t blocks_at_hand(const struct bl_local *local, uint32_t index) {
    const struct bl_cache *cache = &local->caches[index];
    const struct bl_page *page = local->entries[index].first;
    return (size_t)(cache->whole - cache->room) + page->capacity - page->used;
}

static bool has_pages_left_over(const struct bl_pool *pool) {
    return bl_load_relaxed(&pool->global_pages) > 0 ||
           bl_sleepers_have(pool->index);
}

// Enough to be worth a slow path: what carving a page makes at a time.
static bool may_lend(const struct bl_local *local, const struct bl_pool *pool) {
    return blocks_at_hand(local, pool->index) * pool->block_bytes >=
               BL_CARVE_BYTES ||
           has_pages_left_over(pool);
}

// The class itself where no larger one of its group has enough.
static uint32_t find(const struct bl_local *local, const struct bl_pool *pools,
                     uint32_t index) {
    for (uint32_t i = index + 1; i <= top_of(index); i++)
        if (may_lend(local, &pools[i]))
            return i;
    return index;
}

static uint32_t for_first_page(struct bl_local *local,
                               const struct bl_pool *pools, uint32_t index) {
    const uint32_t top = top_of(index);
    const uint32_t bit = (uint32_t)1 << group_of(index);
    if (pools[top].block_bytes > GROUP_BLOCK_MAX || local->groups & bit)
        return index;
    local->groups |= bit;
    return top;
}

void bl_lenders_start(struct bl_local *local) {
    local->groups = 0;
    __builtin_memset(local->borrowed, 0, sizeof local->borrowed);
}

void bl_lender_lost(struct bl_local *local, uint32_t index) {
    if (index == top_of(index))
        local->groups &= ~((uint32_t)1 << group_of(index));
}

// Where the class itself has nothing.
BL_NOINLINE static uint32_t
borrow(struct bl_local *local, const struct bl_pool *pools, uint32_t index) {
    if (has_pages_left_over(&pools[index]) ||
        (bl_reports_drain(local, local) && blocks_at_hand(local, index) > 0))
        return index;
    const uint32_t lender = find(local, pools, index);
    return lender != index ? lender : for_first_page(local, pools, index);
}

// With one thread the pages of all classes are few.
static bool lends(void) {
    return bl_load_relaxed(&bl_stats.locals_now) > 1 && bl_heap_is_small();
}

// Each time it gets what carving makes of a page, as a rule.
static bool has_borrowed_much(const struct bl_local *local,
                              const struct bl_pool *pool) {
    return local->borrowed[pool->index] * BL_CARVE_BYTES >=
           BORROWED_MOST * pool->block_bytes;
}

uint32_t bl_class_lender(struct bl_local *local, const struct bl_pool *pools,
                         uint32_t index) {
    const bool borrows = lends() && group_of(index) > 0 &&
                         !has_borrowed_much(local, &pools[index]) &&
                         blocks_at_hand(local, index) == 0;
    const uint32_t lender = borrows ? borrow(local, pools, index) : index;
    if (lender != index)
        local->borrowed[index]++;
    if (lender != local->lender[index])
        bl_local_show(local, index, lender);
    return lender;
}

void bl_lender_check(const struct bl_local *local, uint32_t index) {
    const uint32_t lender = local->lender[index];
    const size_t bytes = bl_served_bytes(index);
    if (bytes == 0)
        return;
    BL_CHECK(lender >= index && lender <= top_of(index));
    if (bytes <= BL_DIRECT_MAX)
        BL_CHECK(local->direct[bytes / BL_DIRECT_STEP] ==
                 &local->caches[lender]);
}
