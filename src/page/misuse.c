// SPDX-License-Identifier: MIT
//
// What is wrong with a pointer, in one line, and the end of the program:
// going on would hand one block to two owners.
//
#include "page/internal.h"

// The slices inside a long span are not marked, nor the last of one where
// another ended that started there.
static bool inside_span(const struct bl_page *page, const void *p) {
    const uint32_t slice = bl_page_slice(page);
    const uint32_t most = (uint32_t)(BL_SPAN_MAX >> BL_SLICE_SHIFT);
    for (uint32_t back = 1; back < most && back <= slice; back++) {
        const struct bl_page *head = bl_slice_page(slice - back);
        if (bl_page_state(head) == BL_PAGE_SPAN)
            return (const char *)p < head->start + head->block_bytes;
    }
    return false;
}

static const char *what_is_wrong(const struct bl_page *page, const void *p) {
    if (page == NULL)
        return "no block of this heap";
    if (page->pool == NULL && inside_span(page, p))
        return "not the start of a block";
    if (bl_page_state(page) == BL_PAGE_SPAN)
        return p == page->start ? BL_ANOTHER_POOLS_BLOCK
                                : "not the start of a block";
    if (page->pool == NULL)
        return "not in use (double free?)";
    if (!bl_block_starts(page, p))
        return "not the start of a block";
    if (((const struct bl_block *)p)->seal == bl_seal_of(page, p))
        return "double free";
    return BL_ANOTHER_POOLS_BLOCK;
}

static BL_NORETURN void end(struct bl_text *t) {
    bl_message_end(t);
    bl_os_abort();
}

void bl_overwritten(const struct bl_block *block) {
    char buffer[160];
    struct bl_text t;
    bl_message_begin(&t, buffer, sizeof buffer);
    bl_text_str(&t, "a free block was overwritten: its link is ");
    bl_text_hex(&t, (uintptr_t)block);
    end(&t);
}

void bl_misuse_as(const char *call, const void *p, const char *what) {
    char buffer[160];
    struct bl_text t;
    bl_message_begin(&t, buffer, sizeof buffer);
    bl_text_str(&t, call);
    bl_text_char(&t, '(');
    bl_text_hex(&t, (uintptr_t)p);
    bl_text_str(&t, "): ");
    bl_text_str(&t, what);
    end(&t);
}

void bl_misuse(const char *call, const struct bl_page *page, const void *p) {
    bl_misuse_as(call, p, what_is_wrong(page, p));
}
