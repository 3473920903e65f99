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

#include <pthread.h>
#include <string.h>
#include <time.h>

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

// ---------------------------------------------------------------------------
// Rows over several units.

enum { LONG = 10 * (int)BL_MIB - 5 * (int)BL_SLICE_BYTES, SPANS = 1000 };

static void *span[SPANS];

// Nanoseconds that a span takes to be made and to go, beside `spans` others;
// the least of several readings.
static uint64_t ns_beside(int spans) {
    uint64_t least = UINT64_MAX;
    size_t dirty = 0;
    for (int i = 0; i < spans; i++)
        if (span[i] == NULL)
            span[i] = bl_span_alloc(LONG, 1, &dirty);
    for (int reading = 0; reading < 20; reading++) {
        struct timespec t[2];
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t[0]);
        for (int i = 0; i < 50; i++)
            bl_span_free(bl_page_at(
                bl_small_offset(bl_span_alloc(3 * BL_MIB, 1, &dirty))));
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t[1]);
        const uint64_t ns = (uint64_t)(t[1].tv_sec - t[0].tv_sec) * 1000000000 +
                            (uint64_t)t[1].tv_nsec - (uint64_t)t[0].tv_nsec;
        least = ns / 50 < least ? ns / 50 : least;
    }
    return least;
}

// Full units are passed over many at a time.
TEST(a_long_row_is_found_soon_in_a_large_heap) {
    fake_os_install();
    bl_reservoir_configure(BL_BACKING_THP, BL_PURGE_DELAY_MS);
    const uint64_t few = ns_beside(20);
    expect_size_le(ns_beside(SPANS), 8 * few);
    bl_reservoir_check();
}

// Rows begin and end anywhere, and lie over no other.
TEST(long_rows_fill_what_others_left) {
    struct bl_random r = {bl_test_seed()};
    size_t dirty = 0;
    static size_t bytes[SPANS];
    fake_os_install();
    bl_reservoir_configure(BL_BACKING_THP, 0);
    for (int round = 0; round < 6000; round++) {
        const size_t i = bl_random_below(&r, 200);
        if (span[i] != NULL) {
            const unsigned char *const p = span[i];
            expect_int_eq(p[0], (int)i);
            expect_int_eq(p[bytes[i] - 1], (int)i);
            bl_span_free(bl_page_at(bl_small_offset(p)));
            span[i] = NULL;
            continue;
        }
        bytes[i] = 1 + bl_random_below(&r, (size_t)BL_MIB << (i % 4));
        unsigned char *const p = bl_span_alloc(bytes[i], 1, &dirty);
        assert_ptr_ne(p, NULL);
        expect_true(dirty > 0 || p[0] == 0);
        expect_true(dirty == bytes[i] || p[bytes[i] - 1] == 0);
        p[0] = p[bytes[i] - 1] = (unsigned char)i;
        span[i] = p;
    }
    bl_reservoir_check();
}

// Of 22 slices there are two to a unit where none reaches over to the next.
TEST(rows_of_a_third_of_a_unit_lie_side_by_side_in_a_large_heap) {
    enum { SLICES = 22, ROWS = 640 };
    size_t dirty = 0;
    fake_os_install();
    bl_reservoir_configure(BL_BACKING_THP, 0);
    for (int i = 0; i < ROWS; i++)
        span[i] = bl_span_alloc(SLICES * BL_SLICE_BYTES, 1, &dirty);
    const size_t needed = ROWS * SLICES / BL_UNIT_SLICES;
    const uint64_t units = bl_load_relaxed(&bl_stats.units_now);
    expect_size_le(units, needed + BL_SMALL_HEAP_UNITS / 2);
    for (int i = 0; i < ROWS; i++) {
        char *const p = span[i];
        expect_ptr_eq(bl_page_of(slice_of(p + 21 * BL_SLICE_BYTES)),
                      slice_of(p));
        bl_span_free(slice_of(p));
    }
    bl_reservoir_check();
}

