// SPDX-License-Identifier: MIT
//
// A thread's caches of freed blocks: what comes back first, what goes home,
// and what other threads' blocks do.
//
#include "heap/heap.h"

#include "bl_test.h"
#include "fake_os.h"

#include <pthread.h>
#include <stdlib.h>

#define BLOCKS 20000

static void *block[BLOCKS];

static void make_all(size_t bytes) {
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = bl_malloc(bytes);
        assert_ptr_ne(block[i], NULL);
    }
}

static void free_first(int many) {
    for (int i = 0; i < many; i++)
        bl_free(block[i]);
}

static void free_all(void) { free_first(BLOCKS); }

static size_t in_use(void) {
    struct mallinfo2 info;
    bl_heap_info(&info);
    return info.uordblks;
}

TEST(what_was_freed_last_is_handed_out_first) {
    fake_os_install();
    make_all(80);
    for (int i = 0; i < 10; i++)
        bl_free(block[i * 1000]); // each of another page
    bl_local_check(bl_self);
    for (int i = 9; i >= 0; i--)
        expect_ptr_eq(bl_malloc(80), block[i * 1000]);
    free_all();
    bl_local_check(bl_self);
}

// Each refill counts towards the next purge, also one from the thread's own
// pages: it may never need another.
// No slice either that the thread keeps for its next page.
TEST(malloc_trim_leaves_no_unit_of_what_was_freed) {
    fake_os_install();
    make_all(1000);
    free_all();
    bl_heap_trim();
    expect_size_eq(bl_load_relaxed(&bl_stats.units_now), 0);
    bl_heap_check();
}

TEST(who_takes_no_page_gives_back_what_is_idle_all_the_same) {
    fake_os_install();
    make_all(200);
    void *const large = bl_malloc(64 * BL_HUGE_SIZE);
    bl_free(large);
    expect_size_ge(bl_load_relaxed(&bl_stats.units_warm_now), 1);
    fake_os_advance_ms(60 * 1000);
    const size_t fresh = bl_stats.pages_fresh;
    for (int turns = 0; turns < 10; turns++) {
        for (int i = 0; i < BLOCKS; i++)
            if (i % 4 != 0)
                bl_free(block[i]);
        for (int i = 0; i < BLOCKS; i++)
            if (i % 4 != 0)
                block[i] = bl_malloc(200);
    }
    expect_size_eq(bl_stats.pages_fresh, fresh);
    expect_size_eq(bl_load_relaxed(&bl_stats.units_warm_now), 0);
}

static size_t cached(void) {
    size_t blocks = 0;
    for (unsigned i = 0; i < BL_POOLS_RESERVED; i++)
        blocks += (size_t)(bl_self->caches[i].whole - bl_self->caches[i].room);
    return blocks;
}

// To keep small ones costs little: none goes back to its page.
TEST(many_small_blocks_are_cached_where_they_are_made_again) {
    enum { MANY = 16000, TURNS = 12 };
    fake_os_install();
    make_all(64);
    for (int turn = 0; turn < TURNS; turn++) {
        free_first(MANY);
        for (int i = MANY - 1; i >= 0; i--)
            block[i] = bl_malloc(64);
    }
    free_first(MANY);
    expect_size_ge(cached(), MANY);
    bl_local_check(bl_self);
    for (int i = MANY - 1; i >= 0; i--)
        expect_ptr_eq(bl_malloc(64), block[i]);
    free_all();
    bl_local_check(bl_self);
}

// They would be in no cache of the processor when they went back at last.
TEST(blocks_that_are_not_made_again_go_home) {
    fake_os_install();
    make_all(64);
    const size_t before = cached();
    free_all();
    expect_size_le(cached(), before + 128);
    bl_local_check(bl_self);
}

TEST(what_is_made_in_a_row_lies_in_a_row) {
    fake_os_install();
    char *const first = bl_malloc(48);
    for (int i = 1; i < 600; i++) // a page holds 682
        expect_ptr_eq(bl_malloc(48), first + 48 * i);
}

TEST(more_than_a_cache_holds_goes_back_to_its_pages) {
    fake_os_install();
    for (size_t bytes = 16; bytes <= 64 * BL_KIB; bytes *= 2) {
        const size_t before = in_use();
        make_all(bytes);
        expect_size_eq(in_use(), before + BLOCKS * bytes);
        free_all();
        expect_size_eq(in_use(), before);
        bl_local_check(bl_self);
        bl_heap_trim();
        expect_size_le(bl_stats.units_now, 4);
    }
    bl_heap_check();
}

// Slices of 32 KiB that were ever handed out lie below the end of the heap.
static uintptr_t end_of_heap(size_t bytes) {
    uintptr_t end = 0;
    for (int i = 0; i < BLOCKS / 20; i++) {
        block[i] = bl_malloc(bytes);
        const uintptr_t here = (uintptr_t)block[i] + bytes;
        end = here > end ? here : end;
    }
    for (int i = 0; i < BLOCKS / 20; i++)
        bl_free(block[i]);
    return end - bl_territory.small;
}

// A small process opens no further unit, so that is not when it gives back.
TEST(what_one_size_left_in_caches_serves_the_next) {
    fake_os_install();
    for (size_t bytes = 64; bytes <= 128; bytes += 16)
        expect_size_le(end_of_heap(bytes), 7 * 32 * BL_KIB);
    bl_local_check(bl_self);
}

