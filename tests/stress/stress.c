// SPDX-License-Identifier: MIT
//
// stress SCENARIO [--threads N] [--scale N] [--seconds N] [--seed N]
//
// Threads x scale x seed on the heap, with every block's contents checked by
// whoever frees it. Not a benchmark: the checks cost more than the calls.
// Scenarios:
//
//   remote     producers allocate, consumers free what others allocated
//   exchange   all threads swap blocks through one table
//   churn      short threads by the thousand, which leave blocks behind
//   growth     each thread grows vectors and arenas by realloc
//   lifetimes  blocks of one size that die at once, late, or at the end
//   sleepers   threads that make blocks and sleep while others free most of
//              them
//   forks      children are forked while all threads work
//   all        each of these for its share of the time
//
// Exit status: 0, 1 where a block was not as it was left, 2 wrong usage.
//
#include "bl_random.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define MOST_THREADS 256
#define TABLE 4096

struct settings {
    unsigned threads;
    unsigned scale; // 1: small blocks of memory; n: n times as many live
    double seconds;
    uint64_t seed;
};

// Every block begins with this; the bytes behind it follow from the tag.
struct header {
    size_t size; // of the whole block, header included
    uint64_t tag;
};

struct worker {
    struct bl_random random;
    unsigned number;
};

static struct settings settings = {8, 1, 3, 0};
static atomic_bool stop;
static atomic_uint faults;
static atomic_ullong operations;
static _Atomic(struct header *) table[TABLE];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool going_on(void) {
    // Pairs with nothing: only the time of the end is told, no data.
    return !atomic_load_explicit(&stop, memory_order_relaxed);
}

static unsigned char byte_at(uint64_t tag, size_t offset) {
    return (unsigned char)(tag + offset * 37 + (offset >> 7));
}

static size_t next_offset(size_t offset) {
    return offset < 512 ? offset + 1 : offset + 1 + offset / 64;
}

static void fill(struct header *h, size_t size, uint64_t tag) {
    unsigned char *const p = (unsigned char *)h;
    h->size = size;
    h->tag = tag;
    for (size_t i = sizeof *h; i < size; i = next_offset(i))
        p[i] = byte_at(tag, i);
}

// The first few are told; after many there is nothing to learn from more.
static void fault(const struct header *h, const char *what, size_t at) {
    const unsigned before = atomic_fetch_add(&faults, 1);
    if (before < 10)
        fprintf(stderr, "FAULT: block %p of %zu bytes: %s at %zu\n",
                (const void *)h, h->size, what, at);
    if (before >= 1000)
        _exit(1);
}

static void check(const struct header *h, size_t size) {
    const unsigned char *const p = (const unsigned char *)h;
    for (size_t i = sizeof *h; i < size; i = next_offset(i))
        if (p[i] != byte_at(h->tag, i)) {
            fault(h, "wrong byte", i);
            return;
        }
}

static struct header *make(struct bl_random *r, size_t size) {
    const uint64_t kind = bl_random_below(r, 64);
    void *p = NULL;
    if (kind == 0)
        p = calloc(1, size);
    else if (kind == 1 && posix_memalign(&p, (size_t)16 << (size % 10), size))
        p = NULL;
    else if (kind > 1)
        p = malloc(size);
    if (p == NULL) {
        fprintf(stderr, "FAULT: no memory for %zu bytes\n", size);
        exit(1);
    }
    fill(p, size, bl_random_next(r));
    atomic_fetch_add_explicit(&operations, 1, memory_order_relaxed);
    return p;
}

static void release(struct header *h) {
    if (h == NULL)
        return;
    check(h, h->size);
    if (malloc_usable_size(h) < h->size)
        fault(h, "usable size too small", malloc_usable_size(h));
    h->tag = ~h->tag;
    free(h);
}

static size_t some_size(struct bl_random *r) {
    const uint64_t kind = bl_random_below(r, 1000);
    const size_t least = sizeof(struct header);
    if (kind < 850)
        return least + bl_random_below(r, 256);
    if (kind < 990)
        return least + bl_random_below(r, 8 * KIB);
    if (kind < 999)
        return least + bl_random_below(r, 200 * KIB);
    return least + bl_random_below(r, 4 * MIB);
}

static void run_threads(void *(*body)(void *), double seconds) {
    static struct worker worker[MOST_THREADS];
    pthread_t thread[MOST_THREADS];
    unsigned n = 0;
    atomic_store(&stop, false);
    for (; n < settings.threads; n++) {
        worker[n] = (struct worker){{settings.seed + n * 1001}, n};
        if (pthread_create(&thread[n], NULL, body, &worker[n]) != 0)
            break;
    }
    const struct timespec pause = {
        (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&pause, NULL);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < TABLE; i++)
        release(atomic_exchange(&table[i], NULL));
}

