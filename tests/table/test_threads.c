// SPDX-License-Identifier: MIT
//
// Threads evaluate the same reachability program on random graphs, each for
// itself, under every design, place of locks and allocator; each must end with
// the closure of the graph. And threads come and go, more of them than there
// are direct cells.
//
#include "bl_test.h"
#include "table/table.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODES 96
#define THREADS_MAX 100

struct graph {
    unsigned degree[NODES];
    unsigned to[NODES][NODES];
    bool reach[NODES][NODES];
    uint64_t pairs;
};

struct setting {
    struct graph graph;
    struct bl_table_space *space;
    struct bl_table *left;  // path(X,Y) as one call
    struct bl_table *right; // reach(x,Y), one call per node
    pthread_barrier_t barrier;
    _Atomic uint64_t fresh; // answers of `left` that were new to some thread
    unsigned rounds;
};

struct job {
    struct setting *setting;
    uint64_t seed;
    pthread_t id;
};

static uint64_t number(uint64_t value) { return value << 3 | 1; }
static unsigned node_of(uint64_t token) { return (unsigned)(token >> 3); }

static void random_graph(struct graph *g, struct bl_random *r) {
    memset(g, 0, sizeof(*g));
    const uint64_t degree_max = 1 + bl_random_below(r, 4);
    for (unsigned x = 0; x < NODES; x++) {
        g->degree[x] = (unsigned)bl_random_below(r, degree_max + 1);
        for (unsigned i = 0; i < g->degree[x]; i++) {
            g->to[x][i] = (unsigned)bl_random_below(r, NODES);
            g->reach[x][g->to[x][i]] = true;
        }
    }
    for (unsigned k = 0; k < NODES; k++)
        for (unsigned x = 0; x < NODES; x++)
            for (unsigned y = 0; y < NODES && g->reach[x][k]; y++)
                g->reach[x][y] |= g->reach[k][y];
    for (unsigned x = 0; x < NODES; x++)
        for (unsigned y = 0; y < NODES; y++)
            g->pairs += g->reach[x][y];
}

// Nodes in an order of this thread's own.
static void shuffle(struct bl_random *r, unsigned *order) {
    for (unsigned i = 0; i < NODES; i++)
        order[i] = i;
    for (unsigned i = NODES - 1; i > 0; i--) {
        const unsigned j = (unsigned)bl_random_below(r, i + 1);
        const unsigned old = order[i];
        order[i] = order[j];
        order[j] = old;
    }
}

static uint64_t evaluate_left(struct job *job, struct bl_table_thread *thread,
                              const unsigned *order) {
    struct setting *const s = job->setting;
    const struct graph *const g = &s->graph;
    const uint64_t call[] = {2, 10};
    struct bl_subgoal *const sg = bl_table_call(thread, s->left, call, 2);
    assert_ptr_ne(sg, NULL);
    if (bl_subgoal_state(sg) == BL_FRESH)
        bl_subgoal_evaluate(sg);
    uint64_t fresh = 0;
    for (unsigned k = 0; k < NODES; k++) {
        const unsigned x = order[k];
        for (unsigned i = 0; i < g->degree[x]; i++) {
            const uint64_t pair[] = {number(x), number(g->to[x][i])};
            fresh += bl_answer_insert(thread, sg, pair, 2) == BL_ANSWER_NEW;
        }
    }
    struct bl_answer_cursor cursor = {NULL, 0};
    const struct bl_answer *answer;
    while ((answer = bl_answer_next(sg, &cursor)) != NULL) {
        uint64_t buffer[2];
        const uint64_t *const pair = bl_answer_read(answer, buffer + 2);
        const unsigned y = node_of(pair[1]);
        for (unsigned i = 0; i < g->degree[y]; i++) {
            const uint64_t longer[] = {pair[0], number(g->to[y][i])};
            fresh += bl_answer_insert(thread, sg, longer, 2) == BL_ANSWER_NEW;
        }
    }
    bl_subgoal_complete(thread, sg);
    expect_size_eq(bl_answer_count(sg), g->pairs);
    return fresh;
}

