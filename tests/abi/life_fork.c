// SPDX-License-Identifier: MIT
//
// fork at any moment, also while other threads allocate, free, and free each
// other's blocks. The child allocates, frees its parent's and the other
// threads' blocks, starts threads, forks again.
//
#include "bl_test.h"
#include "sizes.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define SLOTS 256

// Blocks on offer: any thread takes one out by exchange and frees it.
static _Atomic(void *) slot[SLOTS];
static atomic_bool stop;

static size_t some_size(struct bl_random *r) {
    const uint64_t kind = bl_random_below(r, 100);
    if (kind < 80)
        return 1 + bl_random_below(r, 500);
    if (kind < 97)
        return 1 + bl_random_below(r, 40000);
    return 1 + bl_random_below(r, 5 * MIB);
}

static void exchange_one(struct bl_random *r) {
    const size_t size = some_size(r);
    unsigned char *p = malloc(size);
    if (p == NULL) {
        fail_test("no memory for %zu bytes", size);
        return;
    }
    p[0] = 1;
    p[size - 1] = 1;
    if (bl_random_below(r, 4) == 0)
        p = realloc(p, size * 2);
    free(atomic_exchange(&slot[bl_random_below(r, SLOTS)], p));
}

static void *work(void *seed) {
    struct bl_random r = {(uint64_t)(uintptr_t)seed};
    while (!atomic_load_explicit(&stop, memory_order_relaxed))
        exchange_one(&r);
    return NULL;
}

static void free_all_slots(void) {
    for (int i = 0; i < SLOTS; i++)
        free(atomic_exchange(&slot[i], NULL));
}

static void work_a_while(void *depth) {
    struct bl_random r = {(uint64_t)getpid()};
    for (int i = 0; i < 500; i++)
        exchange_one(&r);
    free_all_slots();
    for (int i = 0; i < 100; i++)
        exchange_one(&r);
    if ((uintptr_t)depth > 0)
        bl_test_in_child(work_a_while,
                         (void *)(uintptr_t)((uintptr_t)depth - 1));
    free_all_slots();
}

static void work_with_threads(void *arg) {
    pthread_t thread[2];
    (void)arg;
    atomic_store(&stop, false);
    for (uintptr_t i = 0; i < 2; i++)
        expect_int_eq(pthread_create(&thread[i], NULL, work, (void *)(i + 99)),
                      0);
    work_a_while(NULL);
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
}

