// SPDX-License-Identifier: MIT
//
// The parts of trie.h that are not in line: probing beyond the first slot,
// growth, and the list of answers of a private trie.
//
// Whoever changes a set is alone in doing so: the trie is private, or the
// caller holds the node's lock. Slots and words are stored with release, as
// readers of shared tries look at them at any time; on a private trie that
// costs nothing worth another copy of this code.
//
#include "table/trie_parts.h"

#include "table/table.h"

#include "os/os.h"

#include <string.h>

#define NARROW_LOW_BITS 4
#define WIDE_LOW_BITS 3
#define CROWDED_LINES 2
#define CROWDED_LINES_LARGE 4
#define LARGE_SET_LINES 256

// A block of slots, 4 or 8 bytes each.
struct slots {
    void *block;
    uint64_t lines;
    unsigned per_line; // slots; a power of two
    unsigned low_bits;
    bool wide;
};

// Where a token is, or goes.
struct place {
    enum { FOUND, FREE, CROWDED } kind;
    uint64_t at; // index of the slot
};

BL_INLINE struct slots slots_of(uint64_t word, bool wide) {
    const unsigned sizeclass = bl_set_class(word);
    const unsigned bytes = sizeclass == 1 ? 32 : BL_LINE_BYTES;
    return (struct slots){.block = bl_set_block(word),
                          .lines = bl_class_lines(sizeclass),
                          .per_line = bytes / (wide ? 8 : 4),
                          .low_bits = wide ? WIDE_LOW_BITS : NARROW_LOW_BITS,
                          .wide = wide};
}

static inline uint64_t slot_load(const struct slots *s, uint64_t at) {
    // Acquire: pairs with `slot_store`.
    return s->wide ? bl_load_acquire((_Atomic uint64_t *)s->block + at)
                   : bl_load_acquire((_Atomic uint32_t *)s->block + at);
}

static inline void slot_store(const struct slots *s, uint64_t at,
                              uint64_t value) {
    if (s->wide)
        bl_store_release((_Atomic uint64_t *)s->block + at, value);
    else
        bl_store_release((_Atomic uint32_t *)s->block + at, (uint32_t)value);
}

static inline bool kid_slot_is(uint64_t slot, uint64_t token) {
    return (slot ^ bl_kid_tag(token)) >> BL_SLOT_POINTER_BITS == 0 &&
           bl_kid_node(slot)->token == token;
}

// Whether a quarter of the slots is taken, judged by a sample.
static bool is_quarter_full(const struct slots *s) {
    const uint64_t step = s->lines / 8 + 1;
    uint64_t seen = 0;
    uint64_t taken = 0;
    for (uint64_t line = 0; line < s->lines; line += step) {
        for (unsigned i = 0; i < s->per_line; i++)
            taken += slot_load(s, line * s->per_line + i) != 0;
        seen += s->per_line;
    }
    return taken * 4 >= seen;
}

// Goes through the slots from the token's own on until one is empty or is
// `wanted`; ANY_KID: or has a kid with that token.
#define ANY_KID ((uint64_t)0)

BL_INLINE struct place find_place(const struct slots *s, uint64_t token,
                                  uint64_t wanted) {
    const unsigned home =
        (unsigned)(token >> BL_TOKEN_KIND_BITS) & (s->per_line - 1);
    uint64_t line =
        s->lines == 1 ? 0 : bl_token_line(token, s->low_bits, s->lines);
    for (uint64_t passed = 0; passed < s->lines; passed++) {
        for (unsigned i = 0; i < s->per_line; i++) {
            const uint64_t at =
                line * s->per_line + ((home + i) & (s->per_line - 1));
            const uint64_t slot = slot_load(s, at);
            if (slot == 0)
                return (struct place){FREE, at};
            if (wanted == ANY_KID ? kid_slot_is(slot, token) : slot == wanted)
                return (struct place){FOUND, at};
        }
        line = line + 1 == s->lines ? 0 : line + 1;
    }
    return (struct place){CROWDED, 0};
}

