// SPDX-License-Identifier: MIT
//
// Units: distinct, aligned, warm for the purge delay and no longer, from the
// pool where it has pages, and back to where they came from.
//
#include "reservoir/reservoir.h"

#include "bl_test.h"
#include "fake_os.h"
#include "start.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define N 40

static void *unit(void) {
    bool dirty = false;
    void *const p = bl_unit_acquire(&dirty);
    assert_ptr_ne(p, NULL);
    expect_size_eq((uintptr_t)p % BL_HUGE_SIZE, 0);
    expect_true(fake_os_is_mapped(p, BL_HUGE_SIZE));
    if (!dirty)
        expect_int_eq(*(char *)p, 0);
    return p;
}

TEST(units_are_distinct) {
    void *units[N];
    start_with(BL_BACKING_THP);
    for (int i = 0; i < N; i++) {
        units[i] = unit();
        memset(units[i], i + 1, BL_HUGE_SIZE);
    }
    for (int i = 0; i < N; i++) {
        const unsigned char *const p = units[i];
        expect_int_eq(p[0], i + 1);
        expect_int_eq(p[BL_HUGE_SIZE - 1], i + 1);
        bl_unit_release(units[i]);
    }
    bl_reservoir_check();
}

TEST(a_warm_unit_serves_again) {
    start_with(BL_BACKING_THP);
    void *const first = unit();
    bl_unit_release(first);
    const unsigned long maps = fake_os_count(FAKE_MAP);
    expect_ptr_eq(unit(), first);
    expect_size_eq(fake_os_count(FAKE_MAP), maps);
}

TEST(who_starts_it_again_has_it_as_it_is) {
    start_with(BL_BACKING_THP);
    void *const first = unit();
    const uintptr_t small = bl_territory.small;
    expect_true(bl_reservoir_start());
    expect_size_eq(bl_territory.small, small);
    expect_true(fake_os_is_mapped(first, BL_HUGE_SIZE));
    bl_reservoir_check();
}

TEST(what_is_refused_is_not_counted) {
    start_with(BL_BACKING_THP);
    fake_os_fail(1, ENOMEM, FAKE_BIT(FAKE_MAP), true);
    const uint64_t fresh = bl_load_relaxed(&bl_stats.units_fresh);
    expect_ptr_eq(bl_run_acquire(N * BL_HUGE_SIZE, 1), NULL);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_fresh), fresh);
    bl_reservoir_check();
}

static size_t number_of(const void *p) {
    return ((uintptr_t)p - bl_territory.small) >> BL_HUGE_SHIFT;
}

// Units 8, 9 and 10 of the territory: one warm, one nobody's, one warm.
static void leave_a_gap(void) {
    void *units[N];
    for (int i = 0; i < N; i++)
        units[i] = unit();
    bl_unit_release(units[9]);
    bl_reservoir_purge(true);
    for (int i = 8; i <= 10; i += 2) {
        expect_size_eq(number_of(units[i]), (size_t)i);
        memset(units[i], i, BL_HUGE_SIZE);
        bl_unit_release(units[i]);
    }
}

TEST(warm_units_serve_a_row_where_they_lie) {
    bool dirty = false;
    start_with(BL_BACKING_THP);
    leave_a_gap();
    const unsigned long moves = fake_os_count(FAKE_MOVE);
    const unsigned long maps = fake_os_count(FAKE_MAP);
    assert_true(bl_units_acquire_at(8, 3, &dirty));
    expect_true(dirty);
    expect_size_eq(fake_os_count(FAKE_MOVE), moves);
    expect_size_eq(fake_os_count(FAKE_MAP), maps + 1);
    const unsigned char *const row =
        (unsigned char *)bl_territory.small + 8 * BL_HUGE_SIZE;
    assert_true(fake_os_is_mapped(row, 3 * BL_HUGE_SIZE));
    expect_int_eq(row[0], 8);
    expect_int_eq(row[2 * BL_HUGE_SIZE], 10);
    expect_true(!bl_units_acquire_at(8, 1, &dirty));
    bl_reservoir_check();
}

