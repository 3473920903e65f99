// SPDX-License-Identifier: MIT
//
// A shared pool is deleted while other threads, which used it before and do so
// no more, go on with malloc and free, begin and end: what the runtime keeps of
// the pool in their locals goes at the same time.
//
#include "heap/heap.h"

#include "bl_test.h"

#include <pthread.h>
#include <string.h>

enum { WORKERS = 3, BLOCKS = 3000, ROUNDS = 1000, TURNS = 1500 };

static struct bl_pool *pool;
static void *shared[WORKERS][BLOCKS];
static pthread_barrier_t barrier;

// Half of its own blocks each worker frees itself, half the next one does, so
// that pages are available, full and reported when the pool goes.
static void use_pool(int me, unsigned round) {
    for (int i = 0; i < BLOCKS; i++) {
        shared[me][i] = bl_pool_alloc(pool);
        assert_ptr_ne(shared[me][i], NULL);
    }
    pthread_barrier_wait(&barrier);
    const int other = (me + 1) % WORKERS;
    for (int i = 0; i < BLOCKS; i++) {
        if ((unsigned)i % 8 == round % 8)
            bl_pool_free(pool, shared[other][i]);
    }
}

// Sizes that change, so that pages are taken and given back.
static void use_heap(unsigned round) {
    void *kept[64] = {NULL};
    for (unsigned i = 0; i < TURNS; i++) {
        const size_t bytes = 16 + (i + round) * 2741 % 60000;
        bl_free(kept[i % 64]);
        kept[i % 64] = bl_malloc(bytes);
        assert_ptr_ne(kept[i % 64], NULL);
        memset(kept[i % 64], (int)i, bytes < 64 ? bytes : 64);
    }
    for (unsigned i = 0; i < 64; i++)
        bl_free(kept[i]);
}

static void *end_at_once(void *p) {
    bl_free(p);
    bl_free(bl_malloc(100));
    return NULL;
}

static void *work(void *arg) {
    const int me = (int)(intptr_t)arg;
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&barrier); // there is a pool
        use_pool(me, round);
        pthread_barrier_wait(&barrier); // nobody uses it any more
        use_heap(round);
        pthread_barrier_wait(&barrier); // it is deleted
        bl_local_check(bl_self);
    }
    return NULL;
}

static void *work_and_end(void *arg) {
    const int me = (int)(intptr_t)arg;
    pthread_barrier_wait(&barrier);
    use_pool(me, 0);
    pthread_barrier_wait(&barrier);
    return NULL; // and gives up its local
}

static void make_and_delete(unsigned rounds) {
    bl_free(bl_malloc(1));
    const struct bl_pool_spec spec = {"deletion", 200, 0, BL_POOL_SHARED};
    for (unsigned round = 0; round < rounds; round++) {
        pool = bl_pool_new(&spec);
        assert_ptr_ne(pool, NULL);
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        bl_pool_delete(pool);
        if (rounds > 1)
            pthread_barrier_wait(&barrier);
    }
    bl_heap_check();
}

static void while_others_allocate(void) {
    pthread_t thread[WORKERS];
    pthread_barrier_init(&barrier, NULL, WORKERS + 1);
    // use_pool() has a barrier of its own, of the workers and this thread.
    for (int i = 0; i < WORKERS; i++)
        assert_int_eq(
            pthread_create(&thread[i], NULL, work, (void *)(intptr_t)i), 0);
    make_and_delete(ROUNDS);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(thread[i], NULL);
}

static void while_others_end(void) {
    for (int round = 0; round < 200; round++) {
        pthread_t thread[WORKERS];
        pthread_barrier_init(&barrier, NULL, WORKERS + 1);
        for (int i = 0; i < WORKERS; i++)
            assert_int_eq(pthread_create(&thread[i], NULL, work_and_end,
                                         (void *)(intptr_t)i),
                          0);
        make_and_delete(1);
        for (int i = 0; i < WORKERS; i++)
            pthread_join(thread[i], NULL);
        pthread_t next;
        assert_int_eq(pthread_create(&next, NULL, end_at_once, bl_malloc(10)),
                      0);
        pthread_join(next, NULL);
    }
    bl_heap_check();
}

TEST(while_others_allocate) { while_others_allocate(); }
TEST(while_others_end) { while_others_end(); }

// The same of a pool whose entries are not in the locals themselves.
static void take_near_numbers(void) {
    const struct bl_pool_spec spec = {"near", 200, 0, BL_POOL_SHARED};
    for (int i = BL_POOLS_RESERVED; i < BL_POOLS_NEAR; i++)
        assert_ptr_ne(bl_pool_new(&spec), NULL);
}

TEST(far_while_others_allocate) {
    take_near_numbers();
    while_others_allocate();
}

TEST(far_while_others_end) {
    take_near_numbers();
    while_others_end();
}
