// SPDX-License-Identifier: MIT
//
// What single operations of the table space promise, in one thread, under each
// design, place of locks and allocator.
//
#include "bigleaf/table.h"
#include "naive.h"
#include "table/table.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// A space with one table, and this thread attached.
struct bench {
    struct bl_table_space *space;
    struct bl_table *table;
    struct bl_table_thread *thread;
};

static const struct bl_table_options variants[] = {
    {.design = BL_TABLE_NS},
    {.design = BL_TABLE_SS},
    {.design = BL_TABLE_FS},
    {.design = BL_TABLE_FS, .locks = BL_LOCKS_ARRAY, .spin = true},
    {.design = BL_TABLE_NS, .alloc = BL_ALLOC_MALLOC, .one_by_one = true},
    {.design = BL_TABLE_SS, .alloc = BL_ALLOC_MALLOC},
    {.design = BL_TABLE_FS, .alloc = BL_ALLOC_MALLOC, .one_by_one = true},
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

static struct bench open_bench(const struct bl_table_options *options) {
    struct bench b;
    b.space = bl_table_space_new(options);
    assert_ptr_ne(b.space, NULL);
    b.table = bl_table_new(b.space, "p", options->design, &b);
    b.thread = bl_table_attach(b.space);
    assert_ptr_ne(b.table, NULL);
    assert_ptr_ne(b.thread, NULL);
    return b;
}

static void close_bench(struct bench *b) {
    bl_table_detach(b->thread);
    bl_table_space_delete(b->space);
}

static uint64_t number(uint64_t value) { return value << 3 | 1; }

static struct bl_subgoal *call_of(struct bench *b, uint64_t first) {
    const uint64_t tokens[] = {number(first), 2};
    return bl_table_call(b->thread, b->table, tokens, 2);
}

static uint64_t blocks_of(struct bench *b, enum bl_table_type type) {
    struct bl_table_memory_stats stats;
    bl_table_read_memory(b->space, type, &stats);
    return stats.blocks;
}

static void call_is_found_again(struct bench *b) {
    struct bl_subgoal *const one = call_of(b, 1);
    expect_ptr_ne(call_of(b, 2), one);
    expect_ptr_eq(call_of(b, 1), one);
    expect_ptr_eq(bl_subgoal_table(one), b->table);
    const uint64_t absent[] = {number(3), 2};
    expect_ptr_eq(bl_table_find_call(b->thread, b->table, absent, 2), NULL);
    uint64_t buffer[2];
    const uint64_t *const tokens = bl_subgoal_read(one, buffer + 2);
    expect_size_eq(bl_subgoal_depth(one), 2);
    expect_size_eq(tokens[0], number(1));
    expect_size_eq(tokens[1], 2);
}

static void call_without_tokens(struct bench *b) {
    struct bl_subgoal *const sg = bl_table_call(b->thread, b->table, NULL, 0);
    assert_ptr_ne(sg, NULL);
    expect_ptr_eq(bl_table_find_call(b->thread, b->table, NULL, 0), sg);
    expect_size_eq(bl_subgoal_depth(sg), 0);
    expect_int_eq(bl_answer_insert(b->thread, sg, NULL, 0), BL_ANSWER_NEW);
    expect_int_eq(bl_answer_insert(b->thread, sg, NULL, 0), BL_ANSWER_REPEATED);
    struct bl_answer_cursor cursor = {NULL, 0};
    const struct bl_answer *const answer = bl_answer_next(sg, &cursor);
    assert_ptr_ne(answer, NULL);
    uint64_t buffer[1];
    expect_ptr_eq(bl_answer_read(answer, buffer + 1), buffer + 1);
    expect_ptr_eq(bl_answer_next(sg, &cursor), NULL);
    expect_size_eq(bl_answer_depth_max(sg), 0);
    expect_size_eq(bl_table_check(b->thread), 1);
}

// Inserts 5000 answers, each read back at once and all at the end; the last
// token of every `wide_every`th has more than 32 bits.
static void keep_order(struct bench *b, uint64_t wide_every) {
    struct bl_subgoal *const sg = call_of(b, 1);
    struct bl_answer_cursor cursor = {NULL, 0};
    expect_ptr_eq(bl_answer_next(sg, &cursor), NULL);
    for (uint64_t i = 0; i < 5000; i++) {
        const uint64_t high =
            i % wide_every == wide_every - 1 ? (uint64_t)1 << 40 : 0;
        const uint64_t tokens[] = {number(i * 7919 % 5000 / 10),
                                   number(i * 7919 % 5000) | high};
        assert_int_eq(bl_answer_insert(b->thread, sg, tokens, 2),
                      BL_ANSWER_NEW);
        const struct bl_answer *const answer = bl_answer_next(sg, &cursor);
        assert_ptr_ne(answer, NULL);
        uint64_t buffer[4];
        const uint64_t *const got = bl_answer_read(answer, buffer + 4);
        assert_ptr_eq(got, buffer + 2);
        assert_true(memcmp(got, tokens, sizeof(tokens)) == 0);
        assert_ptr_eq(bl_answer_next(sg, &cursor), NULL);
    }
    expect_size_eq(bl_answer_count(sg), 5000);
    expect_size_eq(bl_answer_repeated(sg), 0);
    expect_size_eq(bl_table_check(b->thread), 5000);
}

static void answers_keep_their_order(struct bench *b) { keep_order(b, 5001); }

// Answers of one word and of three in one list, at every place of its chunks.
static void widths_mix_in_a_list(struct bench *b) {
    for (uint64_t every = 2; every < 9; every++) {
        keep_order(b, every);
        (void)bl_table_abolish_all(b->thread);
    }
}

// Narrow sets turn wide, tokens fit in a node or do not, at every size.
static void tokens_of_all_widths(struct bench *b) {
    static const uint64_t bases[] = {1,
                                     (uint64_t)1 << 31,
                                     (uint64_t)1 << 32,
                                     (uint64_t)1 << 55,
                                     (uint64_t)1 << 56,
                                     UINT64_MAX - 80000};
    for (uint64_t narrow = 0; narrow < 40; narrow++) {
        struct bl_subgoal *const sg = call_of(b, narrow);
        for (uint64_t i = 0; i < narrow; i++) {
            const uint64_t token = number(i + 1);
            assert_int_eq(bl_answer_insert(b->thread, sg, &token, 1),
                          BL_ANSWER_NEW);
        }
        for (unsigned k = 0; k < 6 * 20; k++) {
            const uint64_t token = bases[k % 6] + number(1000 + k);
            assert_int_eq(bl_answer_insert(b->thread, sg, &token, 1),
                          BL_ANSWER_NEW);
            assert_int_eq(bl_answer_insert(b->thread, sg, &token, 1),
                          BL_ANSWER_REPEATED);
        }
        for (uint64_t i = 0; i < narrow; i++) {
            const uint64_t token = number(i + 1);
            assert_int_eq(bl_answer_insert(b->thread, sg, &token, 1),
                          BL_ANSWER_REPEATED);
        }
    }
    bl_table_check(b->thread);
}

// Tokens that differ in their kind only.
static void kinds_are_told_apart(struct bench *b) {
    for (uint64_t count = 1; count <= 64; count++) {
        struct bl_subgoal *const sg = call_of(b, count);
        for (uint64_t kind = 0; kind < 8; kind++) {
            for (uint64_t i = 0; i < count; i++) {
                const uint64_t token = (i + 1) << 3 | kind;
                assert_int_eq(bl_answer_insert(b->thread, sg, &token, 1),
                              BL_ANSWER_NEW);
                assert_int_eq(bl_answer_insert(b->thread, sg, &token, 1),
                              BL_ANSWER_REPEATED);
            }
        }
    }
    bl_table_check(b->thread);
}

// A thread at work frees what it has replaced, also where it might be shared.
static void replaced_sets_are_freed(struct bench *b) {
    // Others are attached; one has worked before, and rests.
    struct bl_table_thread *const idle = bl_table_attach(b->space);
    struct bl_table_thread *const resting = bl_table_attach(b->space);
    const uint64_t call[] = {number(1), 2};
    bl_table_call(resting, b->table, call, 2);
    bl_table_rest(resting);
    struct bl_subgoal *const sg = call_of(b, 1);
    for (uint64_t y = 1; y <= 200; y++) {
        for (uint64_t x = 1; x <= 500; x++) {
            const uint64_t tokens[] = {number(x), number(y)};
            bl_answer_insert(b->thread, sg, tokens, 2);
        }
    }
    expect_size_lt(blocks_of(b, BL_TYPE_LEAVES), 500 + 70);
    expect_size_lt(blocks_of(b, BL_TYPE_CHILDREN), 1 + 70);
    bl_table_check(resting);
    bl_table_detach(resting);
    bl_table_detach(idle);
}

// A call of its own with so many answers, all below one node.
static void grow_a_set(struct bench *b, struct bl_table_thread *thread,
                       uint64_t call, uint64_t answers) {
    const uint64_t tokens[] = {number(call), 2};
    struct bl_subgoal *const sg = bl_table_call(thread, b->table, tokens, 2);
    for (uint64_t i = 1; i <= answers; i++) {
        const uint64_t token = number(i);
        assert_int_eq(bl_answer_insert(thread, sg, &token, 1), BL_ANSWER_NEW);
    }
}

// Threads come and go, each of which replaces few sets, while another one only
// is there.
static void sets_of_ended_threads_are_freed(struct bench *b) {
    enum { THREADS = 200 };
    for (uint64_t i = 1; i <= THREADS; i++) {
        struct bl_table_thread *const thread = bl_table_attach(b->space);
        grow_a_set(b, thread, i, 300);
        bl_table_detach(thread);
    }
    expect_size_lt(blocks_of(b, BL_TYPE_LEAVES), THREADS + 70);
}

// Looks at the list of threads, which who frees replaced sets begins with.
static uint64_t looks;

int __real_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex);

