// SPDX-License-Identifier: MIT
//
// The table space as `logic` uses it: all of <bigleaf/table.h>, and the same
// operations in line for the engine's inner loop (names ending in _fast).
//
// The engine may read every field of a `struct bl_subgoal` directly and write
// `state` and `user`. It belongs to one thread; what `answers` points to may
// be shared (FS), and is read through the functions here only.
//
// The inner loop of a left-recursive program: `bl_answer_next_fast` until it
// returns NULL; `bl_answer_read_fast` into a buffer; unify; and at the end of
// the clause `bl_answer_insert_fast`. Each new answer is a cache miss, so who
// has several at hand does better to call `bl_answer_node` and
// `bl_answer_prefetch` for all of them, and then `bl_answer_insert_at`.
//
// Inserting while reading is the rule: a cursor that was dry returns what has
// been added since. Answers stay where they are.
//
#ifndef BL_TABLE_TABLE_H
#define BL_TABLE_TABLE_H

#include "table/trie.h"

struct bl_subgoal_entry;

// One thread's view of one call.
struct bl_subgoal {
    struct bl_answers *answers; // const: `own`, or the shared entry's
    enum bl_subgoal_state state;
    uint32_t mark;          // the engine's; 0 at first
    void *user;             // the engine's; NULL when FRESH
    uint64_t fresh;         // answers this thread was the first to find
    uint64_t repeated;      // insertions that found their answer there already
    struct bl_table *table; // const
    struct bl_trie_node *call;      // const: the last node of its path
    struct bl_subgoal_entry *entry; // const: shared part, or NULL
    struct bl_subgoal *next;        // the thread's subgoals of this table
    struct bl_answers own[];        // one of them under NS and SS
};

// The memory a thread takes blocks from; see `alloc.h`.
struct bl_table_thread_head {
    struct bl_memory *own;    // const: private
    struct bl_memory *common; // const: shared
};

BL_INLINE struct bl_memory *
bl_table_thread_own(const struct bl_table_thread *thread) {
    return ((const struct bl_table_thread_head *)thread)->own;
}

// The node below which the answer ends. NULL: none yet, or shared.
BL_INLINE struct bl_trie_node *
bl_answer_node(const struct bl_subgoal *sg, const uint64_t *tokens, size_t n) {
    struct bl_answers *const answers = sg->answers;
    if (BL_UNLIKELY(answers->shared ||
                    n - 1 >= bl_load_relaxed(&answers->depth_max)))
        return NULL;
    struct bl_trie_node *node = &answers->root;
    for (size_t i = 0; node != NULL && i + 1 < n; i++)
        node = bl_kids_find(bl_load_relaxed(&node->kids), tokens[i]);
    return node;
}

// What `bl_answer_insert_at` looks at first is soon in the cache.
BL_INLINE void bl_answer_prefetch(const struct bl_trie_node *node,
                                  uint64_t token) {
    // where there is no such place, NULL is no address that is fetched
    __builtin_prefetch(bl_leaves_home(bl_load_relaxed(&node->leaves), token),
                       1);
}

// As `bl_answer_insert`, of an answer that ends in `token` below `node`, which
// `bl_answer_node` returned.
BL_INLINE enum bl_answer_result
bl_answer_insert_at(struct bl_table_thread *thread, struct bl_subgoal *sg,
                    struct bl_trie_node *node, uint64_t token) {
    const enum bl_answer_result result =
        bl_trie_leaf(bl_table_thread_own(thread), sg->answers, node, token);
    sg->fresh += result == BL_ANSWER_NEW;
    sg->repeated += result == BL_ANSWER_REPEATED;
    return result;
}

// As `bl_answer_insert`.
BL_INLINE enum bl_answer_result
bl_answer_insert_fast(struct bl_table_thread *thread, struct bl_subgoal *sg,
                      const uint64_t *tokens, size_t n) {
    struct bl_answers *const answers = sg->answers;
    if (BL_UNLIKELY(answers->shared ||
                    n - 1 >= bl_load_relaxed(&answers->depth_max)))
        return bl_answer_insert(thread, sg, tokens, n);
    struct bl_memory *const memory = bl_table_thread_own(thread);
    struct bl_trie_node *node = &answers->root;
    for (size_t i = 0; i + 1 < n; i++) {
        node = bl_trie_step(memory, BL_TYPE_ANSWER_NODE, node, tokens[i]);
        if (BL_UNLIKELY(node == NULL))
            return BL_ANSWER_NO_MEMORY;
    }
    return bl_answer_insert_at(thread, sg, node, tokens[n - 1]);
}

// As `bl_answer_next`.
BL_INLINE const struct bl_answer *
bl_answer_next_fast(const struct bl_subgoal *sg,
                    struct bl_answer_cursor *cursor) {
    return bl_answers_next(sg->answers, cursor);
}

// As `bl_answer_read`.
BL_INLINE const uint64_t *bl_answer_read_fast(const struct bl_answer *answer,
                                              uint64_t *end) {
    const struct bl_answer_end last = bl_answer_open(answer);
    if (BL_UNLIKELY(last.token == 0))
        return end;
    *--end = last.token;
    return bl_trie_read(last.parent, end);
}

// Whether the answer has `n` tokens, n > 0; `tokens` has them then.
BL_INLINE bool bl_answer_read_n(const struct bl_answer *answer,
                                uint64_t *tokens, size_t n) {
    const struct bl_answer_end last = bl_answer_open(answer);
    const struct bl_trie_node *node = last.parent;
    tokens[n - 1] = last.token;
    for (size_t i = n - 1; i-- > 0; node = node->parent) {
        if (BL_UNLIKELY(node->parent == NULL))
            return false;
        tokens[i] = node->token;
    }
    return node->parent == NULL && last.token != 0;
}

// Answers of `from` that are answers of `to` as well, below `node`, which
// `bl_answer_node` returned.
struct bl_pass {
    const struct bl_subgoal *from;
    struct bl_subgoal *to;
    struct bl_trie_node *node;
    uint32_t kinds; // of tokens, a bit each, that may be passed on
};

// Inserts unread answers, `limit` at most, and takes the cursor past them.
// Stops before an answer that is not one token of those kinds, and where the
// list or the memory ends. Returns how many were inserted or there already.
size_t bl_answers_pass(struct bl_table_thread *thread, const struct bl_pass *p,
                       struct bl_answer_cursor *cursor, size_t limit);

// An answer's place on a private list.
struct bl_answer_place {
    struct bl_answer_chunk *chunk; // NULL: none
    uint32_t at;
};

// The node of a key, made if there is none; NULL without memory. The answers
// of a call either all have keys, or none has.
struct bl_trie_node *bl_answer_key(struct bl_table_thread *thread,
                                   struct bl_subgoal *sg,
                                   const uint64_t *tokens, size_t n);

// Adds the answer that ends in these tokens below `key`, in place of the one at
// `place`, which then is its own. False without memory.
bool bl_answer_revise(struct bl_table_thread *thread, struct bl_subgoal *sg,
                      struct bl_trie_node *key, const uint64_t *tokens,
                      size_t n, struct bl_answer_place *place);

// Whether there is an answer.
BL_INLINE bool bl_answer_any(const struct bl_subgoal *sg) {
    struct bl_answer_cursor cursor = {0};
    return bl_answer_next_fast(sg, &cursor) != NULL;
}

// What `bl_answer_read_n` needs is soon in the cache.
BL_INLINE void bl_answer_prefetch_read(const struct bl_answer *answer) {
    __builtin_prefetch(bl_answer_open(answer).parent);
}

#endif
