// SPDX-License-Identifier: MIT
//
// What the programs of the public suites ask of malloc (mimalloc-bench's and
// glibc's), written anew after their descriptions, each with a fixed amount of
// work in place of a fixed time:
//
//     pareto      alloc-test: 80 of 100 steps go to 20 of 100 places
//     larson      a server: threads hand all their blocks to their successors
//     mstress     many sizes, retained, freed and swapped between threads
//     batches     xmalloc-test: batches of 64-byte blocks, freed elsewhere
//     exchange    rptest: 8 bytes to 16 KB, a half of it freed elsewhere
//     runs        glibc-simple: n blocks of one size, then all of them freed
//     inverse     glibc-thread: sizes of an inverse square distribution
//     shelves     sh8bench: generations of 1 to 1000 bytes, kept for a while
//     large       malloc-large: 2 MiB, written, freed, again and again
//     leavers     mleak: threads that leave one block behind and end
//     scratch     cache-scratch: one small block a thread, written much
#include "scenario.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

// ---- pareto

static uint32_t pareto_place(uint64_t *random, uint32_t places) {
    uint32_t first = places;
    for (int level = 0; level < 6 && below(random, 5) != 0; level++)
        first = first / 5 + 1; // 80 of 100 times into the first fifth
    return (uint32_t)below(random, first);
}

static size_t pareto_size(uint64_t *random) {
    // Half of them up to 8 bytes, a quarter up to 16, ... up to 1024.
    const int level = __builtin_ctzll(next(random) | 1u << 7) + 2;
    return 1 + ((size_t)1 << level) + below(random, (size_t)1 << level);
}

static void *pareto(void *seed) {
    enum { STEPS = 20000000 };
    const uint32_t places = (1u << 17) / threads;
    uint64_t random = (uintptr_t)seed;
    char **const place = must(calloc(places, sizeof *place));
    for (size_t i = 0; i < STEPS * scale / threads; i++) {
        char **const p = &place[pareto_place(&random, places)];
        if (*p) {
            free(*p);
            *p = NULL;
        } else {
            const size_t size = pareto_size(&random);
            *p = memset(must(malloc(size)), 1, size);
        }
    }
    for (uint32_t i = 0; i < places; i++)
        free(place[i]);
    free(place);
    count(STEPS * scale / threads);
    return NULL;
}

static void run_pareto(void) { on_threads(pareto, threads); }

// ---- larson

struct server {
    uint64_t random;
    unsigned generations;
    void *block[1000];
};

static void *serve(void *me) {
    enum { STEPS = 500000 };
    struct server *const s = me;
    uint64_t random = s->random;
    for (size_t i = 0; i < STEPS; i++) {
        void **const place = &s->block[below(&random, 1000)];
        free(*place);
        *place = make(8 + below(&random, 992));
    }
    s->random = random;
    count(2 * STEPS);
    return NULL;
}

static void *generations(void *seed) {
    struct server *const s = must(calloc(1, sizeof *s));
    s->random = (uintptr_t)seed;
    for (size_t i = 0; i < 20 * scale; i++) {
        pthread_t next_one;
        if (pthread_create(&next_one, NULL, serve, s) != 0)
            abort();
        pthread_join(next_one, NULL);
    }
    for (size_t i = 0; i < 1000; i++)
        free(s->block[i]);
    free(s);
    return NULL;
}

static void run_larson(void) { on_threads(generations, threads); }

// ---- mstress

static _Atomic(uint64_t *) transfer[1000];

static uint64_t *words(size_t n, uint64_t *random) {
    if (below(random, 100) == 0)
        n *= 100;
    uint64_t *const p = must(malloc(n * sizeof *p));
    for (size_t i = 0; i < n; i++)
        p[i] = n - i;
    return p;
}

static void free_words(uint64_t *p) {
    if (p == NULL)
        return;
    const uint64_t n = p[0];
    for (uint64_t i = 0; i < n; i++)
        if (p[i] != n - i)
            abort();
    free(p);
}

static void *stress(void *number) {
    const size_t n = (uintptr_t)number;
    uint64_t random = n ^ 42;
    size_t left = 80 * 25 * scale * (n % 8 + 1), retain = left / 2;
    uint64_t **const retained = must(malloc(retain * sizeof *retained));
    uint64_t **data = NULL;
    size_t kept = 0, used = 0, room = 0;
    while (left > 0 || retain > 0) {
        if (retain == 0 || (left > 0 && below(&random, 2) == 0)) {
            left--;
            if (used == room)
                data = must(realloc(data, (room += 100000) * sizeof *data));
            data[used++] = words(1 + below(&random, 128), &random);
        } else {
            retain--;
            retained[kept++] = words(10 * (1 + below(&random, 1280)), &random);
        }
        if (used > 0 && below(&random, 3) != 0) {
            uint64_t **const victim = &data[below(&random, used)];
            free_words(*victim);
            *victim = NULL;
        }
        if (used > 0 && below(&random, 4) == 0) {
            uint64_t **const mine = &data[below(&random, used)];
            *mine = atomic_exchange(&transfer[below(&random, 1000)], *mine);
        }
    }
    while (kept > 0)
        free_words(retained[--kept]);
    while (used > 0)
        free_words(data[--used]);
    free(retained);
    free(data);
    count(80 * 25 * scale * (n % 8 + 1));
    return NULL;
}