int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex) {
    looks++;
    return __real_pthread_mutex_trylock(mutex);
}

// A thread at work that makes no further call keeps all that the others
// replace; they do not go through it over and over.
static void kept_sets_are_not_gone_through_often(struct bench *b) {
    struct bl_table_thread *const other = bl_table_attach(b->space);
    grow_a_set(b, other, 1, 1);
    looks = 0;
    for (uint64_t i = 2; i <= 3000; i++)
        grow_a_set(b, b->thread, i, 100);
    expect_size_lt(looks, 60);
    bl_table_detach(other);
    (void)bl_table_abolish_all(b->thread);
    expect_size_eq(blocks_of(b, BL_TYPE_LEAVES), 0);
}

// Also where each has a block of its own.
static void wide_answers_take_one_block(struct bench *b) {
    struct bl_subgoal *const sg = call_of(b, 1);
    for (uint64_t i = 1; i <= 100; i++) {
        const uint64_t token = number(i) | (uint64_t)1 << 40;
        assert_int_eq(bl_answer_insert(b->thread, sg, &token, 1),
                      BL_ANSWER_NEW);
    }
    expect_size_le(blocks_of(b, BL_TYPE_CHUNK), 100);
    expect_size_eq(bl_answer_count(sg), 100);
    (void)bl_table_check(b->thread);
}