// As `find_place`, for a writer: also CROWDED where the set should grow first.
BL_INLINE struct place find_room(const struct slots *s, uint64_t token,
                                 uint64_t wanted) {
    const struct place place = find_place(s, token, wanted);
    if (place.kind != FREE || s->lines == 1)
        return place;
    const uint64_t home = bl_token_line(token, s->low_bits, s->lines);
    const uint64_t line = place.at / s->per_line;
    const uint64_t passed = line >= home ? line - home : line + s->lines - home;
    const uint64_t limit =
        s->lines < LARGE_SET_LINES ? CROWDED_LINES : CROWDED_LINES_LARGE;
    if (passed < limit || !is_quarter_full(s))
        return place;
    return (struct place){CROWDED, 0};
}

// ---- finding among narrow leaves, for a writer

// The writer is alone, so a line may be read four slots at a time.
typedef uint32_t quad __attribute__((vector_size(16), may_alias));
typedef uint64_t pair __attribute__((vector_size(16), may_alias));

// Whether one of a line's slots is `value`.
BL_INLINE bool line_has(const quad *line, unsigned quads, uint32_t value) {
    const quad wanted = {value, value, value, value};
    quad hits = (quad)(line[0] == wanted) | (quad)(line[1] == wanted);
    if (BL_LIKELY(quads == 4))
        hits |= (quad)(line[2] == wanted) | (quad)(line[3] == wanted);
    const pair halves = (pair)hits;
    return (halves[0] | halves[1]) != 0;
}

// As `find_place`; CROWDED where more than `limit` full lines were passed.
static struct place find_narrow(const struct slots *s, uint64_t token,
                                uint64_t limit) {
    const unsigned mask = s->per_line - 1;
    const unsigned quads = s->per_line / 4;
    const unsigned home = (unsigned)(token >> BL_TOKEN_KIND_BITS) & mask;
    uint64_t line =
        s->lines == 1 ? 0 : bl_token_line(token, NARROW_LOW_BITS, s->lines);
    for (uint64_t passed = 0; passed < limit; passed++) {
        const quad *const quad_line = (const quad *)s->block + line * quads;
        if (line_has(quad_line, quads, (uint32_t)token))
            return (struct place){FOUND, 0};
        if (line_has(quad_line, quads, 0)) {
            uint64_t at = line * s->per_line + home;
            while (slot_load(s, at) != 0)
                at = line * s->per_line + ((at + 1) & mask);
            return (struct place){FREE, at};
        }
        line = line + 1 == s->lines ? 0 : line + 1;
    }
    return (struct place){CROWDED, 0};
}

// As `find_room`.
static struct place find_narrow_room(const struct slots *s, uint64_t token) {
    const uint64_t limit =
        s->lines < LARGE_SET_LINES ? CROWDED_LINES : CROWDED_LINES_LARGE;
    const struct place place =
        find_narrow(s, token, s->lines < limit ? s->lines : limit);
    return place.kind != CROWDED || s->lines <= limit || is_quarter_full(s)
               ? place
               : find_narrow(s, token, s->lines);
}

// ---- probing

struct bl_trie_node *bl_kids_probe(uint64_t word, uint64_t token) {
    const struct slots s = slots_of(word, true);
    const struct place place = find_place(&s, token, ANY_KID);
    return place.kind == FOUND ? bl_kid_node(slot_load(&s, place.at)) : NULL;
}

bool bl_leaves_probe(uint64_t word, uint64_t token) {
    if (bl_set_class(word) == 0)
        return word != 0 && word >> 8 == token;
    const bool wide = (word & BL_SET_WIDE) != 0;
    if (!wide && token >> 32 != 0)
        return false;
    const struct slots s = slots_of(word, wide);
    return find_place(&s, token, token).kind == FOUND;
}

// ---- growth

