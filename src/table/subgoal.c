// SPDX-License-Identifier: MIT
//
// Subgoal frames, and the operations of <bigleaf/table.h> on them and on
// their answers.
//
#include "table/space.h"
#include "table/trie_parts.h"

static void make_fresh(struct bl_subgoal *sg) {
    sg->state = BL_FRESH;
    sg->mark = 0;
    sg->user = NULL;
    sg->fresh = 0;
    sg->repeated = 0;
}

struct bl_subgoal *bl_subgoal_new(struct bl_table_thread *thread,
                                  struct bl_table_view *view,
                                  struct bl_trie_node *call,
                                  struct bl_subgoal_entry *entry) {
    const bool shared = view->table->kind == BL_TABLE_FS;
    struct bl_subgoal *const sg = bl_memory_alloc(
        &thread->own, shared ? BL_TYPE_FRAME : BL_TYPE_SUBGOAL, 0);
    if (sg == NULL)
        return NULL;
    make_fresh(sg);
    sg->table = view->table;
    sg->call = call;
    sg->entry = entry;
    sg->answers = shared ? entry->answers : sg->own;
    if (!shared)
        bl_answers_init(sg->own, false);
    sg->next = view->subgoals;
    view->subgoals = sg;
    return sg;
}

void bl_subgoals_free(struct bl_table_thread *thread,
                      struct bl_table_view *view) {
    const bool shared = view->table->kind == BL_TABLE_FS;
    struct bl_subgoal *sg = view->subgoals;
    while (sg != NULL) {
        struct bl_subgoal *const next = sg->next;
        if (!shared)
            bl_answers_free(&thread->own, sg->answers);
        bl_memory_free(&thread->own, shared ? BL_TYPE_FRAME : BL_TYPE_SUBGOAL,
                       0, sg);
        sg = next;
    }
    view->subgoals = NULL;
}

enum bl_subgoal_state bl_subgoal_state(const struct bl_subgoal *sg) {
    return sg->state;
}

void bl_subgoal_evaluate(struct bl_subgoal *sg) {
    BL_REQUIRE(sg->state == BL_FRESH);
    sg->state = BL_EVALUATING;
}

void bl_subgoal_complete(struct bl_table_thread *thread,
                         struct bl_subgoal *sg) {
    (void)thread;
    sg->state = BL_COMPLETE;
    // Release: whoever reads it finds all answers on the list.
    if (sg->answers->shared)
        bl_store_release(&sg->entry->complete, 1);
}

void bl_subgoal_abandon(struct bl_table_thread *thread, struct bl_subgoal *sg) {
    sg->table->design->forget(thread, sg);
    make_fresh(sg);
}

bool bl_subgoal_completed_elsewhere(const struct bl_subgoal *sg) {
    return sg->answers->shared && bl_load_acquire(&sg->entry->complete);
}

void *bl_subgoal_user(const struct bl_subgoal *sg) { return sg->user; }

void bl_subgoal_set_user(struct bl_subgoal *sg, void *user) { sg->user = user; }

struct bl_table *bl_subgoal_table(const struct bl_subgoal *sg) {
    return sg->table;
}

const uint64_t *bl_subgoal_read(const struct bl_subgoal *sg, uint64_t *end) {
    return bl_trie_read(sg->call, end);
}

size_t bl_subgoal_depth(const struct bl_subgoal *sg) {
    return bl_trie_depth(sg->call);
}

void bl_subgoal_each(struct bl_table_thread *thread, struct bl_table *table,
                     void (*visit)(struct bl_subgoal *sg, void *arg),
                     void *arg) {
    for (struct bl_table_view *v = thread->views; v != NULL; v = v->next) {
        if (table != NULL && v->table != table)
            continue;
        for (struct bl_subgoal *sg = v->subgoals; sg != NULL; sg = sg->next)
            visit(sg, arg);
    }
}

// ---- answers

static enum bl_answer_result insert_private(struct bl_memory *memory,
                                            struct bl_answers *answers,
                                            const uint64_t *tokens, size_t n) {
    // Relaxed: the answers are this thread's.
    if (bl_load_relaxed(&answers->depth_max) < n)
        bl_store_relaxed(&answers->depth_max, (uint32_t)n);
    if (n == 0)
        return bl_trie_leaf_empty(memory, answers);
    struct bl_trie_node *node = &answers->root;
    for (size_t i = 0; i + 1 < n; i++) {
        node = bl_trie_step(memory, BL_TYPE_ANSWER_NODE, node, tokens[i]);
        if (node == NULL)
            return BL_ANSWER_NO_MEMORY;
    }
    return bl_trie_leaf(memory, answers, node, tokens[n - 1]);
}

enum bl_answer_result bl_answer_insert(struct bl_table_thread *thread,
                                       struct bl_subgoal *sg,
                                       const uint64_t *tokens, size_t n) {
    BL_REQUIRE(n <= UINT32_MAX);
    const enum bl_answer_result result =
        sg->answers->shared
            ? bl_shared_insert(thread, sg->answers, tokens, n)
            : insert_private(&thread->own, sg->answers, tokens, n);
    sg->fresh += result == BL_ANSWER_NEW;
    sg->repeated += result == BL_ANSWER_REPEATED;
    return result;
}

const struct bl_answer *bl_answer_next(const struct bl_subgoal *sg,
                                       struct bl_answer_cursor *cursor) {
    return bl_answer_next_fast(sg, cursor);
}

const uint64_t *bl_answer_read(const struct bl_answer *answer, uint64_t *end) {
    return bl_answer_read_fast(answer, end);
}

size_t bl_answer_depth_max(const struct bl_subgoal *sg) {
    return bl_load_acquire(&sg->answers->depth_max);
}

uint64_t bl_answer_count(const struct bl_subgoal *sg) {
    uint64_t count = 0;
    for (const struct bl_answer_chunk *chunk =
             bl_load_acquire(&sg->answers->first);
         chunk != NULL; chunk = bl_load_acquire(&chunk->next)) {
        // Read first: what is counted there is in `used` by then. Acquire:
        // pairs with its additions.
        const uint32_t further = bl_load_acquire(&chunk->further);
        const uint32_t used = bl_load_acquire(&chunk->used);
        count += (used < chunk->capacity ? used : chunk->capacity) - further;
    }
    return count;
}

uint64_t bl_answer_repeated(const struct bl_subgoal *sg) {
    return sg->repeated;
}