// A set turns wide at any size, and loses nothing.
static void large_sets_turn_wide(struct bench *b) {
    static const uint64_t sizes[] = {100, 500, 1500, 1950, 2040, 3000, 6000};
    for (unsigned k = 0; k < 7; k++) {
        struct bl_subgoal *const sg = call_of(b, k);
        for (uint64_t i = 1; i <= sizes[k]; i++) {
            const uint64_t token = number(i);
            bl_answer_insert(b->thread, sg, &token, 1);
        }
        const uint64_t wide = (uint64_t)1 << 45;
        expect_int_eq(bl_answer_insert(b->thread, sg, &wide, 1), BL_ANSWER_NEW);
        for (uint64_t i = 1; i <= sizes[k]; i++) {
            const uint64_t token = number(i);
            assert_int_eq(bl_answer_insert(b->thread, sg, &token, 1),
                          BL_ANSWER_REPEATED);
        }
        expect_size_eq(bl_answer_count(sg), sizes[k] + 1);
    }
    bl_table_check(b->thread);
}

// Strides that crowd tokens into few lines of the hashed sets.
static void strides_do_not_explode(struct bench *b) {
    static const uint64_t strides[] = {8,
                                       16,
                                       256,
                                       65536,
                                       (uint64_t)16 * 987,
                                       (uint64_t)16 * 121393,
                                       (uint64_t)1 << 33,
                                       (uint64_t)16 * 433494437,
                                       0x9E3779B97F4A7C15u >> 3};
    for (unsigned s = 0; s < 9; s++) {
        struct bl_subgoal *const sg = call_of(b, s);
        for (uint64_t i = 1; i <= 3000; i++) {
            const uint64_t tokens[] = {number(i * strides[s]),
                                       number(i * strides[s])};
            assert_int_eq(bl_answer_insert(b->thread, sg, tokens, 1),
                          BL_ANSWER_NEW);
            assert_int_eq(bl_answer_insert(b->thread, sg, tokens, 1),
                          BL_ANSWER_REPEATED);
        }
        struct bl_subgoal *const pairs = call_of(b, 100 + s);
        for (uint64_t i = 1; i <= 3000; i++) {
            const uint64_t tokens[] = {number(i * strides[s]), number(i)};
            assert_int_eq(bl_answer_insert(b->thread, pairs, tokens, 2),
                          BL_ANSWER_NEW);
        }
    }
    expect_size_eq(bl_table_check(b->thread), 54000);
    struct bl_table_memory_stats stats;
    bl_table_read_memory(b->space, BL_TYPE_LEAVES, &stats);
    expect_size_lt(stats.block_bytes, 9 * 3000 * 64);
}

