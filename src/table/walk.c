// SPDX-License-Identifier: MIT
//
// Tries as wholes: visiting, freeing, starting. Who frees is the only thread
// that can reach the trie.
//
#include "table/space.h"
#include "table/trie_parts.h"

static struct bl_trie_node *deepest_first(struct bl_trie_node *node) {
    for (;;) {
        struct bl_trie_node *const kid = bl_kids_after(node, NULL);
        if (kid == NULL)
            return node;
        node = kid;
    }
}

struct bl_trie_node *bl_walk_first(struct bl_trie_node *root) {
    return deepest_first(root);
}

struct bl_trie_node *bl_walk_next(const struct bl_trie_node *root,
                                  const struct bl_trie_node *node) {
    if (node == root)
        return NULL;
    struct bl_trie_node *const sibling = bl_kids_after(node->parent, node);
    return sibling != NULL ? deepest_first(sibling) : node->parent;
}

size_t bl_trie_depth(const struct bl_trie_node *node) {
    size_t depth = 0;
    for (; node->parent != NULL; node = node->parent)
        depth++;
    return depth;
}

void bl_node_init_root(struct bl_trie_node *root) {
    root->token = 0;
    root->parent = NULL;
    bl_store_relaxed(&root->kids, 0);
    bl_store_relaxed(&root->leaves, 0);
}

void bl_answers_init(struct bl_answers *answers, bool shared) {
    bl_node_init_root(&answers->root);
    bl_store_relaxed(&answers->first, NULL);
    bl_store_relaxed(&answers->last, NULL);
    bl_store_relaxed(&answers->depth_max, 0);
    answers->shared = shared;
    answers->revised = false;
}

void bl_trie_free(struct bl_memory *memory, enum bl_table_type type,
                  struct bl_trie_node *root, bool leaves) {
    struct bl_trie_node *node = bl_walk_first(root);
    while (node != NULL) {
        struct bl_trie_node *const next = bl_walk_next(root, node);
        bl_sets_free(memory, node, leaves);
        if (node != root)
            bl_memory_free(memory, type, 0, node);
        node = next;
    }
}

void bl_answers_free(struct bl_memory *memory, struct bl_answers *answers) {
    bl_trie_free(memory, BL_TYPE_ANSWER_NODE, &answers->root, true);
    struct bl_answer_chunk *chunk = bl_load_relaxed(&answers->first);
    while (chunk != NULL) {
        struct bl_answer_chunk *const next = bl_load_relaxed(&chunk->next);
        bl_memory_free(memory, BL_TYPE_CHUNK, bl_chunk_class(chunk), chunk);
        chunk = next;
    }
    bl_answers_init(answers, answers->shared);
}