TEST(a_row_without_memory_stays_warm) {
    bool dirty = false;
    start_with(BL_BACKING_THP);
    leave_a_gap();
    const size_t mapped = fake_os_mapped_bytes();
    fake_os_fail(1, ENOMEM, 1u << FAKE_MAP, true);
    expect_true(!bl_units_acquire_at(8, 3, &dirty));
    bl_reservoir_check();
    expect_size_le(fake_os_mapped_bytes(), mapped);
    fake_os_fail(0, 0, FAKE_MAY_FAIL, false);
    expect_true(bl_units_acquire_at(8, 3, &dirty));
    bl_reservoir_check();
}

TEST(the_purge_waits_for_the_delay) {
    void *units[N];
    start_with(BL_BACKING_THP);
    for (int i = 0; i < N; i++)
        units[i] = unit();
    const size_t most = fake_os_mapped_bytes();
    for (int i = 0; i < N; i++)
        bl_unit_release(units[i]);
    fake_os_advance_ms(500);
    expect_size_eq(bl_reservoir_purge(false), 0);
    expect_size_eq(fake_os_mapped_bytes(), most);
    fake_os_advance_ms(600);
    expect_size_eq(bl_reservoir_purge(false), N * BL_HUGE_SIZE);
    expect_size_eq(fake_os_mapped_bytes(), most - N * BL_HUGE_SIZE);
    expect_size_eq(bl_reservoir_purge(true), 0);
    bl_reservoir_check();
    for (int i = 0; i < N; i++)
        units[i] = unit();
    bl_reservoir_check();
}

TEST(a_forced_purge_does_not_wait) {
    start_with(BL_BACKING_THP);
    bl_unit_release(unit());
    expect_size_eq(bl_reservoir_purge(true), BL_HUGE_SIZE);
}

// 256 MiB, or as much as is in use.
TEST(a_heap_that_shrank_keeps_little_warm) {
    enum { MOST = 400, KEPT = 128 };
    static void *units[MOST];
    start_with(BL_BACKING_THP);
    for (int i = 0; i < MOST; i++)
        units[i] = unit();
    for (int i = 0; i < MOST / 2; i++)
        bl_unit_release(units[i]);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_warm_now), MOST / 2);
    for (int i = MOST / 2; i < MOST; i++)
        bl_unit_release(units[i]);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_warm_now), KEPT);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_now), KEPT);
    bl_reservoir_check();
}

enum { WAVE = 400, SEEDS = 4 }; // base pages, which are not counted

// Units that the kernel gave for it.
static size_t wave(void) {
    static void *units[WAVE];
    const uint64_t before = bl_load_relaxed(&bl_stats.units_fresh);
    for (int i = 0; i < WAVE; i++)
        units[i] = unit();
    for (int i = 0; i < WAVE; i++)
        bl_unit_release(units[i]);
    bl_reservoir_check();
    return bl_load_relaxed(&bl_stats.units_fresh) - before;
}

TEST(what_was_given_back_too_early_is_kept_the_next_time) {
    start_with(BL_BACKING_THP);
    expect_size_ge(wave(), WAVE - SEEDS);
    expect_size_eq(wave(), WAVE - 128);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_warm_now), WAVE);
    expect_size_eq(wave(), 0);
}

TEST(and_no_longer_once_it_was_idle) {
    start_with(BL_BACKING_THP);
    for (int i = 0; i < 3; i++)
        wave();
    fake_os_advance_ms(BL_PURGE_DELAY_MS + 1);
    bl_reservoir_purge(false);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_now), 0);
    expect_size_ge(wave(), WAVE - SEEDS);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_warm_now), 128);
}

TEST(waves_far_apart_keep_nothing_more) {
    start_with(BL_BACKING_THP);
    for (int i = 0; i < 3; i++) {
        expect_size_ge(wave(), WAVE - SEEDS);
        expect_size_eq(bl_load_relaxed(&bl_stats.units_warm_now), 128);
        fake_os_advance_ms(BL_PURGE_DELAY_MS + 1);
        bl_reservoir_purge(false);
    }
}

TEST(a_small_heap_keeps_the_last_unit_alone) {
    void *units[8];
    start_with(BL_BACKING_THP);
    for (int i = 0; i < 8; i++)
        units[i] = unit();
    for (int i = 0; i < 7; i++)
        bl_unit_release(units[i]);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_now), 1);
    expect_true(fake_os_is_mapped(units[7], BL_HUGE_SIZE));
    bl_unit_release(units[7]);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_warm_now), 1);
    bl_reservoir_check();
}