static void abandoned_call_starts_anew(struct bench *b,
                                       enum bl_table_design design) {
    struct bl_subgoal *const sg = call_of(b, 1);
    bl_subgoal_evaluate(sg);
    bl_subgoal_set_user(sg, b);
    for (uint64_t i = 1; i <= 100; i++) {
        const uint64_t tokens[] = {number(i), number(i)};
        bl_answer_insert(b->thread, sg, tokens, 2);
    }
    expect_false(bl_table_abolish(b->thread, b->table));
    expect_false(bl_table_abolish_all(b->thread));
    bl_subgoal_abandon(b->thread, sg);
    expect_int_eq(bl_subgoal_state(sg), BL_FRESH);
    expect_ptr_eq(bl_subgoal_user(sg), NULL);
    expect_ptr_eq(call_of(b, 1), sg);
    expect_size_eq(bl_answer_count(sg), design == BL_TABLE_FS ? 100 : 0);
    const uint64_t tokens[] = {number(7), number(7)};
    expect_int_eq(bl_answer_insert(b->thread, sg, tokens, 2),
                  design == BL_TABLE_FS ? BL_ANSWER_REPEATED : BL_ANSWER_NEW);
    bl_subgoal_evaluate(sg);
    bl_subgoal_complete(b->thread, sg);
    expect_int_eq(bl_subgoal_state(call_of(b, 1)), BL_COMPLETE);
    bl_table_check(b->thread);
}

static void abolition_frees_every_block(struct bench *b) {
    for (unsigned round = 0; round < 3; round++) {
        for (uint64_t c = 1; c <= 50; c++) {
            struct bl_subgoal *const sg = call_of(b, c);
            expect_int_eq(bl_subgoal_state(sg), BL_FRESH);
            for (uint64_t i = 1; i <= 200; i++) {
                const uint64_t tokens[] = {number(i % 13), number(i), 10};
                bl_answer_insert(b->thread, sg, tokens, 3);
            }
            bl_subgoal_evaluate(sg);
            bl_subgoal_complete(b->thread, sg);
        }
        expect_size_eq(bl_table_check(b->thread), 50 * 200);
        expect_true(round == 1 ? bl_table_abolish(b->thread, b->table)
                               : bl_table_abolish_all(b->thread));
        for (unsigned type = 0; type < BL_TYPE_COUNT; type++)
            expect_size_eq(blocks_of(b, (enum bl_table_type)type),
                           type == BL_TYPE_TABLE);
        expect_size_eq(bl_table_check(b->thread), 0);
    }
}

static void counts_follow_the_definitions(struct bench *b) {
    // path(X,Y) right recursive on a cycle of 5, with the top call.
    const uint64_t top[] = {2, 10};
    struct bl_subgoal *const sg = bl_table_call(b->thread, b->table, top, 2);
    for (uint64_t x = 1; x <= 5; x++) {
        for (uint64_t y = 1; y <= 5; y++) {
            const uint64_t pair[] = {number(x), number(y)};
            bl_answer_insert(b->thread, sg, pair, 2);
            bl_answer_insert(b->thread, sg, pair, 2);
            bl_answer_insert(b->thread, call_of(b, x), &pair[1], 1);
        }
    }
    struct bl_table_counts counts;
    bl_table_count(b->thread, NULL, &counts);
    expect_size_eq(counts.calls, 6);
    expect_size_eq(counts.call_nodes, 1 + 2 + 2 * 5);
    expect_size_eq(counts.unique, 50);
    expect_size_eq(counts.repeated, 25);
    expect_size_eq(counts.answer_nodes, 25 + 5 + 1 + 5 * (5 + 1));
    expect_size_eq(counts.call_depth.min, 2);
    expect_size_eq(counts.call_depth.sum, 12);
    expect_size_eq(counts.answer_depth.min, 1);
    expect_size_eq(counts.answer_depth.max, 2);
    expect_size_eq(counts.answer_depth.sum, 25 * 2 + 25);
    expect_str_eq(bl_table_name(b->table), "p");
}

static void count_visit(struct bl_subgoal *sg, void *arg) {
    expect_int_eq(bl_subgoal_state(sg), BL_EVALUATING);
    ++*(unsigned *)arg;
}

static void calls_are_visited(struct bench *b) {
    expect_ptr_ne(bl_table_user(b->table), NULL);
    struct bl_table *const other =
        bl_table_new(b->space, "other", BL_TABLE_SS, NULL);
    for (uint64_t i = 0; i < 10; i++)
        bl_subgoal_evaluate(call_of(b, i));
    bl_subgoal_evaluate(bl_table_call(b->thread, other, NULL, 0));
    unsigned visits = 0;
    bl_subgoal_each(b->thread, b->table, count_visit, &visits);
    expect_int_eq(visits, 10);
    bl_subgoal_each(b->thread, NULL, count_visit, &visits);
    expect_int_eq(visits, 10 + 11);
}

static void nothing_counts_as_nothing(struct bench *b) {
    struct bl_table_counts counts;
    bl_table_count(b->thread, NULL, &counts);
    expect_size_eq(counts.calls, 0);
    expect_size_eq(counts.call_nodes, 0);
    expect_size_eq(counts.call_depth.min, 0);
    expect_size_eq(counts.answer_depth.min, 0);
    call_of(b, 1);
    bl_table_count(b->thread, b->table, &counts);
    expect_size_eq(counts.calls, 1);
    expect_size_eq(counts.answer_nodes, 1);
    expect_size_eq(counts.answer_depth.min, 0);
}

