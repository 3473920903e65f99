// SPDX-License-Identifier: MIT
//
// The life of a page: Algorithms 1 to 3 of [AreiasRocha-2012], with remote
// frees and lazy carving.
//
//   unused -> available (owned) <-> full -> ... -> available, empty -> unused
//                  |                                    ^
//                  v  thread ends                       | all blocks free
//               global, adopted later by any thread -----
//
// The owner alone takes a page from available to full and back, without any
// atomic operation. A page of a local is *armed* while `remote` holds
// BL_REMOTE_NOTIFY and no block. The first remote push disarms and reports it,
// and only the owner, taking the page off its list of reports, arms it again;
// or who becomes its owner, since its thread has ended. So a page is on one
// list of reports or of stranded pages (sleepers.c) at most; what is not armed
// is never retired but by who took it off that list. Global pages are not armed
// (globals.c).
//
#include "page/internal.h"

// Weyl's sequence from a random start: no two pages have the same seal.
static _Atomic(uintptr_t) seals;

void bl_seals_start(uintptr_t random) { bl_store_relaxed(&seals, random); }

static uintptr_t next_seal(void) {
    return bl_add_relaxed(&seals, UINT64_C(0x9e3779b97f4a7c15)) | 1;
}

static void put_block(const struct bl_page *page, char *at, char *next) {
    struct bl_block *block = (struct bl_block *)at;
    block->next = (struct bl_block *)next;
    block->seal = bl_seal_of(page, block);
}

// Links blocks [from, to) in a row before `next`.
static struct bl_block *link_row(struct bl_page *page, uint32_t from,
                                 uint32_t to, struct bl_block *next) {
    const size_t size = page->block_bytes;
    char *const first = page->start + from * size;
    char *block = first;
    if (from == to)
        return next;
    for (uint32_t i = from + 1; i < to; i++, block += size)
        put_block(page, block, block + size);
    put_block(page, block, (char *)next);
    return (struct bl_block *)first;
}

// What was not cut is no block yet, for whoever frees it. Others ask beside
// this: those who were handed a block since see what was set before.
static void set_carved(struct bl_page *page, uint32_t count) {
    const uint64_t excess = page->reciprocal * page->block_bytes;
    page->carved = count;
    for (unsigned i = 0; i < page->slices; i++)
        bl_store_relaxed(&page[i].bound, count * excess);
}

// A `rep stos` or `rep movs` that starts so close to memory which is not there,
// as what was not carved yet, takes two to ten times as long as elsewhere, even
// where it ends before (measured on Emerald Rapids).
#define STRING_REACH 256

// Which of its first blocks a page hands out first: the same one of all pages
// would compete for few sets of the processor's cache [Bonwick-1994, 4.1], and
// the last ones lie before memory that is not there.
static uint32_t colour(const struct bl_page *page, uint32_t count) {
    if (page->carved > 0)
        return 0;
    const uint32_t first = bl_page_slice(page) * 5 % count;
    const uint32_t most =
        (BL_CARVE_BYTES - STRING_REACH - 1) / page->block_bytes;
    return first <= most ? first : first / 2;
}

static void carve(struct bl_page *page) {
    uint32_t count = BL_CARVE_BYTES / page->block_bytes;
    if (count == 0)
        count = 1;
    if (count > page->capacity - page->carved)
        count = page->capacity - page->carved;
    const uint32_t first = page->carved, end = first + count;
    const uint32_t middle = first + colour(page, count);
    page->free = link_row(page, first, middle, page->free);
    page->free = link_row(page, middle, end, page->free);
    set_carved(page, end);
}

// Moves the remote blocks to the free list and leaves `remote` as asked for.
// Pairs with the swap of the remote push: the blocks' last contents are visible
// before they are handed out again, and who finds the mark may write the link
// by which the page hung on the list of reports.
static void collect(struct bl_page *page, uintptr_t leave) {
    const uintptr_t remote = bl_exchange_acq_rel(&page->remote, leave);
    const uint32_t count = (uint32_t)(remote >> BL_REMOTE_COUNT_SHIFT);
    struct bl_block *first = (struct bl_block *)(remote & BL_REMOTE_ADDRESS);
    if (first == NULL)
        return;
    if (page->free != NULL) {
        struct bl_block *last = first;
        for (uint32_t i = 1; i < count; i++) {
            last = last->next;
            bl_link_check(last);
        }
        last->next = page->free;
    }
    page->free = first;
    BL_ASSERT(page->used >= count);
    page->used -= count;
}

void bl_page_arm(struct bl_page *page) { collect(page, BL_REMOTE_NOTIFY); }

