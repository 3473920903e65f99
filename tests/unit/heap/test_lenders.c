// SPDX-License-Identifier: MIT
//
// Which class serves whose requests: neighbours share pages where several
// threads share a small heap, and nowhere else.
//
#include "heap/heap.h"

#include "bl_test.h"
#include "fake_os.h"

#include <pthread.h>

#define SIZES (BL_DIRECT_MAX / 16)

static void *block[SIZES];
static pthread_barrier_t turn;

static size_t pages(void) {
    struct bl_page_totals totals;
    bl_page_totals(&totals);
    return totals.pages;
}

// One block of every class from 64 bytes to 1 KiB; the pages that they take.
static size_t pages_for_one_of_each(void) {
    const size_t before = pages();
    for (size_t i = 4; i <= SIZES; i++)
        block[i - 1] = bl_malloc(i * 16);
    bl_local_check(bl_self);
    return pages() - before;
}

static void free_them(void) {
    for (size_t i = 4; i <= SIZES; i++)
        bl_free(block[i - 1]);
    bl_local_check(bl_self);
}

static void *wait_twice(void *unused) {
    (void)unused;
    bl_free(bl_malloc(1));
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    bl_local_detach();
    return NULL;
}

static void *first; // kept, so that its page does not go meanwhile

static pthread_t start_other(void) {
    pthread_t thread;
    first = bl_malloc(1);
    assert_int_eq(pthread_barrier_init(&turn, NULL, 2), 0);
    assert_int_eq(pthread_create(&thread, NULL, wait_twice, NULL), 0);
    pthread_barrier_wait(&turn);
    return thread;
}

static void end_other(pthread_t thread) {
    bl_free(first);
    pthread_barrier_wait(&turn);
    assert_int_eq(pthread_join(thread, NULL), 0);
}

// 64, four classes of 80 to 128 and so on to 256, two groups to a doubling.
#define GROUPS (1 + 3 + 4)
#define CLASSES (1 + 12 + 16)

TEST(one_thread_has_a_page_for_each_class) {
    fake_os_install();
    expect_size_eq(pages_for_one_of_each(), CLASSES);
    free_them();
}

TEST(neighbours_share_a_first_page_beside_another_thread) {
    fake_os_install();
    const pthread_t thread = start_other();
    expect_size_eq(pages_for_one_of_each(), GROUPS);
    free_them();
    end_other(thread);
}

// The first page of a group serves all four until it is full.
TEST(a_class_that_needs_more_gets_pages_of_its_own) {
    fake_os_install();
    const pthread_t thread = start_other();
    static char *of_80[1000];
    for (int i = 0; i < 1000; i++)
        of_80[i] = bl_malloc(80);
    bl_local_check(bl_self);
    expect_size_eq(bl_usable_size(of_80[0]), 128);
    expect_size_eq(bl_usable_size(of_80[255]), 128);
    for (int i = 256; i < 1000; i++)
        expect_size_eq(bl_usable_size(of_80[i]), 80);
    for (int i = 0; i < 1000; i++)
        bl_free(of_80[i]);
    bl_local_check(bl_self);
    end_other(thread);
    bl_heap_check();
}

TEST(what_a_larger_class_left_serves_a_smaller_one) {
    fake_os_install();
    const pthread_t thread = start_other();
    for (int i = 0; i < SIZES; i++)
        block[i] = bl_malloc(1024);
    for (int i = 0; i < SIZES; i++)
        bl_free(block[i]);
    const size_t before = pages();
    for (int i = 0; i < SIZES; i++)
        block[i] = bl_malloc(960);
    expect_size_eq(pages(), before);
    bl_local_check(bl_self);
    for (int i = 0; i < SIZES; i++)
        bl_free(block[i]);
    end_other(thread);
}

// Blocks of all four sizes of a group die at random, so that there are nearly
// always some of the largest at hand.
TEST(who_has_borrowed_much_gets_pages_of_its_own) {
    enum { LIVE = 20000, STEPS = 10 * LIVE };
    fake_os_install();
    const pthread_t thread = start_other();
    static char *live[LIVE];
    struct bl_random random = {1};
    for (int i = 0; i < STEPS; i++) {
        char **const place = &live[bl_random_below(&random, LIVE)];
        bl_free(*place);
        *place = bl_malloc(80 + 16 * bl_random_below(&random, 4));
    }
    size_t of_128 = 0;
    for (int i = 0; i < LIVE; i++)
        of_128 += bl_usable_size(live[i]) == 128;
    bl_local_check(bl_self);
    expect_size_le(of_128, LIVE / 3); // a quarter wants them
    for (int i = 0; i < LIVE; i++)
        bl_free(live[i]);
    end_other(thread);
}

TEST(powers_of_two_stay_aligned_and_memalign_borrows_nothing) {
    fake_os_install();
    const pthread_t thread = start_other();
    for (size_t bytes = 64; bytes <= BL_DIRECT_MAX; bytes += 16)
        bl_free(bl_malloc(bytes));
    for (size_t bytes = 16; bytes <= 32 * BL_KIB; bytes *= 2)
        expect_size_eq((uintptr_t)bl_malloc(bytes) % bytes, 0);
    for (size_t align = 32; align <= BL_DIRECT_MAX; align *= 2)
        expect_size_eq((uintptr_t)bl_memalign(align, align + 1) % align, 0);
    end_other(thread);
}

TEST(a_large_heap_does_not_borrow) {
    fake_os_install();
    const pthread_t thread = start_other();
    void *const large = bl_malloc((BL_SMALL_HEAP_UNITS + 1) * BL_HUGE_SIZE);
    expect_size_eq(pages_for_one_of_each(), CLASSES);
    bl_free(large);
    free_them();
    end_other(thread);
}