static const struct bl_answer *
insert_and_read(struct bench *b, struct bl_subgoal *sg, uint64_t token) {
    struct bl_answer_cursor cursor = {NULL, 0};
    expect_int_eq(bl_answer_insert(b->thread, sg, &token, 1), BL_ANSWER_NEW);
    return bl_answer_next(sg, &cursor);
}

// One in `wide_every` answers has a token that cannot be passed on; it ends a
// pass, and is inserted here. One in three is known already.
static void pass_numbers(struct bench *b, uint64_t n, uint64_t wide_every) {
    struct bl_subgoal *const from = call_of(b, n * 8 + wide_every);
    struct bl_subgoal *const to = call_of(b, n * 8 + wide_every + 1);
    (void)insert_and_read(b, to, number(n + 1));
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t token =
            i % wide_every == wide_every - 1 ? number(i) << 32 : number(i);
        bl_answer_insert(b->thread, from, &token, 1);
        if (i % 3 == 0)
            bl_answer_insert(b->thread, to, &token, 1);
    }
    const uint64_t any = 0;
    const struct bl_pass p = {from, to, bl_answer_node(to, &any, 1), 1u << 1};
    struct bl_answer_cursor cursor = {NULL, 0};
    if (p.node == NULL) // shared answers are not passed
        return;
    const struct bl_answer *a;
    uint64_t token;
    while ((a = bl_answer_next(from, &cursor)) != NULL) {
        assert_ptr_eq(bl_answer_read(a, &token + 1), &token);
        bl_answer_insert(b->thread, to, &token, 1);
        bl_answers_pass(b->thread, &p, &cursor, 100);
    }
    expect_size_eq(bl_answer_count(to), n + 1);
    expect_size_eq(bl_answer_repeated(to), (n + 2) / 3);
    for (uint64_t i = 0; i < n; i++) {
        token = i % wide_every == wide_every - 1 ? number(i) << 32 : number(i);
        assert_int_eq(bl_answer_insert(b->thread, to, &token, 1),
                      BL_ANSWER_REPEATED);
    }
}

static void answers_are_passed_on(struct bench *b) {
    pass_numbers(b, 1, 100);
    pass_numbers(b, 9, 100);
    pass_numbers(b, 5000, 1000000);
    pass_numbers(b, 5000, 7);
    pass_numbers(b, 100000, 5000);
}

static void expect_same_answers(struct bl_subgoal *one,
                                struct bl_subgoal *other) {
    struct bl_answer_cursor at_one = {NULL, 0};
    struct bl_answer_cursor at_other = {NULL, 0};
    const struct bl_answer *a;
    while ((a = bl_answer_next(one, &at_one)) != NULL) {
        uint64_t buffer[2][2];
        const struct bl_answer *const b = bl_answer_next(other, &at_other);
        assert_ptr_ne(b, NULL);
        assert_ptr_eq(bl_answer_read(a, buffer[0] + 2), buffer[0]);
        assert_ptr_eq(bl_answer_read(b, buffer[1] + 2), buffer[1]);
        assert_true(memcmp(buffer[0], buffer[1], sizeof buffer[0]) == 0);
    }
    expect_ptr_eq(bl_answer_next(other, &at_other), NULL);
    expect_size_eq(bl_answer_repeated(one), bl_answer_repeated(other));
}

// Answers with repetitions, within a batch too, and some wide ones: sets turn
// larger and wide while answers that go into them wait in the batch.
static void batches_are_single_insertions(struct bench *b) {
    struct bl_subgoal *const one = call_of(b, 1);
    struct bl_subgoal *const other = call_of(b, 2);
    struct bl_answer_batch batch = {.n = 0};
    uint64_t random = 1;
    for (uint64_t i = 0; i < 40000; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        const uint64_t high = random >> 52 == 0 ? (uint64_t)1 << 40 : 0;
        const uint64_t tokens[] = {number(random >> 62),
                                   number((random >> 33) % 3000) | high};
        assert_int_ne(bl_answer_insert(b->thread, one, tokens, 2),
                      BL_ANSWER_NO_MEMORY);
        struct bl_trie_node *const node =
            bl_answer_node_make(b->thread, other, tokens, 2);
        assert_ptr_ne(node, NULL);
        bl_answer_batch_add(&batch, node, tokens[1]);
        if (batch.n == BL_ANSWER_BATCH)
            assert_true(bl_answer_batch_insert(b->thread, other, &batch));
    }
    assert_true(bl_answer_batch_insert(b->thread, other, &batch));
    expect_size_eq(batch.n, 0);
    expect_same_answers(one, other);
    (void)bl_table_check(b->thread);
}

