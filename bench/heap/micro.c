// SPDX-License-Identifier: MIT
//
// Small programs of our own that ask much of malloc, one idea each.
// peers.py runs them all for several allocators in turn; curves.py runs
// `build`, `churn` and `replace`, where a heap of --live MiB stands while
// operations are counted, and `threads`.
//
#include "scenario.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

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
    count(2 * STEPS * scale);
    return NULL;
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
    count(2 * MESSAGES * scale);
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
    count(STEPS * scale);
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
    count(16 * ROUNDS * scale);
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
    count(2 * BLOCKS * PHASES * scale * 9 / 10);
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
    count(2 * nodes + STEPS);
}

// ---- what an operation costs beside a heap of a given size

enum { BLOCK_LEAST = 16, BLOCK_STEPS = 15 }; // 16 to 240 bytes, in steps of 16

static size_t some_size(uint64_t *random) {
    return BLOCK_LEAST * (1 + below(random, BLOCK_STEPS));
}

// A heap of `live_bytes`; the blocks, and how many, are never freed.
static void **build(uint64_t *random, size_t *blocks) {
    const size_t mean = BLOCK_LEAST * (1 + BLOCK_STEPS) / 2;
    *blocks = live_bytes / mean;
    void **const block = must(malloc(*blocks * sizeof *block));
    for (size_t i = 0; i < *blocks; i++)
        block[i] = make(some_size(random));
    return block;
}

static void run_build(void) {
    uint64_t random = 1;
    size_t blocks;
    build(&random, &blocks);
    count(blocks);
}

static void run_churn(void) {
    enum { BATCH = 64, ROUNDS = 300000 };
    uint64_t random = 1;
    size_t blocks;
    build(&random, &blocks);
    count_from_here();
    for (size_t i = 0; i < ROUNDS * scale; i++) {
        void *young[BATCH];
        for (int k = 0; k < BATCH; k++)
            young[k] = make(some_size(&random));
        for (int k = 0; k < BATCH; k++)
            free(young[k]);
    }
    count(2 * BATCH * ROUNDS * scale);
}

static void run_replace(void) {
    enum { STEPS = 5000000 };
    uint64_t random = 1;
    size_t blocks;
    void **const block = build(&random, &blocks);
    count_from_here();
    for (size_t i = 0; i < STEPS * scale; i++) {
        void **const place = &block[below(&random, blocks)];
        free(*place);
        *place = make(some_size(&random));
    }
    count(2 * STEPS * scale);
}

const struct scenario micro[] = {
    {"small", run_small},
    {"threads", run_threads},
    {"remote", run_remote},
    {"growth", run_growth},
    {"lifetimes", run_lifetimes},
    {"fragments", run_fragments},
    {"footprint", run_footprint},
    {"build", run_build},
    {"churn", run_churn},
    {"replace", run_replace},
    {NULL, NULL},
};
