// SPDX-License-Identifier: MIT
//
// Figures, and the walk that checks invariants. Both look at what one thread
// sees and are exact while the threads that share it rest.
//
#include "table/space.h"
#include "table/trie_parts.h"

#include "os/os.h"

#include <stdlib.h>
#include <string.h>

// ---- Table I

static void note_depth(struct bl_depths *depths, uint64_t depth) {
    if (depth < depths->min)
        depths->min = depth;
    if (depth > depths->max)
        depths->max = depth;
    depths->sum += depth;
}

static uint64_t count_nodes(struct bl_trie_node *root) {
    uint64_t count = 0;
    for (const struct bl_trie_node *node = bl_walk_first(root); node != NULL;
         node = bl_walk_next(root, node))
        count++;
    return count;
}

static void count_answers(const struct bl_subgoal *sg,
                          struct bl_table_counts *out) {
    out->answer_nodes += count_nodes(&sg->answers->root);
    struct bl_answer_cursor cursor = {NULL, 0};
    const struct bl_answer *answer;
    while ((answer = bl_answer_next(sg, &cursor)) != NULL) {
        const struct bl_answer_end end = bl_answer_open(answer);
        const bool has_leaf = end.token != 0;
        const size_t inner = bl_trie_depth(end.parent);
        out->unique++;
        out->answer_nodes += has_leaf;
        note_depth(&out->answer_depth, inner + has_leaf);
    }
}

static void count_view(struct bl_table_view *view,
                       struct bl_table_counts *out) {
    if (view->subgoals == NULL)
        return;
    out->call_nodes += count_nodes(view->table->design->call_root(view));
    for (const struct bl_subgoal *sg = view->subgoals; sg != NULL;
         sg = sg->next) {
        out->calls++;
        out->repeated += sg->repeated;
        note_depth(&out->call_depth, bl_subgoal_depth(sg));
        count_answers(sg, out);
    }
}

void bl_table_count(struct bl_table_thread *thread, struct bl_table *table,
                    struct bl_table_counts *out) {
    bl_retired_enter(&thread->retired, &thread->space->epochs);
    memset(out, 0, sizeof(*out));
    out->call_depth.min = UINT64_MAX;
    out->answer_depth.min = UINT64_MAX;
    for (struct bl_table_view *v = thread->views; v != NULL; v = v->next)
        if (table == NULL || v->table == table)
            count_view(v, out);
    if (out->calls == 0)
        out->call_depth.min = 0;
    if (out->unique == 0)
        out->answer_depth.min = 0;
}

// ---- memory and locks

void bl_table_read_memory(struct bl_table_space *space, enum bl_table_type type,
                          struct bl_table_memory_stats *out) {
    if ((unsigned)type >= BL_TYPE_COUNT)
        bl_fatal("bl_table_read_memory: there is no such type of blocks");
    memset(out, 0, sizeof(*out));
    out->name = bl_table_type_name(type);
    pthread_mutex_lock(&space->lock);
    // Relaxed: figures of threads that may be at work.
    int64_t blocks = bl_load_relaxed(&space->ended.blocks[type]) +
                     bl_load_relaxed(&space->entries.blocks[type]);
    int64_t bytes = bl_load_relaxed(&space->ended.bytes[type]) +
                    bl_load_relaxed(&space->entries.bytes[type]);
    bl_pools_add_stats(&space->pools, type, out);
    for (struct bl_table_thread *t = space->threads; t != NULL; t = t->next) {
        blocks += bl_load_relaxed(&t->own.blocks[type]) +
                  bl_load_relaxed(&t->common.blocks[type]);
        bytes += bl_load_relaxed(&t->own.bytes[type]) +
                 bl_load_relaxed(&t->common.bytes[type]);
        bl_pools_add_stats(&t->pools, type, out);
    }
    pthread_mutex_unlock(&space->lock);
    out->blocks = blocks < 0 ? 0 : (uint64_t)blocks;
    out->block_bytes = bytes < 0 ? 0 : (uint64_t)bytes;
}

static int64_t bytes_of(const struct bl_memory *memory) {
    int64_t sum = 0;
    for (unsigned type = 0; type < BL_TYPE_COUNT; type++)
        sum += bl_load_relaxed(&memory->bytes[type]); // as above
    return sum;
}

