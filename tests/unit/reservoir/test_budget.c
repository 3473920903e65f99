// SPDX-License-Identifier: MIT
//
// Dear huge pages: base pages first, and huge ones bought within the budget, on
// a simulated kernel with a price.
//
#include "reservoir/reservoir.h"

#include "base/stats.h"
#include "bl_test.h"
#include "fake_os.h"
#include "start.h"

#include <errno.h>
#include <string.h>

#define N 40
#define SMALL BL_SMALL_HEAP_UNITS
#define PERCENT 2
#define DEAR_US 7000

static uint64_t deferred(void) {
    return bl_load_relaxed(&bl_stats.units_deferred_now);
}

static uint64_t ever_deferred(void) {
    return bl_load_relaxed(&bl_stats.units_deferred);
}

static uint64_t bought(void) { return bl_load_relaxed(&bl_stats.units_bought); }

static uint64_t price_us(void) {
    return bl_load_relaxed(&bl_stats.huge_price_us);
}

static void start_at(enum bl_backing backing, uint64_t us) {
    fake_os_set_price_us(us);
    bl_reservoir_limit_price(PERCENT);
    start_with(backing);
}

static void *unit(void) {
    bool dirty = false;
    void *const p = bl_unit_acquire(&dirty);
    assert_ptr_ne(p, NULL);
    memset(p, 1, BL_HUGE_SIZE);
    return p;
}

static void take(void *units[N]) {
    for (int i = 0; i < N; i++)
        units[i] = unit();
    bl_reservoir_check();
}

// A program that runs for so long and enters the heap now and then.
static void run_ms(uint64_t ms) {
    for (uint64_t i = 0; i < ms; i += 10) {
        fake_os_run_ms(10);
        bl_reservoir_tend();
    }
    bl_reservoir_check();
}

TEST(cheap_ones_are_taken_at_once) {
    void *units[N];
    start_at(BL_BACKING_AUTO, 300);
    take(units);
    expect_size_eq(deferred(), 0);
    expect_size_eq(price_us(), 300);
}

TEST(dear_ones_wait) {
    void *units[N];
    start_at(BL_BACKING_AUTO, DEAR_US);
    take(units);
    expect_size_eq(price_us(), DEAR_US);
    expect_true(deferred() >= N - 2); // one was measured
    expect_size_eq(bought(), 0);
}

TEST(a_process_that_asks_for_thp_has_them_at_any_price) {
    void *units[N];
    start_at(BL_BACKING_THP, DEAR_US);
    take(units);
    expect_size_eq(deferred(), 0);
}

TEST(without_a_limit_too) {
    void *units[N];
    start_at(BL_BACKING_AUTO, DEAR_US);
    bl_reservoir_limit_price(100);
    take(units);
    expect_size_eq(deferred(), 0);
}

TEST(what_is_bought_stays_within_the_budget) {
    void *units[N];
    start_at(BL_BACKING_AUTO, DEAR_US);
    take(units);
    run_ms(5000);
    // 5 s earn 100 ms: twelve, and one more for what they took themselves.
    expect_true(bought() >= 10);
    expect_true(bought() <= 15);
}

// A program that works in its memory for seconds and does not allocate.
TEST(who_comes_rarely_buys_several_at_once) {
    void *units[N];
    start_at(BL_BACKING_AUTO, DEAR_US);
    take(units);
    fake_os_run_ms(3000); // 60 ms earned
    bl_reservoir_tend();
    expect_size_eq(bought(), 7);
    fake_os_run_ms(10000);
    bl_reservoir_tend();
    expect_size_eq(bought(), 15);
    bl_reservoir_check();
}

TEST(a_long_run_has_them_all) {
    void *units[N];
    start_at(BL_BACKING_AUTO, DEAR_US);
    take(units);
    run_ms(20000);
    expect_size_eq(deferred(), 0);
    for (int i = 0; i < N; i++)
        expect_int_eq(((char *)units[i])[BL_HUGE_SIZE - 1], 1);
}

// A child would have what it never writes to twice.
TEST(what_is_shared_after_a_fork_is_not_bought) {
    void *units[N];
    start_at(BL_BACKING_AUTO, DEAR_US);
    take(units);
    bl_reservoir_before_fork();
    fake_os_set_shared(true);
    run_ms(20000);
    expect_size_eq(bought(), 0);
    expect_size_eq(fake_os_count(FAKE_COLLAPSE), 0);
    fake_os_set_shared(false); // the other is gone, or has written to it all
    run_ms(20000);
    expect_size_eq(deferred(), 0);
}

