// SPDX-License-Identifier: MIT
//
// No sharing (NS): each thread has a call trie of its own for each table, and
// below it its own frames and answers, all in its private memory. Only the
// table entry and its buckets are seen by more than one thread.
// Source: [AreiasRocha-2012], section II.B.
//
#include "table/space.h"
#include "table/trie_parts.h"

static struct bl_subgoal *call(struct bl_table_thread *thread,
                               struct bl_table_view *view,
                               const uint64_t *tokens, size_t n, bool make) {
    struct bl_trie_node *node = &view->root;
    for (size_t i = 0; i < n; i++) {
        // Relaxed throughout: the trie is this thread's.
        struct bl_trie_node *kid =
            bl_kids_find(bl_load_relaxed(&node->kids), tokens[i]);
        if (kid == NULL && make)
            kid = bl_trie_add_kid(&thread->own, BL_TYPE_CALL_NODE, node,
                                  tokens[i]);
        if (kid == NULL)
            return NULL;
        node = kid;
    }
    struct bl_subgoal *sg = bl_load_relaxed(&node->data);
    if (sg == NULL && make) {
        sg = bl_subgoal_new(thread, view, node, NULL);
        bl_store_relaxed(&node->data, sg);
    }
    return sg;
}

static void forget(struct bl_table_thread *thread, struct bl_subgoal *sg) {
    bl_answers_free(&thread->own, sg->answers);
}

static void free_view(struct bl_table_thread *thread,
                      struct bl_table_view *view) {
    bl_subgoals_free(thread, view);
    bl_trie_free(&thread->own, BL_TYPE_CALL_NODE, &view->root, false);
    bl_node_init_root(&view->root);
}

static void unlink_view(struct bl_table_thread *thread,
                        struct bl_table_view *view) {
    (void)thread;
    (void)view;
}

static struct bl_trie_node *call_root(struct bl_table_view *view) {
    return &view->root;
}

const struct bl_design bl_design_ns = {.call = call,
                                       .forget = forget,
                                       .free_view = free_view,
                                       .unlink_view = unlink_view,
                                       .call_root = call_root};
