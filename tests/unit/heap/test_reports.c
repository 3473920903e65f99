// SPDX-License-Identifier: MIT
//
// Pages whose blocks other threads free: every page of whose blocks there is
// news comes back, once, whatever becomes of its owner meanwhile. Blocks of 32
// bytes, which nobody but their owner caches.
//
#include "heap/heap.h"
#include "page/internal.h"

#include "bl_test.h"
#include "fake_os.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { BYTES = 32, PER_PAGE = (int)(BL_SLICE_BYTES / BYTES), MOST = 80 };

static void *block[MOST * PER_PAGE];

static void make(int from, int to) {
    for (int i = from; i < to; i++) {
        block[i] = bl_malloc(BYTES);
        assert_ptr_ne(block[i], NULL);
    }
}

static struct bl_page *page_of(const void *p) {
    return bl_page_at(bl_small_offset(p));
}

// `body` as another thread, to its end.
static void elsewhere(void *(*body)(void *), void *arg) {
    pthread_t thread;
    assert_int_eq(pthread_create(&thread, NULL, body, arg), 0);
    assert_int_eq(pthread_join(thread, NULL), 0);
}

static void *free_it(void *p) {
    bl_free(p);
    return NULL;
}

// Asks for blocks until one of them lies in the page: at most so many.
static bool comes_back(const struct bl_page *page, int most) {
    for (int i = 0; i < most; i++) {
        if (page_of(bl_malloc(BYTES)) == page)
            return true;
    }
    return false;
}

TEST(a_full_page_is_reported_each_time) {
    fake_os_install();
    make(0, PER_PAGE + 1);
    struct bl_page *const page = page_of(block[0]);
    expect_int_eq(bl_page_state(page), BL_PAGE_FULL);
    for (int i = 0; i < 5; i++) {
        elsewhere(free_it, block[i]);
        expect_true(comes_back(page, 2 * PER_PAGE));
        make(PER_PAGE, 3 * PER_PAGE); // it is full again
        expect_int_eq(bl_page_state(page), BL_PAGE_FULL);
    }
    bl_local_check(bl_self);
}

static void *make_page_and_end(void *unused) {
    (void)unused;
    make(0, PER_PAGE + 1);
    bl_local_detach();
    return NULL;
}

// It stays with the local of the thread, which nobody takes over here.
TEST(a_full_page_outlives_its_thread) {
    fake_os_install();
    bl_free(bl_malloc(1000)); // this thread has a local of its own
    elsewhere(make_page_and_end, NULL);
    struct bl_page *const page = page_of(block[0]);
    expect_int_eq(bl_page_state(page), BL_PAGE_FULL);
    bl_free(block[7]);
    expect_ptr_eq(page_of(bl_malloc(BYTES)), page);
    expect_size_eq(bl_load_relaxed(&page->owner), (uintptr_t)bl_self);
    bl_local_check(bl_self);
}

static pthread_barrier_t turn;

// The first half of what another thread does that frees a block: it is on the
// page's list, and its owner has not been told yet.
static void push_and_do_not_tell(struct bl_page *page, void *p) {
    struct bl_block *const first = p;
    *first = (struct bl_block){NULL, bl_seal_of(page, p)};
    expect_size_eq(bl_load_relaxed(&page->remote), BL_REMOTE_NOTIFY);
    bl_store_release(&page->remote,
                     (uintptr_t)1 << BL_REMOTE_COUNT_SHIFT | (uintptr_t)first);
}

static void *make_some_and_end(void *unused) {
    (void)unused;
    make(0, 3);
    push_and_do_not_tell(page_of(block[0]), block[0]);
    bl_local_detach();
    return NULL;
}

// A report is under way when its owner ends: it is not given up as a page that
// nobody hears of.
TEST(a_page_about_to_be_reported_outlives_its_thread) {
    fake_os_install();
    bl_free(bl_malloc(1000)); // this thread has a local of its own
    elsewhere(make_some_and_end, NULL);
    struct bl_page *const page = page_of(block[0]);
    expect_size_ne(bl_load_relaxed(&page->owner), BL_NOBODY);
    expect_int_eq(bl_page_state(page), BL_PAGE_FULL);
    bl_page_report(page);
    expect_ptr_eq(page_of(bl_malloc(BYTES)), page);
    expect_size_eq(bl_load_relaxed(&page->owner), (uintptr_t)bl_self);
    bl_heap_check();
}

