// SPDX-License-Identifier: MIT
//
// A reading of all pages, from the slice table. Racy while other threads run:
// the sums are of a moment that never was, each term is of some moment.
//
#include "page/internal.h"

static size_t without(size_t sum, size_t part) {
    return sum > part ? sum - part : 0;
}

// From a page to the next: a span may share its last slice with it.
static unsigned slices_before_next(const struct bl_page *page) {
    if (bl_page_state(page) != BL_PAGE_SPAN)
        return page->slices ? page->slices : 1;
    const char *const end = page->start + page->block_bytes;
    const size_t bytes = (size_t)(end - bl_slice_start(bl_page_slice(page)));
    return bytes < BL_SLICE_BYTES ? 1 : (unsigned)(bytes >> BL_SLICE_SHIFT);
}

static size_t bytes_of(const struct bl_page *page) {
    return bl_page_state(page) == BL_PAGE_SPAN
               ? page->block_bytes
               : (size_t)page->slices << BL_SLICE_SHIFT;
}

static void leave_out_cached(struct bl_local *local, void *context) {
    struct bl_page_totals *out = context;
    for (unsigned i = 0; i < BL_POOLS_RESERVED; i++) {
        const struct bl_cache *cache = &local->caches[i];
        const int32_t count = cache->whole - cache->room;
        if (count <= 0)
            continue;
        out->blocks = without(out->blocks, (size_t)count);
        out->block_bytes =
            without(out->block_bytes, (size_t)count * bl_served_bytes(i));
    }
}

void bl_page_totals(struct bl_page_totals *out) {
    *out = (struct bl_page_totals){0};
    const size_t slices =
        bl_load_acquire(&bl_territory.small_bytes) >> BL_SLICE_SHIFT;
    for (size_t i = 0; i < slices;) {
        const struct bl_page *page = bl_slice_page((uint32_t)i);
        const unsigned state = bl_page_state(page);
        if (state == BL_PAGE_NONE) {
            i++;
            continue;
        }
        out->pages++;
        out->page_bytes += bytes_of(page);
        out->blocks += page->used;
        out->block_bytes += (size_t)page->used * page->block_bytes;
        i += slices_before_next(page);
    }
    bl_locals_each(leave_out_cached, out);
}
