// SPDX-License-Identifier: MIT
//
// Spans: objects too large for a page of many blocks and too small for a run
// of their own. A span is a page of one block and no owner; every operation
// takes the lock, and free slices around it let it grow in place.
//
// In a large heap a short span *shares* slices: it may start in the one in
// which the span before it ends, at the next granule of 4 KiB, lest an object
// of 66 KB takes 96. It is longer than two slices, so no slice has two starts,
// and a slice's header is that of the span which starts there. What has grown
// shares its end no longer: it is likely to go on.
//
// Invariant, of the last slice of a span: it is taken while the span or one
// that starts there lives; `tail` is 0 where nothing may start there.
//
#include "page/internal.h"

#define GRANULE BL_BASE_SIZE
#define SLICE_GRANULES (BL_SLICE_BYTES / GRANULE)

static unsigned slices_for(size_t bytes) {
    return (unsigned)((bytes + BL_SLICE_BYTES - 1) >> BL_SLICE_SHIFT);
}

static size_t granules_for(size_t bytes) {
    return (bytes + GRANULE - 1) / GRANULE;
}

// Only a short span marks its inner slices: a long one is found by its start
// alone, and the marks would cost more than they tell.
static bool is_short(unsigned slices) { return slices <= BL_PAGE_SLICES_MAX; }

// Bytes of its first slice that are the span's before it.
static size_t offset_of(const struct bl_page *page) {
    return (size_t)(page->start - bl_slice_start(bl_page_slice(page)));
}

static struct bl_page *last_slice(struct bl_page *page) {
    return page + page->slices - 1;
}

// All of its last slice is the span's.
static void set_slices(struct bl_page *page, unsigned slices) {
    page->slices = (uint16_t)slices;
    page->block_bytes =
        (uint32_t)((slices << BL_SLICE_SHIFT) - offset_of(page));
    if (is_short(slices))
        bl_page_link_slices(page, slices);
}

static bool may_share(unsigned slices, size_t align) {
    return slices > 2 && slices < BL_PAGE_SLICES_MAX && align <= GRANULE &&
           !bl_heap_is_small();
}

// Where a span of `bytes` may start that was to start at slice *first: there,
// or behind the one that ends in the slice before. Caller holds bl_lock_pages.
static size_t share_start(uint32_t *first, unsigned *slices, size_t bytes) {
    if (*first == 0)
        return 0;
    struct bl_page *const before = bl_slice_page(*first - 1);
    if (before->tail == 0 || before->headed)
        return 0;
    const size_t offset = before->tail * GRANULE;
    const unsigned needed = slices_for(offset + bytes);
    if (needed == *slices)
        bl_slices_give(*first + *slices - 1, 1);
    before->headed = 1;
    --*first;
    *slices = needed;
    return offset;
}

// The rest of the span's last slice is for another to start in. Likewise.
static void share_end(struct bl_page *page, size_t bytes) {
    const size_t end = granules_for(offset_of(page) + bytes);
    page->block_bytes = (uint32_t)(granules_for(bytes) * GRANULE);
    last_slice(page)->tail = end % SLICE_GRANULES;
}

static struct bl_page *place(uint32_t first, size_t offset, unsigned slices) {
    struct bl_page *const page = bl_slice_page(first);
    page->free = NULL;
    page->back = 0;
    page->used = 1;
    page->carved = 1;
    page->capacity = 1;
    bl_store_relaxed(&page->bound, 0);
    page->pool = NULL;
    page->start = bl_slice_start(first) + offset;
    set_slices(page, slices);
    bl_store_relaxed(&page->owner, BL_NOBODY);
    return page;
}

static struct bl_page *share(uint32_t first, unsigned slices, size_t bytes,
                             size_t *dirty) {
    bl_lock_acquire(&bl_lock_pages);
    const size_t offset = share_start(&first, &slices, bytes);
    struct bl_page *const page = place(first, offset, slices);
    share_end(page, bytes);
    bl_lock_release(&bl_lock_pages);
    if (*dirty == 0 && offset > 0)
        *dirty = BL_SLICE_BYTES - offset;
    return page;
}

