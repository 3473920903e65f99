// SPDX-License-Identifier: MIT
//
// What the files of `table` that change tries share; private to `table`.
//
#ifndef BL_TABLE_TRIE_PARTS_H
#define BL_TABLE_TRIE_PARTS_H

#include "table/alloc.h"
#include "table/trie.h"

// Chunks are of 32 << class bytes: 2, 6, 14, ... words. The largest, 16 KiB,
// bounds what a call with many answers leaves unused.
#define BL_CHUNK_CLASS_MAX 9

unsigned bl_chunk_class(const struct bl_answer_chunk *chunk);

// An empty chunk to follow `before`, of `words` at least; NULL without memory.
struct bl_answer_chunk *bl_chunk_new(struct bl_memory *memory,
                                     const struct bl_answer_chunk *before,
                                     uint32_t words);

// Writes an answer of three words at `at`.
void bl_answer_write_wide(struct bl_answer_chunk *chunk, uint32_t at,
                          const struct bl_trie_node *parent, uint64_t token);
// Writes that there is no answer in the words from `from` to the one before
// `end`.
void bl_answers_skip(struct bl_answer_chunk *chunk, uint32_t from,
                     uint32_t end);

// Adds a kid that is not there. The caller is alone in changing the node.
struct bl_trie_node *bl_trie_add_kid(struct bl_memory *memory,
                                     enum bl_table_type type,
                                     struct bl_trie_node *node, uint64_t token);

// The kid that follows `kid` in the order of slots, or the first if `kid` is
// NULL; NULL after the last.
struct bl_trie_node *bl_kids_after(const struct bl_trie_node *node,
                                   const struct bl_trie_node *kid);

// Adding a leaf takes two steps, so that the answer can be put on the list
// before the token is in the set: first room is made, which may fail, then the
// token is stored, which cannot. The caller is alone in changing the node.
enum bl_leaf_kind { BL_LEAF_NO_MEMORY, BL_LEAF_FOUND, BL_LEAF_ROOM };

struct bl_leaf_room {
    struct bl_trie_node *node;
    void *slot; // NULL: in the node itself
    bool wide;
};

enum bl_leaf_kind bl_leaves_make_room(struct bl_memory *memory,
                                      struct bl_trie_node *node, uint64_t token,
                                      struct bl_leaf_room *room);
void bl_leaves_put(const struct bl_leaf_room *room, uint64_t token);

// Makes a set of narrow leaves large enough for `n`, if it is not; false
// without memory. The caller is alone in changing the node.
bool bl_leaves_reserve(struct bl_memory *memory, struct bl_trie_node *node,
                       uint64_t n);

uint64_t bl_leaves_count(uint64_t word);

struct bl_answer_place;

// Makes a private list have a chunk; false without memory.
bool bl_answers_begin(struct bl_memory *memory, struct bl_answers *answers);

// Puts an answer at the end of a private list; false without memory.
bool bl_answers_append(struct bl_memory *memory, struct bl_answers *answers,
                       const struct bl_trie_node *parent, uint64_t token,
                       struct bl_answer_place *place);

// The one answer of a private call without free variables.
enum bl_answer_result bl_trie_leaf_empty(struct bl_memory *memory,
                                         struct bl_answers *answers);

// Frees the blocks of the node's sets, and empties them.
void bl_sets_free(struct bl_memory *memory, struct bl_trie_node *node,
                  bool leaves);

#endif
