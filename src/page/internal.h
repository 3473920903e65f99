// SPDX-License-Identifier: MIT
//
// What the files of the page layer share.
//
#ifndef BL_PAGE_INTERNAL_H
#define BL_PAGE_INTERNAL_H

#include "page/page.h"

// --- chains.c: pages of an entry ---------------------------------------------

void bl_entry_init(struct bl_entry *entry);
void bl_chain_push_first(struct bl_entry *entry, struct bl_page *page);
void bl_chain_push_last(struct bl_entry *entry, struct bl_page *page);
void bl_chain_remove(struct bl_entry *entry, struct bl_page *page);
void bl_full_push(struct bl_entry *entry, struct bl_page *page);
void bl_full_remove(struct bl_entry *entry, struct bl_page *page);

// --- slices.c: slices of units, under bl_lock_pages ------------------------

#define BL_NO_SLICE UINT32_MAX

// First of `count` consecutive slices of one unit, or BL_NO_SLICE; `align` in
// slices. `open`: a unit may be opened for them. *zeroed: none of them was used
// since the unit was fresh.
uint32_t bl_slices_take(unsigned count, unsigned align, bool open,
                        bool *zeroed);
// Likewise, where need be over several units.
uint32_t bl_slices_take_long(unsigned count, bool open, bool *zeroed);
void bl_slices_give(uint32_t first, unsigned count);
// Takes the `more` slices that follow, where they are free.
bool bl_slices_extend(uint32_t first, unsigned count, unsigned more);

static inline struct bl_page *bl_slice_page(uint32_t slice) {
    return (struct bl_page *)bl_territory.slices + slice;
}

static inline uint32_t bl_page_slice(const struct bl_page *page) {
    return (uint32_t)(page - (struct bl_page *)bl_territory.slices);
}

static inline char *bl_slice_start(uint32_t slice) {
    return (char *)bl_territory.small + ((size_t)slice << BL_SLICE_SHIFT);
}

// Makes the headers of a page's further slices lead to the first, and tell free
// what it asks of every block.
void bl_page_link_slices(struct bl_page *page, unsigned slices);

// --- pages.c: the life of a page ---------------------------------------------

void bl_seals_start(uintptr_t random);
// Slices for a page or a span; takes the lock. Before a unit is opened for
// them the empty pages that the thread keeps are given back.
uint32_t bl_page_take_slices(unsigned slices, unsigned align, bool *zeroed);
// The slices that a thread keeps for its next pages are free again.
void bl_voids_give_locked(struct bl_local *local);
// Blocks are cut from a page by so many bytes at a time.
#define BL_CARVE_BYTES BL_BASE_SIZE
struct bl_page *bl_page_new(struct bl_pool *pool, uintptr_t owner);
// No block of it is in use and it is on no chain; its owner may keep the slice.
void bl_page_retire(struct bl_page *page);
// The same with blocks in use that nobody will ask for again.
void bl_page_drop(struct bl_page *page);
// The same, under bl_lock_pages.
void bl_page_drop_locked(struct bl_page *page);
// Moves the remote list to the free list; the next remote push is reported.
void bl_page_arm(struct bl_page *page);
// No push will be reported any more; false where one was.
BL_MUST_USE bool bl_page_disarm(struct bl_page *page);
bool bl_page_is_reported(const struct bl_page *page);
void bl_page_check(const struct bl_page *page);
// First page of the entry, with a free block; NULL where the thread has none
// and finds none.
struct bl_page *bl_entry_page_at_hand(struct bl_entry *entry,
                                      struct bl_pool *pool, uintptr_t owner);
// A fresh one; NULL without memory.
struct bl_page *bl_entry_fresh_page(struct bl_entry *entry,
                                    struct bl_pool *pool, uintptr_t owner);
// `count` blocks that nobody uses, sealed and linked from `first` to `last`,
// become free ones of the page.
void bl_page_return(struct bl_page *page, struct bl_block *first,
                    struct bl_block *last, uint32_t count);
// The same for a block in use.
void bl_page_return_one(struct bl_page *page, void *p);

// --- cache.c -----------------------------------------------------------------

