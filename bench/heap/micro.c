// SPDX-License-Identifier: MIT
//
// Small programs that ask much of malloc, one idea each, with a fixed amount
// of work, so that processor time and peak memory can be compared between
// allocators. Preload the one to be measured:
//
//     LD_PRELOAD=libbigleaf.so heap-micro lifetimes [--threads=N] [--scale=N]
//                                                   [--live=MIB]
//
// One line of JSON: scenario, operations, seconds of user, system and wall
// time, the peak of the resident set. peers.py runs them all for several
// allocators in turn; curves.py runs `build`, `churn` and `replace`, where a
// heap of --live MiB stands while operations are counted, and `threads`.
//
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static size_t scale = 1;
static size_t live_bytes = (size_t)16 << 20;
static unsigned threads = 2;
static atomic_size_t operations;

static struct {
    struct rusage usage;
    double wall;
} counted_from;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// What came before was preparation.
static void count_from_here(void) {
    operations = 0;
    getrusage(RUSAGE_SELF, &counted_from.usage);
    counted_from.wall = now();
}

static uint64_t next(uint64_t *state) { // splitmix64 [Steele-2014]
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static size_t below(uint64_t *state, size_t n) { return next(state) % n; }

static void *must(void *p) {
    if (p == NULL) {
        fputs("heap-micro: no memory\n", stderr);
        exit(1);
    }
    return p;
}

// The first word is written, as every program would.
static void *make(size_t size) {
    uint64_t *const p = must(malloc(size));
    *p = size;
    return p;
}

// ---- small blocks that replace each other at random

static void *small(void *seed) {
    enum { LIVE = 20000, STEPS = 20000000 };
    uint64_t random = (uintptr_t)seed;
    void **const slot = must(calloc(LIVE, sizeof *slot));
    for (size_t i = 0; i < STEPS * scale; i++) {
        void **const s = &slot[below(&random, LIVE)];
        free(*s);
        *s = make(8 + below(&random, 200));
    }
    for (size_t i = 0; i < LIVE; i++)
        free(slot[i]);
    free(slot);
    atomic_fetch_add(&operations, 2 * STEPS * scale);
    return NULL;
}

static void on_threads(void *(*body)(void *), unsigned n) {
    pthread_t thread[64];
    for (uintptr_t i = 0; i < n; i++)
        if (pthread_create(&thread[i], NULL, body, (void *)(i + 1)) != 0)
            exit(1);
    for (unsigned i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
}

static void run_small(void) { small((void *)1); }
static void run_threads(void) { on_threads(small, threads); }

// ---- producers make, consumers free: every free is a remote one

enum { RING = 4096, MESSAGES = 8000000 };
static struct ring {
    _Alignas(64) atomic_size_t head;
    _Alignas(64) atomic_size_t tail;
    _Atomic(void *) block[RING];
} rings[32];

static void *produce(struct ring *r, uint64_t random) {
    for (size_t i = 0; i < MESSAGES * scale; i++) {
        const size_t at = atomic_load_explicit(&r->head, memory_order_relaxed);
        while (at - atomic_load(&r->tail) == RING)
            sched_yield();
        atomic_store(&r->block[at % RING], make(16 + below(&random, 240)));
        atomic_store(&r->head, at + 1);
    }
    return NULL;
}

static void *consume(struct ring *r) {
    for (size_t i = 0; i < MESSAGES * scale; i++) {
        while (atomic_load(&r->head) == i)
            sched_yield();
        free(atomic_load(&r->block[i % RING]));
        atomic_store(&r->tail, i + 1);
    }
    atomic_fetch_add(&operations, 2 * MESSAGES * scale);
    return NULL;
}

static void *end_of_pipe(void *number) {
    const uintptr_t n = (uintptr_t)number - 1;
    return n % 2 == 0 ? produce(&rings[n / 2], n + 1) : consume(&rings[n / 2]);
}

static void run_remote(void) { on_threads(end_of_pipe, threads & ~1u); }

// ---- vectors and one arena that grow as a solver's do

static void run_growth(void) {
    enum { VECTORS = 200000, STEPS = 12000000 };
    const size_t arena_most = ((size_t)256 << 20) * scale;
    struct vector {
        uint32_t *at;
        uint32_t count, room;
    } *const vector = must(calloc(VECTORS, sizeof *vector));
    uint64_t random = 1;
    size_t room = 1 << 20, used = 0;
    char *arena = must(malloc(room));
    for (size_t i = 0; i < STEPS * scale; i++) {
        // A few vectors get most of what comes, as literals do.
        const size_t pick = below(&random, VECTORS);
        struct vector *const v = &vector[pick * pick / VECTORS];
        if (v->count == v->room) {
            v->room += v->room / 2 + 2;
            v->at = must(realloc(v->at, v->room * sizeof *v->at));
        }
        v->at[v->count++] = (uint32_t)i;
        if (used + 24 > room && room < arena_most) {
            room += room / 2;
            arena = must(realloc(arena, room));
        }
        if (used + 24 <= room) {
            memset(arena + used, 1, 24);
            used += 24;
        }
    }
    free(arena);
    for (size_t i = 0; i < VECTORS; i++)
        free(vector[i].at);
    free(vector);
    atomic_fetch_add(&operations, STEPS * scale);
}

// ---- most blocks die young, some live long among them

static void run_lifetimes(void) {
    enum { OLD = 400000, ROUNDS = 1500000 };
    void **const old = must(calloc(OLD, sizeof *old));
    uint64_t random = 1;
    for (size_t i = 0; i < ROUNDS * scale; i++) {
        void *young[8];
        const size_t size = 16 + below(&random, 20) * below(&random, 20);
        for (int k = 0; k < 8; k++)
            young[k] = make(size + (size_t)k);
        void **const place = &old[below(&random, OLD)];
        free(*place);
        *place = young[below(&random, 8)];
        for (int k = 0; k < 8; k++)
            if (young[k] != *place)
                free(young[k]);
    }
    for (size_t i = 0; i < OLD; i++)
        free(old[i]);
    free(old);
    atomic_fetch_add(&operations, 16 * ROUNDS * scale);
}

// ---- sizes change from phase to phase, and a tenth of each stays

static void run_fragments(void) {
    enum { BLOCKS = 300000, PHASES = 16 };
    void **const block = must(calloc(BLOCKS, sizeof *block));
    uint64_t random = 1;
    for (size_t phase = 0; phase < PHASES * scale; phase++) {
        const size_t size = 24 + 40 * (phase * 7 % 16);
        for (size_t i = 0; i < BLOCKS; i++)
            if (block[i] == NULL)
                block[i] = memset(make(size), 1, size);
        for (size_t i = 0; i < BLOCKS; i++)
            if (below(&random, 10) != 0) {
                free(block[i]);
                block[i] = NULL;
            }
    }
    for (size_t i = 0; i < BLOCKS; i++)
        free(block[i]);
    free(block);
    atomic_fetch_add(&operations, 2 * BLOCKS * PHASES * scale * 9 / 10);
}

// ---- a large heap that is walked at random

static void run_footprint(void) {
    enum { STEPS = 20000000 };
    const size_t nodes = 12000000 * scale;
    struct node {
        struct node *next;
        uint64_t value[5];
    } **const node = must(malloc(nodes * sizeof(struct node *)));
    uint64_t random = 1;
    for (size_t i = 0; i < nodes; i++)
        node[i] = make(sizeof(struct node));
    for (size_t i = nodes - 1; i > 0; i--) { // a random order
        const size_t k = below(&random, i + 1);
        struct node *const swapped = node[i];
        node[i] = node[k];
        node[k] = swapped;
    }
    for (size_t i = 0; i < nodes; i++)
        node[i]->next = node[(i + 1) % nodes];
    const struct node *at = node[0];
    for (size_t i = 0; i < STEPS; i++)
        at = at->next;
    if (at == NULL)
        abort();
    for (size_t i = 0; i < nodes; i++)
        free(node[i]);
    free(node);
    atomic_fetch_add(&operations, 2 * nodes + STEPS);
}

// ---- what an operation costs beside a heap of a given size

enum { BLOCK_LEAST = 16, BLOCK_STEPS = 15 }; // 16 to 240 bytes, in steps of 16

static size_t some_size(uint64_t *random) {
    return BLOCK_LEAST * (1 + below(random, BLOCK_STEPS));
}

// A heap of `live_bytes`; the blocks, and how many, are never freed.
static void **build(uint64_t *random, size_t *count) {
    const size_t mean = BLOCK_LEAST * (1 + BLOCK_STEPS) / 2;
    *count = live_bytes / mean;
    void **const block = must(malloc(*count * sizeof *block));
    for (size_t i = 0; i < *count; i++)
        block[i] = make(some_size(random));
    return block;
}

static void run_build(void) {
    uint64_t random = 1;
    size_t count;
    build(&random, &count);
    atomic_fetch_add(&operations, count);
}

static void run_churn(void) {
    enum { BATCH = 64, ROUNDS = 300000 };
    uint64_t random = 1;
    size_t count;
    build(&random, &count);
    count_from_here();
    for (size_t i = 0; i < ROUNDS * scale; i++) {
        void *young[BATCH];
        for (int k = 0; k < BATCH; k++)
            young[k] = make(some_size(&random));
        for (int k = 0; k < BATCH; k++)
            free(young[k]);
    }
    atomic_fetch_add(&operations, 2 * BATCH * ROUNDS * scale);
}

static void run_replace(void) {
    enum { STEPS = 5000000 };
    uint64_t random = 1;
    size_t count;
    void **const block = build(&random, &count);
    count_from_here();
    for (size_t i = 0; i < STEPS * scale; i++) {
        void **const place = &block[below(&random, count)];
        free(*place);
        *place = make(some_size(&random));
    }
    atomic_fetch_add(&operations, 2 * STEPS * scale);
}

static const struct scenario {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"small", run_small},         {"threads", run_threads},
    {"remote", run_remote},       {"growth", run_growth},
    {"lifetimes", run_lifetimes}, {"fragments", run_fragments},
    {"footprint", run_footprint}, {"build", run_build},
    {"churn", run_churn},         {"replace", run_replace},
};

static _Noreturn void usage(void) {
    fputs("usage: heap-micro SCENARIO [--threads=N] [--scale=N] [--live=MIB]\n"
          "scenarios:",
          stderr);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        fprintf(stderr, " %s", scenarios[i].name);
    fputs("\n", stderr);
    exit(2);
}

static size_t number(const char *text, size_t most) {
    char *end;
    const unsigned long n = strtoul(text, &end, 10);
    if (*end != '\0' || n == 0 || n > most)
        usage();
    return n;
}

static double seconds(struct timeval end, struct timeval start) {
    return (double)(end.tv_sec - start.tv_sec) +
           (double)(end.tv_usec - start.tv_usec) / 1e6;
}

// The peak of this program alone: getrusage's would be that of the program
// which started it, if that is larger.
static long peak_kib(void) {
    FILE *const status = fopen("/proc/self/status", "re");
    char line[256];
    long kib = 0;
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    if (status)
        fclose(status);
    return kib;
}

static void measure(const struct scenario *s) {
    count_from_here();
    s->run();
    const double wall = now() - counted_from.wall;
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    printf("{\"scenario\": \"%s\", \"operations\": %zu, \"user_seconds\": %.6f,"
           " \"system_seconds\": %.6f, \"wall_seconds\": %.6f, "
           "\"peak_kib\": %ld}\n",
           s->name, atomic_load(&operations),
           seconds(r.ru_utime, counted_from.usage.ru_utime),
           seconds(r.ru_stime, counted_from.usage.ru_stime), wall, peak_kib());
}

int main(int argc, char **argv) {
    if (argc < 2)
        usage();
    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], "--threads=", 10) == 0)
            threads = (unsigned)number(argv[i] + 10, 64);
        else if (strncmp(argv[i], "--scale=", 8) == 0)
            scale = number(argv[i] + 8, 1000);
        else if (strncmp(argv[i], "--live=", 7) == 0)
            live_bytes = number(argv[i] + 7, 1 << 20) << 20;
        else
            usage();
    }
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(scenarios[i].name, argv[1]) == 0) {
            measure(&scenarios[i]);
            return 0;
        }
    usage();
}