// What is ready are the answers behind the cursor in its chunk, and nothing as
// soon as one of the call's answers has another number of tokens.
static void answers_are_ready_in_pieces(struct bench *b) {
    struct bl_subgoal *const sg = call_of(b, 1);
    struct bl_answer_cursor cursor = {NULL, 0};
    for (uint64_t i = 1; i <= 1000; i++) {
        const uint64_t token = number(i);
        expect_int_eq(bl_answer_insert(b->thread, sg, &token, 1),
                      BL_ANSWER_NEW);
    }
    uint64_t read = 0;
    while (bl_answer_next(sg, &cursor) != NULL) {
        read++;
        const struct bl_answer_span s = bl_answers_ready(sg, &cursor, 1);
        for (const struct bl_answer *a = s.at; a < s.end; a++) {
            const struct bl_answer_end end = bl_answer_open_narrow(a);
            if (end.parent == NULL)
                break;
            expect_size_eq(end.token, number(++read));
            cursor.index++;
        }
    }
    expect_size_eq(read, 1000);
    cursor = (struct bl_answer_cursor){NULL, 0};
    expect_ptr_ne(bl_answer_next(sg, &cursor), NULL);
    const uint64_t two[] = {number(1), number(1)};
    expect_int_eq(bl_answer_insert(b->thread, call_of(b, 2), two, 2),
                  BL_ANSWER_NEW);
    const struct bl_answer_span none = bl_answers_ready(sg, &cursor, 2);
    expect_ptr_eq(none.at, none.end);
}

// Keys of one token, values of one or two, some too wide for one word.
static void keys_keep_one_answer(struct bench *b) {
    struct bl_subgoal *const sg = call_of(b, 1);
    struct bl_answer_place place[7] = {{NULL, 0}};
    if (sg->answers->shared)
        return;
    for (uint64_t i = 0; i < 7000; i++) {
        const uint64_t key = number(i % 7 + 1);
        const uint64_t value[] = {number(i), number(i)
                                                 << (i % 3 == 0 ? 32 : 0)};
        struct bl_trie_node *const node = bl_answer_key(b->thread, sg, &key, 1);
        assert_true(
            bl_answer_revise(b->thread, sg, node, value, 2, &place[i % 7]));
        assert_size_eq(bl_answer_count(sg), i < 7 ? i + 1 : 7);
    }
    struct bl_answer_cursor cursor = {NULL, 0};
    const struct bl_answer *a;
    uint64_t i = 6993;
    for (; (a = bl_answer_next(sg, &cursor)) != NULL; i++) {
        uint64_t buffer[3];
        assert_ptr_eq(bl_answer_read(a, buffer + 3), buffer);
        expect_size_eq(buffer[0], number(i % 7 + 1));
        expect_size_eq(buffer[1], number(i));
    }
    expect_size_eq(i, 7000);
    expect_size_eq(bl_table_check(b->thread), 7);
}

#define FOR_EACH_VARIANT(name)                                                 \
    TEST(name) {                                                               \
        for (unsigned i = 0; i < VARIANTS; i++) {                              \
            struct bench b = open_bench(&variants[i]);                         \
            name(&b);                                                          \
            close_bench(&b);                                                   \
        }                                                                      \
    }

FOR_EACH_VARIANT(answers_are_passed_on)
FOR_EACH_VARIANT(answers_are_ready_in_pieces)
FOR_EACH_VARIANT(batches_are_single_insertions)
FOR_EACH_VARIANT(call_is_found_again)
FOR_EACH_VARIANT(call_without_tokens)
FOR_EACH_VARIANT(calls_are_visited)
FOR_EACH_VARIANT(nothing_counts_as_nothing)
FOR_EACH_VARIANT(answers_keep_their_order)
FOR_EACH_VARIANT(widths_mix_in_a_list)
FOR_EACH_VARIANT(tokens_of_all_widths)
FOR_EACH_VARIANT(keys_keep_one_answer)
FOR_EACH_VARIANT(kinds_are_told_apart)
FOR_EACH_VARIANT(replaced_sets_are_freed)
FOR_EACH_VARIANT(sets_of_ended_threads_are_freed)
FOR_EACH_VARIANT(kept_sets_are_not_gone_through_often)
FOR_EACH_VARIANT(wide_answers_take_one_block)
FOR_EACH_VARIANT(large_sets_turn_wide)
FOR_EACH_VARIANT(strides_do_not_explode)
FOR_EACH_VARIANT(abolition_frees_every_block)
FOR_EACH_VARIANT(counts_follow_the_definitions)