// Pairs with the swap of remote_push(): one of the two has the mark.
bool bl_page_disarm(struct bl_page *page) {
    uintptr_t mark = BL_REMOTE_NOTIFY;
    return bl_cas_strong_acq_rel(&page->remote, &mark, 0);
}

bool bl_page_is_reported(const struct bl_page *page) {
    return !page->pool->is_private &&
           !(bl_load_acquire(&page->remote) & BL_REMOTE_NOTIFY);
}

static bool has_block(struct bl_page *page) {
    if (page->free == NULL && bl_load_relaxed(&page->remote) > BL_REMOTE_NOTIFY)
        collect(page, 0);
    if (page->free == NULL && page->carved < page->capacity)
        carve(page);
    if (page->free == NULL)
        return false;
    bl_link_check(page->free);
    return true;
}

static void mark_full(struct bl_entry *entry, struct bl_page *page) {
    bl_chain_remove(entry, page);
    bl_full_push(entry, page);
}

// Rows of so many slices fill a unit without reaching over to the next.
#define PACKED_SLICES 2

static bool may_reach_over(unsigned slices, unsigned align) {
    return slices > PACKED_SLICES && align == 1 && !bl_heap_is_small();
}

static uint32_t take_locked(unsigned slices, unsigned align, bool open,
                            bool *zeroed) {
    if (slices > BL_PAGE_SLICES_MAX)
        return bl_slices_take_long(slices, open, zeroed);
    const bool over = may_reach_over(slices, align);
    uint32_t slice = bl_slices_take(slices, align, open && !over, zeroed);
    if (slice == BL_NO_SLICE && over)
        slice = bl_slices_take_long(slices, open, zeroed);
    if (slice == BL_NO_SLICE && over && open)
        slice = bl_slices_take(slices, align, true, zeroed);
    return slice;
}

void bl_voids_give_locked(struct bl_local *local) {
    while (local->void_count > 0)
        bl_slices_give(local->voids[--local->void_count], 1);
}

static uint32_t take(struct bl_local *self, unsigned slices, unsigned align,
                     bool open, bool *zeroed) {
    bl_lock_acquire(&bl_lock_pages);
    if (self != NULL && open)
        bl_voids_give_locked(self);
    const uint32_t slice = take_locked(slices, align, open, zeroed);
    bl_lock_release(&bl_lock_pages);
    return slice;
}

// No unit is opened before this thread has given back what it keeps, and where
// there is none to be had, nothing is kept that anybody may give back.
uint32_t bl_page_take_slices(unsigned slices, unsigned align, bool *zeroed) {
    struct bl_local *self = bl_self;
    uint32_t slice = take(self, slices, align, self == NULL, zeroed);
    if (slice == BL_NO_SLICE && self != NULL) {
        bl_local_trim(self);
        slice = take(self, slices, align, true, zeroed);
    }
    if (slice == BL_NO_SLICE && self != NULL) {
        bl_local_empty(self);
        slice = take(self, slices, align, true, zeroed);
    }
    return slice;
}

// A thread that takes many pages keeps some slices ahead, so that it takes the
// lock once for several; not in a small heap, where the slices that some
// threads keep are a tenth of what there is.
static void take_voids(struct bl_local *local) {
    uint32_t ahead = local->pages_taken / 8;
    if (ahead > BL_VOIDS_MAX / 2)
        ahead = BL_VOIDS_MAX / 2;
    if (local->void_count >= ahead || bl_heap_is_small())
        return;
    bl_lock_acquire(&bl_lock_pages);
    while (local->void_count < ahead) {
        bool zeroed = false;
        const uint32_t slice = bl_slices_take(1, 1, false, &zeroed);
        if (slice == BL_NO_SLICE)
            break;
        local->voids[local->void_count++] = slice;
    }
    bl_lock_release(&bl_lock_pages);
}

// In a small heap; see trim_as_it_grows().
#define MOST_PAGES_TO_TRIM 32

static uint32_t pages_to_next_trim(const struct bl_local *local) {
    const uint32_t pages = local->pages_taken / 4 + 1;
    return pages > MOST_PAGES_TO_TRIM && bl_heap_is_small() ? MOST_PAGES_TO_TRIM
                                                            : pages;
}

// A thread whose blocks went from one size to another has pages worth of the
// first in its caches. They go back each time that it has taken a quarter more
// pages, so that a small process, which opens no further unit, finds them too;
// and in a small heap each time that it took some, since one that runs for long
// has taken many times what it has.
static void trim_as_it_grows(struct bl_local *local) {
    if (local->pages_taken < local->trims_at)
        return;
    local->trims_at = local->pages_taken + pages_to_next_trim(local);
    bl_local_trim(local);
}

