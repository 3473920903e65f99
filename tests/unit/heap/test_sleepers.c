// SPDX-License-Identifier: MIT
//
// What threads that sleep, or have ended, made and others freed: it serves
// others, and comes back to its owner.
//
#include "heap/heap.h"
#include "page/internal.h"

#include "bl_test.h"
#include "fake_os.h"

#include <pthread.h>
#include <stdlib.h>

#define BLOCKS 20000
enum { SPREAD = 4, SPREAD_BLOCKS = BLOCKS / SPREAD };

static void *block[BLOCKS];
static pthread_barrier_t turn;

static void make_all(size_t bytes) {
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = bl_malloc(bytes);
        assert_ptr_ne(block[i], NULL);
    }
}

// What a thread of start() does first: the others go on, until finish().
static void make_and_wait(size_t bytes) {
    make_all(bytes);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
}

static void free_all(void) {
    for (int i = 0; i < BLOCKS; i++)
        bl_free(block[i]);
}

static void free_spread(int from, int to) {
    for (int i = 0; i < BLOCKS; i++)
        if (i % SPREAD >= from && i % SPREAD < to)
            bl_free(block[i]);
}

static size_t in_use(void) {
    struct mallinfo2 info;
    bl_heap_info(&info);
    return info.uordblks;
}

static size_t page_bytes(void) {
    struct bl_page_totals totals;
    bl_page_totals(&totals);
    return totals.page_bytes;
}

// Begins a thread that waits twice: here, and in finish().
static pthread_t start(void *(*body)(void *), void *argument) {
    static bool is_first = true;
    pthread_t thread;
    if (is_first)
        assert_int_eq(pthread_barrier_init(&turn, NULL, 2), 0);
    is_first = false;
    assert_int_eq(pthread_create(&thread, NULL, body, argument), 0);
    pthread_barrier_wait(&turn);
    return thread;
}

static void finish(pthread_t thread) {
    pthread_barrier_wait(&turn);
    assert_int_eq(pthread_join(thread, NULL), 0);
}

static void run(void *(*body)(void *)) {
    pthread_t thread;
    assert_int_eq(pthread_create(&thread, NULL, body, NULL), 0);
    assert_int_eq(pthread_join(thread, NULL), 0);
}

// As many blocks of half the size open no unit.
static void expect_room_for_other_sizes(void) {
    static void *other[BLOCKS];
    const size_t before = bl_stats.units_now;
    for (int i = 0; i < BLOCKS; i++)
        other[i] = bl_malloc(500);
    expect_size_le(bl_stats.units_now, before);
    for (int i = 0; i < BLOCKS; i++)
        bl_free(other[i]);
    bl_heap_check();
}

// Makes blocks, sleeps while another thread frees them and asks for as many of
// another size, and goes on.
static void *make_and_sleep(void *unused) {
    (void)unused;
    make_and_wait(1000);
    bl_local_check(bl_self);
    make_all(1000);
    free_all();
    bl_local_check(bl_self);
    bl_local_detach();
    return NULL;
}

TEST(whole_pages_of_a_thread_that_sleeps_serve_others) {
    fake_os_install();
    const pthread_t thread = start(make_and_sleep, NULL);
    free_all();
    expect_room_for_other_sizes();
    finish(thread);
    bl_heap_check();
}

// ---------------------------------------------------------------------------
// What a sleeper's pages have on `remote` serves others before they are whole.

static void *make_and_nap(void *bytes) {
    make_and_wait(*(const size_t *)bytes);
    bl_local_check(bl_self);
    free_spread(1, SPREAD);
    bl_local_check(bl_self);
    bl_local_detach();
    return NULL;
}

static bool is_one_of_spread(const void *p) {
    for (int i = 0; i < BLOCKS; i += SPREAD)
        if (p == block[i])
            return true;
    return false;
}

// How many of them lie where there were blocks before.
static size_t make_others(void **other, int many, size_t bytes) {
    size_t lent = 0;
    for (int i = 0; i < many; i++) {
        other[i] = bl_malloc(bytes);
        lent += is_one_of_spread(other[i]);
    }
    return lent;
}

// Another thread makes blocks and sleeps while this one frees some of each
// page, and then makes some, which lie where those lay.
static void replace_what_a_sleeper_made(size_t bytes, int many) {
    static void *other[SPREAD_BLOCKS];
    fake_os_install();
    const pthread_t thread = start(make_and_nap, &bytes);
    free_spread(0, 1);
    expect_size_ge(make_others(other, many, bytes), (size_t)many - 10);
    bl_local_check(bl_self);
    // Now some lie with the sleeper's page, some in a cache, some in use.
    for (int i = 0; i < many; i += 2)
        bl_free(other[i]);
    finish(thread);
    for (int i = 1; i < many; i += 2)
        bl_free(other[i]);
    bl_local_check(bl_self);
    bl_heap_trim();
    expect_size_eq(in_use(), 0);
    expect_size_le(bl_stats.units_now, 2); // nobody has kept a page of theirs
    bl_heap_check();
}