TEST(what_has_been_earned_goes_into_fresh_units) {
    void *units[N];
    start_at(BL_BACKING_AUTO, DEAR_US);
    for (int i = 0; i < 20; i++)
        unit();
    run_ms(20000);
    take(units);
    expect_size_eq(deferred(), 0);
    expect_true(bought() <= 20);
}

// Its pages would save no more.
TEST(a_small_heap_earns_little) {
    start_at(BL_BACKING_AUTO, DEAR_US);
    bl_reservoir_limit_price(50);
    for (int i = 0; i < 10; i++)
        unit();
    const uint64_t waiting = deferred();
    run_ms(1000);
    // Ten units earn 2 %: two, and not 50 %, which would be all.
    expect_true(bought() >= 1 && bought() <= 3);
    expect_size_eq(deferred(), waiting - bought());
}

TEST(where_free_pages_are_reported_a_small_heap_touches_nothing_unearned) {
    fake_os_set_reporting(true);
    start_at(BL_BACKING_AUTO, DEAR_US);
    for (int i = 0; i < SMALL; i++)
        unit();
    expect_size_eq(price_us(), 0);
    expect_true(deferred() >= SMALL - 4); // but for the first
    run_ms(2000);                         // 40 ms: the first at 8, and 7 each
    expect_size_eq(price_us(), DEAR_US);
    expect_true(bought() >= 4 && bought() <= 5);
}

TEST(there_a_large_heap_looks_once) {
    void *units[N];
    fake_os_set_reporting(true);
    start_at(BL_BACKING_AUTO, DEAR_US);
    take(units);
    take(units);
    expect_size_eq(price_us(), DEAR_US);
    expect_true(deferred() >= 2 * N - 4 - 1);
    run_ms(2000); // 40 ms, 6 of them for the look
    expect_true(bought() >= 4 && bought() <= 5);
}

TEST(what_is_cheap_there_all_the_same_is_found_out) {
    void *units[N];
    fake_os_set_reporting(true);
    start_at(BL_BACKING_AUTO, 300);
    take(units);
    expect_size_eq(price_us(), 300);
    expect_true(deferred() <= SMALL);
    const uint64_t before = ever_deferred();
    take(units);
    expect_size_eq(ever_deferred(), before);
    run_ms(1000);
    expect_size_eq(deferred(), 0);
}

TEST(a_price_that_falls_is_noticed) {
    void *units[N];
    start_at(BL_BACKING_AUTO, DEAR_US);
    take(units);
    fake_os_set_price_us(200);
    run_ms(2000);
    expect_size_eq(deferred(), 0);
    expect_size_eq(price_us(), DEAR_US); // no first touch since
    const uint64_t before = ever_deferred();
    take(units);
    expect_size_eq(ever_deferred(), before);
    expect_size_eq(price_us(), 200);
}

// One of eight is measured by then, and what is mapped with it waits already.
TEST(a_price_that_rises_is_noticed) {
    void *units[N];
    start_at(BL_BACKING_AUTO, 300);
    take(units);
    fake_os_set_price_us(DEAR_US);
    take(units);
    expect_size_eq(price_us(), DEAR_US);
    expect_true(deferred() >= N - 2 * 8);
}

// N units of which as many wait as there is no budget for; who acquires a run
// buys none.
static uint64_t waiting_of_n(void) {
    const uint64_t before = deferred();
    assert_ptr_ne(bl_run_acquire(N * BL_HUGE_SIZE, 1), NULL);
    return deferred() - before;
}

// The first touch of one of N takes 7 ms, beyond base pages 6.
static void start_dear_with_a_run(uint64_t collapse_us) {
    start_at(BL_BACKING_AUTO, DEAR_US);
    fake_os_set_collapse_us(collapse_us);
    expect_size_eq(waiting_of_n(), N - 1);
}

// The last price paid is what a sample has to be worth: 40 ms, less one that
// base pages take. A first touch takes less.
TEST(grants_go_by_the_price_of_a_first_touch) {
    start_dear_with_a_run(40000);
    fake_os_run_ms(1000);
    bl_reservoir_tend();
    expect_size_eq(bought(), 1);
    fake_os_run_ms(3000); // 81 ms earned in all, 6 and 40 spent
    const unsigned long touches = fake_os_count(FAKE_POPULATE);
    expect_size_eq(waiting_of_n(), N - 5);
    expect_size_eq(fake_os_count(FAKE_POPULATE), touches);
    expect_size_eq(price_us(), DEAR_US);
}

// What is left would not do for a first touch at the price that was measured.
static void buy_all_cheaply(void) {
    start_dear_with_a_run(200);
    fake_os_run_ms(800); // 16 ms earned, 6 spent
    for (int i = 1; i < N; i++)
        bl_reservoir_tend();
    expect_size_eq(bought(), N - 1); // for 8 ms
    expect_size_eq(price_us(), DEAR_US);
}

