// SPDX-License-Identifier: MIT
//
// Sleepers: threads that made blocks, which others free, and then do not come
// to collect them. (A first thread makes all the work, waits for those that do
// it, and each of these replaces block after block by one of its own.)
//
// A page is *ripe* when an eighth of its blocks, and at least four, are on
// `remote`, and *whole* when all are. A thread that needs a page looks through
// the reports of those threads that have many such pages: whole pages become
// slices again, ripe ones are *stranded*, put on a list of their class. From
// there any thread takes the blocks on `remote` into its cache. There they are
// what they were, in use for their page, so nothing changes for the owner; and
// what is freed of them goes back to the page in time, and makes it ripe anew.
//
// Who takes a list of reports, or a page off a list of stranded ones, alone may
// retire that page, and else puts it back on its owner's list: a page stays
// reported until its owner, or for an ended thread any other, takes it up.
//
#include "page/internal.h"

static struct stranded {
    struct bl_page *first;   // lock:bl_lock_pages, by `report_next`
    _Atomic(uint32_t) pages; // written under the lock
} all_stranded[BL_POOLS_RESERVED];

static _Atomic(uint32_t) stranded_pages; // of all classes
// About so many pages became ripe, or whole, since these were looked through.
static _Atomic(uint32_t) ripe_since;

static _Atomic(bool) ripe_reports; // another may have many ripe pages

static struct bl_local *owner_of(const struct bl_page *page) {
    return (struct bl_local *)bl_load_relaxed(&page->owner);
}

static void note(struct bl_local *owner, uint32_t more) {
    const uint32_t ripe = bl_add_relaxed(&owner->ripe, more);
    if (ripe / BL_PAGES_WORTH_A_LOOK != (ripe + more) / BL_PAGES_WORTH_A_LOOK)
        bl_store_relaxed(&ripe_reports, true);
}

void bl_sleepers_note(struct bl_local *owner) {
    bl_add_relaxed(&ripe_since, 1);
    note(owner, 1);
}

void bl_sleepers_note_deleted(const struct bl_page *page) {
    note(owner_of(page), page->slices);
}

bool bl_sleepers_have_ripe(void) { return bl_load_relaxed(&ripe_reports); }

// Takes all the blocks of a page, so that its owner cannot hand one out
// meanwhile: it would collect them if this were its current page. Such a page
// is not full, and gets its blocks back. The owner of a full page has no hold
// on it but by blocks of its own, on no list of its; and where all blocks are
// remote it has none. Pairs with the swap of remote_push(): who has the blocks
// has seen what was done to the page before they were freed; and with
// bl_full_push().
static bool claim_whole(struct bl_page *page) {
    uintptr_t remote = bl_load_relaxed(&page->remote);
    const uint32_t whole = bl_load_relaxed(&page->whole);
    if (whole == 0 || remote >> BL_REMOTE_COUNT_SHIFT != whole ||
        !bl_cas_strong_acq_rel(&page->remote, &remote, 0))
        return false;
    if (bl_load_acquire(&page->state) == BL_PAGE_FULL)
        return true;
    bl_store_release(&page->remote, remote);
    return false;
}

// Pages of ended threads are taken up as a whole; blocks that others do not
// cache would go back one by one.
static bool may_strand(const struct bl_page *page,
                       const struct bl_local *owner) {
    const uint32_t mark = bl_ripe_at(bl_load_relaxed(&page->whole));
    return page->owner_only == 0 && !bl_load_relaxed(&owner->parked) &&
           bl_load_relaxed(&page->remote) >> BL_REMOTE_COUNT_SHIFT >= mark;
}

// Counts written under bl_lock_pages, and read without.
static void count_up(_Atomic(uint32_t) *count) {
    bl_store_relaxed(count, bl_load_relaxed(count) + 1);
}
static void count_down(_Atomic(uint32_t) *count) {
    bl_store_relaxed(count, bl_load_relaxed(count) - 1);
}

static void strand(struct bl_page *page) {
    struct stranded *list = &all_stranded[page->pool->index];
    bl_lock_acquire(&bl_lock_pages);
    page->report_next = list->first;
    list->first = page;
    count_up(&list->pages);
    count_up(&stranded_pages);
    count_up(&owner_of(page)->stranded);
    bl_lock_release(&bl_lock_pages);
}

// It is off its list. Caller holds bl_lock_pages.
static void count_off(const struct bl_page *page) {
    count_down(&stranded_pages);
    count_down(&owner_of(page)->stranded);
}

// Pages of pools that may be deleted are only in the hands of who has
// bl_lock_locals.
static bool may_drop(struct bl_page *page) {
    return bl_page_state(page) == BL_PAGE_DELETED || claim_whole(page);
}

