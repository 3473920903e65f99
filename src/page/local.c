// SPDX-License-Identifier: MIT
//
// Locals: what a thread owns, from its first allocation to its end.
//
// A local outlives its thread. When the thread ends, its pages with free
// blocks become global, its full pages stay with the *parked* local, and the
// next thread to start takes the local over as it is. So an owner, once read
// from a page, is always a local, and a report to it is never lost: it waits
// on the parked local until somebody takes that over or drains it. What others
// stranded of its pages (sleepers.c) comes back there.
//
// A pool that is no size class is deleted by one thread for all locals. Others
// do not use it then, but they come upon its pages by themselves: when they
// take up reports, give back empty pages, or end. So whoever touches the
// entries of such a pool, but for a call of its own, holds bl_lock_locals.
//
// There may be any number of them. The entries of the first lie in the local,
// those of others in rows that its thread makes as it comes to use them, and
// which stay with the local.
//
#include "page/internal.h"

#include <errno.h>
#include <pthread.h>

_Thread_local struct bl_thread bl_thread
    __attribute__((tls_model("initial-exec")));
uintptr_t bl_operators_mask = UINTPTR_MAX;
static struct bl_local *all_locals;  // lock:bl_lock_locals
static _Atomic(bool) parked_reports; // a parked local may have reports
static _Atomic(bool) started;
static pthread_key_t end_of_thread;

// The sizes, in steps of BL_DIRECT_STEP bytes, that each reserved pool serves.
static struct served {
    size_t least;
    size_t most;
} all_served[BL_POOLS_RESERVED]; // lock:bl_lock_locals

// This thread's end has begun. Destructors that run after ours may allocate all
// the same, and of the last of them nobody is told.
static _Thread_local bool is_ending __attribute__((tls_model("initial-exec")));

static void on_thread_end(void *local) {
    (void)local;
    is_ending = true;
    bl_local_detach();
}

void bl_local_leave(void) {
    if (BL_UNLIKELY(is_ending))
        bl_local_detach();
}

static bool start_once(void) {
    if (bl_load_acquire(&started))
        return true;
    bl_lock_acquire(&bl_lock_start);
    bool ok = bl_load_relaxed(&started);
    if (!ok && bl_reservoir_start()) {
        bl_seals_start(bl_os_random());
        ok = pthread_key_create(&end_of_thread, on_thread_end) == 0;
        bl_store_release(&started, ok);
    }
    bl_lock_release(&bl_lock_start);
    return ok;
}

static struct bl_local *find_parked(void) {
    for (struct bl_local *l = all_locals; l; l = l->next) {
        if (bl_load_relaxed(&l->parked)) {
            bl_store_relaxed(&l->parked, false);
            return l;
        }
    }
    return NULL;
}

void bl_local_show(struct bl_local *local, uint32_t index, uint32_t lender) {
    const struct served *sizes = &all_served[index];
    local->lender[index] = (uint8_t)lender;
    for (size_t bytes = sizes->least;
         bytes <= sizes->most && bytes <= BL_DIRECT_MAX;
         bytes += BL_DIRECT_STEP)
        local->direct[bytes / BL_DIRECT_STEP] = &local->caches[lender];
}

static void serve(struct bl_local *local, uint32_t index) {
    const struct served *sizes = &all_served[index];
    if (sizes->most == 0)
        return;
    bl_cache_open(&local->caches[index], sizes->most);
    bl_local_show(local, index, index);
}

static struct bl_local *new_local(void) {
    struct bl_local *l = bl_metadata_alloc(sizeof *l);
    if (l == NULL)
        return NULL;
    for (unsigned i = 0; i < BL_DIRECT_SIZES; i++)
        l->direct[i] = &l->caches[BL_NO_CACHE];
    for (unsigned i = 0; i < BL_POOLS_NEAR; i++)
        bl_entry_init(&l->entries[i]);
    for (unsigned i = 0; i < BL_POOLS_RESERVED; i++)
        serve(l, i);
    l->next = all_locals;
    all_locals = l;
    return l;
}

