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
// the clause `bl_answer_insert_fast`. Who has several at hand does better to
// put them into a batch.
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

// Of all blocks in the space. Of counts alone: pools that other threads change
// meanwhile are not looked at, as bl_table_read_memory does.
uint64_t bl_table_bytes(struct bl_table_space *space);

// Whether another thread has abolished the shared table that this one sees.
bool bl_table_is_outdated(struct bl_table_thread *thread,
                          struct bl_table *table);
// Gives up what the thread sees of such a table, none of whose calls it is
// evaluating; its next call sees what the others do.
void bl_table_renew(struct bl_table_thread *thread, struct bl_table *table);

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

// ---- batches (batch.c)

// Answers of one call on their way into its table. In a large table an
// insertion waits for a line of its node's set; that of an answer put into a
// batch begins to come at once.
#define BL_ANSWER_BATCH 16
struct bl_answer_batch {
    unsigned n;
    struct bl_answer_made {
        struct bl_trie_node *node;
        uint64_t token;
        uint64_t leaves;        // the node's, when `home` was found
        _Atomic uint32_t *home; // NULL: there is none
    } made[BL_ANSWER_BATCH];
};

// Adds the answer that ends in `token` below the node; there must be room.
BL_INLINE void bl_answer_batch_add(struct bl_answer_batch *b,
                                   struct bl_trie_node *node, uint64_t token) {
    BL_ASSERT(b->n < BL_ANSWER_BATCH);
    const uint64_t leaves = bl_load_relaxed(&node->leaves);
    _Atomic uint32_t *const home = bl_leaves_home(leaves, token);
    // where there is no such place, NULL is no address that is fetched
    __builtin_prefetch(home, 1);
    b->made[b->n++] = (struct bl_answer_made){node, token, leaves, home};
}

// As `bl_answer_insert` of each answer in order; empties the batch. False
// without memory.
BL_MUST_USE bool bl_answer_batch_insert(struct bl_table_thread *thread,
                                        struct bl_subgoal *sg,
                                        struct bl_answer_batch *b);

// The node below which an answer of `n` tokens ends, made if there is none;
// NULL without memory. An answer has to follow below it.
struct bl_trie_node *bl_answer_node_make(struct bl_table_thread *thread,
                                         struct bl_subgoal *sg,
                                         const uint64_t *tokens, size_t n);

// ---- single answers

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

// Answers that lie one behind the other.
struct bl_answer_span {
    const struct bl_answer *at, *end;
};

// What the cursor has before it in its chunk, if all answers of the call have
// `n` tokens, or nothing. Each is to be opened by `bl_answer_open_narrow`.
BL_INLINE struct bl_answer_span
bl_answers_ready(const struct bl_subgoal *sg,
                 const struct bl_answer_cursor *cursor, size_t n) {
    const struct bl_answer_chunk *const chunk = cursor->chunk;
    if (chunk == NULL)
        return (struct bl_answer_span){NULL, NULL};
    // Acquire: an answer raises the depth before it takes its place.
    const uint32_t used = bl_load_acquire(&chunk->used);
    const uint32_t end = used < chunk->capacity ? used : chunk->capacity;
    // No answer has less tokens than arguments, and none here has more.
    const bool fit = bl_load_relaxed(&sg->answers->depth_max) == n;
    return (struct bl_answer_span){chunk->answers + cursor->index,
                                   chunk->answers +
                                       (fit ? end : cursor->index)};
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