// The owner collects its current page without taking up the report; then all
// its blocks are free, and it is not the only page.
TEST(a_reported_page_is_not_retired) {
    fake_os_install();
    make(0, 2 * PER_PAGE);
    struct bl_page *const first = page_of(block[0]);
    struct bl_page *const current = page_of(block[2 * PER_PAGE - 1]);
    elsewhere(free_it, block[2 * PER_PAGE - 1]);
    block[2 * PER_PAGE - 1] = bl_malloc(BYTES);
    expect_ptr_eq(page_of(block[2 * PER_PAGE - 1]), current);
    for (int i = PER_PAGE; i < 2 * PER_PAGE; i++)
        bl_free(block[i]);
    bl_free(block[0]); // goes back first: one more page that is available
    bl_caches_return(bl_self);
    expect_int_eq(bl_page_state(first), BL_PAGE_AVAILABLE);
    expect_int_eq(bl_page_state(current), BL_PAGE_AVAILABLE);
    expect_int_eq(current->used, 0);
    make(0, 3 * PER_PAGE); // the report is taken up
    bl_heap_check();
}

static void *make_and_go_on(void *unused) {
    (void)unused;
    make(0, MOST * PER_PAGE); // the last page is full and not known to be
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    const struct bl_page *const current = block[0];
    expect_ptr_eq(page_of(bl_malloc(BYTES)), current);
    bl_local_check(bl_self);
    bl_local_detach();
    return NULL;
}

// A thread that asks for room takes whole pages of one that sleeps, but not
// the page which that one goes on with.
TEST(the_current_page_of_a_thread_that_sleeps_stays) {
    pthread_t thread;
    fake_os_install();
    bl_free(bl_malloc(1000));
    assert_int_eq(pthread_barrier_init(&turn, NULL, 2), 0);
    assert_int_eq(pthread_create(&thread, NULL, make_and_go_on, NULL), 0);
    pthread_barrier_wait(&turn);
    struct bl_page *const first = page_of(block[0]);
    struct bl_page *const current = page_of(block[MOST * PER_PAGE - 1]);
    for (int i = 0; i < MOST * PER_PAGE; i++)
        bl_free(block[i]);
    block[0] = current;
    bl_heap_trim();
    expect_int_eq(bl_page_state(first), BL_PAGE_NONE);
    expect_int_eq(bl_page_state(current), BL_PAGE_AVAILABLE);
    pthread_barrier_wait(&turn);
    assert_int_eq(pthread_join(thread, NULL), 0);
    bl_heap_check();
}

static void *free_page(void *first) {
    void **const of_page = first;
    for (int i = 0; i < PER_PAGE; i++)
        bl_free(of_page[i]);
    return NULL;
}

// Two reports are taken up at once: the first page is current then, and the
// second one of two, which goes only if it is empty.
TEST(only_an_empty_page_goes_when_its_report_is_taken_up) {
    fake_os_install();
    make(0, 3 * PER_PAGE + 1);
    struct bl_page *const some = page_of(block[0]);
    struct bl_page *const other = page_of(block[PER_PAGE]);
    struct bl_page *const empty = page_of(block[2 * PER_PAGE]);
    elsewhere(free_it, block[0]);
    elsewhere(free_it, block[PER_PAGE]);
    elsewhere(free_page, &block[2 * PER_PAGE]);
    expect_true(bl_reports_drain(bl_self, bl_self));
    expect_int_eq(bl_page_state(some), BL_PAGE_AVAILABLE);
    expect_int_eq(some->used, PER_PAGE - 1);
    expect_int_eq(bl_page_state(other), BL_PAGE_AVAILABLE);
    expect_int_eq(other->used, PER_PAGE - 1);
    expect_int_eq(bl_page_state(empty), BL_PAGE_NONE);
    bl_heap_check();
}