TEST(a_word_reaches_16_gib) {
    static struct bl_answer places[BL_ANSWER_WIDE_WORDS];
    struct bl_answer *const place = &places[0];
    static const intptr_t reach = (intptr_t)16 * BL_GIB;
    const intptr_t near[] = {-reach, -8, 8, reach - 8};
    for (unsigned i = 0; i < 4; i++) {
        const struct bl_trie_node *const parent =
            (const struct bl_trie_node *)((intptr_t)place + near[i]);
        const uint64_t word = bl_answer_pack(place, parent, UINT32_MAX);
        expect_true(bl_answer_is_narrow(word));
        bl_store_relaxed(&place->word, word);
        expect_ptr_eq(bl_answer_open(place).parent, parent);
        expect_size_eq(bl_answer_open(place).token, UINT32_MAX);
    }
    const intptr_t far[] = {-reach - 8, reach};
    for (unsigned i = 0; i < 2; i++)
        expect_size_eq(
            bl_answer_pack(
                place, (const struct bl_trie_node *)((intptr_t)place + far[i]),
                0),
            BL_ANSWER_WIDE);
}

TEST(abandoned_call_starts_anew) {
    for (unsigned i = 0; i < VARIANTS; i++) {
        struct bench b = open_bench(&variants[i]);
        abandoned_call_starts_anew(&b, variants[i].design);
        close_bench(&b);
    }
}

// Two threads' views, used from one thread in turn.
static void abolition_leaves_others_alone(struct bench *b,
                                          enum bl_table_design design) {
    struct bl_table_thread *const other = bl_table_attach(b->space);
    struct bl_table_thread *const both[] = {b->thread, other};
    const uint64_t call[] = {number(1), 2};
    struct bl_subgoal *sg[2];
    for (unsigned k = 0; k < 2; k++) {
        sg[k] = bl_table_call(both[k], b->table, call, 2);
        expect_int_eq(bl_subgoal_state(sg[k]),
                      k == 1 && design == BL_TABLE_FS ? BL_COMPLETE : BL_FRESH);
        for (uint64_t i = 1; i <= 100; i++) {
            const uint64_t token = number(i);
            bl_answer_insert(both[k], sg[k], &token, 1);
        }
        bl_subgoal_complete(both[k], sg[k]);
        expect_true(bl_subgoal_completed_elsewhere(sg[k]) ==
                    (design == BL_TABLE_FS));
    }
    struct bl_table_lock_stats locks;
    bl_table_read_locks(b->space, &locks);
    expect_size_eq(locks.taken, design == BL_TABLE_NS   ? 0
                                : design == BL_TABLE_SS ? 2
                                                        : 102);
    expect_size_eq(locks.failed, 0);
    struct bl_answer_cursor cursor = {NULL, 0};
    expect_ptr_ne(bl_answer_next(sg[1], &cursor), NULL);
    expect_true(bl_table_abolish(b->thread, b->table));
    sg[0] = bl_table_call(b->thread, b->table, call, 2);
    expect_int_eq(bl_subgoal_state(sg[0]), BL_FRESH);
    expect_size_eq(bl_answer_count(sg[0]), 0);
    const uint64_t token = number(500);
    bl_answer_insert(b->thread, sg[0], &token, 1);
    uint64_t rest = 0;
    while (bl_answer_next(sg[1], &cursor) != NULL)
        rest++;
    expect_size_eq(rest, 99);
    expect_ptr_eq(bl_table_call(other, b->table, call, 2), sg[1]);
    expect_size_eq(bl_table_check(other), 100);
    expect_true(bl_table_abolish_all(other));
    expect_size_eq(bl_table_check(other), 0);
    sg[1] = bl_table_call(other, b->table, call, 2);
    expect_size_eq(bl_answer_count(sg[1]), 0);
    expect_size_eq(bl_table_check(b->thread), 1);
    bl_table_detach(other);
    expect_true(bl_table_abolish(b->thread, b->table));
    for (unsigned type = 0; type < BL_TYPE_COUNT; type++)
        expect_size_eq(blocks_of(b, (enum bl_table_type)type),
                       type == BL_TYPE_TABLE);
}

TEST(abolition_leaves_others_alone) {
    for (unsigned i = 0; i < VARIANTS; i++) {
        struct bench b = open_bench(&variants[i]);
        abolition_leaves_others_alone(&b, variants[i].design);
        close_bench(&b);
    }
}

TEST(designs_live_side_by_side) {
    struct bench b = open_bench(&variants[0]);
    struct bl_table *tables[3];
    for (unsigned d = 0; d < 3; d++)
        tables[d] = bl_table_new(b.space, "q", (enum bl_table_design)d, NULL);
    for (unsigned d = 0; d < 3; d++) {
        const uint64_t token = 2;
        struct bl_subgoal *const sg =
            bl_table_call(b.thread, tables[d], &token, 1);
        for (uint64_t i = 1; i <= 1000; i++) {
            const uint64_t answer = number(i * (d + 1));
            bl_answer_insert(b.thread, sg, &answer, 1);
        }
    }
    expect_size_eq(bl_table_check(b.thread), 3000);
    expect_true(bl_table_abolish(b.thread, tables[1]));
    expect_size_eq(bl_table_check(b.thread), 2000);
    expect_true(bl_table_abolish_all(b.thread));
    expect_size_eq(bl_table_check(b.thread), 0);
    close_bench(&b);
}

