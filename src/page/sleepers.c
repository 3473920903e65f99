// SPDX-License-Identifier: MIT
//
// Sleepers: threads that made blocks, which others free, and then do not come
// to collect them. (A first thread makes all the work, waits for those that do
// it, and each of these replaces block after block by one of its own.)
//
// A page is *ripe* when an eighth of its blocks are on `remote`, and *whole*
// when all are. A thread that needs a page looks through the reports of those
// threads that have many such pages: whole pages become slices again, ripe ones
// are *stranded*, put on a list of their class. From there any thread lends
// the blocks on `remote`. In its cache they are what they were, in use for
// their page, so nothing changes for the owner; and what is freed of them goes
// back to the page in time, and makes it ripe anew.
//
// Who takes a list of reports, or a page off a list of stranded ones, alone may
// retire that page, and else puts it back on its owner's list: a page stays
// reported until its owner, or for an ended thread any other, takes it up.
//
#include "page/internal.h"

#define WORTH_TAKING ((uint32_t)BL_UNIT_SLICES)

static struct stranded {
    struct bl_page *first;   // lock:bl_lock_pages, by `revived_next`
    _Atomic(uint32_t) pages; // written under the lock
} all_stranded[BL_POOLS_RESERVED];

static _Atomic(bool) ripe_reports; // another may have many ripe pages

void bl_sleepers_note(struct bl_local *owner) {
    if (bl_add_relaxed(&owner->ripe, 1) % WORTH_TAKING == WORTH_TAKING - 1)
        bl_store_relaxed(&ripe_reports, true);
}

bool bl_sleepers_have_ripe(void) { return bl_load_relaxed(&ripe_reports); }

// Takes all the blocks of a page, so that nobody can hand one out meanwhile:
// its owner collects them where it is the current page, which is not full, and
// gets them back. Pairs with the swap of remote_push(): who has the blocks has
// seen what was done to the page before they were freed; and with
// bl_full_push(). The owner of a full page has no hold on it but by blocks of
// its own, on no list of its; and where all blocks are remote it has none.
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
    return mark > 0 && page->owner_only == 0 &&
           !bl_load_relaxed(&owner->parked) &&
           bl_load_relaxed(&page->remote) >> BL_REMOTE_COUNT_SHIFT >= mark;
}

static void strand(struct bl_page *page) {
    struct stranded *list = &all_stranded[page->pool->index];
    bl_lock_acquire(&bl_lock_pages);
    page->revived_next = list->first;
    list->first = page;
    bl_add_relaxed(&list->pages, 1);
    bl_lock_release(&bl_lock_pages);
}

// Of a page that was taken off a list; false: it is back with its owner.
static bool put(struct bl_page *page) {
    struct bl_local *owner = (struct bl_local *)bl_load_relaxed(&page->owner);
    if (claim_whole(page)) {
        bl_page_drop(page);
        return true;
    }
    if (may_strand(page, owner)) {
        strand(page);
        return true;
    }
    bl_page_report_to(owner, page);
    return false;
}

static uint32_t put_all(struct bl_page *page) {
    uint32_t back = 0;
    while (page) {
        struct bl_page *next = page->revived_next;
        back += !put(page);
        page = next;
    }
    return back;
}

static void look_through(struct bl_local *from) {
    bl_store_relaxed(&from->ripe, 0);
    const uint32_t back = put_all(bl_exchange_acquire(&from->revived, NULL));
    from->ripe_worth = back / 4; // of them it looked at in vain
}

static bool is_worth_a_look(const struct bl_local *local) {
    const uint32_t ripe = bl_load_relaxed(&local->ripe);
    return ripe >= WORTH_TAKING && ripe >= local->ripe_worth;
}

// Some may be whole by now.
static void look_through_stranded(struct stranded *list) {
    if (bl_load_relaxed(&list->pages) == 0)
        return;
    bl_lock_acquire(&bl_lock_pages);
    struct bl_page *page = list->first;
    list->first = NULL;
    bl_store_relaxed(&list->pages, 0);
    bl_lock_release(&bl_lock_pages);
    put_all(page);
}

struct look {
    const struct bl_local *self;
    bool all;
};

static void look_if_worth(struct bl_local *local, void *context) {
    const struct look *look = context;
    if (local != look->self && (look->all || is_worth_a_look(local)))
        look_through(local);
}

void bl_sleepers_tend(struct bl_local *self, bool all) {
    struct look look = {self, all};
    bl_store_relaxed(&ripe_reports, false);
    for (unsigned i = 0; i < BL_POOLS_RESERVED; i++)
        look_through_stranded(&all_stranded[i]);
    bl_locals_each(look_if_worth, &look);
}

bool bl_sleepers_have(uint32_t index) {
    return bl_load_relaxed(&all_stranded[index].pages) > 0;
}

static struct bl_page *next_stranded(struct stranded *list) {
    bl_lock_acquire(&bl_lock_pages);
    struct bl_page *page = list->first;
    if (page != NULL) {
        list->first = page->revived_next;
        bl_sub_relaxed(&list->pages, 1);
    }
    bl_lock_release(&bl_lock_pages);
    return page;
}

static struct bl_block *take_remote(struct bl_page *page, uint32_t *count) {
    const uintptr_t remote = bl_exchange_acq_rel(&page->remote, 0);
    bl_page_report_to((struct bl_local *)bl_load_relaxed(&page->owner), page);
    *count = (uint32_t)(remote >> BL_REMOTE_COUNT_SHIFT);
    return (struct bl_block *)(remote & BL_REMOTE_ADDRESS);
}

struct bl_block *bl_sleepers_lend(struct bl_local *self,
                                  const struct bl_pool *pool, uint32_t *count) {
    if (bl_sleepers_have_ripe())
        bl_sleepers_tend(self, false);
    struct stranded *list = &all_stranded[pool->index];
    struct bl_block *blocks = NULL;
    while (blocks == NULL && bl_load_relaxed(&list->pages) > 0) {
        struct bl_page *page = next_stranded(list);
        if (page == NULL)
            break;
        blocks = take_remote(page, count);
    }
    return blocks;
}