// Small sets double; from there on, steps of 3/2 and 4/3 keep the memory of a
// large one, old block and new together, near what its members need.
#define DOUBLING_CLASSES 15

static unsigned next_class(unsigned sizeclass) {
    return sizeclass < 3 || sizeclass >= DOUBLING_CLASSES ? sizeclass + 1
                                                          : sizeclass + 2;
}

static uint64_t word_of(const void *block, unsigned sizeclass, bool wide) {
    return (uint64_t)(uintptr_t)block << 8 | (uint64_t)sizeclass << 1 |
           (wide ? BL_SET_WIDE : 0);
}

// Copies the members of `from` to the empty and larger `to`, which nobody else
// sees yet.
static void move_members(const struct slots *from, const struct slots *to,
                         bool kids) {
    const uint64_t count = from->lines * from->per_line;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t slot = slot_load(from, i);
        if (slot == 0)
            continue;
        const uint64_t token = kids ? bl_kid_node(slot)->token : slot;
        const struct place place = find_place(to, token, slot);
        BL_ASSERT(place.kind == FREE);
        slot_store(to, place.at, slot);
    }
}

// As `move_members`, for what growth mostly moves: narrow leaves, nearly all
// of which find their first slot empty.
static void move_narrow(const struct slots *from, const struct slots *to) {
    const _Atomic uint32_t *const old = from->block;
    _Atomic uint32_t *const new = to->block;
    const uint64_t count = from->lines * from->per_line;
    const uint64_t lines = to->lines;
    const unsigned per_line = to->per_line;
    BL_ASSERT(to->lines * to->per_line > count);
    for (uint64_t i = 0; i < count; i++) {
        // Relaxed: the caller alone writes either block.
        const uint32_t token = bl_load_relaxed(&old[i]);
        if (token == 0)
            continue;
        uint64_t at = bl_token_line(token, NARROW_LOW_BITS, lines) * per_line +
                      ((token >> BL_TOKEN_KIND_BITS) & (per_line - 1));
        if (BL_UNLIKELY(bl_load_relaxed(&new[at]) != 0))
            at = find_narrow(to, token, lines).at;
        bl_store_relaxed(&new[at], token);
    }
}

// A block of that class holding what the set `word` holds, or 0.
static uint64_t make_larger(struct bl_memory *memory, enum bl_table_type type,
                            uint64_t word, unsigned sizeclass, bool wide) {
    if (sizeclass >= BL_TABLE_CLASSES)
        return 0;
    void *const block = bl_memory_alloc(memory, type, sizeclass);
    if (block == NULL)
        return 0;
    BL_CHECK((uintptr_t)block >> BL_SLOT_POINTER_BITS == 0);
    memset(block, 0, bl_class_bytes(sizeclass));
    const bool kids = type == BL_TYPE_CHILDREN;
    const uint64_t larger = word_of(block, sizeclass, wide);
    const struct slots to = slots_of(larger, wide);
    if (bl_set_class(word) != 0) {
        const struct slots from =
            slots_of(word, kids || (word & BL_SET_WIDE) != 0);
        if (from.wide || to.wide)
            move_members(&from, &to, kids);
        else
            move_narrow(&from, &to);
    } else if (word != 0) {
        const uint64_t token =
            kids ? ((struct bl_trie_node *)bl_set_block(word))->token
                 : word >> 8;
        const uint64_t slot = kids ? bl_kid_tag(token) | word >> 8 : token;
        slot_store(&to, find_place(&to, token, slot).at, slot);
    }
    return larger;
}

static void dispose_block(struct bl_memory *memory, enum bl_table_type type,
                          uint64_t word) {
    if (bl_set_class(word) != 0)
        bl_memory_dispose(memory, type, bl_set_class(word), bl_set_block(word));
}

// ---- kids