// Even threads fill empty places of the table, odd ones empty full ones.
static void *remote_body(void *arg) {
    struct worker *const w = arg;
    while (going_on()) {
        const size_t at = bl_random_below(&w->random, TABLE);
        if (w->number % 2 == 0) {
            struct header *empty = NULL;
            if (atomic_load(&table[at]) != NULL) {
                sched_yield();
                continue;
            }
            struct header *const h = make(&w->random, some_size(&w->random));
            if (!atomic_compare_exchange_strong(&table[at], &empty, h))
                release(h);
        } else {
            release(atomic_exchange(&table[at], NULL));
        }
    }
    return NULL;
}

static void *exchange_body(void *arg) {
    struct worker *const w = arg;
    while (going_on()) {
        const size_t at = bl_random_below(&w->random, TABLE);
        struct header *h = make(&w->random, some_size(&w->random));
        h = atomic_exchange(&table[at], h);
        if (h != NULL && bl_random_below(&w->random, 8) == 0) {
            const size_t old = h->size;
            const uint64_t tag = h->tag;
            const size_t size = some_size(&w->random);
            h = realloc(h, size);
            if (h == NULL)
                return NULL;
            check(h, old < size ? old : size);
            fill(h, size, tag);
        }
        release(h);
    }
    return NULL;
}

static void *short_body(void *arg) {
    struct worker *const w = arg;
    for (unsigned i = 0; i < 50 * settings.scale; i++) {
        const size_t at = bl_random_below(&w->random, TABLE);
        release(atomic_exchange(&table[at],
                                make(&w->random, some_size(&w->random))));
    }
    return NULL;
}

static void *churn_body(void *arg) {
    struct worker *const w = arg;
    while (going_on()) {
        pthread_t thread;
        struct worker child = {{bl_random_next(&w->random)}, w->number};
        if (pthread_create(&thread, NULL, short_body, &child) != 0) {
            sched_yield();
            continue;
        }
        pthread_join(thread, NULL);
    }
    return NULL;
}

static struct header *grown(struct header *h, size_t size) {
    const size_t old = h->size;
    const uint64_t tag = h->tag;
    struct header *const moved = realloc(h, size);
    if (moved == NULL) {
        fprintf(stderr, "FAULT: realloc to %zu found no memory\n", size);
        exit(1);
    }
    check(moved, old < size ? old : size);
    fill(moved, size, tag);
    atomic_fetch_add_explicit(&operations, 1, memory_order_relaxed);
    return moved;
}

static void *growth_body(void *arg) {
    struct worker *const w = arg;
    enum { VECTORS = 64 };
    struct header *vector[VECTORS] = {NULL};
    const size_t most = 2 * MIB * settings.scale;
    struct header *arena = make(&w->random, 1000);
    while (going_on()) {
        const size_t i = bl_random_below(&w->random, VECTORS);
        if (vector[i] == NULL)
            vector[i] = make(&w->random, 16 + bl_random_below(&w->random, 50));
        else if (vector[i]->size > most / 16 ||
                 bl_random_below(&w->random, 40) == 0) {
            release(vector[i]);
            vector[i] = NULL;
        } else {
            vector[i] =
                grown(vector[i], vector[i]->size + vector[i]->size / 2 + 8);
        }
        if (bl_random_below(&w->random, 100) == 0)
            arena = grown(arena, arena->size > most
                                     ? 1000
                                     : arena->size + arena->size / 4 + 100);
    }
    for (int i = 0; i < VECTORS; i++)
        release(vector[i]);
    release(arena);
    return NULL;
}

// Most blocks die young; some live long among them and hold pages.
static void *lifetimes_body(void *arg) {
    struct worker *const w = arg;
    enum { LONG = 2000 };
    static _Thread_local struct header *old[LONG];
    while (going_on()) {
        struct header *young[16];
        const size_t size =
            16 + 16 * bl_random_below(&w->random, 40) * settings.scale;
        for (int i = 0; i < 16; i++)
            young[i] = make(&w->random, size);
        const size_t keep = bl_random_below(&w->random, 16);
        const size_t at = bl_random_below(&w->random, LONG);
        for (size_t i = 0; i < 16; i++)
            if (i != keep)
                release(young[i]);
        release(old[at]);
        old[at] = young[keep];
    }
    for (int i = 0; i < LONG; i++) {
        release(old[i]);
        old[i] = NULL;
    }
    return NULL;
}

// What a thread makes before it sleeps: pages' worth of blocks of one size.
#define BATCH 4000
enum batch_state { BATCH_EMPTY, BATCH_FULL, BATCH_IN_HAND };
static struct batch {
    _Atomic(enum batch_state) state;
    int keep; // each so many-th block outlives the others; 0: none does
    struct header *block[BATCH];
} batches[MOST_THREADS];

static void nap(void) {
    const struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
}

static void fill_batch(struct batch *b, struct bl_random *r) {
    const size_t size = 16 + 16 * bl_random_below(r, 100) * settings.scale;
    for (int i = 0; i < BATCH; i++)
        b->block[i] = make(r, size);
    b->keep = (int)bl_random_below(r, 4);
    atomic_store(&b->state, BATCH_FULL);
}