static void evaluate_right(struct job *job, struct bl_table_thread *thread,
                           const unsigned *order) {
    struct setting *const s = job->setting;
    const struct graph *const g = &s->graph;
    for (unsigned k = 0; k < NODES; k++) {
        const unsigned x = order[k];
        const uint64_t call[] = {number(x), 2};
        struct bl_subgoal *const sg = bl_table_call(thread, s->right, call, 2);
        assert_ptr_ne(sg, NULL);
        if (bl_subgoal_state(sg) == BL_FRESH)
            bl_subgoal_evaluate(sg);
        for (unsigned i = 0; i < g->degree[x]; i++) {
            const uint64_t token = number(g->to[x][i]);
            bl_answer_insert(thread, sg, &token, 1);
        }
        struct bl_answer_cursor cursor = {NULL, 0};
        const struct bl_answer *answer;
        while ((answer = bl_answer_next(sg, &cursor)) != NULL) {
            uint64_t buffer[1];
            const unsigned y = node_of(*bl_answer_read(answer, buffer + 1));
            for (unsigned i = 0; i < g->degree[y]; i++) {
                const uint64_t token = number(g->to[y][i]);
                bl_answer_insert(thread, sg, &token, 1);
            }
        }
        bl_subgoal_complete(thread, sg);
    }
}

static void check_answers(struct job *job, struct bl_table_thread *thread) {
    struct setting *const s = job->setting;
    const struct graph *const g = &s->graph;
    const uint64_t call[] = {2, 10};
    struct bl_subgoal *sg = bl_table_call(thread, s->left, call, 2);
    bool(*const seen)[NODES] = calloc(NODES, sizeof(*seen));
    struct bl_answer_cursor cursor = {NULL, 0};
    const struct bl_answer *answer;
    uint64_t buffer[2];
    while ((answer = bl_answer_next(sg, &cursor)) != NULL) {
        const uint64_t *const pair = bl_answer_read(answer, buffer + 2);
        bool *const mark = &seen[node_of(pair[0])][node_of(pair[1])];
        expect_false(*mark);
        *mark = true;
    }
    expect_true(memcmp(seen, g->reach, sizeof(g->reach)) == 0);
    free(seen);
    for (unsigned x = 0; x < NODES; x++) {
        const uint64_t from[] = {number(x), 2};
        sg = bl_table_find_call(thread, s->right, from, 2);
        assert_ptr_ne(sg, NULL);
        uint64_t count = 0;
        cursor = (struct bl_answer_cursor){NULL, 0};
        while ((answer = bl_answer_next(sg, &cursor)) != NULL) {
            const uint64_t *const to = bl_answer_read(answer, buffer + 2);
            expect_true(g->reach[x][node_of(*to)]);
            count++;
        }
        for (unsigned y = 0; y < NODES; y++)
            count -= g->reach[x][y];
        expect_size_eq(count, 0);
    }
    bl_table_check(thread);
}

static void *work(void *arg) {
    struct job *const job = arg;
    struct setting *const s = job->setting;
    struct bl_random r = {job->seed};
    for (unsigned round = 0; round < s->rounds; round++) {
        struct bl_table_thread *const thread = bl_table_attach(s->space);
        assert_ptr_ne(thread, NULL);
        unsigned order[NODES];
        shuffle(&r, order);
        pthread_barrier_wait(&s->barrier);
        s->fresh += evaluate_left(job, thread, order);
        evaluate_right(job, thread, order);
        pthread_barrier_wait(&s->barrier);
        check_answers(job, thread);
        if (bl_random_below(&r, 2) == 0)
            bl_table_abolish_all(thread);
        bl_table_detach(thread);
        pthread_barrier_wait(&s->barrier);
    }
    return NULL;
}