// Makes `kids` a set with room for the token, which it lacks; false without
// memory.
static bool kids_make_room(struct bl_memory *memory, struct bl_trie_node *node,
                           uint64_t token, struct slots *s, uint64_t *at) {
    for (;;) {
        const uint64_t lock = bl_load_relaxed(&node->kids) & BL_SET_LOCK;
        const uint64_t word = bl_load_relaxed(&node->kids) & ~BL_SET_LOCK;
        const unsigned sizeclass = bl_set_class(word);
        if (sizeclass != 0) {
            *s = slots_of(word, true);
            const struct place place = find_room(s, token, ANY_KID);
            BL_ASSERT(place.kind != FOUND);
            *at = place.at;
            if (place.kind == FREE)
                return true;
        }
        const uint64_t larger =
            make_larger(memory, BL_TYPE_CHILDREN, word,
                        sizeclass == 0 ? 1 : next_class(sizeclass), true);
        if (larger == 0)
            return false;
        bl_store_release(&node->kids, larger | lock);
        dispose_block(memory, BL_TYPE_CHILDREN, word);
    }
}

struct bl_trie_node *bl_trie_add_kid(struct bl_memory *memory,
                                     enum bl_table_type type,
                                     struct bl_trie_node *node,
                                     uint64_t token) {
    BL_REQUIRE(token != 0);
    const uint64_t word = bl_load_relaxed(&node->kids);
    struct slots s;
    uint64_t at = 0;
    const bool first = (word & ~BL_SET_LOCK) == 0;
    if (!first && !kids_make_room(memory, node, token, &s, &at))
        return NULL;
    struct bl_trie_node *const kid = bl_memory_alloc(memory, type, 0);
    if (kid == NULL)
        return NULL;
    BL_CHECK((uintptr_t)kid >> BL_SLOT_POINTER_BITS == 0);
    kid->token = token;
    kid->parent = node;
    bl_store_relaxed(&kid->kids, 0);
    bl_store_relaxed(&kid->leaves, 0);
    // Release: a reader that finds the kid finds it whole.
    if (first)
        bl_store_release(&node->kids,
                         (uint64_t)(uintptr_t)kid << 8 | (word & BL_SET_LOCK));
    else
        slot_store(&s, at, bl_kid_tag(token) | (uint64_t)(uintptr_t)kid);
    return kid;
}

struct bl_trie_node *bl_trie_step_slow(struct bl_memory *memory,
                                       enum bl_table_type type,
                                       struct bl_trie_node *node,
                                       uint64_t token) {
    return bl_trie_add_kid(memory, type, node, token);
}

struct bl_trie_node *bl_kids_after(const struct bl_trie_node *node,
                                   const struct bl_trie_node *kid) {
    const uint64_t word = bl_load_acquire(&node->kids) & ~BL_SET_LOCK;
    if (bl_set_class(word) == 0)
        return kid == NULL ? bl_set_block(word) : NULL;
    const struct slots s = slots_of(word, true);
    const uint64_t count = s.lines * s.per_line;
    uint64_t at = 0;
    if (kid != NULL) {
        // By the slot and not by tokens: kids before this one may be freed.
        const struct place place = find_place(
            &s, kid->token, bl_kid_tag(kid->token) | (uint64_t)(uintptr_t)kid);
        BL_ASSERT(place.kind == FOUND);
        at = place.at + 1;
    }
    for (; at < count; at++) {
        const uint64_t slot = slot_load(&s, at);
        if (slot != 0)
            return bl_kid_node(slot);
    }
    return NULL;
}

// ---- leaves

#define TOKEN_BITS_IN_PLACE 56