// ---------------------------------------------------------------------------
// Spans that share slices: of 66,000 bytes there are not three slices, but two
// and a granule.

enum { ODD = 66000 };

static char *make_odd(void) {
    size_t dirty = 0;
    char *const p = bl_span_alloc(ODD, 1, &dirty);
    expect_size_le(dirty, ODD);
    expect_size_eq(first_not_zero(p + dirty, ODD - dirty), ODD - dirty);
    memset(p, 0x5a, ODD);
    return p;
}

// A heap that is not small any more.
static void open_many_units(void) {
    fake_os_install();
    bl_reservoir_configure(BL_BACKING_THP, 0);
    for (unsigned i = 0; i < BL_SMALL_HEAP_UNITS; i++)
        assert_ptr_ne(bl_span_alloc(BL_HUGE_SIZE, 1, &(size_t){0}), NULL);
}

TEST(spans_lie_side_by_side_in_a_large_heap) {
    open_many_units();
    const uint64_t before = bl_load_relaxed(&bl_stats.units_now);
    for (int i = 0; i < SPANS; i++)
        span[i] = make_odd();
    const uint64_t units = bl_load_relaxed(&bl_stats.units_now) - before;
    const size_t least = (size_t)SPANS * (ODD + 4096) >> BL_HUGE_SHIFT;
    expect_size_le(units, least + 2);
    bl_heap_check();
    for (int i = 0; i < SPANS; i += 2)
        bl_free(span[i]);
    bl_heap_check();
    for (int i = 1; i < SPANS; i += 2) {
        expect_int_eq(((char *)span[i])[0], 0x5a);
        expect_int_eq(((char *)span[i])[ODD - 1], 0x5a);
        bl_free(span[i]);
    }
    bl_heap_check();
    expect_size_le(bl_load_relaxed(&bl_stats.units_now), before);
}

TEST(a_span_in_whose_last_slice_another_starts_does_not_grow) {
    open_many_units();
    char *const p = make_odd(), *const q = make_odd();
    expect_ptr_eq(q, p + bl_usable_size(p));
    expect_true(!bl_span_resize(slice_of(p), ODD + 8192));
    bl_free(q);
    expect_true(bl_span_resize(slice_of(p), ODD + 8192));
    expect_size_ge(bl_usable_size(p), ODD + 8192);
    char *const r = make_odd(); // not in what has grown
    expect_true(r < p || r >= p + bl_usable_size(p));
    expect_true(bl_span_resize(slice_of(r), BL_MIB));
    expect_true(bl_span_resize(slice_of(r), 2 * BL_SLICE_BYTES + 1));
    bl_heap_check();
    bl_free(r);
    bl_free(p);
    bl_heap_check();
}

static void replace_and_resize(void **mine, int count, uint64_t seed) {
    struct bl_random r = {seed};
    for (int round = 0; round < 4000; round++) {
        const int i = (int)bl_random_below(&r, (uint64_t)count);
        const size_t bytes = 65537 + bl_random_below(&r, 400000);
        unsigned char *p = mine[i];
        expect_true(p == NULL || p[0] == p[bl_usable_size(p) - 1]);
        if (p != NULL && round % 3 == 0) {
            bl_free(p);
            mine[i] = NULL;
            continue;
        }
        p = bl_realloc(p, bytes);
        p[0] = p[bl_usable_size(p) - 1] = (unsigned char)round;
        mine[i] = p;
    }
    for (int i = 0; i < count; i++)
        bl_free(mine[i]);
}

static void *replace_on_a_thread(void *mine) {
    replace_and_resize(mine, SPANS / 8, bl_test_seed() + (uintptr_t)mine);
    return NULL;
}

TEST(threads_share_slices) {
    pthread_t thread[3];
    open_many_units();
    memset(span, 0, sizeof span);
    for (int i = 0; i < 3; i++)
        assert_int_eq(pthread_create(&thread[i], NULL, replace_on_a_thread,
                                     &span[i * SPANS / 8]),
                      0);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
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