static void run_mstress(void) {
    for (int round = 0; round < 12; round++) {
        on_threads(stress, 2 * threads);
        for (int i = 0; i < 1000; i++)
            free_words(atomic_exchange(&transfer[i], NULL));
    }
}

// ---- batches

enum { BATCH = 4096, BATCHES = 2500, BATCHES_WAITING = 100 };

struct batch {
    struct batch *next;
    void *block[BATCH];
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct batch *first;
    int waiting;
} shelf = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0};

static void put(struct batch *b) {
    pthread_mutex_lock(&shelf.lock);
    while (shelf.waiting == BATCHES_WAITING)
        pthread_cond_wait(&shelf.changed, &shelf.lock);
    b->next = shelf.first;
    shelf.first = b;
    shelf.waiting++;
    pthread_cond_broadcast(&shelf.changed);
    pthread_mutex_unlock(&shelf.lock);
}

static struct batch *take(void) {
    pthread_mutex_lock(&shelf.lock);
    while (shelf.first == NULL)
        pthread_cond_wait(&shelf.changed, &shelf.lock);
    struct batch *const b = shelf.first;
    shelf.first = b->next;
    shelf.waiting--;
    pthread_cond_broadcast(&shelf.changed);
    pthread_mutex_unlock(&shelf.lock);
    return b;
}

static void *fill_batches(void) {
    for (size_t i = 0; i < BATCHES * scale; i++) {
        struct batch *const b = must(malloc(sizeof *b));
        for (int k = 0; k < BATCH; k++)
            b->block[k] = memset(must(malloc(64)), k, 64);
        put(b);
    }
    return NULL;
}

static void *empty_batches(void) {
    for (size_t i = 0; i < BATCHES * scale; i++) {
        struct batch *const b = take();
        for (int k = 0; k < BATCH; k++)
            free(b->block[k]);
        free(b);
    }
    count(2 * (size_t)BATCH * BATCHES * scale);
    return NULL;
}

static void *batch_worker(void *number) {
    return (uintptr_t)number % 2 ? fill_batches() : empty_batches();
}

static void run_batches(void) { on_threads(batch_worker, 2 * threads); }

// ---- exchange

enum { PARCEL = 75 };
struct parcel {
    struct parcel *next;
    void *block[PARCEL];
};
static _Atomic(struct parcel *) inbox[64];

static size_t exchange_size(uint64_t *random) {
    const double a = (double)below(random, 1000) / 1000,
                 b = (double)below(random, 1000) / 1000;
    return 8 + (size_t)((double)below(random, 16000) * a * b);
}

static char *exchange_make(uint64_t *random) {
    const size_t size = exchange_size(random);
    char *const p = size < 4096 && below(random, 3) == 0
                        ? must(aligned_alloc(16, (size + 15) & ~(size_t)15))
                        : must(malloc(size));
    for (size_t i = 0; i < size; i += 4096)
        p[i] = 1;
    p[size - 1] = 1;
    return p;
}

static void empty_inbox(unsigned n) {
    for (struct parcel *p = atomic_exchange(&inbox[n], NULL); p != NULL;) {
        struct parcel *const after = p->next;
        for (int k = 0; k < PARCEL; k++)
            free(p->block[k]);
        free(p);
        p = after;
    }
}

static void send_parcel(unsigned to, uint64_t *random) {
    struct parcel *const p = must(malloc(sizeof *p));
    for (int k = 0; k < PARCEL; k++)
        p->block[k] = exchange_make(random);
    p->next = atomic_load(&inbox[to]);
    while (!atomic_compare_exchange_weak(&inbox[to], &p->next, p))
        ;
}

static void *exchange(void *number) {
    enum { LIVE = 1000, LOOPS = 20000 };
    const unsigned me = (unsigned)(uintptr_t)number - 1;
    uint64_t random = me + 1;
    void *slot[LIVE] = {NULL};
    size_t at = 0, freed = 0;
    for (size_t loop = 0; loop < LOOPS * scale; loop++) {
        for (int k = 0; k < 65; k++, freed = (freed + 11) % LIVE) {
            free(slot[freed]);
            slot[freed] = NULL;
        }
        empty_inbox(me);
        for (int k = 0; k < PARCEL; k++, at = (at + 7) % LIVE) {
            free(slot[at]);
            slot[at] = exchange_make(&random);
        }
        if (loop % 2 == 0)
            send_parcel((me + 1) % threads, &random);
    }
    for (size_t i = 0; i < LIVE; i++)
        free(slot[i]);
    count(LOOPS * scale * (PARCEL + PARCEL / 2) * 2);
    return NULL;
}

