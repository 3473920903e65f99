// SPDX-License-Identifier: MIT
//
// Tries over tokens: nodes, their children, and the list of answers.
//
// An inner node has two sets of children: *kids*, inner nodes, and *leaves*,
// the last tokens of paths that end here. The tokens of a table are a prefix
// code, so no token is in both. A set is one word of the node: nothing, or one
// member in place, or a hashed block of slots. A kid's slot is a pointer with
// sixteen bits of its token above it; a leaf's slot is the token itself, in
// half the space while all tokens of the set are below 2^32. So whether an
// answer is known is decided by one cache line, and the answer itself (token
// and parent, 8 bytes as a rule) is written once, at the end of the list, and
// read in order.
// Source: [AreiasRocha-2012]; the nodes there are 40 bytes, linked to siblings.
//
// Hashing. A slot's line is mixed from the token without the lowest bits of
// its value; those choose the slot within the line. Neighbouring numbers so
// fill lines one after the other, and anything else is spread. Lookups go from
// line to line until a slot is empty: members are never removed one by one.
// A set grows when two full lines were passed, so it needs no count.
//
// Threads. Readers take no lock. A writer holds the node's lock, stores slots
// with release, and replaces a block that is full by a larger copy; nothing is
// ever moved within a block, and old blocks live until no reader can hold them
// (see `retire.h`). A private trie goes the same ways with relaxed accesses.
//
#ifndef BL_TABLE_TRIE_H
#define BL_TABLE_TRIE_H

#include "base/base.h"
#include "bigleaf/table.h"

struct bl_memory;

// 32 bytes. A set's word: bits 8.. the member or the block, bits 1..6 the
// class of the block (0: the one member in place), bit 7 wide slots, bit 0 of
// `kids` the node's lock. The last node of a call has `data` for `leaves`.
struct bl_trie_node {
    uint64_t token;              // const; 0 in a root
    struct bl_trie_node *parent; // const; NULL in a root
    _Atomic uint64_t kids;       // lock, release; read with acquire
    union {
        _Atomic uint64_t leaves; // lock, release; read with acquire
        _Atomic(void *) data;
    };
};

// A leaf: the last token of a path, at its place in the list of answers. Of an
// answer without tokens, the token is 0. A word holds both while the token is
// below 2^32 and the parent within 16 GiB: above the token the way from here to
// the parent, in words, which is never 0. Else two more words follow.
struct bl_answer {
    _Atomic uint64_t word; // release: the answer is readable
};

#define BL_ANSWER_NONE ((uint64_t)0) // not written yet
#define BL_ANSWER_WIDE ((uint64_t)1) // the next words are token and parent
#define BL_ANSWER_SKIP ((uint64_t)2) // no answer
#define BL_ANSWER_WIDE_WORDS 3

struct bl_answer_end {
    uint64_t token;
    const struct bl_trie_node *parent;
};

// A piece of the list. `used` may run past `capacity` where threads compete
// for the last place.
struct bl_answer_chunk {
    _Atomic(struct bl_answer_chunk *) next;
    _Atomic uint32_t used;    // words
    _Atomic uint16_t further; // of these, words that begin no answer
    uint16_t capacity;        // const: words
    struct bl_answer answers[];
};

// The answers of one call, 64 bytes.
struct bl_answers {
    struct bl_trie_node root;
    _Atomic(struct bl_answer_chunk *) first;
    _Atomic(struct bl_answer_chunk *) last;
    _Atomic uint32_t depth_max; // of the answers; grows only
    bool shared;                // const
    bool revised;               // by key: leaves are in no set
};

// ---- sets

#define BL_SET_LOCK ((uint64_t)1)
#define BL_SET_WIDE ((uint64_t)0x80)
#define BL_LINE_BYTES 64
#define BL_SLOT_POINTER_BITS 48

BL_INLINE unsigned bl_set_class(uint64_t word) {
    return (unsigned)(word >> 1) & 0x3f;
}

BL_INLINE void *bl_set_block(uint64_t word) { return (void *)(word >> 8); }

// Blocks are of 32 and 64 bytes, then of 2, 3, 4, 6, 8, 12, ... lines.
BL_INLINE uint64_t bl_class_lines(unsigned sizeclass) {
    if (sizeclass < 3)
        return 1;
    // A class is below 64 (`bl_set_class`), which the analyzer loses sight of.
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
    return (uint64_t)(2 | !(sizeclass & 1)) << ((sizeclass - 3) >> 1);
}

BL_INLINE size_t bl_class_bytes(unsigned sizeclass) {
    return sizeclass == 1 ? 32
                          : (size_t)bl_class_lines(sizeclass) * BL_LINE_BYTES;
}

