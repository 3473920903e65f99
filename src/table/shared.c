// SPDX-License-Identifier: MIT
//
// Shared tries: table locks at write level (TLWL).
//
// A thread looks for a token without a lock. Only to add one it takes the
// parent's lock, looks again, adds, and releases. With try-locks, who finds
// the lock held goes back to looking: the holder may just be adding the very
// token. A node's lock is a bit of its word of kids, or, chosen by its
// address, one of an array; it guards both of the node's sets.
//
// The list of answers has one place counter per chunk, so that threads that
// add answers below different nodes meet in one atomic addition only.
// Order within an insertion: the answer is written, then its parent is stored
// (it can be read from the list), then its token is stored in the set (it can
// be found). So whoever is told REPEATED will meet the answer on the list.
// Source: [AreiasRocha-2012], section II.E; there one lock per call guards the
// list.
//
#include "table/space.h"
#include "table/trie_parts.h"

#include "os/os.h"

#include <string.h>

// ---- locks

// Owner's counts, read by others: see `bl_table_read_locks`.
static void note(_Atomic uint64_t *counter) {
    bl_store_relaxed(counter, bl_load_relaxed(counter) + 1);
}

static struct bl_line_lock *array_lock(struct bl_table_space *space,
                                       const struct bl_trie_node *node) {
    const uint64_t mixed =
        ((uint64_t)(uintptr_t)node >> 5) * UINT64_C(0x9E3779B97F4A7C15);
    return &space->locks[mixed >> 32 & (BL_LOCK_COUNT - 1)];
}

static bool try_lock_node(struct bl_trie_node *node) {
    // Relaxed: only a hint; the exchange below decides.
    uint64_t word = bl_load_relaxed(&node->kids);
    // Acquire within acq_rel: pairs with `unlock`.
    return (word & BL_SET_LOCK) == 0 &&
           bl_cas_strong_acq_rel(&node->kids, &word, word | BL_SET_LOCK);
}

static bool try_lock_once(struct bl_table_thread *thread,
                          struct bl_trie_node *node) {
    struct bl_table_space *const space = thread->space;
    if (space->options.locks == BL_LOCKS_NODE)
        return try_lock_node(node);
    struct bl_line_lock *const lock = array_lock(space, node);
    // Acquire: pairs with `unlock`.
    return bl_load_relaxed(&lock->held) == 0 &&
           bl_exchange_acquire(&lock->held, 1) == 0;
}

static void unlock(struct bl_table_thread *thread, struct bl_trie_node *node) {
    struct bl_table_space *const space = thread->space;
    if (space->options.locks == BL_LOCKS_NODE) {
        // Relaxed: while the lock is held only the holder writes the word.
        const uint64_t word = bl_load_relaxed(&node->kids);
        bl_store_release(&node->kids, word & ~BL_SET_LOCK);
    } else {
        bl_store_release(&array_lock(space, node)->held, 0);
    }
}

static void wait_a_little(unsigned round) {
    if (round % 32 == 31)
        bl_os_yield();
    else
        bl_cpu_relax();
}

// True with the lock held; false, with try-locks, where it was not to be had.
static bool lock_or_leave(struct bl_table_thread *thread,
                          struct bl_trie_node *node, unsigned round) {
    for (;; round++) {
        if (try_lock_once(thread, node)) {
            note(&thread->locks_taken);
            return true;
        }
        note(&thread->locks_failed);
        wait_a_little(round);
        if (!thread->space->options.spin)
            return false;
    }
}

// ---- inner nodes

struct bl_trie_node *bl_shared_step(struct bl_table_thread *thread,
                                    enum bl_table_type type,
                                    struct bl_trie_node *node, uint64_t token) {
    for (unsigned round = 0;; round++) {
        struct bl_trie_node *kid =
            bl_kids_find(bl_load_acquire(&node->kids), token);
        if (kid != NULL)
            return kid;
        if (!lock_or_leave(thread, node, round))
            continue;
        kid = bl_kids_find(bl_load_relaxed(&node->kids), token);
        if (kid == NULL)
            kid = bl_trie_add_kid(&thread->common, type, node, token);
        unlock(thread, node);
        return kid;
    }
}

// ---- the list

