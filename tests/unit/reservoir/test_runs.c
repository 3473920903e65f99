// SPDX-License-Identifier: MIT
//
// Runs: contents across growth, shrinking and moving; alignment; reuse; no
// memory left behind; and every one of these with the n-th call refused.
//
#include "reservoir/internal.h"

#include "bl_test.h"
#include "fake_os.h"
#include "start.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

// One byte in each 64 KiB stands for the rest: touching memory costs time.
#define STEP (64 * BL_KIB)

static unsigned char byte_at(size_t offset) {
    return (unsigned char)(offset / STEP * 37 + 1);
}

static void fill(struct bl_run *run, size_t from, size_t to) {
    unsigned char *const p = bl_run_start(run);
    for (size_t i = bl_align_up(from, STEP); i < to; i += STEP)
        p[i] = byte_at(i);
}

static void check(const struct bl_run *run, size_t bytes) {
    const unsigned char *const p = bl_run_start(run);
    expect_true(fake_os_is_mapped(p, bl_align_up(bytes, BL_BASE_SIZE)));
    for (size_t i = 0; i < bytes; i += STEP)
        if (p[i] != byte_at(i)) {
            fail_test("byte %zu of %zu is wrong", i, bytes);
            return;
        }
}

TEST(runs_start_where_they_are_looked_up) {
    start_with(BL_BACKING_THP);
    for (size_t align = 1; align <= BL_GIB; align *= 8) {
        struct bl_run *const run = bl_run_acquire(5 * BL_MIB, align);
        assert_ptr_ne(run, NULL);
        char *const p = bl_run_start(run);
        expect_size_eq((uintptr_t)p % align, 0);
        expect_ptr_eq(bl_run_at(p), run);
        expect_ptr_eq(bl_run_at(p + 16), NULL);
        expect_ptr_eq(bl_run_at(p + BL_HUGE_SIZE), NULL);
        expect_size_ge(run->mapped, 5 * BL_MIB);
        memset(p, 1, 5 * BL_MIB);
        bl_run_release(run);
        expect_ptr_eq(bl_run_at(p), NULL);
    }
    bl_reservoir_check();
}

TEST(of_a_large_run_the_first_part_stays_warm) {
    start_with(BL_BACKING_THP);
    struct bl_run *const run = bl_run_acquire(400 * BL_HUGE_SIZE, 1);
    assert_ptr_ne(run, NULL);
    char *const p = bl_run_start(run);
    bl_run_release(run);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_warm_now), 128);
    expect_true(fake_os_is_mapped(p, 128 * BL_HUGE_SIZE));
    bl_reservoir_check();
    struct bl_run *const again = bl_run_acquire(128 * BL_HUGE_SIZE, 1);
    assert_ptr_ne(again, NULL);
    expect_ptr_eq(bl_run_start(again), p);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_warm_now), 0);
    bl_reservoir_check();
}

TEST(a_run_grows_in_place) {
    start_with(BL_BACKING_THP);
    struct bl_run *const run = bl_run_acquire(3 * BL_MIB, 1);
    assert_ptr_ne(run, NULL);
    size_t bytes = 3 * BL_MIB;
    fill(run, 0, bytes);
    while (bl_run_resize(run, bytes + bytes / 10)) {
        check(run, bytes);
        const size_t more = bytes + bytes / 10;
        fill(run, bytes, more);
        bytes = more;
    }
    expect_size_ge(bytes, 6 * BL_MIB); // there was room for twice the size
    check(run, bytes);
    bl_run_release(run);
    bl_reservoir_check();
}