TEST(what_a_thread_that_sleeps_does_not_collect_serves_others) {
    replace_what_a_sleeper_made(1000, SPREAD_BLOCKS);
}

TEST(pages_that_nobody_borrowed_from_go_back_after_all) {
    replace_what_a_sleeper_made(1000, SPREAD_BLOCKS / 2);
}

// In a small heap of several threads, a size that has nothing left borrows from
// a larger class, but not before what was left in its own.
TEST(what_a_sleeper_does_not_collect_comes_before_a_lender) {
    replace_what_a_sleeper_made(700, SPREAD_BLOCKS);
}

// It leaves each page with some blocks in use, so all of them are global.
static void *make_and_end(void *unused) {
    (void)unused;
    make_all(1000);
    free_spread(0, 1);
    bl_local_detach();
    return NULL;
}

TEST(whole_pages_of_a_thread_that_ended_serve_other_sizes) {
    fake_os_install();
    bl_free(bl_malloc(1000)); // this thread has a local of its own
    run(make_and_end);
    const struct bl_pool *pool = bl_page_at(bl_small_offset(block[1]))->pool;
    expect_size_ge(bl_load_relaxed(&pool->global_pages), 500);
    free_spread(1, SPREAD);
    expect_room_for_other_sizes();
}

enum { PHASES = 4 };
static pthread_barrier_t end;

static void ask_for_room(void) {
    void *large[8];
    for (int i = 0; i < 8; i++)
        large[i] = bl_malloc(500 * BL_KIB);
    for (int i = 0; i < 8; i++)
        bl_free(large[i]);
}

static void *make_and_stay(void *bytes) {
    make_all(*(const size_t *)bytes);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&end);
    bl_local_detach();
    return NULL;
}

// Their pages are stranded all at once, and become whole later, when nobody
// asks for their class any more.
TEST(pages_that_become_whole_when_stranded_serve_other_sizes) {
    static size_t bytes[PHASES] = {1750, 2000, 2500, 3000};
    pthread_t thread[PHASES];
    size_t units[PHASES];
    fake_os_install();
    bl_free(bl_malloc(20000));
    assert_int_eq(pthread_barrier_init(&end, NULL, PHASES + 1), 0);
    for (int i = 0; i < PHASES; i++) {
        thread[i] = start(make_and_stay, &bytes[i]);
        units[i] = bl_stats.units_now;
        free_spread(0, 1);
        ask_for_room();
        free_spread(1, SPREAD);
        ask_for_room();
    }
    expect_size_le(units[PHASES - 1], units[0] * 2);
    pthread_barrier_wait(&end);
    for (int i = 0; i < PHASES; i++)
        assert_int_eq(pthread_join(thread[i], NULL), 0);
    bl_heap_check();
}

static void *only_trim(void *unused) {
    (void)unused;
    expect_ptr_eq(bl_self, NULL);
    bl_heap_trim();
    bl_local_detach();
    return NULL;
}

TEST(malloc_trim_looks_through_all_of_them_in_a_thread_that_never_allocates) {
    fake_os_install();
    const pthread_t thread = start(make_and_sleep, NULL);
    free_all();
    bl_caches_return(bl_self);
    expect_size_ge(page_bytes(), 500 * BL_SLICE_BYTES);
    run(only_trim);
    expect_size_le(page_bytes(), 8 * BL_SLICE_BYTES);
    finish(thread);
    bl_heap_check();
}

// ---------------------------------------------------------------------------
// What is stranded comes back to its owner.

static void *free_some_and_trim(void *unused) {
    (void)unused;
    void *const p = bl_malloc(20000); // a local of its own
    free_spread(0, 1);
    bl_heap_trim();
    bl_free(p);
    bl_local_detach();
    return NULL;
}

TEST(malloc_trim_takes_up_what_is_stranded_of_its_own) {
    fake_os_install();
    make_all(1000);
    run(free_some_and_trim);
    free_spread(1, SPREAD);
    bl_heap_trim();
    expect_size_le(page_bytes(), 8 * BL_SLICE_BYTES);
    bl_heap_check();
}

TEST(stranded_pages_serve_other_sizes_of_their_owner) {
    fake_os_install();
    make_all(1000);
    run(free_some_and_trim);
    free_spread(1, SPREAD);
    expect_room_for_other_sizes();
}

static void *make_free_some_and_end(void *unused) {
    (void)unused;
    make_and_wait(1000); // the other frees some, and trims
    free_spread(1, 2);
    bl_local_detach();
    return NULL;
}