static size_t page_bytes(void) {
    struct bl_page_totals totals;
    bl_page_totals(&totals);
    return totals.page_bytes;
}

// What counts is what it has, not how many pages it took in all.
TEST(a_small_heap_that_ran_for_long_still_gives_back) {
    fake_os_install();
    for (int turn = 0; turn < 40; turn++) {
        for (int i = 0; i < 100; i++)
            block[i] = bl_malloc(32 * BL_KIB);
        for (int i = 0; i < 100; i++)
            bl_free(block[i]);
    }
    for (size_t bytes = 64; bytes <= 1024; bytes += bytes / 8)
        (void)end_of_heap(bytes);
    expect_size_le(page_bytes(), 50 * 32 * BL_KIB);
    bl_local_check(bl_self);
}

static size_t bytes_wanted;

static void *free_and_make(void *p) {
    bl_free(bl_malloc(bytes_wanted));
    bl_free(p);
    void *const q = bl_malloc(bytes_wanted);
    bl_free(q);
    bl_local_detach();
    return q;
}

// Another thread frees a block of ours and asks for one: not the same where two
// of them share a line.
static void check_what_is_handed_elsewhere(size_t bytes) {
    void *const p = bl_malloc(bytes), *q = NULL;
    pthread_t thread;
    bytes_wanted = bytes;
    assert_int_eq(pthread_create(&thread, NULL, free_and_make, p), 0);
    assert_int_eq(pthread_join(thread, &q), 0);
    expect_true(bytes < 64 ? q != p : q == p);
}

TEST(other_threads_blocks_are_cached_but_for_small_ones) {
    fake_os_install();
    for (size_t bytes = 16; bytes <= 16 * BL_KIB; bytes *= 2)
        check_what_is_handed_elsewhere(bytes);
    bl_heap_check();
}

#define OTHERS 20 // fewer than a cache that has not grown takes

static pthread_barrier_t turn;

// What this thread knows of the heap is old when it is given blocks.
static void *cache_what_others_made(void *unused) {
    (void)unused;
    void *const old = bl_malloc(1000);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn); // units were opened
    expect_true(bl_small_offset(block[BLOCKS - 1]) >= bl_thread.small_seen);
    for (int i = BLOCKS - OTHERS; i < BLOCKS; i++)
        bl_free(block[i]);
    bl_local_check(bl_self);
    for (int i = BLOCKS - 1; i >= BLOCKS - OTHERS; i--)
        expect_ptr_eq(bl_malloc(1000), block[i]);
    for (int i = BLOCKS - OTHERS; i < BLOCKS; i++)
        bl_free(block[i]);
    bl_heap_trim();
    bl_free(old);
    bl_local_check(bl_self);
    bl_local_detach();
    return NULL;
}

// It starts on what the thread before it left, and knows nothing of the heap.
static void *cache_what_was_left(void *unused) {
    (void)unused;
    void *const p = bl_malloc(1000);
    for (int i = BLOCKS / 2; i < BLOCKS - OTHERS; i++)
        bl_free(block[i]);
    bl_free(p);
    for (int i = BLOCKS / 2; i < BLOCKS; i++)
        block[i] = bl_malloc(1000);
    bl_local_check(bl_self);
    bl_local_detach();
    return NULL;
}

TEST(blocks_of_units_that_others_opened_are_cached) {
    fake_os_install();
    pthread_t thread;
    assert_int_eq(pthread_barrier_init(&turn, NULL, 2), 0);
    assert_int_eq(pthread_create(&thread, NULL, cache_what_others_made, NULL),
                  0);
    pthread_barrier_wait(&turn);
    make_all(1000);
    pthread_barrier_wait(&turn);
    assert_int_eq(pthread_join(thread, NULL), 0);
    assert_int_eq(pthread_create(&thread, NULL, cache_what_was_left, NULL), 0);
    assert_int_eq(pthread_join(thread, NULL), 0);
    free_all();
    bl_heap_check();
}

static void *free_what_others_made(void *unused) {
    (void)unused;
    enum { FEW = 64 };
    for (int i = 0; i < FEW; i++)
        bl_free(block[i]);
    expect_true(bl_self == NULL);
    for (int i = FEW; i < BLOCKS; i++)
        bl_free(block[i]);
    expect_true(bl_self != NULL);
    bl_local_check(bl_self);
    bl_local_detach();
    return NULL;
}

// By rows of blocks that lie in one page, not one by one; and all come home.
TEST(a_thread_that_only_frees_gets_caches_after_a_while) {
    fake_os_install();
    for (size_t bytes = 16; bytes <= 1024; bytes *= 4) {
        make_all(bytes);
        const size_t units = bl_stats.units_now, used = in_use();
        pthread_t thread;
        assert_int_eq(
            pthread_create(&thread, NULL, free_what_others_made, NULL), 0);
        assert_int_eq(pthread_join(thread, NULL), 0);
        make_all(bytes);
        expect_size_eq(in_use(), used);
        expect_size_le(bl_stats.units_now, units);
        free_all();
    }
    bl_heap_check();
}

// Blocks of before may be freed later, many of them.
TEST(a_heap_switched_off_serves_nobody) {
    static const struct bl_libc_heap libc = {.malloc = malloc, .free = free};
    fake_os_install();
    make_all(100);
    bl_heap_switch_off(&libc);
    free_all();
    expect_true(bl_self == NULL);
    void *const p = bl_malloc(100);
    expect_false(bl_offset_is_small(bl_small_offset(p)));
    bl_free(p);
}