// Units that `times` demands in turn, each given back, took from the kernel.
static size_t fresh_in_turn(int times) {
    const uint64_t before = bl_load_relaxed(&bl_stats.units_fresh);
    for (int i = 0; i < times; i++)
        bl_unit_release(unit());
    return bl_load_relaxed(&bl_stats.units_fresh) - before;
}

TEST(a_small_heap_pays_for_it_as_time_passes) {
    start_with(BL_BACKING_THP);
    for (int i = 0; i < 8; i++)
        unit();
    expect_size_eq(fresh_in_turn(5), 5);
    expect_size_le(fresh_in_turn(1000), 9);
    expect_size_eq(fresh_in_turn(1000), 0);
    fake_os_advance_ms(700);
    expect_size_ge(fresh_in_turn(1000), 8);
    fake_os_advance_ms(700);
    expect_size_le(fresh_in_turn(1000), 12);
    bl_reservoir_check();
}

// Else a small process would get a whole huge page for its first blocks.
TEST(a_first_unit_that_went_comes_back_as_base_pages) {
    start_with(BL_BACKING_THP);
    void *const first = unit();
    unit();
    bl_unit_release(first);
    expect_false(fake_os_is_mapped(first, BL_HUGE_SIZE));
    expect_ptr_eq(unit(), first);
    expect_size_eq(fake_os_count(FAKE_ADVISE_HUGE), 0);
    bl_reservoir_check();
}

TEST(a_longer_delay_keeps_all_warm) {
    enum { MOST = 200 };
    static void *units[MOST];
    start_with(BL_BACKING_THP);
    bl_reservoir_configure(BL_BACKING_THP, 2 * BL_PURGE_DELAY_MS);
    for (int i = 0; i < MOST; i++)
        units[i] = unit();
    for (int i = 0; i < MOST; i++)
        bl_unit_release(units[i]);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_warm_now), MOST);
    expect_size_eq(bl_reservoir_trim(), (MOST - 128) * BL_HUGE_SIZE);
    expect_size_eq(bl_reservoir_trim(), 0);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_warm_now), 128);
    bl_reservoir_check();
}

static size_t from_pool(void **units) {
    size_t bytes = 0;
    for (int i = 0; i < N; i++)
        bytes += fake_os_pool_bytes(units[i], BL_HUGE_SIZE);
    return bytes / BL_HUGE_SIZE;
}

// Every page of the pool was touched before it was handed out, by a call.
static void use_pool_of_10(enum bl_backing backing) {
    void *units[N];
    start_with(backing);
    fake_os_set_pool(10);
    for (int i = 0; i < N; i++)
        units[i] = unit();
    const size_t used = from_pool(units);
    expect_size_eq(used, 5); // as many stay for the children of a fork
    expect_size_ge(fake_os_count(FAKE_POPULATE), 1);
    for (int i = 0; i < N; i++)
        bl_unit_release(units[i]);
    bl_reservoir_purge(true);
    expect_size_ge(fake_os_pool() + 2, 10);
    bl_reservoir_check();
}

TEST(auto_takes_the_pool_first) { use_pool_of_10(BL_BACKING_AUTO); }
TEST(hugetlb_takes_the_pool_first) { use_pool_of_10(BL_BACKING_HUGETLB); }

TEST(thp_leaves_the_pool_alone) {
    start_with(BL_BACKING_THP);
    fake_os_set_pool(10);
    for (int i = 0; i < N; i++)
        unit();
    expect_size_eq(fake_os_pool(), 10);
    expect_size_ge(fake_os_count(FAKE_ADVISE_HUGE), 1);
}

TEST(base_asks_for_no_huge_page) {
    start_with(BL_BACKING_BASE);
    fake_os_set_pool(10);
    for (int i = 0; i < N; i++)
        unit();
    expect_size_eq(fake_os_pool(), 10);
    expect_size_eq(fake_os_count(FAKE_ADVISE_HUGE), 0);
    expect_size_eq(fake_os_count(FAKE_COLLAPSE), 0);
}