// The warm unit came after the tail: no run of then had a use for it.
TEST(a_warm_unit_replaces_a_tail) {
    start_with(BL_BACKING_THP);
    assert_ptr_ne(bl_run_acquire(BL_SMALL_HEAP_UNITS << BL_HUGE_SHIFT, 1),
                  NULL);
    struct bl_run *const other = bl_run_acquire(BL_HUGE_SIZE, 1);
    assert_ptr_ne(other, NULL);
    memset(bl_run_start(other), 0xaa, BL_HUGE_SIZE);
    struct bl_run *const run = bl_run_acquire(3 * BL_MIB + BL_MIB / 4, 1);
    assert_ptr_ne(run, NULL);
    expect_size_ne(run->mapped & (BL_HUGE_SIZE - 1), 0);
    fill(run, 0, 3 * BL_MIB + BL_MIB / 4);
    bl_run_release(other);
    const uint64_t units = bl_load_relaxed(&bl_stats.units_now);
    assert_true(bl_run_resize(run, 4 * BL_MIB));
    check(run, 3 * BL_MIB + BL_MIB / 4);
    fill(run, 0, 4 * BL_MIB);
    check(run, 4 * BL_MIB);
    expect_size_eq(bl_load_relaxed(&bl_stats.tails_replaced), 1);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_now), units - 1);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_warm_now), 0);
    bl_run_release(run);
    bl_reservoir_check();
}

// The kernel's limit on mappings has been reached.
TEST(a_tail_that_cannot_be_unmapped_stays) {
    start_with(BL_BACKING_THP);
    assert_ptr_ne(bl_run_acquire(BL_SMALL_HEAP_UNITS << BL_HUGE_SHIFT, 1),
                  NULL);
    struct bl_run *const other = bl_run_acquire(BL_HUGE_SIZE, 1);
    struct bl_run *const run = bl_run_acquire(3 * BL_MIB + BL_MIB / 4, 1);
    assert_ptr_ne(run, NULL);
    expect_size_ne(run->mapped & (BL_HUGE_SIZE - 1), 0);
    fill(run, 0, 3 * BL_MIB + BL_MIB / 4);
    bl_run_release(other);
    fake_os_fail(1, ENOMEM, FAKE_BIT(FAKE_UNMAP), true);
    assert_true(bl_run_resize(run, 4 * BL_MIB));
    fake_os_fail(0, 0, FAKE_MAY_FAIL, false);
    check(run, 3 * BL_MIB + BL_MIB / 4);
    expect_size_eq(bl_load_relaxed(&bl_stats.tails_replaced), 0);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_warm_now), 1);
    bl_run_release(run);
    bl_reservoir_check();
}

// ---------------------------------------------------------------------------
// A limit on what is mapped. A warm unit cannot be moved there, since for a
// moment it has two places.

static struct bl_run *beside_warm_units(size_t warm) {
    start_with(BL_BACKING_THP);
    assert_ptr_ne(bl_run_acquire(BL_SMALL_HEAP_UNITS << BL_HUGE_SHIFT, 1),
                  NULL);
    struct bl_run *const run = bl_run_acquire(10 * BL_HUGE_SIZE, 1);
    struct bl_run *const other = bl_run_acquire(warm << BL_HUGE_SHIFT, 1);
    assert_ptr_ne(run, NULL);
    assert_ptr_ne(other, NULL);
    fill(run, 0, 10 * BL_HUGE_SIZE);
    bl_run_release(other);
    fake_os_set_limit(fake_os_mapped_bytes());
    return run;
}

TEST(what_is_warm_makes_room_for_growth) {
    struct bl_run *const run = beside_warm_units(4);
    assert_true(bl_run_resize(run, 14 * BL_HUGE_SIZE));
    check(run, 10 * BL_HUGE_SIZE);
    fill(run, 0, 14 * BL_HUGE_SIZE);
    expect_false(bl_run_resize(run, 15 * BL_HUGE_SIZE));
    check(run, 14 * BL_HUGE_SIZE);
    bl_reservoir_check();
}

TEST(what_is_warm_makes_room_at_a_new_place) {
    struct bl_run *run = beside_warm_units(50);
    expect_false(bl_run_resize(run, 40 * BL_HUGE_SIZE));
    run = bl_run_move(run, 40 * BL_HUGE_SIZE);
    assert_ptr_ne(run, NULL);
    check(run, 10 * BL_HUGE_SIZE);
    fill(run, 0, 40 * BL_HUGE_SIZE);
    bl_reservoir_check();
}

TEST(what_has_no_room_to_grow_leaves_what_is_warm) {
    struct bl_run *const run = beside_warm_units(4);
    expect_false(bl_run_resize(run, BL_GIB));
    expect_size_eq(bl_load_relaxed(&bl_stats.units_warm_now), 4);
    bl_reservoir_check();
}

