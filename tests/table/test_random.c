// SPDX-License-Identifier: MIT
//
// Random calls and answers against the plain set of naive.h: the same answers
// are new, the list has them in order, and the structure keeps its invariants.
//
#include "bigleaf/table.h"
#include "naive.h"

#include <string.h>

#define CALLS 6

struct one_call {
    uint64_t tokens[NAIVE_TOKENS_MAX];
    size_t length;
    struct bl_subgoal *sg;
    struct naive_set expected;
    struct bl_answer_cursor cursor;
    size_t read;
    struct naive_shape shape;
};

static void compare_next(struct one_call *c) {
    const struct bl_answer *answer;
    while ((answer = bl_answer_next(c->sg, &c->cursor)) != NULL) {
        uint64_t buffer[NAIVE_TOKENS_MAX];
        uint64_t *const end = buffer + NAIVE_TOKENS_MAX;
        const uint64_t *const got = bl_answer_read(answer, end);
        assert_size_le(c->read + 1, c->expected.count);
        const struct naive_item *const item = &c->expected.items[c->read++];
        assert_size_eq((size_t)(end - got), item->length);
        assert_true(
            memcmp(got, item->tokens, item->length * sizeof(uint64_t)) == 0);
        assert_size_le(item->length, bl_answer_depth_max(c->sg));
    }
}

static struct naive_shape random_shape(struct bl_random *r) {
    static const uint64_t strides[] = {1,  1,    1,       3,
                                       64, 4096, 1 << 20, (uint64_t)1 << 33};
    return (struct naive_shape){
        .terms = (unsigned)bl_random_below(r, 4),
        .values = 1 + bl_random_below(r, (uint64_t)1 << bl_random_below(r, 14)),
        .stride = strides[bl_random_below(r, 8)],
        .depth = (unsigned)bl_random_below(r, 3)};
}

static void insert_one(struct bl_random *r, struct bl_table_thread *thread,
                       struct one_call *c) {
    uint64_t tokens[NAIVE_TOKENS_MAX];
    const size_t n = naive_random(r, &c->shape, tokens);
    const bool fresh = naive_insert(&c->expected, tokens, n);
    assert_int_eq(bl_answer_insert(thread, c->sg, tokens, n),
                  fresh ? BL_ANSWER_NEW : BL_ANSWER_REPEATED);
}

static void one_round(struct bl_random *r,
                      const struct bl_table_options *options) {
    struct bl_table_space *const space = bl_table_space_new(options);
    struct bl_table *const table =
        bl_table_new(space, "p", options->design, NULL);
    struct bl_table_thread *const thread = bl_table_attach(space);
    static struct one_call calls[CALLS];
    const struct naive_shape call_shape = {2, 1000, 1, 2};
    struct naive_set made;
    naive_init(&made);
    for (unsigned i = 0; i < CALLS; i++) {
        struct one_call *const c = &calls[i];
        memset(c, 0, sizeof(*c));
        do
            c->length = naive_random(r, &call_shape, c->tokens);
        while (!naive_insert(&made, c->tokens, c->length));
        c->shape = random_shape(r);
        c->sg = bl_table_call(thread, table, c->tokens, c->length);
        assert_int_eq(bl_subgoal_state(c->sg), BL_FRESH);
    }
    const uint64_t steps = 200 + bl_random_below(r, 8000);
    for (uint64_t step = 0; step < steps; step++) {
        struct one_call *const c = &calls[bl_random_below(r, CALLS)];
        insert_one(r, thread, c);
        if (bl_random_below(r, 100) == 0)
            compare_next(c);
    }
    uint64_t all = 0;
    for (unsigned i = 0; i < CALLS; i++) {
        compare_next(&calls[i]);
        expect_size_eq(calls[i].read, calls[i].expected.count);
        expect_ptr_eq(
            bl_table_find_call(thread, table, calls[i].tokens, calls[i].length),
            calls[i].sg);
        all += calls[i].read;
        naive_free(&calls[i].expected);
    }
    expect_size_eq(bl_table_check(thread), all);
    naive_free(&made);
    bl_table_detach(thread);
    bl_table_space_delete(space);
}

TEST_LIMIT(random_answers_match_a_plain_set, 110) {
    struct bl_random r = {bl_test_seed()};
    const unsigned rounds = bl_test_argc() > 0 ? 1000 : 60;
    for (unsigned i = 0; i < rounds; i++) {
        struct bl_table_options options;
        memset(&options, 0, sizeof(options));
        options.design = (enum bl_table_design)(i % 3);
        options.locks = (enum bl_table_locks)(i / 3 % 2);
        options.alloc = (enum bl_table_alloc)(i / 6 % 2);
        options.spin = i / 12 % 2 != 0;
        options.one_by_one = bl_random_below(&r, 4) == 0;
        one_round(&r, &options);
    }
}
