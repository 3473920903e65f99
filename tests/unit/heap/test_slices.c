// SPDX-License-Identifier: MIT
//
// What becomes of slices when pages and spans grow, shrink and go: nothing is
// left in the table that would take an address for a block, and what was used
// is not taken for zero.
//
#include "heap/heap.h"
#include "page/internal.h"

#include "bl_test.h"
#include "fake_os.h"

#include <string.h>

static struct bl_page *slice_of(const void *p) {
    return bl_slice_at(bl_small_offset(p));
}

static size_t first_not_zero(const char *p, size_t bytes) {
    size_t i = 0;
    while (i < bytes && p[i] == 0)
        i++;
    return i;
}

// A span takes in the slices behind it, is filled and goes; then one begins
// where the other was grown over.
TEST(slices_that_a_span_grew_over_are_not_clean) {
    enum { SLICE = (int)BL_SLICE_BYTES };
    fake_os_install();
    void *const keeps_the_unit = bl_malloc(100);
    char *const p = bl_malloc(4 * SLICE);
    expect_ptr_eq(bl_realloc(p, 10 * SLICE), p);
    memset(p, 0xff, 10 * SLICE);
    bl_free(p);
    expect_ptr_eq(bl_malloc(4 * SLICE), p);
    char *const q = bl_calloc(1, 6 * SLICE);
    expect_ptr_eq(q, p + 4 * SLICE);
    expect_size_eq(first_not_zero(q, 6 * SLICE), 6 * SLICE);
    bl_free(keeps_the_unit);
    bl_heap_check();
}

TEST(slices_that_a_span_left_lead_nowhere) {
    enum { SLICE = (int)BL_SLICE_BYTES };
    fake_os_install();
    char *const p = bl_malloc(10 * SLICE);
    for (int i = 0; i < 10; i++)
        expect_ptr_eq(bl_page_of(slice_of(p + i * SLICE)), slice_of(p));
    expect_ptr_eq(bl_realloc(p, 4 * SLICE), p);
    for (int i = 4; i < 10; i++)
        expect_int_eq(slice_of(p + i * SLICE)->back, 0);
    bl_free(p);
    for (int i = 0; i < 10; i++)
        expect_int_eq(slice_of(p + i * SLICE)->back, 0);
}

// Blocks of 24 KiB: a page of them has several slices.
TEST(slices_that_a_page_left_hold_no_block) {
    enum { BLOCKS = 64 };
    void *block[BLOCKS];
    fake_os_install();
    void *const keeps_the_unit = bl_malloc(100);
    for (int i = 0; i < BLOCKS; i++)
        block[i] = bl_malloc(24 * BL_KIB);
    expect_int_ge(slice_of(block[0])->slices, 2);
    for (int i = 0; i < BLOCKS; i++)
        expect_true(bl_block_starts(slice_of(block[i]), block[i]));
    for (int i = 0; i < BLOCKS; i++)
        bl_free(block[i]);
    bl_heap_trim();
    for (int i = 0; i < BLOCKS; i++) {
        expect_false(bl_block_starts(slice_of(block[i]), block[i]));
        expect_int_eq(slice_of(block[i])->back, 0);
    }
    bl_free(keeps_the_unit);
    bl_heap_check();
}

// A thread keeps a free slice for its next page; it is no reason to open a
// unit that it lies there.
TEST(slices_that_a_thread_keeps_are_used_before_a_unit_is_opened) {
    bool zeroed = false;
    fake_os_install();
    void *const keeps_the_unit = bl_malloc(100);
    const uint64_t units = bl_load_relaxed(&bl_stats.units_now);
    const uint32_t kept = bl_page_take_slices(1, 1, &zeroed);
    bl_self->voids[bl_self->void_count++] = kept;
    bool used = false;
    for (;;) {
        const uint32_t slice = bl_page_take_slices(1, 1, &zeroed);
        if (bl_load_relaxed(&bl_stats.units_now) > units)
            break;
        used = used || slice == kept;
    }
    expect_true(used);
    expect_int_eq(bl_self->void_count, 0);
    bl_free(keeps_the_unit);
}