// The pool gives addresses and then no page: what a touch would have answered
// with a SIGBUS is an ordinary fallback.
TEST(a_pool_that_cannot_be_touched_is_given_up) {
    start_with(BL_BACKING_HUGETLB);
    fake_os_set_pool(1000);
    fake_os_fail(1, ENOMEM, FAKE_BIT(FAKE_POPULATE), true);
    for (int i = 0; i < N; i++)
        memset(unit(), 1, BL_HUGE_SIZE);
    expect_size_eq(fake_os_pool(), 1000);
    expect_size_ge(bl_load_relaxed(&bl_stats.hugetlb_refused), 1);
}

TEST(refused_advice_is_counted) {
    start_with(BL_BACKING_THP);
    fake_os_fail(1, EPERM, FAKE_BIT(FAKE_ADVISE_HUGE), true);
    for (int i = 0; i < N; i++)
        memset(unit(), 1, BL_HUGE_SIZE);
    expect_size_ge(bl_load_relaxed(&bl_stats.advice_refused), 1);
    expect_size_eq(bl_load_relaxed(&bl_stats.last_refusal_errno), EPERM);
}

TEST(no_memory_is_null) {
    bool dirty = false;
    void *units[200];
    int n = 0;
    start_with(BL_BACKING_THP);
    units[n++] = unit();
    fake_os_fail(1, ENOMEM, FAKE_BIT(FAKE_MAP), true);
    void *p;
    while (n < 200 && (p = bl_unit_acquire(&dirty)) != NULL)
        units[n++] = p;
    expect_int_lt(n, 200);
    bl_reservoir_check();
    for (int i = 0; i < n; i++)
        bl_unit_release(units[i]);
    fake_os_fail(0, 0, FAKE_MAY_FAIL, false);
    for (int i = 0; i < N; i++)
        unit();
    bl_reservoir_check();
}

// Until there are at least 7 mapped ahead; then no more may be mapped.
static void map_ahead_to_the_limit(void) {
    size_t before = 0;
    do {
        before = fake_os_mapped_bytes();
        unit();
    } while (fake_os_mapped_bytes() < before + 8 * BL_HUGE_SIZE);
    fake_os_set_limit(fake_os_mapped_bytes());
}

TEST(what_is_mapped_ahead_makes_room_for_a_run) {
    start_with(BL_BACKING_THP);
    map_ahead_to_the_limit();
    const struct bl_run *const run = bl_run_acquire(7 * BL_HUGE_SIZE, 1);
    assert_ptr_ne(run, NULL);
    expect_true(fake_os_is_mapped(bl_run_start(run), 7 * BL_HUGE_SIZE));
    bl_reservoir_check();
}

// However high the limit is: what is mapped ahead counts, and the program may
// want it for something else.
static void map_no_more_than_asked_for(int limited) {
    const struct rlimit high = {RLIM_INFINITY / 2, RLIM_INFINITY};
    assert_int_eq(setrlimit(limited, &high), 0);
    start_with(BL_BACKING_THP);
    for (int i = 0; i < 2 * N; i++) {
        const size_t before = fake_os_mapped_bytes();
        unit();
        expect_size_lt(fake_os_mapped_bytes(), before + 2 * BL_HUGE_SIZE);
    }
}

TEST(nothing_is_mapped_ahead_of_a_limit_on_addresses) {
    map_no_more_than_asked_for(RLIMIT_AS);
}
TEST(nothing_is_mapped_ahead_of_a_limit_on_data) {
    map_no_more_than_asked_for(RLIMIT_DATA);
}

// What a fork must leave to the child: the bytes, and no page of the pool.
static void fork_with_pool(bool in_child, unsigned refused,
                           size_t pool_units_after) {
    void *units[N];
    start_with(BL_BACKING_AUTO);
    fake_os_set_pool(20);
    for (int i = 0; i < N; i++) {
        units[i] = unit();
        memset(units[i], i + 1, BL_HUGE_SIZE);
    }
    assert_size_eq(from_pool(units), 10);
    fake_os_fail(refused != 0, EPERM, refused, true);
    bl_locks_before_fork();
    bl_reservoir_before_sharing();
    if (in_child)
        bl_reservoir_end_sharing();
    else
        bl_reservoir_await_child();
    bl_locks_after_fork();
    expect_size_eq(from_pool(units), pool_units_after);
    for (int i = 0; i < N; i++) {
        expect_int_eq(((unsigned char *)units[i])[0], i + 1);
        expect_int_eq(((unsigned char *)units[i])[BL_HUGE_SIZE - 1], i + 1);
    }
    bl_reservoir_check();
}