static const struct bl_pool_spec spec = {"reports", 200, 0, BL_POOL_SHARED};
static struct bl_pool *pool;

// A report is under way when the pool is deleted: the page goes with it.
TEST(a_reported_page_outlives_its_pool) {
    fake_os_install();
    pool = bl_pool_new(&spec);
    void *const p = bl_pool_alloc(pool);
    struct bl_page *const page = page_of(p);
    push_and_do_not_tell(page, p);
    bl_pool_delete(pool);
    expect_int_eq(bl_page_state(page), BL_PAGE_DELETED);
    bl_page_report(page);
    expect_true(bl_reports_drain(bl_self, bl_self));
    expect_int_eq(bl_page_state(page), BL_PAGE_NONE);
    bl_heap_check();
}

static void *free_of_pool(void *p) {
    bl_pool_free(pool, p);
    return NULL;
}

// A full page of the pool, and a block of it.
static struct bl_page *fill_page_of_pool(void) {
    block[0] = bl_pool_alloc(pool);
    struct bl_page *const page = page_of(block[0]);
    while (bl_page_state(page) != BL_PAGE_FULL)
        assert_ptr_ne(bl_pool_alloc(pool), NULL);
    return page;
}

static void *hold_locals(void *page) {
    bl_lock_acquire(&bl_lock_locals);
    pthread_barrier_wait(&turn);
    usleep(50000);
    expect_int_eq(bl_page_state(page), BL_PAGE_FULL);
    bl_lock_release(&bl_lock_locals);
    return NULL;
}

// Who deletes a pool holds the lock, and goes through everybody's pages of it.
TEST(reports_of_a_pool_wait_for_its_deletion) {
    pthread_t holder;
    fake_os_install();
    pool = bl_pool_new(&spec);
    struct bl_page *const page = fill_page_of_pool();
    elsewhere(free_of_pool, block[0]);
    assert_int_eq(pthread_barrier_init(&turn, NULL, 2), 0);
    assert_int_eq(pthread_create(&holder, NULL, hold_locals, page), 0);
    pthread_barrier_wait(&turn);
    expect_true(bl_reports_drain(bl_self, bl_self));
    expect_int_eq(bl_page_state(page), BL_PAGE_AVAILABLE);
    assert_int_eq(pthread_join(holder, NULL), 0);
    bl_heap_check();
}

static void *fill_page_of_pool_and_end(void *unused) {
    (void)unused;
    fill_page_of_pool();
    bl_local_detach();
    return NULL;
}

// Who takes it up from the local that the thread left has the lock already.
TEST(a_full_page_of_a_pool_outlives_its_thread) {
    fake_os_install();
    pool = bl_pool_new(&spec);
    bl_free(bl_malloc(1000)); // this thread has a local of its own
    elsewhere(fill_page_of_pool_and_end, NULL);
    struct bl_page *const page = page_of(block[0]);
    expect_int_eq(bl_page_state(page), BL_PAGE_FULL);
    bl_pool_free(pool, block[0]);
    expect_true(bl_parked_drain(bl_self));
    expect_int_eq(bl_page_state(page), BL_PAGE_AVAILABLE);
    expect_size_eq(bl_load_relaxed(&page->owner), (uintptr_t)bl_self);
    bl_heap_check();
}

static void *take_slices_and_end(void *arg) {
    void **const kept = arg;
    for (int i = 0; i < 60; i++)
        kept[i] = bl_malloc(BL_SLICE_BYTES);
    for (int i = 0; i < 60; i++)
        bl_free(kept[i]);
    bl_local_detach();
    return NULL;
}

// The slices that a thread keeps ahead go when it ends.
TEST(threads_that_end_keep_no_slices) {
    void *kept[60];
    fake_os_install();
    bl_free(bl_malloc(1000));
    for (int i = 0; i < 10; i++)
        elsewhere(take_slices_and_end, kept);
    const size_t before = bl_stats.units_now;
    for (int i = 0; i < 200; i++)
        elsewhere(take_slices_and_end, kept);
    expect_size_le(bl_stats.units_now, before);
    bl_heap_check();
}