// No address there would do.
TEST(what_cannot_be_leaves_what_is_warm) {
    beside_warm_units(4);
    expect_ptr_eq(bl_run_acquire(PTRDIFF_MAX, 1), NULL);
    expect_ptr_eq(bl_run_acquire(100, BL_TIB), NULL);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_warm_now), 4);
    bl_reservoir_check();
}

#define POOL 128

// A unit of the pool, then a tail; beside a run that allows for tails.
static struct bl_run *with_a_tail(void) {
    start_with(BL_BACKING_AUTO);
    fake_os_set_pool(POOL);
    assert_ptr_ne(bl_run_acquire(BL_SMALL_HEAP_UNITS << BL_HUGE_SHIFT, 1),
                  NULL);
    struct bl_run *const run = bl_run_acquire(3 * BL_MIB + BL_MIB / 4, 1);
    assert_ptr_ne(run, NULL);
    expect_size_ne(run->mapped & (BL_HUGE_SIZE - 1), 0);
    fill(run, 0, 3 * BL_MIB + BL_MIB / 4);
    return run;
}

static void check_replaced(struct bl_run *run, size_t from_pool) {
    check(run, 3 * BL_MIB + BL_MIB / 4);
    expect_size_eq(bl_load_relaxed(&bl_stats.tails_replaced), 1);
    expect_size_eq(fake_os_pool_bytes(bl_run_start(run), 4 * BL_MIB),
                   from_pool);
    bl_run_release(run);
    bl_reservoir_purge(true);
    bl_reservoir_check();
    expect_size_eq(fake_os_pool(), POOL - BL_SMALL_HEAP_UNITS);
}

TEST(a_unit_of_the_pool_replaces_a_tail) {
    struct bl_run *const run = with_a_tail();
    assert_true(bl_run_resize(run, 4 * BL_MIB));
    check_replaced(run, 4 * BL_MIB);
}

TEST(a_unit_that_cannot_move_is_copied) {
    struct bl_run *const run = with_a_tail();
    fake_os_fail(1, ENOMEM, FAKE_BIT(FAKE_MOVE), true);
    assert_true(bl_run_resize(run, 4 * BL_MIB));
    check_replaced(run, 2 * BL_MIB);
}

TEST(a_run_moves_without_copying) {
    start_with(BL_BACKING_THP);
    struct bl_run *run = bl_run_acquire(10 * BL_MIB, 1);
    assert_ptr_ne(run, NULL);
    fill(run, 0, 10 * BL_MIB);
    char *const before = bl_run_start(run);
    run = bl_run_move(run, 100 * BL_MIB);
    assert_ptr_ne(run, NULL);
    expect_ptr_ne(bl_run_start(run), before);
    expect_false(fake_os_is_mapped(before, BL_BASE_SIZE));
    check(run, 10 * BL_MIB);
    fill(run, 0, 100 * BL_MIB);
    check(run, 100 * BL_MIB);
    bl_run_release(run);
    bl_reservoir_check();
}

TEST(a_run_shrinks_by_whole_units) {
    start_with(BL_BACKING_THP);
    struct bl_run *const run = bl_run_acquire(64 * BL_MIB, 1);
    assert_ptr_ne(run, NULL);
    fill(run, 0, 64 * BL_MIB);
    for (size_t bytes = 50 * BL_MIB; bytes > BL_MIB; bytes = bytes * 2 / 3) {
        expect_true(bl_run_resize(run, bytes));
        check(run, bytes);
        bl_reservoir_check();
    }
    bl_run_release(run);
    bl_reservoir_purge(true);
    bl_reservoir_check();
}

