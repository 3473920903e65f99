// SPDX-License-Identifier: MIT
//
// A program that would notice if it were handled badly: every thread works on
// memory of its own with integers, floating point and vectors, sleeps, polls,
// waits for others and takes signals, all of it at known counts, and compares.
//
//   steady THREADS MIB SECONDS
//
// Prints "ready" once its memory is there, and at the end "right" or what was
// wrong. The work lasts SECONDS; 0: until standard input ends. Memory is given
// back and taken anew all the time.
//
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 64, WORDS_PER_MIB = (1 << 20) / 8, RENEWED = 20 };

static int thread_count;
static atomic_int over;
static atomic_ulong alarms;
static atomic_ulong faults;
static size_t words;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int pipe_ends[2];

static void on_alarm(int number) {
    (void)number;
    atomic_fetch_add(&alarms, 1);
}

static void wrong(const char *what) {
    if (atomic_fetch_add(&faults, 1) == 0)
        fprintf(stderr, "wrong: %s\n", what);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t mix(uint64_t x) {
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}

// Values that live in registers of every kind across many instructions.
static void compute(uint64_t seed) {
    double a[8];
    double b[8];
    uint64_t x = seed;
    uint64_t y = seed;
    for (int i = 0; i < 8; i++)
        a[i] = b[i] = (double)(seed % 1000 + (uint64_t)i);
    for (int round = 0; round < 20000; round++) {
        x = mix(x + (uint64_t)round);
        for (int i = 0; i < 8; i++)
            a[i] = a[i] * 1.0000001 + (double)i;
    }
    for (int round = 0; round < 20000; round++) {
        __asm__ volatile("" : "+r"(y));
        y = mix(y + (uint64_t)round);
        for (int i = 0; i < 8; i++)
            b[i] = b[i] * 1.0000001 + (double)i;
    }
    if (x != y || memcmp(a, b, sizeof a) != 0)
        wrong("a computation");
}

static void check_memory(const uint64_t *memory, uint64_t seed) {
    for (size_t i = 0; i < words; i += 61) {
        if (memory[i] != mix(seed + i))
            wrong("a word of memory");
    }
}

// System calls that must last as long, and end as, they would have.
static void wait_about(void) {
    struct timespec t = {0, 3000000};
    struct pollfd p = {.fd = pipe_ends[0], .events = POLLIN};
    const double before = now();
    while (nanosleep(&t, &t) != 0) {
        if (errno != EINTR)
            wrong("nanosleep");
    }
    if (now() - before < 0.003)
        wrong("a sleep was cut short");
    const int got = poll(&p, 1, 2);
    if (got != 0 && !(got < 0 && errno == EINTR))
        wrong("poll");
    pthread_mutex_lock(&turn);
    t = (struct timespec){0, 200000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
    pthread_mutex_unlock(&turn);
}

static uint64_t *take_memory(uint64_t seed) {
    uint64_t *memory =
        mmap(NULL, words * sizeof *memory, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        wrong("no memory");
        exit(1);
    }
    for (size_t i = 0; i < words; i++)
        memory[i] = mix(seed + i);
    return memory;
}

static void *work(void *argument) {
    static atomic_int ready;
    const uint64_t seed = (uint64_t)(uintptr_t)argument;
    uint64_t *memory = take_memory(seed);
    if (atomic_fetch_add(&ready, 1) + 1 == thread_count) {
        puts("ready");
        fflush(stdout);
    }
    for (unsigned round = 1; !atomic_load(&over); round++) {
        compute(seed);
        check_memory(memory, seed);
        wait_about();
        if (round % RENEWED == 0) {
            munmap(memory, words * sizeof *memory);
            memory = take_memory(seed);
        }
    }
    munmap(memory, words * sizeof *memory);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    thread_count = atoi(argv[1]);
    const double seconds = atof(argv[3]);
    pthread_t ids[MOST_THREADS];
    const struct sigaction action = {.sa_handler = on_alarm,
                                     .sa_flags = SA_RESTART};
    const struct itimerval timer = {{0, 20000}, {0, 20000}};
    if (thread_count < 1 || thread_count > MOST_THREADS || pipe(pipe_ends) != 0)
        return 2;
    words = (size_t)atoi(argv[2]) * WORDS_PER_MIB / (size_t)thread_count;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    const double begin = now();
    for (int i = 0; i < thread_count; i++)
        pthread_create(&ids[i], NULL, work, (void *)(uintptr_t)(i + 1));
    char c;
    while (seconds > 0 ? now() - begin < seconds : read(0, &c, 1) != 0)
        usleep(10000);
    atomic_store(&over, 1);
    for (int i = 0; i < thread_count; i++)
        pthread_join(ids[i], NULL);
    if (atomic_load(&alarms) < (unsigned long)(seconds * 10))
        wrong("alarms are missing");
    puts(atomic_load(&faults) ? "wrong" : "right");
    return atomic_load(&faults) ? 1 : 0;
}