static void run(const struct bl_table_options *options, unsigned threads,
                struct bl_random *r) {
    static struct setting s;
    random_graph(&s.graph, r);
    s.rounds = 2;
    s.fresh = 0;
    s.space = bl_table_space_new(options);
    s.left = bl_table_new(s.space, "path", options->design, NULL);
    s.right = bl_table_new(s.space, "reach", options->design, NULL);
    pthread_barrier_init(&s.barrier, NULL, threads);
    static struct job jobs[THREADS_MAX];
    for (unsigned i = 0; i < threads; i++) {
        jobs[i].setting = &s;
        jobs[i].seed = bl_random_next(r);
        assert_int_eq(pthread_create(&jobs[i].id, NULL, work, &jobs[i]), 0);
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(jobs[i].id, NULL);
    // Under FS one thread finds each answer first; the tables may outlive
    // the first round, or be abolished by the last thread of it.
    if (options->design != BL_TABLE_FS)
        expect_size_eq(s.fresh, s.graph.pairs * threads * s.rounds);
    else
        expect_true(s.graph.pairs == 0 || (s.fresh % s.graph.pairs == 0 &&
                                           s.fresh / s.graph.pairs >= 1 &&
                                           s.fresh / s.graph.pairs <= 2));
    struct bl_table_thread *const last = bl_table_attach(s.space);
    expect_true(bl_table_abolish_all(last));
    for (unsigned type = 0; type < BL_TYPE_COUNT; type++) {
        struct bl_table_memory_stats stats;
        bl_table_read_memory(s.space, (enum bl_table_type)type, &stats);
        expect_size_eq(stats.blocks, type == BL_TYPE_TABLE ? 2 : 0);
    }
    bl_table_detach(last);
    bl_table_space_delete(s.space);
    pthread_barrier_destroy(&s.barrier);
}

static void run_all(enum bl_table_design design, unsigned threads) {
    struct bl_random r = {bl_test_seed()};
    for (unsigned i = 0; i < 8; i++) {
        const struct bl_table_options options = {
            .design = design,
            .locks = (enum bl_table_locks)(i & 1),
            .alloc = (enum bl_table_alloc)(i >> 1 & 1),
            .spin = (i >> 2 & 1) != 0,
            .one_by_one = i == 3};
        run(&options, threads, &r);
    }
}

// ---- one set that grows under its readers

#define GROWING_TOKENS ((uint64_t)20000)

struct growing {
    struct bl_table_space *space;
    struct bl_table *table;
    pthread_barrier_t barrier;
    _Atomic uint64_t fresh;
};

// Every seventh token is wide, so that the set turns wide on the way.
static uint64_t growing_token(uint64_t i) {
    return number(i + 1) | (i % 7 == 6 ? (uint64_t)1 << 40 : 0);
}

static void *grow(void *arg) {
    struct growing *const g = arg;
    struct bl_table_thread *const thread = bl_table_attach(g->space);
    const uint64_t call = 2;
    struct bl_subgoal *const sg = bl_table_call(thread, g->table, &call, 1);
    const uint64_t step =
        2 * bl_random_below(&(struct bl_random){(uintptr_t)sg},
                            GROWING_TOKENS / 2) +
        1;
    pthread_barrier_wait(&g->barrier);
    uint64_t fresh = 0;
    for (uint64_t i = 0; i < GROWING_TOKENS * 4; i++) {
        const uint64_t at = i * step % GROWING_TOKENS;
        const uint64_t pair[] = {number(at % 3 + 1), growing_token(at)};
        if (i % 97 == 0)
            bl_table_rest(thread);
        fresh += bl_answer_insert(thread, sg, pair, 2) == BL_ANSWER_NEW;
    }
    for (uint64_t i = 0; i < GROWING_TOKENS; i++) {
        const uint64_t pair[] = {number(i % 3 + 1), growing_token(i)};
        fresh += bl_answer_insert(thread, sg, pair, 2) == BL_ANSWER_NEW;
    }
    g->fresh += fresh;
    pthread_barrier_wait(&g->barrier);
    expect_size_eq(bl_table_check(thread), GROWING_TOKENS);
    pthread_barrier_wait(&g->barrier);
    bl_table_detach(thread);
    return NULL;
}

TEST(sets_grow_under_their_readers) {
    for (unsigned i = 0; i < 4; i++) {
        const struct bl_table_options options = {
            .design = BL_TABLE_FS,
            .locks = (enum bl_table_locks)(i & 1),
            .alloc = (enum bl_table_alloc)(i >> 1)};
        static struct growing g;
        g.space = bl_table_space_new(&options);
        g.table = bl_table_new(g.space, "p", BL_TABLE_FS, NULL);
        g.fresh = 0;
        pthread_barrier_init(&g.barrier, NULL, 8);
        pthread_t ids[8];
        for (unsigned k = 0; k < 8; k++)
            assert_int_eq(pthread_create(&ids[k], NULL, grow, &g), 0);
        for (unsigned k = 0; k < 8; k++)
            pthread_join(ids[k], NULL);
        expect_size_eq(g.fresh, GROWING_TOKENS);
        // The last thread to go has freed what was retired.
        struct bl_table_memory_stats leaves;
        bl_table_read_memory(g.space, BL_TYPE_LEAVES, &leaves);
        expect_size_eq(leaves.blocks, 3);
        bl_table_space_delete(g.space);
        pthread_barrier_destroy(&g.barrier);
    }
}

// ---- an answer whose place is taken and which is not written yet

static void *write_late(void *arg) {
    struct bl_answers *const answers = arg;
    struct bl_answer_chunk *const chunk = bl_load_relaxed(&answers->first);
    usleep(20000);
    bl_store_release(
        &chunk->answers[0].word,
        bl_answer_pack(&chunk->answers[0], &answers->root, number(7)));
    return NULL;
}

TEST(reader_waits_for_an_answer_on_its_way) {
    // One block, so that a word reaches from the answer to its parent.
    struct late {
        struct bl_answers answers;
        struct bl_answer_chunk chunk;
    } *const late = calloc(1, sizeof(*late) + 3 * sizeof(struct bl_answer));
    struct bl_answers *const answers = &late->answers;
    struct bl_answer_chunk *const chunk = &late->chunk;
    chunk->capacity = 3;
    bl_store_relaxed(&chunk->used, 1);
    bl_store_relaxed(&answers->first, chunk);
    bl_store_relaxed(&answers->last, chunk);
    answers->shared = true;
    pthread_t id;
    assert_int_eq(pthread_create(&id, NULL, write_late, answers), 0);
    struct bl_answer_cursor cursor = {NULL, 0};
    const struct bl_answer *const answer = bl_answers_next(answers, &cursor);
    expect_ptr_eq(answer, &chunk->answers[0]);
    expect_size_eq(bl_answer_open(answer).token, number(7));
    expect_ptr_eq(bl_answer_open(answer).parent, &answers->root);
    expect_ptr_eq(bl_answers_next(answers, &cursor), NULL);
    pthread_join(id, NULL);
    free(late);
}

TEST(one_thread) {
    for (unsigned design = 0; design < 3; design++)
        run_all((enum bl_table_design)design, 1);
}

TEST(two_threads_ns) { run_all(BL_TABLE_NS, 2); }
TEST(two_threads_ss) { run_all(BL_TABLE_SS, 2); }
TEST(two_threads_fs) { run_all(BL_TABLE_FS, 2); }
TEST(eight_threads_ns) { run_all(BL_TABLE_NS, 8); }
TEST(eight_threads_ss) { run_all(BL_TABLE_SS, 8); }
TEST(eight_threads_fs) { run_all(BL_TABLE_FS, 8); }

TEST_LIMIT(a_hundred_threads, 110) {
    struct bl_random r = {bl_test_seed()};
    for (unsigned i = 0; i < 6; i++) {
        const struct bl_table_options options = {
            .design = (enum bl_table_design)(i % 3),
            .alloc = (enum bl_table_alloc)(i / 3)};
        run(&options, THREADS_MAX, &r);
    }
}