TEST(stranded_pages_of_a_thread_that_ended_serve_other_sizes) {
    fake_os_install();
    bl_free(bl_malloc(20000));
    const pthread_t thread = start(make_free_some_and_end, NULL);
    free_spread(0, 1);
    bl_heap_trim();
    finish(thread);
    free_spread(2, SPREAD);
    expect_room_for_other_sizes();
}

// ---------------------------------------------------------------------------
// When it is looked for.

enum { BLOCKS_A_PAGE = BL_SLICE_BYTES / 1024, SOME_PAGES = 70 };

static void *make_twice(void *unused) {
    (void)unused;
    make_and_wait(1000); // some 600 pages
    for (int i = SOME_PAGES * BLOCKS_A_PAGE; i < BLOCKS; i++)
        if (i % BLOCKS_A_PAGE != 0)
            bl_free(block[i]);
    bl_reports_drain(bl_self, bl_self);
    for (int i = 0; i < BLOCKS / 4; i++)
        block[i] = bl_malloc(2000);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    bl_local_detach();
    return NULL;
}

// Hundreds of reports that were looked at in vain are long taken up when it
// makes others: these are lent as soon as there are many.
TEST(a_look_in_vain_is_forgotten_with_the_reports) {
    fake_os_install();
    bl_free(bl_malloc(20000));
    const pthread_t thread = start(make_twice, NULL);
    for (int i = 0; i < BLOCKS; i++)
        if (i % (i < SOME_PAGES * BLOCKS_A_PAGE ? 4 : BLOCKS_A_PAGE) == 0)
            bl_free(block[i]); // some pages are ripe, and all are reported
    bl_caches_return(bl_self);
    bl_sleepers_tend(bl_self, false);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    const struct bl_page *page = bl_page_at(bl_small_offset(block[0]));
    for (int i = 0; i < 100 * BLOCKS_A_PAGE / 2; i += 2)
        bl_free(block[i]); // of 100 pages
    bl_caches_return(bl_self);
    bl_sleepers_tend(bl_self, false);
    expect_true(bl_sleepers_have(page->pool->index));
    finish(thread);
}

static struct bl_pool *pool;

static void *make_of_pool(void *unused) {
    (void)unused;
    for (int i = 0; i < BLOCKS / 4; i++)
        block[i] = bl_pool_alloc(pool);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    bl_local_detach();
    return NULL;
}

// Reports of them are under way to a thread that sleeps.
static void delete_pool_of_sleeper(int blocks) {
    const struct bl_pool_spec spec = {"gone", 1000, 0, BL_POOL_SHARED};
    fake_os_install();
    pool = bl_pool_new(&spec);
    const pthread_t thread = start(make_of_pool, NULL);
    for (int i = 0; i < blocks; i += 4)
        bl_pool_free(pool, block[i]);
    bl_pool_delete(pool);
    if (blocks < BLOCKS / 4)
        bl_heap_trim();
    expect_size_le(page_bytes(), 8 * BL_SLICE_BYTES);
    finish(thread);
    bl_heap_check();
}

TEST(pages_of_a_pool_go_with_it) { delete_pool_of_sleeper(BLOCKS / 4); }
TEST(malloc_trim_takes_back_the_last_of_them) { delete_pool_of_sleeper(1000); }

static void *free_of_pool(void *unused) {
    (void)unused;
    for (int i = 0; i < BLOCKS / 4; i += 4)
        bl_pool_free(pool, block[i]);
    return NULL;
}

TEST(pages_of_which_its_deleter_is_told_go_with_it) {
    const struct bl_pool_spec spec = {"gone", 1000, 0, BL_POOL_SHARED};
    fake_os_install();
    pool = bl_pool_new(&spec);
    for (int i = 0; i < BLOCKS / 4; i++)
        block[i] = bl_pool_alloc(pool);
    run(free_of_pool);
    bl_pool_delete(pool);
    expect_size_eq(page_bytes(), 0);
    bl_heap_check();
}

// ---------------------------------------------------------------------------
// Readings beside threads that do not sleep.

static _Atomic(bool) enough;

static void *make_and_give_back(void *unused) {
    (void)unused;
    bl_free(bl_malloc(16));
    pthread_barrier_wait(&turn);
    while (!bl_load_relaxed(&enough)) {
        bl_free(bl_malloc(16));
        bl_caches_return(bl_self);
    }
    bl_local_detach();
    return NULL;
}

// A reading is of no one moment, but it is no absurd number either.
TEST(what_is_in_use_is_never_less_than_nothing) {
#ifdef __SANITIZE_THREAD__
    bl_test_skip("such a reading is a race, and knows it");
#endif
    const pthread_t thread = start(make_and_give_back, NULL);
    size_t most = 0;
    for (int i = 0; i < 200000 && most < BL_GIB; i++) {
        const size_t now = in_use();
        most = now > most ? now : most;
    }
    bl_store_relaxed(&enough, true);
    assert_int_eq(pthread_join(thread, NULL), 0);
    expect_size_le(most, BL_GIB);
}