// Which of `lines` lines a token starts in; `low` bits of its value are left
// out. The golden ratio spreads a run of numbers evenly: no two of them fall
// into one line until most lines are taken, whatever their number. The shift
// breaks up long strides, and each kind of token starts somewhere else.
BL_INLINE uint64_t bl_token_line(uint64_t token, unsigned low, uint64_t lines) {
    const uint64_t rest = token >> (BL_TOKEN_KIND_BITS + low);
    const uint64_t kind = token & ((1 << BL_TOKEN_KIND_BITS) - 1);
    const uint64_t mixed = (rest ^ rest >> 16) * UINT64_C(0x9E3779B97F4A7C15) +
                           kind * UINT64_C(0xBF58476D1CE4E5B9);
    return ((mixed >> 32) * lines) >> 32;
}

BL_INLINE uint64_t bl_kid_tag(uint64_t token) {
    return (token ^ token >> 16) << BL_SLOT_POINTER_BITS;
}

BL_INLINE struct bl_trie_node *bl_kid_node(uint64_t slot) {
    return (struct bl_trie_node *)(slot &
                                   (((uint64_t)1 << BL_SLOT_POINTER_BITS) - 1));
}

// ---- finding

// The kid of that token in a hashed set, or NULL.
struct bl_trie_node *bl_kids_probe(uint64_t word, uint64_t token);

// Whether a hashed or empty set has the token.
bool bl_leaves_probe(uint64_t word, uint64_t token);

BL_INLINE struct bl_trie_node *bl_kids_find(uint64_t word, uint64_t token) {
    word &= ~BL_SET_LOCK;
    if (bl_set_class(word) == 0) {
        struct bl_trie_node *const only = bl_set_block(word);
        return only != NULL && only->token == token ? only : NULL;
    }
    if (BL_LIKELY(bl_set_class(word) > 1)) {
        const _Atomic uint64_t *const slots = bl_set_block(word);
        const uint64_t lines = bl_class_lines(bl_set_class(word));
        const uint64_t at = bl_token_line(token, 3, lines) * 8 +
                            ((token >> BL_TOKEN_KIND_BITS) & 7);
        // Acquire: pairs with the release of the slot; the node is complete.
        const uint64_t slot = bl_load_acquire(&slots[at]);
        if (slot == 0)
            return NULL;
        if (BL_LIKELY(bl_kid_node(slot)->token == token))
            return bl_kid_node(slot);
    }
    return bl_kids_probe(word, token);
}

// Where a narrow token is looked for first, in a block of narrow slots; NULL
// for other tokens and sets.
BL_INLINE _Atomic uint32_t *bl_leaves_home(uint64_t word, uint64_t token) {
    const unsigned sizeclass = bl_set_class(word);
    if (BL_UNLIKELY(sizeclass == 0 || (word & BL_SET_WIDE) || token >> 32 != 0))
        return NULL;
    _Atomic uint32_t *const slots = bl_set_block(word);
    const unsigned in_line = sizeclass == 1 ? 7 : 15;
    return &slots[bl_token_line(token, 4, bl_class_lines(sizeclass)) * 16 +
                  ((token >> BL_TOKEN_KIND_BITS) & in_line)];
}

BL_INLINE bool bl_leaves_find(uint64_t word, uint64_t token) {
    _Atomic uint32_t *const home = bl_leaves_home(word, token);
    if (BL_LIKELY(home != NULL)) {
        // Acquire: pairs with `bl_leaves_put`; the answer is on the list.
        const uint32_t slot = bl_load_acquire(home);
        if (slot == 0 || slot == (uint32_t)token)
            return slot != 0;
    }
    return bl_leaves_probe(word, token);
}

// ---- an answer's word

// What to store at `at`; BL_ANSWER_WIDE where one word does not do.
BL_INLINE uint64_t bl_answer_pack(const struct bl_answer *at,
                                  const struct bl_trie_node *parent,
                                  uint64_t token) {
    const int64_t way = ((intptr_t)parent - (intptr_t)at) >> 3;
    return BL_LIKELY(way == (int32_t)way && token >> 32 == 0)
               ? (uint64_t)way << 32 | token
               : BL_ANSWER_WIDE;
}

BL_INLINE bool bl_answer_is_narrow(uint64_t word) { return word >> 32 != 0; }

// Of an answer that a cursor returned.
BL_INLINE struct bl_answer_end bl_answer_open(const struct bl_answer *answer) {
    const uint64_t word = bl_load_relaxed(&answer->word);
    if (BL_LIKELY(bl_answer_is_narrow(word))) {
        const intptr_t way = (int32_t)(word >> 32);
        return (struct bl_answer_end){
            (uint32_t)word,
            (const struct bl_trie_node *)((intptr_t)answer + way * 8)};
    }
    return (struct bl_answer_end){
        bl_load_relaxed(&answer[1].word),
        (const struct bl_trie_node *)bl_load_relaxed(&answer[2].word)};
}