TEST(a_child_gets_copies_of_pool_pages) { fork_with_pool(true, 0, 0); }
TEST(a_child_gets_them_without_mremap) {
    fork_with_pool(true, FAKE_BIT(FAKE_MOVE), 0);
}
TEST(a_child_keeps_what_cannot_be_unmapped) {
    fork_with_pool(true, FAKE_BIT(FAKE_UNMAP), 10);
}
TEST(a_parent_keeps_its_pool_pages) { fork_with_pool(false, 0, 10); }

// A process that another thread cloned meanwhile has what the child's end is
// known by, and lives on.
static void await_child_beside_a_stranger(bool child_is_killed) {
    start_with(BL_BACKING_AUTO);
    fake_os_set_pool(20);
    unit();
    bl_locks_before_fork();
    bl_reservoir_before_sharing();
    const pid_t stranger = fork();
    if (stranger == 0)
        pause();
    const pid_t child = fork();
    if (child == 0) {
        if (child_is_killed)
            raise(SIGKILL);
        bl_reservoir_end_sharing();
        pause();
    }
    bl_reservoir_await_child();
    bl_locks_after_fork();
    kill(stranger, SIGKILL);
    kill(child, SIGKILL);
}

TEST_LIMIT(a_stranger_is_not_waited_for, 10) {
    await_child_beside_a_stranger(false);
}
TEST_LIMIT(a_stranger_is_not_waited_for_long, 10) {
    await_child_beside_a_stranger(true);
}

static void expect_no_refusal(void) {
    const size_t map_refused = bl_load_relaxed(&bl_stats.map_refused);
    const size_t pool_refused = bl_load_relaxed(&bl_stats.hugetlb_refused);
    const size_t error = bl_load_relaxed(&bl_stats.last_refusal_errno);
    expect_size_eq(map_refused, 0);
    expect_size_eq(pool_refused, 0);
    expect_size_eq(error, 0);
}

// Somebody else maps memory behind ours, and where ours was: units lie
// elsewhere, and none is refused.
static void pass_foreign_mappings_over(enum bl_backing backing, size_t pool) {
    void *units[N];
    start_with(backing);
    fake_os_set_pool(pool);
    char *const first = unit();
    expect_int_eq(
        bl_os.map(first + 3 * BL_HUGE_SIZE, 4 * BL_GIB, BL_OS_BASE_PAGES), 0);
    for (int i = 0; i < N; i++)
        units[i] = unit();
    for (int i = 0; i < N; i++)
        bl_unit_release(units[i]);
    bl_reservoir_purge(true);
    for (int i = 0; i < N - 1; i++)
        expect_int_eq(bl_os.map(units[i], BL_HUGE_SIZE, BL_OS_BASE_PAGES), 0);
    for (int i = 0; i < N; i++)
        units[i] = unit();
    expect_no_refusal();
    bl_reservoir_check();
}

TEST(foreign_mappings_are_passed_over) {
    pass_foreign_mappings_over(BL_BACKING_THP, 0);
}
TEST(foreign_mappings_are_passed_over_with_base_pages) {
    pass_foreign_mappings_over(BL_BACKING_BASE, 0);
}
TEST(foreign_mappings_are_passed_over_with_a_pool) {
    pass_foreign_mappings_over(BL_BACKING_AUTO, 1000);
}

// Its tables' places are held by another runtime: the next territory is taken.
TEST(another_runtime_is_no_refusal) {
    fake_os_install();
    void *const table = (void *)(BL_FIRST_TERRITORY + BL_SLICES_AT);
    const int held = bl_os.map(table, BL_BASE_SIZE, BL_OS_BASE_PAGES);
    expect_true(held == 0 || held == -EEXIST); // by a sanitizer
    assert_true(bl_reservoir_start());
    expect_true(bl_territory.start != BL_FIRST_TERRITORY);
    expect_no_refusal();
}