static void empty_batch(struct batch *b) {
    enum batch_state full = BATCH_FULL;
    if (!atomic_compare_exchange_strong(&b->state, &full, BATCH_IN_HAND))
        return;
    for (int i = 0; i < BATCH; i++) {
        const bool keep = b->keep > 0 && i % b->keep == 0;
        release(keep ? atomic_exchange(&table[i % TABLE], b->block[i])
                     : b->block[i]);
    }
    atomic_store(&b->state, BATCH_EMPTY);
}

// Even threads make and sleep; odd ones free, and make some for themselves.
static void *sleepers_body(void *arg) {
    struct worker *const w = arg;
    struct batch *const mine = &batches[w->number];
    while (going_on()) {
        for (unsigned i = 0; w->number % 2 == 1 && i < settings.threads; i += 2)
            empty_batch(&batches[i]);
        fill_batch(mine, &w->random);
        while (w->number % 2 == 0 && going_on() &&
               atomic_load(&mine->state) != BATCH_EMPTY)
            nap();
        if (w->number % 2 == 1)
            empty_batch(mine);
        if (bl_random_below(&w->random, 64) == 0)
            malloc_trim(0);
    }
    while (atomic_load(&mine->state) == BATCH_IN_HAND)
        nap();
    empty_batch(mine);
    return NULL;
}

#ifndef STRESS_WITHOUT_FORKS
static void child_of_fork(struct worker *w) {
    alarm(60);
    for (int i = 0; i < 300; i++) {
        const size_t at = bl_random_below(&w->random, TABLE);
        release(atomic_exchange(&table[at],
                                make(&w->random, some_size(&w->random))));
    }
    for (int i = 0; i < TABLE; i++)
        release(atomic_exchange(&table[i], NULL));
    _exit(atomic_load(&faults) != 0);
}

static void *forks_body(void *arg) {
    struct worker *const w = arg;
    if (w->number % 2 == 1)
        return exchange_body(arg);
    while (going_on()) {
        int status = 0;
        const pid_t pid = fork();
        if (pid == 0)
            child_of_fork(w);
        if (pid < 0) {
            sched_yield();
            continue;
        }
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        if (status != 0) {
            fprintf(stderr, "FAULT: child ended with wait status 0x%x\n",
                    (unsigned)status);
            atomic_fetch_add(&faults, 1);
        }
        atomic_fetch_add_explicit(&operations, 1, memory_order_relaxed);
    }
    return NULL;
}
#endif

struct scenario {
    const char *name;
    void *(*body)(void *);
};

static const struct scenario scenarios[] = {
    {"remote", remote_body},       {"exchange", exchange_body},
    {"churn", churn_body},         {"growth", growth_body},
    {"lifetimes", lifetimes_body}, {"sleepers", sleepers_body},
#ifndef STRESS_WITHOUT_FORKS
    {"forks", forks_body},
#endif
};

#define SCENARIOS (sizeof scenarios / sizeof scenarios[0])

static void run_scenario(const struct scenario *s, double seconds) {
    const double start = now();
    atomic_store(&operations, 0);
    run_threads(s->body, seconds);
    printf("%s: %u threads, scale %u, seed %llu: %llu operations, %.1f s, "
           "%u faults\n",
           s->name, settings.threads, settings.scale,
           (unsigned long long)settings.seed,
           (unsigned long long)atomic_load(&operations), now() - start,
           atomic_load(&faults));
    fflush(stdout);
}

static int usage(void) {
    fprintf(stderr, "usage: stress SCENARIO [--threads N] [--scale N] "
                    "[--seconds N] [--seed N]\nscenarios: all");
    for (size_t i = 0; i < SCENARIOS; i++)
        fprintf(stderr, " %s", scenarios[i].name);
    fputc('\n', stderr);
    return 2;
}

static bool read_settings(int argc, char **argv) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    settings.seed = (uint64_t)t.tv_nsec;
    for (int i = 2; i < argc; i += 2) {
        if (i + 1 == argc)
            return false;
        if (strcmp(argv[i], "--threads") == 0)
            settings.threads = (unsigned)strtoul(argv[i + 1], NULL, 0);
        else if (strcmp(argv[i], "--scale") == 0)
            settings.scale = (unsigned)strtoul(argv[i + 1], NULL, 0);
        else if (strcmp(argv[i], "--seconds") == 0)
            settings.seconds = strtod(argv[i + 1], NULL);
        else if (strcmp(argv[i], "--seed") == 0)
            settings.seed = strtoull(argv[i + 1], NULL, 0);
        else
            return false;
    }
    return settings.threads >= 1 && settings.threads <= MOST_THREADS &&
           settings.scale >= 1;
}

int main(int argc, char **argv) {
    if (argc < 2 || !read_settings(argc, argv))
        return usage();
    const bool all = strcmp(argv[1], "all") == 0;
    bool any = false;
    for (size_t i = 0; i < SCENARIOS; i++) {
        if (!all && strcmp(argv[1], scenarios[i].name) != 0)
            continue;
        any = true;
        run_scenario(&scenarios[i],
                     all ? settings.seconds / SCENARIOS : settings.seconds);
    }
    if (!any)
        return usage();
    return atomic_load(&faults) != 0;
}