void bl_locals_serve(uint32_t index, size_t above, size_t most) {
    bl_lock_acquire(&bl_lock_locals);
    all_served[index].least = above == 0 ? 0 : above + BL_DIRECT_STEP;
    all_served[index].most = most;
    for (struct bl_local *l = all_locals; l; l = l->next)
        serve(l, index);
    bl_lock_release(&bl_lock_locals);
}

size_t bl_served_bytes(uint32_t index) { return all_served[index].most; }

struct bl_local *bl_local_attach(void) {
    if (bl_self != NULL)
        return bl_self;
    if (!start_once())
        return NULL;
    bl_lock_acquire(&bl_lock_locals);
    struct bl_local *local = find_parked();
    if (local == NULL)
        local = new_local();
    bl_lock_release(&bl_lock_locals);
    if (local == NULL)
        return NULL;
    local->pages_taken = local->trimmed_at = local->trims_at = 0;
    bl_lenders_start(local);
    bl_thread = (struct bl_thread){
        .local = local,
        .served = BL_DIRECT_MAX + 1,
        .new_served = (BL_DIRECT_MAX + 1) & bl_operators_mask,
    };
    BL_COUNT(locals_now);
    // May allocate: from here on the local serves.
    pthread_setspecific(end_of_thread, local);
    return local;
}

// At least doubles them: those before are left, as metadata is.
static bool reach_row(struct bl_local *local, uint32_t row) {
    const uint32_t had = local->row_count;
    if (row < had)
        return true;
    const uint32_t count = row < 2 * had ? 2 * had : row + 1;
    struct bl_entry **rows = bl_metadata_alloc(count * sizeof *rows);
    if (rows == NULL)
        return false;
    for (uint32_t i = 0; i < had; i++)
        rows[i] = local->rows[i];
    local->rows = rows;
    local->row_count = count;
    return true;
}

// Caller holds bl_lock_locals, or knows that the entry is there.
static struct bl_entry *make_entry(struct bl_local *local, uint32_t index) {
    struct bl_entry *entry = bl_local_entry(local, index);
    if (entry != NULL)
        return entry;
    const uint32_t row = (index - BL_POOLS_NEAR) / BL_POOLS_ROW;
    struct bl_entry *entries =
        reach_row(local, row)
            ? bl_metadata_alloc(BL_POOLS_ROW * sizeof *entries)
            : NULL;
    if (entries == NULL)
        return NULL;
    for (unsigned i = 0; i < BL_POOLS_ROW; i++)
        bl_entry_init(&entries[i]);
    local->rows[row] = entries;
    return bl_local_entry(local, index);
}

struct bl_entry *bl_local_make_entry(struct bl_local *self, uint32_t index) {
    bl_lock_acquire(&bl_lock_locals);
    struct bl_entry *entry = make_entry(self, index);
    bl_lock_release(&bl_lock_locals);
    return entry;
}

// Calls `visit` for the entries of pools that may be deleted: near ones, and as
// many rows, the next in turn. Caller holds bl_lock_locals.
static void pool_entries_visit(struct bl_local *local, uint32_t rows,
                               void (*visit)(struct bl_entry *)) {
    for (unsigned i = BL_POOLS_RESERVED; i < BL_POOLS_NEAR; i++)
        visit(&local->entries[i]);
    for (; rows > 0; rows--) {
        if (local->next_row >= local->row_count)
            local->next_row = 0;
        struct bl_entry *row = local->rows[local->next_row++];
        for (unsigned i = 0; row != NULL && i < BL_POOLS_ROW; i++)
            visit(&row[i]);
    }
}

// Blocks that a thread frees before it gets a local for that: most free a few.
#define FREES_WITHOUT 64

// free keeps errno, and what follows may allocate.
static bool attach_for_free(void) {
    const int kept = errno;
    const bool ok = bl_local_attach() != NULL;
    errno = kept;
    return ok;
}

bool bl_local_for_free(void) {
    static _Thread_local uint32_t frees
        __attribute__((tls_model("initial-exec")));
    if (bl_self != NULL)
        return true;
    return !is_ending && ++frees > FREES_WITHOUT && attach_for_free();
}