enum bl_leaf_kind bl_leaves_make_room(struct bl_memory *memory,
                                      struct bl_trie_node *node, uint64_t token,
                                      struct bl_leaf_room *room) {
    BL_REQUIRE(token != 0);
    for (;;) {
        const uint64_t word = bl_load_relaxed(&node->leaves);
        const unsigned sizeclass = bl_set_class(word);
        const bool old_wide = (word & BL_SET_WIDE) != 0;
        const bool wide = old_wide || token >> 32 != 0;
        *room = (struct bl_leaf_room){.node = node};
        if (word == 0 && token >> TOKEN_BITS_IN_PLACE == 0)
            return BL_LEAF_ROOM;
        if (sizeclass == 0 && word != 0 && word >> 8 == token)
            return BL_LEAF_FOUND;
        if (sizeclass != 0 && wide == old_wide) {
            const struct slots s = slots_of(word, wide);
            const struct place place = wide ? find_room(&s, token, token)
                                            : find_narrow_room(&s, token);
            room->slot = (char *)bl_set_block(word) + place.at * (wide ? 8 : 4);
            room->wide = wide;
            if (place.kind != CROWDED)
                return place.kind == FOUND ? BL_LEAF_FOUND : BL_LEAF_ROOM;
        }
        const bool widen = wide && (!old_wide && sizeclass != 0);
        const bool single_wide = sizeclass == 0 && (wide || word >> 40 != 0);
        const unsigned larger_class = sizeclass == 0 ? 1
                                      : widen
                                          ? next_class(next_class(sizeclass))
                                          : next_class(sizeclass);
        const uint64_t larger = make_larger(memory, BL_TYPE_LEAVES, word,
                                            larger_class, wide || single_wide);
        if (larger == 0)
            return BL_LEAF_NO_MEMORY;
        bl_store_release(&node->leaves, larger);
        dispose_block(memory, BL_TYPE_LEAVES, word);
    }
}

void bl_leaves_put(const struct bl_leaf_room *room, uint64_t token) {
    // Release: the answer was published before, so whoever finds the token
    // here also finds the answer on the list.
    if (room->slot == NULL)
        bl_store_release(&room->node->leaves, token << 8);
    else if (room->wide)
        bl_store_release((_Atomic uint64_t *)room->slot, token);
    else
        bl_store_release((_Atomic uint32_t *)room->slot, (uint32_t)token);
}

bool bl_leaves_reserve(struct bl_memory *memory, struct bl_trie_node *node,
                       uint64_t n) {
    const uint64_t word = bl_load_relaxed(&node->leaves);
    const unsigned now = bl_set_class(word);
    unsigned sizeclass = now == 0 ? 1 : now;
    while (bl_class_bytes(sizeclass) / sizeof(uint32_t) < n)
        sizeclass = next_class(sizeclass);
    if (sizeclass == now || (word & BL_SET_WIDE) ||
        (now == 0 && word >> 40 != 0))
        return true;
    const uint64_t larger =
        make_larger(memory, BL_TYPE_LEAVES, word, sizeclass, false);
    if (larger == 0)
        return false;
    bl_store_release(&node->leaves, larger);
    dispose_block(memory, BL_TYPE_LEAVES, word);
    return true;
}

uint64_t bl_leaves_count(uint64_t word) {
    if (bl_set_class(word) == 0)
        return word != 0;
    const struct slots s = slots_of(word, (word & BL_SET_WIDE) != 0);
    uint64_t count = 0;
    for (uint64_t i = 0; i < s.lines * s.per_line; i++)
        count += slot_load(&s, i) != 0;
    return count;
}

void bl_sets_free(struct bl_memory *memory, struct bl_trie_node *node,
                  bool leaves) {
    const uint64_t kids = bl_load_relaxed(&node->kids);
    if (bl_set_class(kids) != 0)
        bl_memory_free(memory, BL_TYPE_CHILDREN, bl_set_class(kids),
                       bl_set_block(kids));
    bl_store_relaxed(&node->kids, 0);
    if (!leaves)
        return;
    const uint64_t word = bl_load_relaxed(&node->leaves);
    if (bl_set_class(word) != 0)
        bl_memory_free(memory, BL_TYPE_LEAVES, bl_set_class(word),
                       bl_set_block(word));
    bl_store_relaxed(&node->leaves, 0);
}

// ---- the list of answers

