// SPDX-License-Identifier: MIT
//
// Where large objects of a small heap lie: how many units they touch is what
// a small process pays for them. And where the first block of each class does.
//
#include "heap/heap.h"

#include "bl_test.h"
#include "fake_os.h"

static bool is_run(const void *p) {
    return (uintptr_t)p - bl_territory.small >=
           bl_load_relaxed(&bl_territory.small_bytes);
}

static void start(void) {
    fake_os_install();
    bl_reservoir_configure(BL_BACKING_THP, 1000);
    expect_true(bl_malloc(100) != NULL); // holds the first unit
}

static void place_one_unit(void *arg) {
    (void)arg;
    start();
    const size_t before = bl_load_relaxed(&bl_stats.units_now);
    void *const p = bl_malloc(BL_HUGE_SIZE);
    expect_true(p != NULL && is_run(p));
    expect_size_eq((uintptr_t)p % BL_HUGE_SIZE, 0);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_now), before + 1);
    bl_free(p);
}

TEST(an_object_of_one_unit_takes_one) {
    bl_test_in_child(place_one_unit, NULL);
}

static void place_less(void *arg) {
    (void)arg;
    start();
    void *const p = bl_malloc(BL_HUGE_SIZE - 16);
    expect_true(p != NULL && !is_run(p));
    bl_free(p);
}

TEST(a_shorter_object_shares_its_units) { bl_test_in_child(place_less, NULL); }

// Bytes that share a set of a first-level cache, in most processors.
#define WAY_BYTES 4096

static void count_places(void *arg) {
    (void)arg;
    enum { CLASSES = 16 };
    uintptr_t places[CLASSES];
    size_t same = 0;
    start();
    for (size_t i = 0; i < CLASSES; i++) {
        void *const p = bl_malloc((i + 1) * 16);
        places[i] = (uintptr_t)p % WAY_BYTES / 64;
        for (size_t k = 0; k < i; k++)
            same += places[k] == places[i];
    }
    expect_size_le(same, CLASSES / 2);
}

TEST(the_first_blocks_of_classes_lie_in_different_sets) {
    bl_test_in_child(count_places, NULL);
}

// Of pages of one class, one after another. Behind the first 4 KiB of a page
// there is no memory yet, which `rep stos` meets that far ahead.
static void check_first_places(void *arg) {
    (void)arg;
    start();
    for (size_t bytes = 16; bytes <= 512; bytes += 16) {
        uintptr_t slice = 0;
        for (size_t made = 0; made < 64 * BL_SLICE_BYTES; made += bytes) {
            const uintptr_t offset = bl_small_offset(bl_malloc(bytes));
            if (offset >> BL_SLICE_SHIFT != slice && made > 0)
                expect_size_lt(offset % BL_SLICE_BYTES, BL_BASE_SIZE - 256);
            slice = offset >> BL_SLICE_SHIFT;
        }
    }
}

TEST(no_first_block_lies_just_before_memory_that_is_not_there) {
    bl_test_in_child(check_first_places, NULL);
}