// Of a word of a list: `parent` NULL where it is no answer of one word.
BL_INLINE struct bl_answer_end
bl_answer_open_narrow(const struct bl_answer *answer) {
    // Acquire: pairs with the release that made the answer readable.
    const uint64_t word = bl_load_acquire(&answer->word);
    const intptr_t way = (int32_t)(word >> 32);
    return (struct bl_answer_end){
        (uint32_t)word,
        way == 0 ? NULL
                 : (const struct bl_trie_node *)((intptr_t)answer + way * 8)};
}

// ---- private tries: the thread's own, no locks

// Out of line: the kid of that token, made if there is none; NULL without
// memory.
struct bl_trie_node *bl_trie_step_slow(struct bl_memory *memory,
                                       enum bl_table_type type,
                                       struct bl_trie_node *node,
                                       uint64_t token);

// Out of line: adds the leaf unless it is there, growing sets and list.
enum bl_answer_result bl_trie_leaf_slow(struct bl_memory *memory,
                                        struct bl_answers *answers,
                                        struct bl_trie_node *node,
                                        uint64_t token);

BL_INLINE struct bl_trie_node *bl_trie_step(struct bl_memory *memory,
                                            enum bl_table_type type,
                                            struct bl_trie_node *node,
                                            uint64_t token) {
    struct bl_trie_node *const kid =
        bl_kids_find(bl_load_relaxed(&node->kids), token);
    return BL_LIKELY(kid != NULL)
               ? kid
               : bl_trie_step_slow(memory, type, node, token);
}

// Ends a path. In line is the case of a set of narrow tokens whose first
// choice of slot decides, and of a list with room.
BL_INLINE enum bl_answer_result bl_trie_leaf(struct bl_memory *memory,
                                             struct bl_answers *answers,
                                             struct bl_trie_node *node,
                                             uint64_t token) {
    _Atomic uint32_t *const home =
        bl_leaves_home(bl_load_relaxed(&node->leaves), token);
    if (BL_LIKELY(home != NULL)) {
        const uint32_t slot = bl_load_relaxed(home);
        if (slot == (uint32_t)token)
            return BL_ANSWER_REPEATED;
        struct bl_answer_chunk *const chunk = bl_load_relaxed(&answers->last);
        const uint32_t used = bl_load_relaxed(&chunk->used);
        struct bl_answer *const answer = &chunk->answers[used];
        const uint64_t word = bl_answer_pack(answer, node, token);
        if (BL_LIKELY(slot == 0 && used < chunk->capacity &&
                      word != BL_ANSWER_WIDE)) {
            bl_store_relaxed(home, (uint32_t)token);
            bl_store_relaxed(&answer->word, word);
            bl_store_relaxed(&chunk->used, used + 1);
            return BL_ANSWER_NEW;
        }
    }
    return bl_trie_leaf_slow(memory, answers, node, token);
}

// ---- reading

// Out of line: the next chunk, or an answer on its way; NULL where the list
// ends.
const struct bl_answer *bl_answers_next_slow(const struct bl_answers *answers,
                                             struct bl_answer_cursor *cursor);

// The answer at the cursor if it is in the chunk and of one word, else NULL.
BL_INLINE const struct bl_answer *
bl_answer_ready(const struct bl_answer_cursor *cursor) {
    struct bl_answer_chunk *const chunk = cursor->chunk;
    if (BL_UNLIKELY(chunk == NULL || cursor->index >= chunk->capacity ||
                    cursor->index >= bl_load_relaxed(&chunk->used)))
        return NULL;
    const struct bl_answer *const answer = &chunk->answers[cursor->index];
    // Acquire: pairs with the release that made the answer readable.
    return bl_answer_is_narrow(bl_load_acquire(&answer->word)) ? answer : NULL;
}

BL_INLINE const struct bl_answer *
bl_answers_next(const struct bl_answers *answers,
                struct bl_answer_cursor *cursor) {
    const struct bl_answer *const answer = bl_answer_ready(cursor);
    if (BL_UNLIKELY(answer == NULL))
        return bl_answers_next_slow(answers, cursor);
    cursor->index++;
    return answer;
}

// Writes the tokens from the root to `node` so that they end before `end`.
BL_INLINE uint64_t *bl_trie_read(const struct bl_trie_node *node,
                                 uint64_t *end) {
    for (; node->parent != NULL; node = node->parent)
        *--end = node->token;
    return end;
}

#endif