static uint32_t take_slices(struct bl_local *local, unsigned slices) {
    if (local)
        trim_as_it_grows(local);
    if (local && slices == 1 && local->void_count > 0)
        return local->voids[--local->void_count];
    bool zeroed = false;
    const uint32_t slice = bl_page_take_slices(slices, 1, &zeroed);
    if (local && slices == 1)
        take_voids(local);
    return slice;
}

struct bl_page *bl_page_new(struct bl_pool *pool, uintptr_t owner) {
    struct bl_local *local = pool->is_private ? NULL : (struct bl_local *)owner;
    const uint32_t slice = take_slices(local, pool->slices);
    if (slice == BL_NO_SLICE)
        return NULL;
    if (local)
        local->pages_taken++;
    struct bl_page *page = bl_slice_page(slice);
    page->free = NULL;
    page->used = 0;
    page->back = 0;
    page->slices = pool->slices;
    page->carved = 0;
    page->capacity = pool->capacity;
    page->block_bytes = pool->block_bytes;
    page->reciprocal = pool->reciprocal;
    page->cache = pool->cache;
    page->owner_only = pool->owner_only;
    page->pool = pool;
    bl_store_relaxed(&page->whole,
                     bl_page_is_of_class(page) ? pool->capacity : 0);
    page->seal = next_seal();
    page->start = bl_slice_start(slice);
    bl_store_relaxed(&page->remote, pool->is_private ? 0 : BL_REMOTE_NOTIFY);
    bl_page_link_slices(page, pool->slices);
    bl_store_relaxed(&page->owner, owner);
    BL_COUNT(pages_fresh);
    return page;
}

static void forget(struct bl_page *page) {
    bl_store_relaxed(&page->owner, BL_NOBODY);
    bl_store_relaxed(&page->state, BL_PAGE_NONE);
    bl_store_relaxed(&page->remote, 0);
    page->carved = 0;
    bl_store_relaxed(&page->bound, 0);
    page->used = 0;
    page->pool = NULL;
    for (unsigned i = 1; i < page->slices; i++) {
        page[i].back = 0;
        bl_store_relaxed(&page[i].bound, 0);
    }
}

void bl_page_drop_locked(struct bl_page *page) {
    forget(page);
    bl_slices_give(bl_page_slice(page), page->slices);
}

void bl_page_drop(struct bl_page *page) {
    bl_lock_acquire(&bl_lock_pages);
    bl_page_drop_locked(page);
    bl_lock_release(&bl_lock_pages);
}

static bool may_keep_void(const struct bl_local *local) {
    const uint32_t most = bl_heap_is_small() ? 1 : BL_VOIDS_MAX / 2;
    return local != NULL && local->void_count < most;
}

void bl_page_retire(struct bl_page *page) {
    BL_ASSERT(page->used == 0 &&
              !(bl_load_relaxed(&page->remote) & BL_REMOTE_ADDRESS));
    struct bl_local *self = bl_self;
    if (page->slices > 1 || page->pool->is_private || !may_keep_void(self)) {
        bl_page_drop(page);
        return;
    }
    forget(page);
    self->voids[self->void_count++] = bl_page_slice(page);
}

// A page that is there, at the head of the chain; false where none is found.
static bool find_page(struct bl_entry *entry, struct bl_pool *pool,
                      uintptr_t owner) {
    if (pool->is_private)
        return false;
    struct bl_local *self = (struct bl_local *)owner;
    if (bl_reports_drain(self, self) && entry->first != &bl_no_page)
        return true;
    if (bl_parked_drain(self) && entry->first != &bl_no_page)
        return true;
    struct bl_page *page = bl_global_adopt(pool, owner);
    if (page != NULL)
        bl_chain_push_first(entry, page);
    return page != NULL;
}

struct bl_page *bl_entry_page_at_hand(struct bl_entry *entry,
                                      struct bl_pool *pool, uintptr_t owner) {
    while (entry->first != &bl_no_page || find_page(entry, pool, owner)) {
        if (has_block(entry->first))
            return entry->first;
        mark_full(entry, entry->first);
    }
    return NULL;
}

struct bl_page *bl_entry_fresh_page(struct bl_entry *entry,
                                    struct bl_pool *pool, uintptr_t owner) {
    struct bl_page *page = bl_page_new(pool, owner);
    if (page == NULL)
        return NULL;
    bl_chain_push_first(entry, page);
    carve(page);
    return page;
}

void *bl_entry_alloc(struct bl_entry *entry, struct bl_pool *pool,
                     uintptr_t owner) {
    bl_local_turn(bl_self);
    struct bl_page *page = bl_entry_page_at_hand(entry, pool, owner);
    if (page == NULL)
        page = bl_entry_fresh_page(entry, pool, owner);
    return page ? bl_page_pop(page) : NULL;
}