// A page with a report under way stays with the local, as full ones do.
static void give_up_entry(struct bl_entry *entry) {
    while (entry->first != &bl_no_page) {
        struct bl_page *page = entry->first;
        bl_chain_remove(entry, page);
        if (!bl_global_make(page))
            bl_full_push(entry, page);
    }
}

static void give_voids(struct bl_local *local) {
    bl_lock_acquire(&bl_lock_pages);
    bl_voids_give_locked(local);
    bl_lock_release(&bl_lock_pages);
}

void bl_local_detach(void) {
    struct bl_local *local = bl_self;
    if (local == NULL)
        return;
    bl_caches_return(local);
    bl_sleepers_recall(local);
    bl_reports_drain(local, local);
    for (unsigned i = 0; i < BL_POOLS_RESERVED; i++)
        give_up_entry(&local->entries[i]);
    bl_lock_acquire(&bl_lock_locals);
    pool_entries_visit(local, local->row_count, give_up_entry);
    bl_thread = (struct bl_thread){0};
    give_voids(local);
    // Who reported since the drain above may not have seen the flag: one of the
    // two sees what the other wrote, as these and those below are in one order.
    bl_exchange_seq_cst(&local->parked, true);
    if (bl_load_seq_cst(&local->reports) != NULL)
        bl_store_relaxed(&parked_reports, true);
    bl_lock_release(&bl_lock_locals);
    BL_DISCOUNT_BY(locals_now, 1);
}

// Pairs with the exchanges in bl_reports_drain() and look_through().
void bl_page_report_to(struct bl_local *local, struct bl_page *page) {
    struct bl_page *old = bl_load_relaxed(&local->reports);
    do
        page->report_next = old;
    while (!bl_cas_weak_seq_cst(&local->reports, &old, page));
    if (bl_load_seq_cst(&local->parked))
        bl_store_relaxed(&parked_reports, true);
}

void bl_page_report(struct bl_page *page) {
    BL_COUNT(blocks_remote);
    bl_page_report_to((struct bl_local *)bl_load_relaxed(&page->owner), page);
}

#define TURNS_PER_TENDING 8
#define TURNS_PER_PURGE 128

void bl_local_turn(struct bl_local *self) {
    if (self == NULL || ++self->turns % TURNS_PER_TENDING != 0)
        return;
    bl_reservoir_tend();
    if (self->turns % TURNS_PER_PURGE == 0)
        bl_reservoir_purge(false);
}

// A full one becomes available and, of a parked local, `self`'s; false without
// memory.
static bool take_up_full(struct bl_page *page, struct bl_local *from,
                         struct bl_local *self) {
    const uint32_t index = page->pool->index;
    struct bl_entry *entry = make_entry(self, index);
    if (entry == NULL)
        return false;
    bl_full_remove(bl_local_entry(from, index), page);
    bl_store_relaxed(&page->owner, (uintptr_t)self);
    bl_chain_push_last(entry, page);
    return true;
}

// Available ones are `self`'s own: a parked local has none.
static void take_up(struct bl_page *page, struct bl_local *from,
                    struct bl_local *self) {
    if (bl_page_state(page) == BL_PAGE_DELETED) {
        bl_page_drop(page);
        return;
    }
    if (bl_page_state(page) == BL_PAGE_FULL &&
        !take_up_full(page, from, self)) {
        bl_page_report_to(from, page);
        return;
    }
    bl_page_arm(page);
    if (page->used == 0)
        bl_page_emptied(page);
}

// Of a parked local, whose list only who has the lock takes up.
static void take_up_guarded(struct bl_page *page, struct bl_local *from,
                            struct bl_local *self) {
    const bool guard = from == self && !bl_page_is_of_class(page);
    if (guard)
        bl_lock_acquire(&bl_lock_locals);
    take_up(page, from, self);
    if (guard)
        bl_lock_release(&bl_lock_locals);
}

bool bl_reports_drain(struct bl_local *local, struct bl_local *self) {
    if (bl_load_relaxed(&local->reports) == NULL)
        return false;
    bl_store_relaxed(&local->ripe, 0);
    bl_store_relaxed(&local->ripe_worth, 0);
    struct bl_page *page = bl_exchange_acquire(&local->reports, NULL);
    const bool any = page != NULL;
    while (page) {
        struct bl_page *next = page->report_next;
        take_up_guarded(page, local, self);
        page = next;
    }
    return any;
}

