// SPDX-License-Identifier: MIT
//
// The two chains of an entry: pages with free blocks, of which the first is
// the current one, and full pages, which a pool's deletion must find; those of
// a class are on none. Plain doubly linked lists ended by NULL;
// only an empty chain's `first` shows `bl_no_page`, whose free list is empty,
// so that who allocates need not ask whether there is a page at all.
//
#include "page/internal.h"

struct bl_page bl_no_page;

void bl_entry_init(struct bl_entry *entry) {
    *entry = (struct bl_entry){.first = &bl_no_page};
}

void bl_chain_push_first(struct bl_entry *entry, struct bl_page *page) {
    bl_store_relaxed(&page->state, BL_PAGE_AVAILABLE);
    page->prev = NULL;
    page->next = entry->first == &bl_no_page ? NULL : entry->first;
    if (page->next)
        page->next->prev = page;
    else
        entry->last = page;
    entry->first = page;
}

void bl_chain_push_last(struct bl_entry *entry, struct bl_page *page) {
    bl_store_relaxed(&page->state, BL_PAGE_AVAILABLE);
    page->next = NULL;
    page->prev = entry->last;
    if (page->prev)
        page->prev->next = page;
    else
        entry->first = page;
    entry->last = page;
}

void bl_chain_remove(struct bl_entry *entry, struct bl_page *page) {
    BL_ASSERT(bl_page_state(page) == BL_PAGE_AVAILABLE);
    if (page->prev)
        page->prev->next = page->next;
    else
        entry->first = page->next ? page->next : &bl_no_page;
    if (page->next)
        page->next->prev = page->prev;
    else
        entry->last = page->prev;
}

// Release: pairs with claim_whole(). Whoever takes the page back there has seen
// all that its owner did to it; so the owner reads no more of it afterwards.
void bl_full_push(struct bl_entry *entry, struct bl_page *page) {
    const bool on_no_list = bl_page_is_of_class(page);
    bl_store_release(&page->state, BL_PAGE_FULL);
    if (on_no_list)
        return;
    page->prev = NULL;
    page->next = entry->full;
    if (page->next)
        page->next->prev = page;
    entry->full = page;
}

void bl_full_remove(struct bl_entry *entry, struct bl_page *page) {
    BL_ASSERT(bl_page_state(page) == BL_PAGE_FULL);
    if (bl_page_is_of_class(page))
        return;
    if (page->prev)
        page->prev->next = page->next;
    else
        entry->full = page->next;
    if (page->next)
        page->next->prev = page->prev;
}