void *bl_span_alloc(size_t bytes, size_t align, size_t *dirty) {
    BL_REQUIRE(bytes > 0 && bytes <= BL_SPAN_MAX);
    BL_REQUIRE(align <= BL_SLICE_BYTES || bytes <= BL_HUGE_SIZE / 2);
    if (bl_local_attach() == NULL)
        return NULL;
    bl_local_turn(bl_self);
    const unsigned slices = slices_for(bytes);
    bool zeroed = false;
    const uint32_t first =
        bl_page_take_slices(slices, slices_for(align), &zeroed);
    if (first == BL_NO_SLICE)
        return NULL;
    *dirty = zeroed ? 0 : bytes;
    struct bl_page *page = may_share(slices, align)
                               ? share(first, slices, bytes, dirty)
                               : place(first, 0, slices);
    bl_store_relaxed(&page->state, BL_PAGE_SPAN);
    return page->start;
}

static void unlink_slices(struct bl_page *page, unsigned from, unsigned end) {
    for (unsigned i = from; is_short(page->slices) && i < end; i++)
        page[i].back = 0;
}

// Slices `from` and behind it of the span, but for those that others have a
// part of. Caller holds bl_lock_pages.
static void give_from(struct bl_page *page, unsigned from) {
    struct bl_page *const last = last_slice(page);
    const unsigned end = page->slices - last->headed;
    last->tail = 0;
    if (from == 0) {
        from = page->tail != 0;
        page->headed = 0;
    }
    unlink_slices(page, from, end);
    bl_slices_give(bl_page_slice(page) + from, end - from);
}

void bl_span_free(struct bl_page *page) {
    bl_store_relaxed(&page->state, BL_PAGE_NONE);
    bl_lock_acquire(&bl_lock_pages);
    give_from(page, 0);
    bl_lock_release(&bl_lock_pages);
}

static bool grow(struct bl_page *page, unsigned slices) {
    struct bl_page *const last = last_slice(page);
    const unsigned old = page->slices;
    if (last->headed || is_short(old) != is_short(slices))
        return false;
    if (slices > old &&
        !bl_slices_extend(bl_page_slice(page), old, slices - old))
        return false;
    last->tail = 0;
    return true;
}

bool bl_span_resize(struct bl_page *page, size_t bytes) {
    if (bytes > BL_SPAN_MAX)
        return false;
    const unsigned slices = slices_for(offset_of(page) + bytes);
    const bool shorter = bytes <= page->block_bytes;
    BL_ASSERT(slices > 1 || !page->headed);
    if (shorter && slices == page->slices)
        return true;
    bool ok = true;
    bl_lock_acquire(&bl_lock_pages);
    if (shorter)
        give_from(page, slices);
    else
        ok = grow(page, slices);
    bl_lock_release(&bl_lock_pages);
    if (ok)
        set_slices(page, slices);
    return ok;
}

static void check_span(struct bl_page *page) {
    const size_t offset = offset_of(page);
    const size_t end = offset + page->block_bytes;
    BL_CHECK_EQ(page->headed, offset != 0);
    BL_CHECK(page->tail == 0 || page->tail * GRANULE == offset);
    BL_CHECK_EQ(slices_for(end), page->slices);
    const struct bl_page *const last = last_slice(page);
    BL_CHECK(last->tail == 0 || last->tail == end / GRANULE % SLICE_GRANULES);
}

void bl_spans_check(void) {
    bl_lock_acquire(&bl_lock_pages);
    const size_t slices =
        bl_load_acquire(&bl_territory.small_bytes) >> BL_SLICE_SHIFT;
    for (size_t i = 0; i < slices; i++) {
        struct bl_page *page = bl_slice_page((uint32_t)i);
        if (bl_page_state(page) == BL_PAGE_SPAN)
            check_span(page);
        else
            BL_CHECK(!page->headed);
    }
    bl_lock_release(&bl_lock_pages);
}
