// SPDX-License-Identifier: MIT
//
// Signals: a storm of SIGALRM, without SA_RESTART, while threads allocate (the
// handler does not allocate), errno kept by free, a handler on a stack of the
// least size, and threads that are cancelled, at once and at cancellation
// points.
//
#include "bl_test.h"
#include "sizes.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static atomic_uint alarms;

static void on_alarm(int number) {
    (void)number;
    atomic_fetch_add(&alarms, 1);
}

static void start_storm(void) {
    struct sigaction action = {0};
    action.sa_handler = on_alarm;
    assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
    const struct itimerval every = {{0, 1000}, {0, 1000}};
    assert_int_eq(setitimer(ITIMER_REAL, &every, NULL), 0);
}

static void stop_storm(void) {
    const struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
}

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *allocate_for_2_seconds(void *seed) {
    struct bl_random r = {(uint64_t)(uintptr_t)seed};
    enum { N = 200 };
    void *block[N] = {NULL};
    size_t size[N] = {0};
    const double end = seconds_now() + 2;
    while (seconds_now() < end) {
        const size_t i = bl_random_below(&r, N);
        if (block[i] != NULL)
            expect_size_eq(first_wrong(block[i], size[i], size[i], 1), size[i]);
        size[i] =
            1 + bl_random_below(&r, (size_t)64 << bl_random_below(&r, 16));
        errno = 1234;
        free(block[i]);
        expect_int_eq(errno, 1234);
        block[i] = malloc(size[i]);
        if (block[i] == NULL) {
            fail_test("no memory for %zu bytes under signals", size[i]);
            size[i] = 0;
            continue;
        }
        fill_pattern(block[i], size[i], 1);
    }
    for (int i = 0; i < N; i++)
        free(block[i]);
    return NULL;
}

TEST(storm_of_alarms) {
    pthread_t thread[4];
    start_storm();
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_eq(pthread_create(&thread[i], NULL, allocate_for_2_seconds,
                                     (void *)(i + bl_test_seed())),
                      0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    stop_storm();
    expect_int_ge(atomic_load(&alarms), 100);
}

TEST(storm_of_alarms_in_one_thread) {
    start_storm();
    allocate_for_2_seconds((void *)(uintptr_t)bl_test_seed());
    stop_storm();
    expect_int_ge(atomic_load(&alarms), 100);
}

static atomic_int started;

// Allocates only while cancellation is deferred; every write is a point at
// which the thread may end, with a block in its hands, which is lost.
static void *allocate_until_cancelled(void *arg) {
    const int fd = (int)(intptr_t)arg;
    atomic_fetch_add(&started, 1);
    for (size_t i = 1;; i++) {
        void *const p = malloc(i * 97 % 20000 + 1);
        if (p == NULL)
            return NULL;
        memset(p, 1, 1);
        pthread_cleanup_push(free, p);
        const ssize_t written = write(fd, "", 0);
        (void)written;
        pthread_testcancel();
        pthread_cleanup_pop(1);
    }
    return NULL;
}

TEST(storm_of_cancellations) {
    for (int round = 0; round < 100; round++) {
        pthread_t thread[4];
        atomic_store(&started, 0);
        for (int i = 0; i < 4; i++)
            assert_int_eq(pthread_create(&thread[i], NULL,
                                         allocate_until_cancelled,
                                         (void *)(intptr_t)1),
                          0);
        while (atomic_load(&started) < 2)
            sched_yield();
        for (int i = 0; i < 4; i++)
            expect_int_eq(pthread_cancel(thread[i]), 0);
        for (int i = 0; i < 4; i++) {
            void *result = NULL;
            expect_int_eq(pthread_join(thread[i], &result), 0);
            expect_ptr_eq(result, PTHREAD_CANCELED);
        }
    }
    for (size_t size = 1; size < 1 * MIB; size *= 3)
        free(malloc(size));
}

// malloc and free are no cancellation points: a pending cancellation does not
// strike in them.
static atomic_bool pending;

static void *allocate_with_cancel_pending(void *done) {
    while (!atomic_load(&pending))
        sched_yield();
    for (size_t i = 0; i < 3000; i++)
        free(realloc(malloc(i * 31), i * 57 + 1));
    free(malloc(100 * MIB));
    *(bool *)done = true;
    pthread_testcancel();
    return NULL;
}

TEST(malloc_is_no_cancellation_point) {
    pthread_t thread;
    bool done = false;
    assert_int_eq(
        pthread_create(&thread, NULL, allocate_with_cancel_pending, &done), 0);
    pthread_cancel(thread);
    atomic_store(&pending, true);
    pthread_join(thread, NULL);
    expect_true(done);
}

// An alternate stack of the least size, and a frame of the handler's own, must
// be enough for a handler that ends while malloc is interrupted.
TEST(handler_on_alternate_stack) {
    static char stack[65536];
    const long told = sysconf(_SC_MINSIGSTKSZ);
    const size_t least = told > 2048 ? (size_t)told : 2048; // the kernel's own
    const stack_t alternate = {.ss_sp = stack, .ss_size = least + 512};
    assert_size_le(alternate.ss_size, sizeof stack);
    assert_int_eq(sigaltstack(&alternate, NULL), 0);
    struct sigaction action = {0};
    action.sa_handler = on_alarm;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
    const struct itimerval every = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &every, NULL);
    allocate_for_2_seconds((void *)(uintptr_t)5);
    stop_storm();
    expect_int_ge(atomic_load(&alarms), 100);
}
