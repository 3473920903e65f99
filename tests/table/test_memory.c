// SPDX-License-Identifier: MIT
//
// Memory runs out at every single allocation, under each design: the operation
// says so, the tables stay as they were, and the work goes on when there is
// memory again.
//
#include "bigleaf/table.h"
#include "naive.h"
#include "plain_pools.h"
#include "table/table.h"

#define CALLS 3
#define INSERTIONS 150

struct world {
    struct bl_table_space *space;
    struct bl_table *table;
    struct bl_table_thread *thread;
    uint64_t refused;
};

static uint64_t number(uint64_t value) { return value << 3 | 1; }

// Every operation is tried until it succeeds; a refusal is followed by a check
// and by a grant of unlimited memory for the next try.
static struct bl_subgoal *call(struct world *w, uint64_t first) {
    const uint64_t tokens[] = {number(first), 2};
    for (;;) {
        struct bl_subgoal *const sg =
            bl_table_call(w->thread, w->table, tokens, first == 0 ? 0 : 2);
        if (sg != NULL)
            return sg;
        w->refused++;
        bl_table_check(w->thread);
        plain_pools_grant(-1);
    }
}

static enum bl_answer_result insert(struct world *w, struct bl_subgoal *sg,
                                    const uint64_t *tokens, size_t n) {
    for (;;) {
        const enum bl_answer_result result =
            bl_answer_insert(w->thread, sg, tokens, n);
        if (result != BL_ANSWER_NO_MEMORY)
            return result;
        w->refused++;
        bl_table_check(w->thread);
        plain_pools_grant(-1);
    }
}

// The whole story, with the allocation number `granted` refused.
static uint64_t run(const struct bl_table_options *options, int64_t granted) {
    struct world w = {.space = bl_table_space_new(options)};
    w.table = bl_table_new(w.space, "p", options->design, NULL);
    w.thread = bl_table_attach(w.space);
    const struct naive_shape shape = {2, 40, 1, 2};
    struct bl_random random = {17};
    static struct naive_set expected[CALLS];
    plain_pools_grant(granted);
    for (unsigned i = 0; i < CALLS; i++)
        naive_init(&expected[i]);
    for (unsigned i = 0; i < INSERTIONS * CALLS; i++) {
        const uint64_t which = i % CALLS;
        struct bl_subgoal *const sg = call(&w, which);
        uint64_t tokens[NAIVE_TOKENS_MAX];
        const size_t n = which == 0 ? 0 : naive_random(&random, &shape, tokens);
        if (i % 11 == 10 && n > 0)
            tokens[n - 1] = number((uint64_t)i << 40);
        const bool fresh = naive_insert(&expected[which], tokens, n);
        assert_int_eq(insert(&w, sg, tokens, n),
                      fresh ? BL_ANSWER_NEW : BL_ANSWER_REPEATED);
    }
    uint64_t all = 0;
    for (unsigned i = 0; i < CALLS; i++) {
        expect_size_eq(bl_answer_count(call(&w, i)), expected[i].count);
        all += expected[i].count;
        naive_free(&expected[i]);
    }
    expect_size_eq(bl_table_check(w.thread), all);
    plain_pools_grant(-1);
    expect_true(bl_table_abolish_all(w.thread));
    bl_table_detach(w.thread);
    bl_table_space_delete(w.space);
    return w.refused;
}

TEST_LIMIT(every_allocation_may_fail, 110) {
    for (unsigned design = 0; design < 3; design++) {
        const struct bl_table_options options = {
            .design = (enum bl_table_design)design, .one_by_one = design == 1};
        int64_t granted = 0;
        while (run(&options, granted) != 0)
            granted += granted < 100 ? 1 : 7;
        bl_test_note("design %u: %lld allocations", design, (long long)granted);
        expect_int_ge(granted, 100);
    }
}

#define READ ((uint64_t)9) // then the next ones lie in one chunk
#define PASSED ((uint64_t)22)

// Passes answers of one call on to another that has none, with the allocation
// number `granted` refused, and then inserts one by one what is left. Returns
// how many these were before the first of three words, which are not passed on:
// a sanitizer may lay blocks of different sizes far apart.
static uint64_t pass_on(int64_t granted) {
    const struct bl_table_options options = {.design = BL_TABLE_NS};
    struct world w = {.space = bl_table_space_new(&options)};
    w.table = bl_table_new(w.space, "p", BL_TABLE_NS, NULL);
    w.thread = bl_table_attach(w.space);
    struct bl_subgoal *const from = call(&w, 1);
    struct bl_subgoal *const to = call(&w, 2);
    uint64_t token;
    for (uint64_t i = 1; i <= PASSED; i++) {
        token = number(i);
        bl_answer_insert(w.thread, from, &token, 1);
    }
    const struct bl_pass p = {
        from, to, bl_answer_node_make(w.thread, to, &token, 1), 1u << 1};
    struct bl_answer_cursor cursor = {NULL, 0};
    for (uint64_t i = 0; i < READ; i++)
        assert_ptr_ne(bl_answer_next(from, &cursor), NULL);
    plain_pools_grant(granted);
    while (bl_answers_pass(w.thread, &p, &cursor, PASSED) > 0) {
    }
    plain_pools_grant(-1);
    uint64_t refused = 0;
    bool narrow = true;
    const struct bl_answer *a;
    while ((a = bl_answer_next(from, &cursor)) != NULL) {
        narrow = narrow && bl_answer_is_narrow(bl_load_relaxed(&a->word));
        refused += narrow;
        assert_ptr_eq(bl_answer_read(a, &token + 1), &token);
        assert_int_eq(bl_answer_insert(w.thread, to, &token, 1), BL_ANSWER_NEW);
    }
    expect_size_eq(bl_answer_count(to), PASSED - READ);
    expect_size_eq(bl_table_check(w.thread), 2 * PASSED - READ);
    bl_table_detach(w.thread);
    bl_table_space_delete(w.space);
    return refused;
}

// What cannot be passed on for lack of memory is inserted when there is some,
// also into a call that had no answer before.
TEST(passing_on_may_fail_anywhere) {
    uint64_t refused = 0;
    for (int64_t granted = 0; granted < 20; granted++)
        refused = pass_on(granted);
    expect_size_eq(refused, 0);
}