static struct bl_answer_chunk *
new_shared_chunk(struct bl_memory *memory, const struct bl_answer_chunk *before,
                 uint32_t words) {
    struct bl_answer_chunk *const chunk = bl_chunk_new(memory, before, words);
    if (chunk != NULL)
        memset(chunk->answers, 0, chunk->capacity * sizeof(struct bl_answer));
    return chunk;
}

static void free_chunk(struct bl_memory *memory,
                       struct bl_answer_chunk *chunk) {
    bl_memory_free(memory, BL_TYPE_CHUNK, bl_chunk_class(chunk), chunk);
}

// Puts a chunk at `link` unless another thread was first; the chunk there, or
// NULL without memory.
static struct bl_answer_chunk *
ensure_link(struct bl_memory *memory, _Atomic(struct bl_answer_chunk *) *link,
            const struct bl_answer_chunk *before, uint32_t words) {
    // Acquire: pairs with the exchange below, of another thread.
    struct bl_answer_chunk *there = bl_load_acquire(link);
    if (there != NULL)
        return there;
    struct bl_answer_chunk *const chunk =
        new_shared_chunk(memory, before, words);
    if (chunk == NULL)
        return NULL;
    // Pairs with the acquire loads of `link` here and in the cursors.
    if (bl_cas_strong_acq_rel(link, &there, chunk))
        return chunk;
    free_chunk(memory, chunk);
    return there;
}

struct place {
    struct bl_answer_chunk *chunk; // NULL: no memory
    uint32_t at;
};

// Takes `words` of the chunk; false where it has not so many left, which are
// then passed over.
static bool take_words(struct bl_answer_chunk *chunk, uint32_t words,
                       struct place *place) {
    // Relaxed: a hint that keeps the counter from running away.
    if (bl_load_relaxed(&chunk->used) >= chunk->capacity)
        return false;
    *place = (struct place){chunk, bl_add_acq_rel(&chunk->used, words)};
    if (place->at + words <= chunk->capacity)
        return true;
    if (place->at < chunk->capacity)
        bl_answers_skip(chunk, place->at, chunk->capacity);
    return false;
}

// A place at the end of the list. Once it is taken it must be filled, without
// delay: readers wait for it.
static struct place take_place(struct bl_memory *memory,
                               struct bl_answers *answers, uint32_t words) {
    struct place place;
    for (;;) {
        struct bl_answer_chunk *last = bl_load_acquire(&answers->last);
        if (last == NULL) {
            last = ensure_link(memory, &answers->first, NULL, words);
            if (last == NULL)
                return (struct place){NULL, 0};
            struct bl_answer_chunk *none = NULL;
            // Pairs with the acquire above; whoever loses goes on with what
            // is there.
            bl_cas_strong_acq_rel(&answers->last, &none, last);
            continue;
        }
        if (take_words(last, words, &place))
            return place;
        struct bl_answer_chunk *const next =
            ensure_link(memory, &last->next, last, words);
        if (next == NULL)
            return (struct place){NULL, 0};
        // Pairs with the acquire above.
        bl_cas_strong_acq_rel(&answers->last, &last, next);
    }
}

// Puts an answer at the end of the list; false without memory.
static bool append(struct bl_memory *memory, struct bl_answers *answers,
                   const struct bl_trie_node *parent, uint64_t token) {
    struct place place;
    if (token >> 32 == 0) {
        place = take_place(memory, answers, 1);
        if (place.chunk == NULL)
            return false;
        struct bl_answer *const answer = &place.chunk->answers[place.at];
        const uint64_t word = bl_answer_pack(answer, parent, token);
        if (word != BL_ANSWER_WIDE) {
            // Release: pairs with the acquire of the cursors.
            bl_store_release(&answer->word, word);
            return true;
        }
        bl_answers_skip(place.chunk, place.at, place.at + 1);
    }
    place = take_place(memory, answers, BL_ANSWER_WIDE_WORDS);
    if (place.chunk == NULL)
        return false;
    bl_answer_write_wide(place.chunk, place.at, parent, token);
    return true;
}

// ---- leaves