// Of a page that was taken off a list; false: it is back with its owner.
static bool sort_page(struct bl_page *page, const struct bl_local *self) {
    struct bl_local *owner = owner_of(page);
    if (may_drop(page)) {
        bl_page_drop(page);
        return true;
    }
    if (owner != self && may_strand(page, owner)) {
        strand(page);
        return true;
    }
    bl_page_report_to(owner, page);
    return false;
}

static uint32_t sort_pages(struct bl_page *page, const struct bl_local *self) {
    uint32_t back = 0;
    while (page) {
        struct bl_page *next = page->report_next;
        back += !sort_page(page, self);
        page = next;
    }
    return back;
}

static void look_through(struct bl_local *from, const struct bl_local *self) {
    bl_store_relaxed(&from->ripe, 0);
    const uint32_t back =
        sort_pages(bl_exchange_acquire(&from->reports, NULL), self);
    // Of them it looked at in vain.
    bl_store_relaxed(&from->ripe_worth, back / 4);
}

static bool is_worth_a_look(const struct bl_local *local) {
    const uint32_t ripe = bl_load_relaxed(&local->ripe);
    return ripe >= BL_PAGES_WORTH_A_LOOK &&
           ripe >= bl_load_relaxed(&local->ripe_worth);
}

static void look_through_list(struct stranded *list,
                              const struct bl_local *self) {
    if (bl_load_relaxed(&list->pages) == 0)
        return;
    bl_lock_acquire(&bl_lock_pages);
    struct bl_page *first = list->first;
    list->first = NULL;
    bl_store_relaxed(&list->pages, 0);
    for (const struct bl_page *page = first; page; page = page->report_next)
        count_off(page);
    bl_lock_release(&bl_lock_pages);
    sort_pages(first, self);
}

// Many, and of all a good part.
static bool has_stranded(const struct bl_local *self) {
    const uint32_t own = bl_load_relaxed(&self->stranded);
    return own >= BL_PAGES_WORTH_A_LOOK &&
           own >= bl_load_relaxed(&stranded_pages) / 8;
}

// A quarter may be whole.
static bool stranded_are_worth_a_look(void) {
    const uint32_t stranded = bl_load_relaxed(&stranded_pages);
    return stranded >= BL_PAGES_WORTH_A_LOOK &&
           bl_load_relaxed(&ripe_since) >= stranded / 4;
}

// Some may be whole by now, and `self` takes up its own. With the lock, so that
// no fork finds them on no list.
static void look_through_stranded(struct bl_local *self, bool all) {
    bl_lock_acquire(&bl_lock_locals);
    if (all || has_stranded(self) || stranded_are_worth_a_look()) {
        bl_store_relaxed(&ripe_since, 0);
        for (unsigned i = 0; i < BL_POOLS_RESERVED; i++)
            look_through_list(&all_stranded[i], self);
    }
    bl_lock_release(&bl_lock_locals);
}

struct look {
    const struct bl_local *self;
    bool all;
};

static void look_if_worth(struct bl_local *local, void *context) {
    const struct look *look = context;
    if (local != look->self && (look->all || is_worth_a_look(local)))
        look_through(local, look->self);
}

void bl_sleepers_tend(struct bl_local *self, bool all) {
    struct look look = {self, all};
    bl_store_relaxed(&ripe_reports, false);
    look_through_stranded(self, all);
    bl_locals_each(look_if_worth, &look);
}

void bl_sleepers_recall(struct bl_local *self) {
    if (has_stranded(self) || stranded_are_worth_a_look())
        look_through_stranded(self, false);
}

bool bl_sleepers_have(uint32_t index) {
    return bl_load_relaxed(&all_stranded[index].pages) > 0;
}

static uintptr_t take_remote(struct bl_page *page) {
    const uintptr_t remote = bl_exchange_acq_rel(&page->remote, 0);
    bl_page_report_to(owner_of(page), page);
    return remote;
}

// All under the lock, so that no fork finds the page on no list.
static uintptr_t take_from(struct stranded *list) {
    uintptr_t remote = 0;
    bl_lock_acquire(&bl_lock_pages);
    struct bl_page *page = list->first;
    if (page != NULL) {
        list->first = page->report_next;
        count_down(&list->pages);
        count_off(page);
        remote = take_remote(page);
    }
    bl_lock_release(&bl_lock_pages);
    return remote;
}

struct bl_block *bl_sleepers_lend(struct bl_local *self,
                                  const struct bl_pool *pool, uint32_t *count) {
    if (bl_sleepers_have_ripe())
        bl_sleepers_tend(self, false);
    struct stranded *list = &all_stranded[pool->index];
    uintptr_t remote = 0;
    while (remote == 0 && bl_load_relaxed(&list->pages) > 0)
        remote = take_from(list);
    *count = (uint32_t)(remote >> BL_REMOTE_COUNT_SHIFT);
    return (struct bl_block *)(remote & BL_REMOTE_ADDRESS);
}