unsigned bl_chunk_class(const struct bl_answer_chunk *chunk) {
    return bl_log2_floor(2 * chunk->capacity + 3u) - 2;
}

struct bl_answer_chunk *bl_chunk_new(struct bl_memory *memory,
                                     const struct bl_answer_chunk *before,
                                     uint32_t words) {
    const unsigned least = words == 1 ? 0 : 1;
    unsigned sizeclass = before == NULL ? 0 : bl_chunk_class(before) + 1;
    if (sizeclass > BL_CHUNK_CLASS_MAX)
        sizeclass = BL_CHUNK_CLASS_MAX;
    if (memory->one_by_one || sizeclass < least)
        sizeclass = least;
    struct bl_answer_chunk *const chunk =
        bl_memory_alloc(memory, BL_TYPE_CHUNK, sizeclass);
    if (chunk == NULL)
        return NULL;
    chunk->capacity =
        (uint16_t)(memory->one_by_one ? words : ((uint32_t)4 << sizeclass) - 2);
    bl_store_relaxed(&chunk->next, NULL);
    bl_store_relaxed(&chunk->used, 0);
    bl_store_relaxed(&chunk->further, 0);
    return chunk;
}

void bl_answer_write_wide(struct bl_answer_chunk *chunk, uint32_t at,
                          const struct bl_trie_node *parent, uint64_t token) {
    struct bl_answer *const answer = &chunk->answers[at];
    // Pairs with the acquire of `bl_answer_count`.
    bl_add_acq_rel(&chunk->further, BL_ANSWER_WIDE_WORDS - 1);
    bl_store_relaxed(&answer[1].word, token);
    bl_store_relaxed(&answer[2].word, (uint64_t)(uintptr_t)parent);
    // Release: pairs with the acquire of the cursors.
    bl_store_release(&answer->word, BL_ANSWER_WIDE);
}

void bl_answers_skip(struct bl_answer_chunk *chunk, uint32_t from,
                     uint32_t end) {
    bl_add_acq_rel(&chunk->further, (uint16_t)(end - from)); // likewise
    for (uint32_t at = from; at < end; at++)
        bl_store_release(&chunk->answers[at].word, BL_ANSWER_SKIP);
}

// The chunk with room at the end of a private list, or NULL.
static struct bl_answer_chunk *ensure_chunk(struct bl_memory *memory,
                                            struct bl_answers *answers,
                                            uint32_t words) {
    struct bl_answer_chunk *const last = bl_load_relaxed(&answers->last);
    const uint32_t used = last == NULL ? 0 : bl_load_relaxed(&last->used);
    if (last != NULL && used + words <= last->capacity)
        return last;
    struct bl_answer_chunk *const chunk = bl_chunk_new(memory, last, words);
    if (chunk == NULL)
        return NULL;
    if (last == NULL) {
        bl_store_relaxed(&answers->first, chunk);
    } else {
        bl_answers_skip(last, used, last->capacity);
        bl_store_relaxed(&last->used, last->capacity);
        bl_store_relaxed(&last->next, chunk);
    }
    bl_store_relaxed(&answers->last, chunk);
    return chunk;
}

bool bl_answers_begin(struct bl_memory *memory, struct bl_answers *answers) {
    return bl_load_relaxed(&answers->last) != NULL ||
           ensure_chunk(memory, answers, 1) != NULL;
}

static bool append_wide(struct bl_memory *memory, struct bl_answers *answers,
                        const struct bl_trie_node *parent, uint64_t token,
                        struct bl_answer_place *place) {
    struct bl_answer_chunk *const chunk =
        ensure_chunk(memory, answers, BL_ANSWER_WIDE_WORDS);
    if (chunk == NULL)
        return false;
    const uint32_t used = bl_load_relaxed(&chunk->used);
    *place = (struct bl_answer_place){chunk, used};
    bl_answer_write_wide(chunk, used, parent, token);
    bl_store_relaxed(&chunk->used, used + BL_ANSWER_WIDE_WORDS);
    return true;
}

