// SPDX-License-Identifier: MIT
//
// Answers of one call that become answers of another as they are: what the
// right-recursive clause of a closure does with all of a call's answers.
//
// Such answers have one token each and all end below one node, so everything
// that an insertion looks up is looked up once for a chunk of them. They
// differ from each other, so the node will have at least as many leaves as
// there are answers: its set grows to that size at once.
//
#include "table/table.h"
#include "table/trie_parts.h"

enum {
    WORTH_ROOM = 8, // answers for which room is made
    LOOK_AHEAD = 64 // chunks that are counted
};

// Where answers go: the node's set of leaves and the end of the list.
struct sink {
    _Atomic uint32_t *slots; // NULL: only step by step
    uint64_t lines;
    unsigned mask; // slots of a line, less one
    struct bl_answer_chunk *chunk;
    uint32_t used, room;
};

static void open_sink(struct sink *to, const struct bl_answers *answers,
                      const struct bl_trie_node *node) {
    const uint64_t word = bl_load_relaxed(&node->leaves);
    const unsigned sizeclass = bl_set_class(word);
    to->slots = NULL;
    to->chunk = bl_load_relaxed(&answers->last);
    if (sizeclass == 0 || (word & BL_SET_WIDE) || to->chunk == NULL)
        return;
    to->lines = bl_class_lines(sizeclass);
    to->mask = sizeclass == 1 ? 7 : 15;
    to->used = bl_load_relaxed(&to->chunk->used);
    to->room = to->chunk->capacity;
    // All of a chunk is near the node when its first word and the word behind
    // it are.
    if (to->used <= to->room &&
        bl_answer_pack(to->chunk->answers, node, 1) != BL_ANSWER_WIDE &&
        bl_answer_pack(to->chunk->answers + to->room, node, 1) !=
            BL_ANSWER_WIDE)
        to->slots = bl_set_block(word);
}

// What came of one token.
enum { PASS_NEW, PASS_REPEATED, PASS_SLOW };

BL_INLINE int put(struct sink *to, const struct bl_trie_node *node,
                  uint32_t token) {
    if (BL_UNLIKELY(to->slots == NULL))
        return PASS_SLOW;
    _Atomic uint32_t *const home =
        &to->slots[bl_token_line(token, 4, to->lines) * 16 +
                   ((token >> BL_TOKEN_KIND_BITS) & to->mask)];
    const uint32_t slot = bl_load_relaxed(home);
    if (slot == token)
        return PASS_REPEATED;
    if (BL_UNLIKELY(slot != 0 || to->used >= to->room))
        return PASS_SLOW;
    struct bl_answer *const at = &to->chunk->answers[to->used++];
    const int64_t way = ((intptr_t)node - (intptr_t)at) >> 3;
    bl_store_relaxed(home, token);
    bl_store_relaxed(&at->word, (uint64_t)way << 32 | token);
    return PASS_NEW;
}

// How many answers a reader has before it, at least, in the next chunks.
static uint64_t count_unread(const struct bl_answer_cursor *cursor) {
    uint64_t n = 0;
    uint64_t from = cursor->index;
    unsigned chunks = 0;
    for (const struct bl_answer_chunk *c = cursor->chunk;
         c != NULL && chunks < LOOK_AHEAD;
         c = bl_load_acquire(&c->next), chunks++) {
        const uint32_t further = bl_load_acquire(&c->further);
        const uint32_t used = bl_load_acquire(&c->used);
        const uint64_t end = used < c->capacity ? used : c->capacity;
        if (further == 0 && end > from)
            n += end - from;
        from = 0;
    }
    return n;
}

// Whether it is an answer of one narrow token of the kinds asked for: its
// parent is the root.
BL_INLINE bool is_simple(const struct bl_pass *p, const struct bl_answer *a) {
    const intptr_t root = (intptr_t)&p->from->answers->root;
    // Acquire: pairs with the release that made the answer readable.
    const uint64_t word = bl_load_acquire(&a->word);
    // All of the way: a far root may share the lower half of it.
    return BL_LIKELY(
        (int32_t)(word >> 32) == (root - (intptr_t)a) >> 3 &&
        (p->kinds >> (word & ((1 << BL_TOKEN_KIND_BITS) - 1)) & 1));
}

// Passes on what is left of the cursor's chunk, as far as it is simple.
static size_t pass_chunk(struct bl_memory *memory, const struct bl_pass *p,
                         struct bl_answer_cursor *cursor, size_t limit) {
    const struct bl_answer_chunk *const from = cursor->chunk;
    struct bl_answers *const answers = p->to->answers;
    const uint32_t used = bl_load_acquire(&from->used);
    uint64_t end = used < from->capacity ? used : from->capacity;
    uint64_t i = cursor->index;
    size_t fresh = 0;
    size_t n = 0;
    struct sink to;
    // Without memory for all at once, one by one may still do. The list comes
    // first: `bl_trie_leaf` takes it that a hashed set is of a call with one.
    if (end - i >= WORTH_ROOM && is_simple(p, &from->answers[i]) &&
        bl_answers_begin(memory, answers))
        (void)bl_leaves_reserve(memory, p->node, count_unread(cursor));
    open_sink(&to, answers, p->node);
    if (end - i > limit)
        end = i + limit;
    for (; i < end && is_simple(p, &from->answers[i]); i++, n++) {
        const uint64_t word = bl_load_relaxed(&from->answers[i].word);
        const int what = put(&to, p->node, (uint32_t)word);
        fresh += what == PASS_NEW;
        if (BL_LIKELY(what != PASS_SLOW))
            continue;
        if (to.slots != NULL)
            bl_store_relaxed(&to.chunk->used, to.used);
        const enum bl_answer_result r =
            bl_trie_leaf_slow(memory, answers, p->node, (uint32_t)word);
        if (r == BL_ANSWER_NO_MEMORY) {
            to.slots = NULL;
            break;
        }
        fresh += r == BL_ANSWER_NEW;
        open_sink(&to, answers, p->node);
    }
    if (to.slots != NULL)
        bl_store_relaxed(&to.chunk->used, to.used);
    p->to->fresh += fresh;
    p->to->repeated += n - fresh;
    cursor->index = i;
    return n;
}

size_t bl_answers_pass(struct bl_table_thread *thread, const struct bl_pass *p,
                       struct bl_answer_cursor *cursor, size_t limit) {
    struct bl_memory *const memory = bl_table_thread_own(thread);
    size_t n = 0;
    while (n < limit && cursor->chunk != NULL) {
        if (cursor->index >= cursor->chunk->capacity) {
            struct bl_answer_chunk *const next =
                bl_load_acquire(&cursor->chunk->next);
            if (next == NULL)
                break;
            cursor->chunk = next;
            cursor->index = 0;
        }
        const size_t passed = pass_chunk(memory, p, cursor, limit - n);
        n += passed;
        if (passed == 0)
            break;
    }
    return n;
}