TEST(a_sample_goes_by_the_last_price_paid) {
    buy_all_cheaply();
    fake_os_set_price_us(200);
    expect_size_eq(waiting_of_n(), 0);
    expect_size_eq(price_us(), 200);
}

TEST(buying_does_not_alter_the_price_of_a_first_touch) {
    buy_all_cheaply();
    fake_os_fail(1, ENOMEM, FAKE_BIT(FAKE_POPULATE), true); // not measured
    expect_size_eq(waiting_of_n(), N);
}

// They are of the large part; the tail is none of them.
TEST(large_objects_wait_too) {
    start_at(BL_BACKING_AUTO, DEAR_US);
    struct bl_run *const run = bl_run_acquire(50 * BL_HUGE_SIZE + 4096, 1);
    assert_ptr_ne(run, NULL);
    expect_true(deferred() >= 49);
    run_ms(30000);
    expect_size_eq(deferred(), 0);
    bl_run_release(run);
    bl_reservoir_purge(true);
    bl_reservoir_check();
}

// It may go before anybody asks for it.
TEST(what_is_warm_is_not_bought) {
    enum { FREED = 20 };
    void *units[N];
    start_at(BL_BACKING_AUTO, DEAR_US);
    struct bl_run *const run = bl_run_acquire(FREED * BL_HUGE_SIZE, 1);
    assert_ptr_ne(run, NULL);
    const uint64_t freed = deferred();
    take(units);
    void *const unused = unit();
    bl_run_release(run);
    bl_unit_release(unused);
    run_ms(20000);
    expect_size_eq(deferred(), freed + 1);
    expect_size_eq(bought(), ever_deferred() - freed - 1);
    bl_reservoir_check();
}

TEST(marks_move_and_go_with_the_memory) {
    start_at(BL_BACKING_AUTO, DEAR_US);
    struct bl_run *run = bl_run_acquire(20 * BL_HUGE_SIZE, 1);
    assert_ptr_ne(run, NULL);
    const uint64_t before = deferred();
    run = bl_run_move(run, 70 * BL_HUGE_SIZE);
    assert_ptr_ne(run, NULL);
    expect_size_eq(deferred(), before + 50);
    bl_reservoir_check();
    bl_run_release(run);
    bl_reservoir_purge(true);
    expect_size_eq(deferred(), 0);
    bl_reservoir_check();
}

// Linux before 6.1 has no MADV_COLLAPSE: asked for seldom, and nothing breaks.
TEST(a_kernel_that_refuses_is_asked_seldom) {
    void *units[N];
    start_at(BL_BACKING_AUTO, DEAR_US);
    fake_os_set_collapse_us(1);
    take(units);
    const uint64_t waiting = deferred();
    const unsigned long before = fake_os_count(FAKE_COLLAPSE);
    fake_os_fail(1, EINVAL, FAKE_BIT(FAKE_COLLAPSE), true);
    run_ms(10000);
    expect_size_eq(deferred(), waiting);
    expect_size_eq(bought(), 0);
    expect_true(fake_os_count(FAKE_COLLAPSE) - before <= 20 * 16);
}

// Refusals are paid for like purchases: one may overdraw the budget.
TEST(slow_refusals_stay_within_the_budget) {
    start_dear_with_a_run(20000);
    fake_os_fail(1, EINVAL, FAKE_BIT(FAKE_COLLAPSE), true);
    run_ms(5000); // 100 ms and a little earned, 6 spent
    expect_true(fake_os_calls() >= 4);
    expect_true(fake_os_calls() <= 6);
}

TEST(a_child_begins_to_earn_anew) {
    void *units[N];
    start_at(BL_BACKING_AUTO, DEAR_US);
    take(units);
    run_ms(2000);
    const uint64_t in_parent = bought();
    fake_os_begin_cpu();
    run_ms(2000);
    expect_true(bought() > in_parent);
}

// Every call in turn fails: nothing is lost.
TEST(refusals_lose_nothing) {
    start_at(BL_BACKING_AUTO, DEAR_US);
    for (unsigned long n = 1; n <= 60; n++) {
        fake_os_fail(n, ENOMEM, FAKE_MAY_FAIL, false);
        bool dirty = false;
        void *const p = bl_unit_acquire(&dirty);
        struct bl_run *const run = bl_run_acquire(5 * BL_HUGE_SIZE, 1);
        run_ms(100);
        fake_os_fail(0, 0, FAKE_MAY_FAIL, false);
        if (p != NULL)
            bl_unit_release(p);
        if (run != NULL)
            bl_run_release(run);
        bl_reservoir_purge(true);
        bl_reservoir_check();
    }
    expect_size_eq(deferred(), 0);
}
