// SPDX-License-Identifier: MIT
//
// Global pages: those with free blocks that threads left when they ended. They
// hang on their pool's global entry until a thread adopts them.
//
// Others go on freeing their blocks, and of that nobody is told: such pages are
// not armed. But the page's mark `whole` is then what was in use when it became
// global; who pushes the last of these counts it, and where there are many the
// next thread that asks for room takes them back, for any class.
//
#include "page/internal.h"

static struct bl_pool *with_global[BL_POOLS_RESERVED]; // lock:bl_lock_pages
static _Atomic(uint32_t) whole_pages; // about so many are whole
static _Atomic(uint32_t) worth;       // so many are worth a look

static void push(struct bl_page *page) {
    struct bl_pool *pool = page->pool;
    bl_store_relaxed(&page->owner, BL_NOBODY);
    bl_lock_acquire(&bl_lock_pages);
    bl_chain_push_last(&pool->global, page);
    bl_add_relaxed(&pool->global_pages, 1);
    if (bl_page_is_of_class(page))
        with_global[pool->index] = pool;
    bl_lock_release(&bl_lock_pages);
}

// The mark is set while the page is armed and none of its blocks is remote.
bool bl_global_make(struct bl_page *page) {
    const uint32_t mark = bl_load_relaxed(&page->whole);
    if (mark != 0)
        bl_store_relaxed(&page->whole, page->used);
    if (!bl_page_disarm(page)) {
        bl_store_relaxed(&page->whole, mark);
        return false;
    }
    if (page->used == 0)
        bl_page_retire(page);
    else
        push(page);
    return true;
}

struct bl_page *bl_global_adopt(struct bl_pool *pool, uintptr_t owner) {
    // Unlocked: who misses a page just given up takes a fresh one.
    if (pool->is_private || bl_load_relaxed(&pool->global_pages) == 0)
        return NULL;
    bl_lock_acquire(&bl_lock_pages);
    struct bl_page *page = pool->global.first;
    if (page != &bl_no_page) {
        bl_chain_remove(&pool->global, page);
        bl_sub_relaxed(&pool->global_pages, 1);
    }
    bl_lock_release(&bl_lock_pages);
    if (page == &bl_no_page)
        return NULL;
    if (bl_page_is_of_class(page))
        bl_store_relaxed(&page->whole, page->capacity);
    bl_store_relaxed(&page->owner, owner);
    bl_page_arm(page);
    BL_COUNT(pages_adopted);
    return page;
}

void bl_global_note_whole(void) { bl_add_relaxed(&whole_pages, 1); }

bool bl_globals_are_whole(void) {
    const uint32_t whole = bl_load_relaxed(&whole_pages);
    return whole >= BL_PAGES_WORTH_A_LOOK && whole >= bl_load_relaxed(&worth);
}

// Takes back those of a pool that are whole; how many are not. Acquire: what
// was done to their blocks before they were freed.
static uint32_t take_whole(struct bl_pool *pool) {
    uint32_t left = 0;
    struct bl_page *page = pool->global.first;
    for (struct bl_page *next = NULL; page && page != &bl_no_page;
         page = next) {
        next = page->next;
        if (bl_load_acquire(&page->remote) >> BL_REMOTE_COUNT_SHIFT !=
            page->used) {
            left++;
            continue;
        }
        bl_chain_remove(&pool->global, page);
        bl_sub_relaxed(&pool->global_pages, 1);
        bl_page_drop_locked(page);
    }
    return left;
}

void bl_globals_take_back(void) {
    uint32_t left = 0;
    bl_store_relaxed(&whole_pages, 0);
    bl_lock_acquire(&bl_lock_pages);
    for (unsigned i = 0; i < BL_POOLS_RESERVED; i++)
        if (with_global[i] != NULL)
            left += take_whole(with_global[i]);
    bl_lock_release(&bl_lock_pages);
    bl_store_relaxed(&worth, left / 4); // of them it looked at in vain
}