static void run_exchange(void) {
    on_threads(exchange, threads);
    for (unsigned i = 0; i < threads; i++)
        empty_inbox(i);
}

// ---- runs

static void same_size(void **block, size_t size, size_t n) {
    enum { STEPS = 4000000 };
    for (size_t i = 0; i < STEPS * scale / n; i++) {
        for (size_t k = 0; k < n; k++)
            block[k] = memset(must(malloc(size)), 1, size);
        for (size_t k = 0; k < n; k++)
            free(block[k]);
    }
    count(2 * STEPS * scale);
}

static void *all_runs(void *unused) {
    (void)unused;
    static const size_t lengths[] = {25, 100, 400, 1600};
    void **const block = must(malloc(1600 * sizeof *block));
    for (size_t size = 16; size <= 64; size *= 2)
        for (int i = 0; i < 4; i++)
            same_size(block, size, lengths[i]);
    free(block);
    return NULL;
}

static void run_runs(void) {
    all_runs(NULL);
    on_threads(all_runs, 1);
}

// ---- inverse

static void *inverse(void *seed) {
    enum { LIVE = 1024, STEPS = 15000000 };
    uint64_t random = (uintptr_t)seed;
    void *slot[LIVE] = {NULL};
    for (size_t i = 0; i < STEPS * scale; i++) {
        void **const place = &slot[below(&random, LIVE)];
        const size_t size = 4 * 65536 / (8 + below(&random, 65536 - 8));
        free(*place);
        *place = memset(must(malloc(size)), 1, size);
    }
    for (size_t i = 0; i < LIVE; i++)
        free(slot[i]);
    count(2 * STEPS * scale);
    return NULL;
}

static void run_inverse(void) { on_threads(inverse, threads); }

// ---- shelves

static void *shelves(void *seed) {
    enum { SHELF = 400, SHELVES = 20, ROUNDS = 8000 };
    uint64_t random = (uintptr_t)seed;
    void *(*const block)[SHELF] = must(calloc(SHELVES, sizeof *block));
    for (size_t round = 0; round < ROUNDS * scale; round++) {
        void **const s = block[round % SHELVES];
        const bool backwards = round % 3 == 0;
        for (size_t k = 0; k < SHELF; k++)
            free(s[backwards ? SHELF - 1 - k : k]);
        const size_t most = (size_t)16 << below(&random, 7);
        for (size_t k = 0; k < SHELF; k++)
            s[k] = make(8 + below(&random, most));
    }
    for (size_t i = 0; i < SHELVES; i++)
        for (size_t k = 0; k < SHELF; k++)
            free(block[i][k]);
    free(block);
    count(2 * SHELF * ROUNDS * scale);
    return NULL;
}

static void run_shelves(void) { on_threads(shelves, 2 * threads); }

// ---- large

static void *large(void *unused) {
    (void)unused;
    enum { SIZE = 2 << 20, ROUNDS = 2000 };
    for (size_t i = 0; i < ROUNDS * scale; i++)
        free(memset(must(malloc(SIZE)), 'x', SIZE));
    count(2 * ROUNDS * scale);
    return NULL;
}

static void run_large(void) { on_threads(large, 1); }

// ---- leavers

static _Atomic(void *) left_behind[1000];

static void *leave(void *number) {
    uint64_t random = (uintptr_t)number;
    for (int i = 0; i < 3; i++)
        next(&random);
    free(atomic_exchange(&left_behind[below(&random, 1000)],
                         must(calloc(16, sizeof(void *)))));
    return NULL;
}

static void run_leavers(void) {
    for (size_t i = 0; i < 2000 * scale; i++)
        on_threads(leave, 10);
    for (int i = 0; i < 1000; i++)
        free(left_behind[i]);
    count(40000 * scale);
}

// ---- scratch

static void *scratch(void *block) {
    enum { ROUNDS = 1000, WRITES = 20000 };
    free(block);
    for (size_t i = 0; i < ROUNDS * scale; i++) {
        char *const p = must(malloc(8));
        for (int k = 0; k < WRITES; k++)
            ((volatile char *)p)[k % 8]++;
        free(p);
    }
    count(2 * ROUNDS * scale);
    return NULL;
}

static void run_scratch(void) {
    pthread_t thread[64];
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, scratch, make(8)) != 0)
            abort();
    for (unsigned i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
}

const struct scenario suites[] = {
    {"pareto", run_pareto},     {"larson", run_larson},
    {"mstress", run_mstress},   {"batches", run_batches},
    {"exchange", run_exchange}, {"runs", run_runs},
    {"inverse", run_inverse},   {"shelves", run_shelves},
    {"large", run_large},       {"leavers", run_leavers},
    {"scratch", run_scratch},   {NULL, NULL},
};