static void fork_under_load(int forks, void (*body)(void *), void *arg) {
    pthread_t thread[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_eq(pthread_create(&thread[i], NULL, work,
                                     (void *)(i + bl_test_seed())),
                      0);
    struct bl_random r = {bl_test_seed()};
    for (int i = 0; i < forks; i++) {
        for (uint64_t n = bl_random_below(&r, 200); n > 0; n--)
            exchange_one(&r);
        bl_test_in_child(body, arg);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    free_all_slots();
}

TEST(fork_of_one_thread) {
    struct bl_random r = {bl_test_seed()};
    for (int i = 0; i < 100; i++) {
        for (int j = 0; j < 100; j++)
            exchange_one(&r);
        bl_test_in_child(work_a_while, NULL);
    }
}

TEST(fork_while_threads_allocate) { fork_under_load(60, work_a_while, NULL); }

TEST(fork_in_children) {
    fork_under_load(10, work_a_while, (void *)(uintptr_t)3);
}

TEST(child_starts_threads) { fork_under_load(25, work_with_threads, NULL); }

static void *fork_often(void *arg) {
    (void)arg;
    for (int i = 0; i < 15; i++)
        bl_test_in_child(work_a_while, NULL);
    return NULL;
}

TEST(several_threads_fork) {
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_eq(pthread_create(&thread[i], NULL, fork_often, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

// Programs register fork handlers of their own which call malloc.
static void handler(void) {
    void *const p = malloc(1000);
    void *const q = malloc(100);
    free(p);
    free(atomic_exchange(&slot[0], q));
}

TEST(fork_handlers_may_allocate) {
    assert_int_eq(pthread_atfork(handler, handler, handler), 0);
    fork_under_load(40, work_a_while, NULL);
}

// ---- fork while another thread gives back what was freed

enum { MADE = 20000, FREED = MADE / 4 };
static void *made[MADE]; // the first ones are freed by another thread
static atomic_bool freed;

static void *free_and_trim(void *unused) {
    for (int i = 0; i < FREED; i++)
        free(made[i]);
    while (!atomic_load(&stop)) {
        malloc_trim(0);
        atomic_store(&freed, true);
    }
    return unused;
}

static int by_address(const void *a, const void *b) {
    const uintptr_t p = *(const uintptr_t *)a, q = *(const uintptr_t *)b;
    return (p > q) - (p < q);
}

static void find_what_was_freed(void *unused) {
    (void)unused;
    int found = 0;
    malloc_trim(0);
    for (int i = 0; i < FREED + 2000; i++) {
        void *const p = malloc(1000);
        found += bsearch(&p, made, FREED, sizeof p, by_address) != NULL;
    }
    expect_int_ge(found, FREED - 100);
}

// Of each of its pages some blocks are free. They were with another thread's
// lists, or on their way, when the child was made.
TEST(a_child_finds_what_others_freed) {
    pthread_t thread;
    for (int i = 0; i < MADE; i++)
        made[i / 4 + i % 4 * FREED] = malloc(1000);
    qsort(made, FREED, sizeof made[0], by_address);
    assert_int_eq(pthread_create(&thread, NULL, free_and_trim, NULL), 0);
    while (!atomic_load(&freed))
        usleep(1000);
    for (int i = 0; i < 30; i++)
        bl_test_in_child(find_what_was_freed, NULL);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
}

// ---- fork in a handler that interrupts the heap, or another fork

static volatile sig_atomic_t forks_in_handler;

static void fork_here(int number) {
    (void)number;
    const int before = errno;
    const pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status == 0)
        forks_in_handler++;
    errno = before;
}

TEST(a_signal_handler_may_fork) {
    struct sigaction act = {.sa_handler = fork_here};
    assert_int_eq(sigaction(SIGALRM, &act, NULL), 0);
    const struct itimerval often = {{0, 2000}, {0, 2000}};
    const struct itimerval never = {{0, 0}, {0, 0}};
    struct bl_random r = {bl_test_seed()};
    assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
    while (forks_in_handler < 60) {
        for (int i = 0; i < 20; i++)
            free(malloc(32 * 1024 + bl_random_below(&r, 4 * MIB)));
        const pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
    free_all_slots();
}

// ---- fork beside streams: glibc's fork locks their list, as fflush(NULL) does

static void *read_lines(void *stream) {
    while (!atomic_load(&stop)) {
        char *line = NULL;
        size_t size = 0;
        rewind(stream);
        expect_true(getline(&line, &size, stream) > 0);
        free(line);
        usleep(200); // glibc's locks of streams are not fair
    }
    return NULL;
}

static void *flush_all(void *unused) {
    (void)unused;
    while (!atomic_load(&stop))
        expect_int_eq(fflush(NULL) + usleep(200), 0);
    return NULL;
}

static FILE *one_long_line(void) {
    FILE *const f = tmpfile();
    assert_ptr_ne(f, NULL);
    for (int i = 0; i < 50000; i++)
        fputc('x', f);
    fputc('\n', f);
    return f;
}

TEST(fork_beside_streams) {
    pthread_t thread[THREADS];
    FILE *stream[THREADS] = {NULL};
    for (int i = 0; i < THREADS; i++) {
        stream[i] = i == 0 ? NULL : one_long_line();
        assert_int_eq(pthread_create(&thread[i], NULL,
                                     i == 0 ? flush_all : read_lines,
                                     stream[i]),
                      0);
    }
    for (int i = 0; i < 60; i++)
        bl_test_in_child(work_a_while, NULL);
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        if (stream[i])
            fclose(stream[i]);
    }
}

// Large blocks are shared with the child until one of them writes.
TEST(contents_are_the_same_in_the_child) {
    unsigned char *const p = malloc(50 * MIB);
    assert_ptr_ne(p, NULL);
    fill_pattern(p, 50 * MIB, 1);
    const pid_t pid = fork();
    if (pid == 0) {
        expect_size_eq(first_wrong(p, 50 * MIB, 50 * MIB, 1), 50 * MIB);
        memset(p, 0, 50 * MIB);
        unsigned char *const q = realloc(p, 90 * MIB);
        expect_true(q != NULL && q[49 * MIB] == 0);
        free(q);
        bl_test_exit();
    }
    expect_child_ok(pid);
    expect_size_eq(first_wrong(p, 50 * MIB, 50 * MIB, 1), 50 * MIB);
    free(p);
}