bool bl_answers_append(struct bl_memory *memory, struct bl_answers *answers,
                       const struct bl_trie_node *parent, uint64_t token,
                       struct bl_answer_place *place) {
    if (token >> 32 != 0)
        return append_wide(memory, answers, parent, token, place);
    struct bl_answer_chunk *const chunk = ensure_chunk(memory, answers, 1);
    if (chunk == NULL)
        return false;
    const uint32_t used = bl_load_relaxed(&chunk->used);
    const uint64_t word = bl_answer_pack(&chunk->answers[used], parent, token);
    if (word == BL_ANSWER_WIDE)
        return append_wide(memory, answers, parent, token, place);
    *place = (struct bl_answer_place){chunk, used};
    bl_store_relaxed(&chunk->answers[used].word, word);
    bl_store_relaxed(&chunk->used, used + 1);
    return true;
}

enum bl_answer_result bl_trie_leaf_slow(struct bl_memory *memory,
                                        struct bl_answers *answers,
                                        struct bl_trie_node *node,
                                        uint64_t token) {
    struct bl_leaf_room room;
    const enum bl_leaf_kind kind =
        bl_leaves_make_room(memory, node, token, &room);
    if (kind == BL_LEAF_FOUND)
        return BL_ANSWER_REPEATED;
    if (kind == BL_LEAF_NO_MEMORY)
        return BL_ANSWER_NO_MEMORY;
    struct bl_answer_place place;
    if (!bl_answers_append(memory, answers, node, token, &place))
        return BL_ANSWER_NO_MEMORY;
    bl_leaves_put(&room, token);
    return BL_ANSWER_NEW;
}

enum bl_answer_result bl_trie_leaf_empty(struct bl_memory *memory,
                                         struct bl_answers *answers) {
    // A chunk without an answer is left where memory ended before it had one.
    const struct bl_answer_chunk *const first =
        bl_load_relaxed(&answers->first);
    if (first != NULL && bl_load_relaxed(&first->used) > 0)
        return BL_ANSWER_REPEATED;
    struct bl_answer_place place;
    return bl_answers_append(memory, answers, &answers->root, 0, &place)
               ? BL_ANSWER_NEW
               : BL_ANSWER_NO_MEMORY;
}

// Waits for an answer whose place is taken and which is not written yet: few
// stores of another thread away.
static uint64_t await_answer(const struct bl_answer *answer) {
    uint64_t word = bl_load_acquire(&answer->word);
    for (unsigned spins = 0; word == BL_ANSWER_NONE; spins++) {
        if (spins % 128 == 127)
            bl_os_yield();
        else
            bl_cpu_relax();
        word = bl_load_acquire(&answer->word);
    }
    return word;
}

const struct bl_answer *bl_answers_next_slow(const struct bl_answers *answers,
                                             struct bl_answer_cursor *cursor) {
    if (cursor->chunk == NULL) {
        // Acquire: pairs with the release of the list's first chunk.
        cursor->chunk = bl_load_acquire(&answers->first);
        cursor->index = 0;
    }
    while (cursor->chunk != NULL) {
        struct bl_answer_chunk *const chunk = cursor->chunk;
        if (cursor->index < chunk->capacity) {
            if (cursor->index >= bl_load_acquire(&chunk->used))
                return NULL;
            const struct bl_answer *const answer =
                &chunk->answers[cursor->index];
            const uint64_t word = await_answer(answer);
            cursor->index += word == BL_ANSWER_WIDE ? BL_ANSWER_WIDE_WORDS : 1;
            if (word != BL_ANSWER_SKIP)
                return answer;
            continue;
        }
        struct bl_answer_chunk *const next = bl_load_acquire(&chunk->next);
        if (next == NULL)
            return NULL;
        cursor->chunk = next;
        cursor->index = 0;
    }
    return NULL;
}
