// SPDX-License-Identifier: MIT
//
// Spans: objects too large for a page of many blocks and too small for a run
// of their own. A span is a page of one block and no owner; every operation
// takes the lock, and free slices around it let it grow in place.
//
#include "page/internal.h"

static unsigned slices_for(size_t bytes) {
    return (unsigned)((bytes + BL_SLICE_BYTES - 1) >> BL_SLICE_SHIFT);
}

// Only a short span marks its inner slices: a long one is found by its start
// alone, and the marks would cost more than they tell.
static bool is_short(unsigned slices) { return slices <= BL_PAGE_SLICES_MAX; }

static void set_slices(struct bl_page *page, unsigned slices) {
    page->slices = (uint16_t)slices;
    page->block_bytes = (uint32_t)(slices << BL_SLICE_SHIFT);
    if (is_short(slices))
        bl_page_link_slices(page, slices);
}

void *bl_span_alloc(size_t bytes, size_t align, bool *zeroed) {
    BL_REQUIRE(bytes > 0 && bytes <= BL_SPAN_MAX);
    BL_REQUIRE(align <= BL_SLICE_BYTES || bytes <= BL_HUGE_SIZE / 2);
    if (bl_local_attach() == NULL)
        return NULL;
    bl_local_turn(bl_self);
    const unsigned slices = slices_for(bytes);
    const uint32_t slice =
        bl_page_take_slices(slices, slices_for(align), zeroed);
    if (slice == BL_NO_SLICE)
        return NULL;
    struct bl_page *page = bl_slice_page(slice);
    page->free = NULL;
    page->back = 0;
    page->used = 1;
    page->carved = 1;
    page->capacity = 1;
    bl_store_relaxed(&page->bound, 0);
    page->pool = NULL;
    page->start = bl_slice_start(slice);
    set_slices(page, slices);
    bl_store_relaxed(&page->owner, BL_NOBODY);
    bl_store_relaxed(&page->state, BL_PAGE_SPAN);
    return page->start;
}

static void unlink_slices(struct bl_page *page, unsigned from) {
    if (!is_short(page->slices))
        return;
    for (unsigned i = from; i < page->slices; i++)
        page[i].back = 0;
}

void bl_span_free(struct bl_page *page) {
    const unsigned slices = page->slices;
    bl_store_relaxed(&page->state, BL_PAGE_NONE);
    unlink_slices(page, 1);
    bl_lock_acquire(&bl_lock_pages);
    bl_slices_give(bl_page_slice(page), slices);
    bl_lock_release(&bl_lock_pages);
}

bool bl_span_resize(struct bl_page *page, size_t bytes) {
    if (bytes > BL_SPAN_MAX)
        return false;
    const unsigned old = page->slices;
    const unsigned new = slices_for(bytes);
    const uint32_t first = bl_page_slice(page);
    bool ok = true;
    bl_lock_acquire(&bl_lock_pages);
    if (new > old && is_short(old) != is_short(new))
        ok = false;
    else if (new > old)
        ok = bl_slices_extend(first, old, new - old);
    else if (new < old) {
        unlink_slices(page, new); // of a short one; a long one has no marks
        bl_slices_give(first + new, old - new);
    }
    bl_lock_release(&bl_lock_pages);
    if (ok)
        set_slices(page, new);
    return ok;
}