// Under the lock of `node`.
static enum bl_answer_result add_leaf_locked(struct bl_memory *memory,
                                             struct bl_answers *answers,
                                             struct bl_trie_node *node,
                                             uint64_t token) {
    struct bl_leaf_room room = {.node = node, .slot = NULL};
    enum bl_leaf_kind kind = BL_LEAF_ROOM;
    // Relaxed: who holds the lock is alone in writing the set.
    room.slot = bl_leaves_home(bl_load_relaxed(&node->leaves), token);
    if (room.slot == NULL || bl_load_relaxed((_Atomic uint32_t *)room.slot))
        kind = bl_leaves_make_room(memory, node, token, &room);
    if (kind == BL_LEAF_FOUND)
        return BL_ANSWER_REPEATED;
    if (kind == BL_LEAF_NO_MEMORY)
        return BL_ANSWER_NO_MEMORY;
    if (!append(memory, answers, node, token))
        return BL_ANSWER_NO_MEMORY;
    bl_leaves_put(&room, token);
    return BL_ANSWER_NEW;
}

enum bl_answer_result bl_shared_insert_at(struct bl_table_thread *thread,
                                          struct bl_answers *answers,
                                          struct bl_trie_node *node,
                                          uint64_t token) {
    for (unsigned round = 0;; round++) {
        if (bl_leaves_find(bl_load_acquire(&node->leaves), token))
            return BL_ANSWER_REPEATED;
        if (!lock_or_leave(thread, node, round))
            continue;
        const enum bl_answer_result result =
            add_leaf_locked(&thread->common, answers, node, token);
        unlock(thread, node);
        return result;
    }
}

// The one answer of a call without free variables: the list decides.
static enum bl_answer_result shared_empty(struct bl_table_thread *thread,
                                          struct bl_answers *answers) {
    if (bl_load_acquire(&answers->first) != NULL)
        return BL_ANSWER_REPEATED;
    struct bl_answer_chunk *const chunk =
        new_shared_chunk(&thread->common, NULL, BL_ANSWER_WIDE_WORDS);
    if (chunk == NULL)
        return BL_ANSWER_NO_MEMORY;
    const uint64_t word = bl_answer_pack(&chunk->answers[0], &answers->root, 0);
    if (word == BL_ANSWER_WIDE)
        bl_answer_write_wide(chunk, 0, &answers->root, 0);
    else
        bl_store_relaxed(&chunk->answers[0].word, word);
    bl_store_relaxed(&chunk->used,
                     word == BL_ANSWER_WIDE ? BL_ANSWER_WIDE_WORDS : 1);
    struct bl_answer_chunk *none = NULL;
    // Pairs with the acquire loads of `first`.
    if (bl_cas_strong_acq_rel(&answers->first, &none, chunk)) {
        bl_store_release(&answers->last, chunk);
        return BL_ANSWER_NEW;
    }
    free_chunk(&thread->common, chunk);
    return BL_ANSWER_REPEATED;
}

static void raise_depth(struct bl_answers *answers, size_t n) {
    uint32_t depth = bl_load_relaxed(&answers->depth_max);
    // Release: before the answer, so that a reader of the answer makes room
    // for it.
    while (depth < n &&
           !bl_cas_weak_release(&answers->depth_max, &depth, (uint32_t)n)) {
    }
}

struct bl_trie_node *bl_shared_node(struct bl_table_thread *thread,
                                    struct bl_answers *answers,
                                    const uint64_t *tokens, size_t n) {
    bl_retired_enter(&thread->retired, &thread->space->epochs);
    if (BL_UNLIKELY(bl_load_relaxed(&answers->depth_max) < n))
        raise_depth(answers, n);
    struct bl_trie_node *node = &answers->root;
    for (size_t i = 0; node != NULL && i + 1 < n; i++)
        node = bl_shared_step(thread, BL_TYPE_ANSWER_NODE, node, tokens[i]);
    return node;
}

enum bl_answer_result bl_shared_insert(struct bl_table_thread *thread,
                                       struct bl_answers *answers,
                                       const uint64_t *tokens, size_t n) {
    struct bl_trie_node *const node =
        bl_shared_node(thread, answers, tokens, n);
    if (n == 0)
        return shared_empty(thread, answers);
    return node != NULL
               ? bl_shared_insert_at(thread, answers, node, tokens[n - 1])
               : BL_ANSWER_NO_MEMORY;
}
