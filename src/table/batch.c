// SPDX-License-Identifier: MIT
//
// Answers on their way into a table. When a batch is inserted, what was
// computed to find its lines is used again, unless the set has grown since, and
// the end of the list is looked up once for all.
//
#include "table/space.h"
#include "table/trie_parts.h"

// The end of a private list while nobody else adds to it.
struct tail {
    struct bl_answer_chunk *chunk;
    uint32_t used, room; // words; both 0 where there is no chunk
};

static struct tail tail_of(const struct bl_answers *answers) {
    struct bl_answer_chunk *const last = bl_load_relaxed(&answers->last);
    if (last == NULL)
        return (struct tail){NULL, 0, 0};
    return (struct tail){last, bl_load_relaxed(&last->used), last->capacity};
}

static void keep_tail(const struct tail *to) {
    if (to->chunk != NULL)
        bl_store_relaxed(&to->chunk->used, to->used);
}

// As the case in line of `bl_trie_leaf`; BL_ANSWER_NO_MEMORY says only that it
// is another case.
BL_INLINE enum bl_answer_result put(struct tail *to,
                                    const struct bl_answer_made *a) {
    // The set may have grown since.
    if (BL_UNLIKELY(a->home == NULL ||
                    bl_load_relaxed(&a->node->leaves) != a->leaves))
        return BL_ANSWER_NO_MEMORY;
    const uint32_t slot = bl_load_relaxed(a->home);
    if (slot == (uint32_t)a->token)
        return BL_ANSWER_REPEATED;
    if (BL_UNLIKELY(slot != 0 || to->used >= to->room))
        return BL_ANSWER_NO_MEMORY;
    struct bl_answer *const at = &to->chunk->answers[to->used];
    const uint64_t word = bl_answer_pack(at, a->node, a->token);
    if (BL_UNLIKELY(word == BL_ANSWER_WIDE))
        return BL_ANSWER_NO_MEMORY;
    bl_store_relaxed(a->home, (uint32_t)a->token);
    bl_store_relaxed(&at->word, word);
    to->used++;
    return BL_ANSWER_NEW;
}

static bool insert_private(struct bl_memory *memory, struct bl_subgoal *sg,
                           const struct bl_answer_batch *b) {
    struct bl_answers *const answers = sg->answers;
    struct tail to = tail_of(answers);
    unsigned fresh = 0;
    unsigned i = 0;
    for (; i < b->n; i++) {
        const struct bl_answer_made *const a = &b->made[i];
        enum bl_answer_result r = put(&to, a);
        if (BL_UNLIKELY(r == BL_ANSWER_NO_MEMORY)) {
            keep_tail(&to);
            r = bl_trie_leaf_slow(memory, answers, a->node, a->token);
            to = tail_of(answers);
            if (r == BL_ANSWER_NO_MEMORY)
                break;
        }
        fresh += r == BL_ANSWER_NEW;
    }
    keep_tail(&to);
    sg->fresh += fresh;
    sg->repeated += i - fresh;
    return i == b->n;
}

// Whether the answer is seen to be there, as mostly where threads work at one
// call; the caller has entered the epoch, so what is the node's set now stays.
BL_INLINE bool is_there(const struct bl_answer_made *a) {
    // Acquire: pairs with growth, and with `bl_leaves_put`.
    return a->home != NULL && bl_load_acquire(&a->node->leaves) == a->leaves &&
           bl_load_acquire(a->home) == (uint32_t)a->token;
}

static bool insert_shared(struct bl_table_thread *thread, struct bl_subgoal *sg,
                          const struct bl_answer_batch *b) {
    bl_retired_enter(&thread->retired, &thread->space->epochs);
    for (unsigned i = 0; i < b->n; i++) {
        const struct bl_answer_made *const a = &b->made[i];
        const enum bl_answer_result r =
            is_there(a)
                ? BL_ANSWER_REPEATED
                : bl_shared_insert_at(thread, sg->answers, a->node, a->token);
        if (r == BL_ANSWER_NO_MEMORY)
            return false;
        sg->fresh += r == BL_ANSWER_NEW;
        sg->repeated += r == BL_ANSWER_REPEATED;
    }
    return true;
}

bool bl_answer_batch_insert(struct bl_table_thread *thread,
                            struct bl_subgoal *sg, struct bl_answer_batch *b) {
    const bool done = sg->answers->shared
                          ? insert_shared(thread, sg, b)
                          : insert_private(bl_table_thread_own(thread), sg, b);
    b->n = 0;
    return done;
}

struct bl_trie_node *bl_answer_node_make(struct bl_table_thread *thread,
                                         struct bl_subgoal *sg,
                                         const uint64_t *tokens, size_t n) {
    struct bl_answers *const answers = sg->answers;
    if (answers->shared)
        return bl_shared_node(thread, answers, tokens, n);
    if (bl_load_relaxed(&answers->depth_max) < n)
        bl_store_relaxed(&answers->depth_max, (uint32_t)n);
    return bl_answer_key(thread, sg, tokens, n - 1);
}
