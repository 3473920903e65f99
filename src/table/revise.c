// SPDX-License-Identifier: MIT
//
// Answers of which each key has one, the current one: what tables with modes
// are made of. The key is a path of inner nodes; the rest of the answer goes on
// below it. A revision puts the new answer at the end of the list, so that
// readers meet it, and marks the place of the old one as no answer. Sets of
// leaves are not needed: the caller knows each key's place. Private tables
// only.
//
#include "table/space.h"
#include "table/trie_parts.h"

struct bl_trie_node *bl_answer_key(struct bl_table_thread *thread,
                                   struct bl_subgoal *sg,
                                   const uint64_t *tokens, size_t n) {
    struct bl_memory *const memory = bl_table_thread_own(thread);
    struct bl_trie_node *node = &sg->answers->root;
    BL_REQUIRE(!sg->answers->shared);
    for (size_t i = 0; node != NULL && i < n; i++)
        node = bl_trie_step(memory, BL_TYPE_ANSWER_NODE, node, tokens[i]);
    return node;
}

static void withdraw(const struct bl_answer_place *place) {
    struct bl_answer_chunk *const chunk = place->chunk;
    const uint64_t word = bl_load_relaxed(&chunk->answers[place->at].word);
    // the words behind a wide answer's first begin no answer anyway
    bl_answers_skip(chunk, place->at, place->at + 1);
    if (word != BL_ANSWER_WIDE)
        return;
    for (uint32_t i = 1; i < BL_ANSWER_WIDE_WORDS; i++)
        bl_store_relaxed(&chunk->answers[place->at + i].word, BL_ANSWER_SKIP);
}

bool bl_answer_revise(struct bl_table_thread *thread, struct bl_subgoal *sg,
                      struct bl_trie_node *key, const uint64_t *tokens,
                      size_t n, struct bl_answer_place *place) {
    struct bl_memory *const memory = bl_table_thread_own(thread);
    struct bl_answers *const answers = sg->answers;
    BL_REQUIRE(n > 0);
    const uint32_t depth = (uint32_t)(bl_trie_depth(key) + n);
    struct bl_trie_node *node = key;
    for (size_t i = 0; node != NULL && i + 1 < n; i++)
        node = bl_trie_step(memory, BL_TYPE_ANSWER_NODE, node, tokens[i]);
    struct bl_answer_place new;
    if (node == NULL ||
        !bl_answers_append(memory, answers, node, tokens[n - 1], &new))
        return false;
    answers->revised = true;
    if (depth > bl_load_relaxed(&answers->depth_max))
        bl_store_relaxed(&answers->depth_max, depth);
    if (place->chunk != NULL)
        withdraw(place);
    else
        sg->fresh++;
    *place = new;
    return true;
}