void bl_cache_open(struct bl_cache *cache, size_t block_bytes);
// Returns the blocks of the calling thread's caches to their pages.
void bl_caches_return(struct bl_local *local);
void bl_cache_check(const struct bl_local *local, uint32_t index);

// --- lenders.c ---------------------------------------------------------------

// Of a local that is taken into use: no class has borrowed yet.
void bl_lenders_start(struct bl_local *local);
// Class `index` has given back a page, perhaps the only one of its group.
void bl_lender_lost(struct bl_local *local, uint32_t index);
void bl_lender_check(const struct bl_local *local, uint32_t index);

// --- sleepers.c --------------------------------------------------------------

// Pages of others are looked through where about so many became ripe or whole.
#define BL_PAGES_WORTH_A_LOOK ((uint32_t)BL_UNIT_SLICES)

// So many blocks on `remote` make a page ripe that has `whole` in all: an
// eighth, and no fewer than are worth two locks.
static inline uint32_t bl_ripe_at(uint32_t whole) {
    if (whole == 0)
        return UINT32_MAX;
    return whole < 8 * 4 ? 4 : whole / 8;
}

// A page of `owner` has become ripe or whole by a push of another thread.
void bl_sleepers_note(struct bl_local *owner);
// Its pool is gone, and it is reported to its owner.
void bl_sleepers_note_deleted(const struct bl_page *page);
// Many pages of another thread may be.
bool bl_sleepers_have_ripe(void);
// Takes back the whole ones and strands the ripe ones of the threads that have
// many, or `all`; what is stranded of `self` goes to its list of reports.
void bl_sleepers_tend(struct bl_local *self, bool all);
// The latter, where that is a good part of what is stranded, or much of it may
// be whole.
void bl_sleepers_recall(struct bl_local *self);
// Pages of class `index` are stranded.
bool bl_sleepers_have(uint32_t index);
// Blocks of the class, *count of them in a row as `remote` has them, from a
// stranded page; for it they are in use. NULL where there are none.
struct bl_block *bl_sleepers_lend(struct bl_local *self,
                                  const struct bl_pool *pool, uint32_t *count);

// --- globals.c ---------------------------------------------------------------

// Gives up a page of the calling thread that is on no chain; false where a
// report of it is under way.
BL_MUST_USE bool bl_global_make(struct bl_page *page);
// NULL where there is none.
struct bl_page *bl_global_adopt(struct bl_pool *pool, uintptr_t owner);
// The last block in use of a global page was pushed.
void bl_global_note_whole(void);
// Of many.
bool bl_globals_are_whole(void);
void bl_globals_take_back(void);

// --- local.c -----------------------------------------------------------------

// Takes up what was reported to `local`, for `self`. True: something was.
bool bl_reports_drain(struct bl_local *local, struct bl_local *self);
// The same for ended threads.
bool bl_parked_drain(struct bl_local *self);
void bl_page_report(struct bl_page *page);
// Puts a page that was taken off a list of reports on that of its owner.
void bl_page_report_to(struct bl_local *owner, struct bl_page *page);
// Called on slow paths, without locks: now and then it buys huge pages that
// have been earned, and returns what has been warm for longer than the purge
// delay. `self` may be NULL.
void bl_local_turn(struct bl_local *self);
// From now on requests for class `index` are served by class `lender`.
void bl_local_show(struct bl_local *local, uint32_t index, uint32_t lender);
// Block size of a reserved pool; 0 where it serves nothing.
size_t bl_served_bytes(uint32_t index);
// The calling thread's entry of a shared pool, made where it is not there yet;
// NULL without memory.
struct bl_entry *bl_local_make_entry(struct bl_local *self, uint32_t index);
// Calls `visit` for every local there is; holds bl_lock_locals.
void bl_locals_each(void (*visit)(struct bl_local *, void *), void *context);

static inline struct bl_entry *bl_entry_of(const struct bl_page *page) {
    struct bl_pool *pool = page->pool;
    if (pool->is_private)
        return &pool->own;
    struct bl_local *owner = (struct bl_local *)bl_load_relaxed(&page->owner);
    return bl_local_entry(owner, pool->index);
}

#endif