TEST(warm_units_of_a_run_serve_units_and_runs) {
    bool dirty = false;
    start_with(BL_BACKING_THP);
    // A small heap would keep none.
    assert_ptr_ne(bl_run_acquire(BL_SMALL_HEAP_UNITS << BL_HUGE_SHIFT, 1),
                  NULL);
    struct bl_run *run = bl_run_acquire(20 * BL_MIB, 1);
    assert_ptr_ne(run, NULL);
    memset(bl_run_start(run), 0xaa, 20 * BL_MIB);
    bl_run_release(run);
    const uint64_t fresh = bl_load_relaxed(&bl_stats.units_fresh);
    char *const unit = bl_unit_acquire(&dirty);
    assert_ptr_ne(unit, NULL);
    expect_true(dirty);
    run = bl_run_acquire(10 * BL_MIB, 1);
    assert_ptr_ne(run, NULL);
    expect_size_ge(run->dirty, 10 * BL_MIB);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_fresh), fresh);
    bl_reservoir_check();
}

// What a new run says of itself must be true: behind `dirty` there are zeros.
static bool zero_behind_dirty(const struct bl_run *run, size_t bytes) {
    const unsigned char *const p = bl_run_start(run);
    for (size_t i = run->dirty; i < bytes; i += 509)
        if (p[i] != 0) {
            fail_test("byte %zu of %zu (dirty %zu) is not zero", i, bytes,
                      run->dirty);
            return false;
        }
    return true;
}

static struct bl_run *resized(struct bl_run *run, size_t bytes) {
    return bl_run_resize(run, bytes) ? run : bl_run_move(run, bytes);
}

TEST(what_is_not_dirty_is_zero) {
    struct bl_random r = {bl_test_seed()};
    start_with(BL_BACKING_THP);
    struct bl_run *runs[5] = {NULL};
    for (int round = 0; round < 150; round++) {
        struct bl_run **const run = &runs[bl_random_below(&r, 5)];
        const size_t bytes = BL_MIB + bl_random_below(&r, 10 * BL_MIB);
        if (*run != NULL && bl_random_below(&r, 2) == 0) {
            *run = resized(*run, bytes);
            assert_ptr_ne(*run, NULL);
        } else {
            if (*run != NULL)
                bl_run_release(*run);
            *run = bl_run_acquire(bytes, 1);
            assert_ptr_ne(*run, NULL);
            if (!zero_behind_dirty(*run, bytes))
                return;
        }
        memset(bl_run_start(*run), 0x77, bytes);
    }
    bl_reservoir_check();
}

// ---------------------------------------------------------------------------
// The n-th call refused.

static void work(bool may_fail) {
    struct bl_run *runs[3] = {NULL};
    const size_t sizes[] = {3 * BL_MIB, 21 * BL_MIB, 8 * BL_MIB + 4096};
    for (int i = 0; i < 3; i++) {
        runs[i] = bl_run_acquire(sizes[i], 1);
        if (runs[i] == NULL) {
            expect_true(may_fail);
            continue;
        }
        fill(runs[i], 0, sizes[i]);
    }
    for (int i = 0; i < 3; i++) {
        if (runs[i] == NULL)
            continue;
        size_t bytes = sizes[i];
        for (int step = 0; step < 4; step++) {
            const size_t to = step == 2 ? bytes / 3 : bytes * 2 + 12345;
            struct bl_run *moved = NULL;
            if (bl_run_resize(runs[i], to))
                moved = runs[i];
            else
                moved = bl_run_move(runs[i], to);
            if (moved == NULL) {
                expect_true(may_fail);
                check(runs[i], bytes);
                continue;
            }
            runs[i] = moved;
            check(moved, to < bytes ? to : bytes);
            fill(moved, 0, to);
            bytes = to;
        }
        bl_reservoir_check();
        bl_run_release(runs[i]);
    }
    bl_reservoir_purge(true);
    bl_reservoir_check();
}

struct reading {
    unsigned long calls;
    size_t mapped; // after two rounds of work
};

struct failing {
    enum bl_backing backing;
    unsigned long n; // 0: none; then a reading is taken
    bool from_then_on;
    struct reading *reading;
};

// In a child: the n-th call fails; then all is done again without failures,
// and what is left mapped is no more than without any failure, but for tables
// that a way round the failure needed.
#define TABLES (512 * BL_KIB)