// An entry keeps one empty page, so that a block allocated and freed in turn
// does not cost a page each time.
void bl_page_emptied(struct bl_page *page) {
    struct bl_entry *entry = bl_entry_of(page);
    if (bl_page_state(page) != BL_PAGE_AVAILABLE ||
        (entry->first == page && page->next == NULL) ||
        bl_page_is_reported(page))
        return;
    bl_chain_remove(entry, page);
    bl_page_retire(page);
}

// Not inlined, so that who has nothing to tell saves no registers.
BL_NOINLINE static void tell_owner(struct bl_page *page, uintptr_t owner,
                                   bool report, bool ripe, bool whole) {
    if (report)
        bl_page_report(page);
    if (owner != BL_NOBODY) {
        if (ripe || whole)
            bl_sleepers_note((struct bl_local *)owner);
    } else if (whole) {
        bl_global_note_whole();
    }
}

static bool reaches(uintptr_t old_count, uintptr_t count, uint32_t mark) {
    return old_count < mark && count >= mark;
}

// Release: the owner, collecting, sees what this thread last did to the blocks.
// Without the mark the page is reported already, or global, and after the swap
// it may be gone.
static void remote_push(struct bl_page *page, struct bl_block *first,
                        struct bl_block *last, uint32_t count) {
    uintptr_t old = bl_load_relaxed(&page->remote), new = 0, had = 0;
    const uintptr_t owner = bl_load_relaxed(&page->owner);
    const uint32_t mark = bl_load_relaxed(&page->whole);
    do {
        had = old >> BL_REMOTE_COUNT_SHIFT;
        last->next = (struct bl_block *)(old & BL_REMOTE_ADDRESS);
        new = (had + count) << BL_REMOTE_COUNT_SHIFT | (uintptr_t)first;
    } while (!bl_cas_weak_acq_rel(&page->remote, &old, new));
    const bool ripe = reaches(had, had + count, bl_ripe_at(mark));
    const bool whole = reaches(had, had + count, mark);
    if (BL_UNLIKELY(old & BL_REMOTE_NOTIFY || ripe || whole))
        tell_owner(page, owner, old & BL_REMOTE_NOTIFY, ripe, whole);
}

static bool is_mine(const struct bl_page *page) {
    return page->pool->is_private ||
           bl_load_relaxed(&page->owner) == (uintptr_t)bl_self;
}

void bl_page_return(struct bl_page *page, struct bl_block *first,
                    struct bl_block *last, uint32_t count) {
    if (!is_mine(page)) {
        remote_push(page, first, last, count);
        return;
    }
    last->next = page->free;
    page->free = first;
    page->used -= count;
    if (bl_page_state(page) == BL_PAGE_FULL) {
        struct bl_entry *entry = bl_entry_of(page);
        bl_full_remove(entry, page);
        bl_chain_push_last(entry, page);
    }
    if (page->used == 0)
        bl_page_emptied(page);
}

void bl_page_return_one(struct bl_page *page, void *p) {
    struct bl_block *block = p;
    block->seal = bl_seal_of(page, p);
    bl_page_return(page, block, block, 1);
}

void bl_page_free_slow(struct bl_page *page, void *p,
                       const struct bl_pool *pool) {
    const char *call = pool ? "bl_pool_free" : "free";
    if (bl_page_state(page) == BL_PAGE_SPAN && p == page->start) {
        bl_span_free(page);
        return;
    }
    if (page->pool == NULL || !bl_block_is_in_use(page, p))
        bl_misuse(call, page, p);
    if (pool == NULL && !bl_page_is_of_class(page))
        bl_misuse_as(call, p, BL_POOLS_BLOCK);
    bl_page_return_one(page, p);
}

void bl_page_check(const struct bl_page *page) {
    uint32_t free = 0;
    for (const struct bl_block *b = page->free; b; b = b->next) {
        BL_CHECK(bl_block_starts(page, b));
        free++;
        BL_CHECK(free <= page->carved);
    }
    BL_CHECK_EQ(page->carved, page->used + free);
    BL_CHECK(page->carved <= page->capacity);
    BL_CHECK_EQ(page->back, 0);
    BL_CHECK_EQ(page->slices, page->pool->slices);
    for (unsigned i = 1; i < page->slices; i++) {
        BL_CHECK_EQ(page[i].back, i * sizeof *page);
        BL_CHECK_EQ(bl_load_relaxed(&page[i].bound),
                    bl_load_relaxed(&page->bound));
        BL_CHECK_EQ(page[i].seal, page->seal);
    }
}