uint64_t bl_table_bytes(struct bl_table_space *space) {
    pthread_mutex_lock(&space->lock);
    int64_t sum = bytes_of(&space->ended) + bytes_of(&space->entries);
    for (const struct bl_table_thread *t = space->threads; t != NULL;
         t = t->next)
        sum += bytes_of(&t->own) + bytes_of(&t->common);
    pthread_mutex_unlock(&space->lock);
    return sum < 0 ? 0 : (uint64_t)sum;
}

void bl_table_read_locks(struct bl_table_space *space,
                         struct bl_table_lock_stats *out) {
    pthread_mutex_lock(&space->lock);
    *out = space->ended_locks;
    for (struct bl_table_thread *t = space->threads; t != NULL; t = t->next) {
        // Relaxed: as above.
        out->taken += bl_load_relaxed(&t->locks_taken);
        out->failed += bl_load_relaxed(&t->locks_failed);
    }
    pthread_mutex_unlock(&space->lock);
}

// ---- invariants

// Each node hangs where its token leads; returns how many leaves there are.
static uint64_t check_trie(struct bl_trie_node *root, bool leaves) {
    uint64_t count = 0;
    BL_CHECK(root->parent == NULL && root->token == 0);
    for (const struct bl_trie_node *node = bl_walk_first(root); node != NULL;
         node = bl_walk_next(root, node)) {
        BL_CHECK((bl_load_relaxed(&node->kids) & BL_SET_LOCK) == 0);
        if (leaves)
            count += bl_leaves_count(bl_load_relaxed(&node->leaves));
        if (node == root)
            continue;
        BL_CHECK(node->token != 0);
        BL_CHECK(bl_kids_find(bl_load_relaxed(&node->parent->kids),
                              node->token) == node);
    }
    return count;
}

static const struct bl_trie_node *root_of(const struct bl_trie_node *node) {
    while (node->parent != NULL)
        node = node->parent;
    return node;
}

static uint64_t check_answers(const struct bl_subgoal *sg) {
    struct bl_answers *const answers = sg->answers;
    const uint64_t leaves = check_trie(&answers->root, true);
    struct bl_answer_cursor cursor = {NULL, 0};
    const struct bl_answer *answer;
    uint64_t count = 0;
    uint64_t empty = 0;
    while ((answer = bl_answer_next(sg, &cursor)) != NULL) {
        const struct bl_answer_end end = bl_answer_open(answer);
        count++;
        BL_CHECK(root_of(end.parent) == &answers->root);
        BL_CHECK(bl_trie_depth(end.parent) + (end.token != 0) <=
                 bl_answer_depth_max(sg));
        if (end.token == 0)
            empty++;
        else
            BL_CHECK(answers->revised ||
                     bl_leaves_probe(bl_load_relaxed(&end.parent->leaves),
                                     end.token));
    }
    if (!answers->revised)
        BL_CHECK_EQ(count, leaves + empty);
    BL_CHECK_EQ(count, bl_answer_count(sg));
    BL_CHECK(empty <= 1 && (empty == 0 || leaves == 0));
    return count;
}

static void check_call(struct bl_table_thread *thread, struct bl_subgoal *sg) {
    const size_t depth = bl_subgoal_depth(sg);
    uint64_t *const buffer = malloc((depth + 1) * sizeof(*buffer));
    BL_CHECK(buffer != NULL);
    const uint64_t *const tokens = bl_subgoal_read(sg, buffer + depth);
    BL_CHECK(tokens == buffer);
    BL_CHECK(bl_table_find_call(thread, sg->table, tokens, depth) == sg);
    free(buffer);
}

uint64_t bl_table_check(struct bl_table_thread *thread) {
    bl_retired_enter(&thread->retired, &thread->space->epochs);
    uint64_t answers = 0;
    for (struct bl_table_view *v = thread->views; v != NULL; v = v->next) {
        BL_CHECK(bl_view_find(thread, v->table) == v);
        check_trie(v->table->design->call_root(v), false);
        for (struct bl_subgoal *sg = v->subgoals; sg != NULL; sg = sg->next) {
            BL_CHECK(sg->table == v->table);
            check_call(thread, sg);
            answers += check_answers(sg);
        }
    }
    return answers;
}
