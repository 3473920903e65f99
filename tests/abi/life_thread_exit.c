// SPDX-License-Identifier: MIT
//
// The end of a thread: TSD destructors that allocate and free late, in each
// of the rounds POSIX grants; C++-style thread-local destructors; blocks that
// outlive their thread; many threads one after the other without growth.
//
#include "bl_test.h"
#include "resident.h"
#include "sizes.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_key_t key;
static atomic_int destructor_calls;

// Sets itself again until the rounds are used up, allocating in each.
static void late_destructor(void *value) {
    char *const p = value;
    atomic_fetch_add(&destructor_calls, 1);
    expect_int_eq(p[0], 'a');
    free(p);
    char *const again = malloc(5000);
    if (again == NULL) {
        fail_test("no memory in a destructor");
        return;
    }
    again[0] = 'a';
    void *const large = malloc(3 * MIB);
    free(large);
    free(calloc(10, 1000));
    pthread_setspecific(key, again);
}

static void *body_with_destructor(void *arg) {
    (void)arg;
    char *const p = malloc(100);
    if (p != NULL)
        p[0] = 'a';
    pthread_setspecific(key, p);
    return NULL;
}

TEST(destructors_may_allocate) {
    assert_int_eq(pthread_key_create(&key, late_destructor), 0);
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        assert_int_eq(pthread_create(&thread, NULL, body_with_destructor, NULL),
                      0);
        pthread_join(thread, NULL);
    }
    expect_int_ge(atomic_load(&destructor_calls), 50);
}

#define BLOCKS 2000

static void *allocate_blocks(void *arg) {
    void **const block = arg;
    for (unsigned i = 0; i < BLOCKS; i++) {
        const size_t size = 1 + (size_t)i * 37 % 9000;
        block[i] = malloc(size);
        if (block[i] != NULL)
            fill_pattern(block[i], size, i);
    }
    return NULL;
}

static void *check_and_free(void *arg) {
    void **const block = arg;
    for (unsigned i = 0; i < BLOCKS; i++) {
        const size_t size = 1 + (size_t)i * 37 % 9000;
        expect_size_eq(first_wrong(block[i], size, size, i), size);
        if (i % 3 == 0) {
            block[i] = realloc(block[i], size * 2);
            expect_size_eq(first_wrong(block[i], size, size, i), size);
        }
        free(block[i]);
    }
    return NULL;
}

static void run_thread(void *(*body)(void *), void *arg) {
    pthread_t thread;
    assert_int_eq(pthread_create(&thread, NULL, body, arg), 0);
    pthread_join(thread, NULL);
}

TEST(blocks_outlive_their_thread) {
    static void *block[BLOCKS];
    for (int i = 0; i < 20; i++) {
        run_thread(allocate_blocks, block);
        if (i % 2 == 0)
            check_and_free(block);
        else
            run_thread(check_and_free, block);
    }
}

static void *allocate_a_little(void *arg) {
    (void)arg;
    void *block[100];
    for (unsigned i = 0; i < 100; i++)
        block[i] = malloc(i * 50);
    for (unsigned i = 0; i < 100; i++)
        free(block[i]);
    return NULL;
}

TEST(ended_threads_leave_nothing) {
    for (int i = 0; i < 200; i++)
        run_thread(allocate_a_little, NULL);
    const size_t before = resident_bytes();
    for (int i = 0; i < 3000; i++)
        run_thread(allocate_a_little, NULL);
    expect_size_lt(resident_bytes(), before + 16 * MIB);
}

// Nor do those whose destructors allocate to the last.
TEST(threads_that_allocate_as_they_end_leave_nothing) {
    assert_int_eq(pthread_key_create(&key, late_destructor), 0);
    for (int i = 0; i < 20; i++)
        run_thread(body_with_destructor, NULL);
    const size_t before = resident_bytes();
    for (int i = 0; i < 400; i++)
        run_thread(body_with_destructor, NULL);
    expect_size_lt(resident_bytes(), before + 400 * 16 * KIB);
}

static void *allocate_and_leak(void *arg) {
    return malloc((size_t)(uintptr_t)arg);
}

// The main thread frees what threads that ended have allocated; their memory
// must come back into use.
TEST(memory_of_ended_threads_is_reused) {
    const size_t before = resident_bytes();
    for (int i = 0; i < 3000; i++) {
        pthread_t thread;
        void *p = NULL;
        assert_int_eq(pthread_create(&thread, NULL, allocate_and_leak,
                                     (void *)(uintptr_t)60000),
                      0);
        pthread_join(thread, &p);
        assert_ptr_ne(p, NULL);
        memset(p, 1, 60000);
        free(p);
    }
    expect_size_lt(resident_bytes(), before + 32 * MIB);
}

TEST(detached_threads_with_small_stacks) {
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN + 16384);
    for (int i = 0; i < 500; i++) {
        pthread_t thread;
        int result;
        while ((result = pthread_create(&thread, &attr, allocate_a_little,
                                        NULL)) == EAGAIN)
            usleep(1000);
        assert_int_eq(result, 0);
    }
    usleep(100000);
}