// As many as there is memory for.
TEST(spaces_live_side_by_side) {
    enum { SPACES = 200 };
    static struct bench b[SPACES];
    for (unsigned i = 0; i < SPACES; i++) {
        b[i] = open_bench(&variants[i % VARIANTS]);
        struct bl_subgoal *const sg = call_of(&b[i], 1);
        for (uint64_t k = 0; k < 40; k++) {
            const uint64_t answer[] = {number(k), number(i)};
            assert_int_eq(bl_answer_insert(b[i].thread, sg, answer, 2),
                          BL_ANSWER_NEW);
        }
    }
    for (unsigned i = 0; i < SPACES; i++) {
        expect_size_eq(bl_table_check(b[i].thread), 40);
        close_bench(&b[i]);
    }
}

// The caller's mistake is named as one: `crime` ends the program so.
static void expect_end(struct bench *b, void crime(struct bench *),
                       const char *text) {
    char said[200] = "";
    int status;
    int ends[2];
    assert_int_eq(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        crime(b);
        _exit(0);
    }
    close(ends[1]);
    expect_true(read(ends[0], said, sizeof said - 1) > 0);
    expect_str_eq(said, text);
    assert_int_eq(waitpid(child, &status, 0), child);
    expect_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    close(ends[0]);
}

static void delete_space(struct bench *b) { bl_table_space_delete(b->space); }

TEST(a_space_in_use_is_not_deleted) {
    struct bench b = open_bench(&variants[0]);
    expect_end(&b, delete_space,
               "bigleaf: bl_table_space_delete: a thread is still attached; "
               "bl_table_detach comes first\n");
    close_bench(&b);
}

static void abolish_elsewhere(struct bench *b) {
    struct bench other = open_bench(&variants[0]);
    (void)bl_table_abolish(b->thread, other.table);
}

static void read_no_type(struct bench *b) { (void)blocks_of(b, BL_TYPE_COUNT); }

TEST(what_is_of_another_space_or_no_type_is_refused) {
    struct bench b = open_bench(&variants[0]);
    expect_end(&b, abolish_elsewhere,
               "bigleaf: bl_table_abolish: the table is of another space than "
               "the thread\n");
    expect_end(&b, read_no_type,
               "bigleaf: bl_table_read_memory: there is no such type of "
               "blocks\n");
    close_bench(&b);
}

// Values that a newer header might have.
TEST(unknown_options_are_refused) {
    const struct bl_table_options unknown[] = {
        {.design = (enum bl_table_design)3},
        {.locks = (enum bl_table_locks)2},
        {.alloc = (enum bl_table_alloc)2}};
    for (unsigned i = 0; i < 3; i++)
        expect_ptr_eq(bl_table_space_new(&unknown[i]), NULL);
    struct bench b = open_bench(&variants[0]);
    expect_ptr_eq(bl_table_new(b.space, "q", (enum bl_table_design)3, NULL),
                  NULL);
    close_bench(&b);
}

// An answer found by its node is the same answer, and reads back as it is.
TEST(an_answer_may_be_inserted_at_its_node) {
    for (unsigned i = 0; i < VARIANTS; i++) {
        struct bench b = open_bench(&variants[i]);
        struct bl_subgoal *const sg = call_of(&b, 1);
        const uint64_t first[] = {number(7), number(0)};
        expect_ptr_eq(bl_answer_node(sg, first, 2), NULL);
        expect_int_eq(bl_answer_insert(b.thread, sg, first, 2), BL_ANSWER_NEW);
        struct bl_trie_node *const node = bl_answer_node(sg, first, 2);
        expect_true((node != NULL) == (variants[i].design != BL_TABLE_FS));
        for (uint64_t k = 0; node != NULL && k < 2000; k++) {
            expect_int_eq(bl_answer_insert_at(b.thread, sg, node, number(k)),
                          k == 0 ? BL_ANSWER_REPEATED : BL_ANSWER_NEW);
        }
        struct bl_answer_cursor cursor = {0};
        const struct bl_answer *const a = bl_answer_next(sg, &cursor);
        uint64_t read[3] = {0};
        expect_true(bl_answer_read_n(a, read, 2));
        expect_true(read[0] == first[0] && read[1] == first[1]);
        expect_false(bl_answer_read_n(a, read, 1));
        expect_false(bl_answer_read_n(a, read, 3));
        close_bench(&b);
    }
}