static void work_with_failure(void *arg) {
    const struct failing *const f = arg;
    start_with(f->backing);
    fake_os_set_pool(8);
    fake_os_fail(f->n, ENOMEM, FAKE_MAY_FAIL, f->from_then_on);
    work(f->n != 0);
    const unsigned long calls = fake_os_calls();
    fake_os_fail(0, 0, FAKE_MAY_FAIL, false);
    work(false);
    if (f->n == 0)
        *f->reading = (struct reading){calls, fake_os_mapped_bytes()};
    else
        expect_size_le(fake_os_mapped_bytes(), f->reading->mapped + TABLES);
}

static void fail_each_call(enum bl_backing backing, bool from_then_on) {
    struct failing f = {backing, 0, from_then_on, NULL};
    f.reading = mmap(NULL, sizeof *f.reading, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(f.reading != MAP_FAILED);
    bl_test_in_child(work_with_failure, &f);
    expect_size_ge(f.reading->calls, 10);
    for (f.n = 1; f.n <= f.reading->calls; f.n += f.n < 40 ? 1 : 5)
        bl_test_in_child(work_with_failure, &f);
}

TEST(each_call_fails_once) { fail_each_call(BL_BACKING_THP, false); }
TEST(each_call_fails_for_ever) { fail_each_call(BL_BACKING_THP, true); }
TEST(each_call_fails_once_with_a_pool) {
    fail_each_call(BL_BACKING_AUTO, false);
}
TEST(each_call_fails_for_ever_with_a_pool) {
    fail_each_call(BL_BACKING_AUTO, true);
}

// Somebody else has a long mapping behind the first runs: others lie behind
// it, and none is refused.
TEST(foreign_mappings_are_passed_over) {
    start_with(BL_BACKING_THP);
    struct bl_run *run = bl_run_acquire(20 * BL_MIB, 1);
    char *const first = bl_run_start(run);
    expect_int_eq(bl_os.map(first + 256 * BL_MIB, 4 * BL_GIB, BL_OS_BASE_PAGES),
                  0);
    for (int i = 0; i < 40; i++) {
        run = bl_run_acquire(20 * BL_MIB, 1);
        assert_ptr_ne(run, NULL);
        expect_true(fake_os_is_mapped(bl_run_start(run), 20 * BL_MIB));
    }
    bl_reservoir_check();
}

// A header before a power of two costs no unit.
TEST(what_hardly_reaches_its_last_unit_ends_with_a_tail) {
    start_with(BL_BACKING_THP);
    assert_ptr_ne(bl_run_acquire(60 * BL_MIB, 1), NULL);
    const size_t power = 16 * BL_MIB;
    struct bl_run *const hardly = bl_run_acquire(power + 16, 1);
    expect_size_eq(hardly->mapped, power + BL_BASE_SIZE);
    struct bl_run *const further = bl_run_acquire(power + BL_HUGE_SIZE / 8, 1);
    expect_size_eq(further->mapped, power + BL_HUGE_SIZE);
    bl_run_release(hardly);
    bl_run_release(further);
    bl_reservoir_check();
}

// Nothing of a run stays mapped, its tail of base pages neither.
TEST(tails_go_with_their_runs) {
    start_with(BL_BACKING_THP);
    assert_ptr_ne(bl_run_acquire(60 * BL_MIB, 1), NULL);
    const size_t before = fake_os_mapped_bytes();
    for (int i = 0; i < 8; i++) {
        struct bl_run *const run = bl_run_acquire(9 * BL_MIB / 2, 1);
        assert_ptr_ne(run, NULL);
        expect_size_eq(run->mapped, 9 * BL_MIB / 2);
        bl_run_release(run);
        bl_reservoir_purge(true);
        expect_size_eq(fake_os_mapped_bytes(), before);
    }
    bl_reservoir_check();
}

// A warm run is of use to who asks for its size, unless it lies wrong.
TEST(a_warm_run_is_used_again_where_it_is_aligned) {
    start_with(BL_BACKING_THP);
    assert_ptr_ne(bl_run_acquire(60 * BL_MIB, 1), NULL);
    struct bl_run *run = bl_run_acquire(8 * BL_MIB, 1);
    const uintptr_t start = (uintptr_t)bl_run_start(run);
    const size_t align = 2 * (start & -start);
    bl_run_release(run);
    run = bl_run_acquire(8 * BL_MIB, 1);
    expect_size_eq((uintptr_t)bl_run_start(run), start);
    bl_run_release(run);
    run = bl_run_acquire(8 * BL_MIB, align);
    assert_ptr_ne(run, NULL);
    expect_size_eq((uintptr_t)bl_run_start(run) % align, 0);
    bl_reservoir_check();
}

// Addresses, as runs are given them: of 2^order units, and without memory.
static uint32_t take(unsigned order) {
    bl_lock_acquire(&bl_lock_reservoir);
    const uint32_t index = bl_addresses_take(order);
    bl_lock_release(&bl_lock_reservoir);
    return index;
}

static void give(uint32_t index, unsigned order) {
    bl_lock_acquire(&bl_lock_reservoir);
    bl_addresses_give(index, order);
    bl_lock_release(&bl_lock_reservoir);
}

TEST(buddies_join_up_to_the_frontier) {
    start_with(BL_BACKING_THP);
    const uint32_t first = take(3);
    const uint32_t last = take(3);
    expect_size_eq(last, first + 8);
    give(last, 3);
    give(first, 3);
    expect_size_eq(take(4), first);
    bl_reservoir_check();
}

// Its buddy would be the first that the table does not reach: 1024 records are
// the 64 KiB that are mapped at first.
TEST(a_block_at_the_end_of_the_table_has_no_buddy) {
    start_with(BL_BACKING_THP);
    const struct bl_run *const records = bl_run_records();
    expect_size_eq(take(10), 0);
    expect_true(fake_os_is_mapped(records, 1024 * sizeof *records));
    expect_false(fake_os_is_mapped(&records[1024], BL_BASE_SIZE));
    give(0, 10);
    expect_size_eq(take(10), 0);
    bl_reservoir_check();
}

// All of it is given out, and nothing beyond.
TEST(addresses_end_with_the_large_part) {
    start_with(BL_BACKING_THP);
    const size_t all = BL_LARGE_BYTES >> BL_HUGE_SHIFT;
    size_t taken = 0;
    for (unsigned order = bl_log2_ceil(all) + 1; order-- > 0;) {
        uint32_t index;
        while ((index = take(order)) != BL_NO_INDEX) {
            expect_size_le(index + ((size_t)1 << order), all);
            taken += (size_t)1 << order;
        }
    }
    expect_size_eq(taken, all);
    expect_size_eq(bl_territory.large_bytes, BL_LARGE_BYTES);
}

// A free block lies where the largest one's buddy would begin.
TEST(the_largest_block_has_no_whole_buddy) {
    start_with(BL_BACKING_THP);
    const unsigned order = bl_log2_ceil(BL_LARGE_BYTES / 2 >> BL_HUGE_SHIFT);
    expect_size_eq(take(order), 0);
    const uint32_t next = take(order - 2);
    expect_size_eq(next, (size_t)1 << order);
    give(next, order - 2);
    give(0, order);
    expect_size_eq(take(order - 2), next);
    expect_size_eq(take(order), 0);
    bl_reservoir_check();
}

// Pages of the pool are known for such wherever they are moved: before a fork
// none is forgotten, and none is looked for where it was.
TEST(moved_pool_pages_are_known) {
    start_with(BL_BACKING_AUTO);
    fake_os_set_pool(100);
    struct bl_run *run = bl_run_acquire(8 * BL_MIB, 1);
    assert_ptr_ne(run, NULL);
    fill(run, 0, 8 * BL_MIB);
    run = bl_run_move(run, 24 * BL_MIB);
    assert_ptr_ne(run, NULL);
    expect_size_eq(fake_os_pool_bytes(bl_run_start(run), 8 * BL_MIB),
                   8 * BL_MIB);
    bl_locks_before_fork();
    bl_reservoir_leave_hugetlb();
    bl_locks_after_fork();
    expect_size_eq(fake_os_pool_bytes(bl_run_start(run), 24 * BL_MIB), 0);
    expect_false(bl_reservoir_has_hugetlb());
    check(run, 8 * BL_MIB);
    bl_reservoir_check();
}