bool bl_parked_drain(struct bl_local *self) {
    if (!bl_load_relaxed(&parked_reports))
        return false;
    bool any = false;
    bl_lock_acquire(&bl_lock_locals);
    bl_store_relaxed(&parked_reports, false);
    for (struct bl_local *l = all_locals; l; l = l->next) {
        if (bl_load_relaxed(&l->parked))
            any |= bl_reports_drain(l, self);
    }
    bl_lock_release(&bl_lock_locals);
    return any;
}

static bool drop_empty_page(struct bl_entry *entry) {
    struct bl_page *page = entry->first;
    if (page == &bl_no_page || page->used > 0 || bl_page_is_reported(page))
        return false;
    bl_chain_remove(entry, page);
    bl_page_drop(page);
    return true;
}

static void drop_pool_page(struct bl_entry *entry) {
    (void)drop_empty_page(entry);
}

// A thread trims for each unit that it takes, and may have thousands of pools.
// At so many rows a time it has looked at all n of them when it has taken
// n / 16 pages.
#define ROWS_TO_TRIM 16

// What is empty, this thread's and others'. `all`: also where it is little.
static void give_back(struct bl_local *local, bool all) {
    bl_caches_return(local);
    if (all || bl_sleepers_have_ripe())
        bl_sleepers_tend(local, all);
    else
        bl_sleepers_recall(local);
    bl_reports_drain(local, local);
    bl_parked_drain(local);
    if (all || bl_globals_are_whole())
        bl_globals_take_back();
    for (unsigned i = 0; i < BL_POOLS_RESERVED; i++)
        if (drop_empty_page(&local->entries[i]))
            bl_lender_lost(local, i);
    bl_lock_acquire(&bl_lock_locals);
    const uint32_t rows = local->row_count;
    pool_entries_visit(local, all || rows < ROWS_TO_TRIM ? rows : ROWS_TO_TRIM,
                       drop_pool_page);
    bl_lock_release(&bl_lock_locals);
}

void bl_local_empty(struct bl_local *local) {
    give_back(local, true);
    give_voids(local);
}

void bl_local_trim(struct bl_local *local) {
    if (local->trimmed_at == local->pages_taken && !bl_sleepers_have_ripe() &&
        !bl_globals_are_whole())
        return;
    local->trimmed_at = local->pages_taken;
    give_back(local, false);
}

void bl_locals_each(void (*visit)(struct bl_local *, void *), void *context) {
    bl_lock_acquire(&bl_lock_locals);
    for (struct bl_local *l = all_locals; l; l = l->next)
        visit(l, context);
    bl_lock_release(&bl_lock_locals);
}

static void check_entry(const struct bl_entry *entry, uintptr_t owner) {
    const struct bl_page *prev = NULL;
    const struct bl_page *page =
        entry->first == &bl_no_page ? NULL : entry->first;
    for (; page; prev = page, page = page->next) {
        BL_CHECK_EQ(bl_load_relaxed(&page->owner), owner);
        BL_CHECK(page->prev == prev);
        bl_page_check(page);
    }
    BL_CHECK(entry->last == prev);
    for (page = entry->full; page; page = page->next) {
        BL_CHECK_EQ(bl_load_relaxed(&page->owner), owner);
        BL_CHECK_EQ(bl_page_state(page), BL_PAGE_FULL);
    }
}

static void check_rows(const struct bl_local *local) {
    for (uint32_t row = 0; row < local->row_count; row++)
        for (unsigned i = 0; local->rows[row] && i < BL_POOLS_ROW; i++)
            check_entry(&local->rows[row][i], (uintptr_t)local);
}

void bl_local_check(const struct bl_local *local) {
    for (unsigned i = 0; i < BL_POOLS_NEAR; i++)
        check_entry(&local->entries[i], (uintptr_t)local);
    check_rows(local);
    for (unsigned i = 0; i < BL_POOLS_RESERVED; i++)
        bl_cache_check(local, i);
    for (unsigned i = 0; i < BL_POOLS_RESERVED; i++)
        bl_lender_check(local, i);
}
