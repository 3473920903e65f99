// SPDX-License-Identifier: MIT
//
// The table space of a tabled logic engine: which calls were made, and which
// answers each of them has, kept once each.
//
// Calls and answers arrive as *tokens*, 64-bit words whose meaning is the
// engine's own (an atom, a number, the functor of a term, the first variable).
// What must hold of them:
//   - no token is 0;
//   - the sequences under one table are a prefix code: none is a prefix of
//     another. A term written with its functor first has that property.
//   - The low BL_TOKEN_KIND_BITS bits are the kind, the rest the value. This
//     is a matter of speed only: tokens of one kind with neighbouring values
//     share a cache line, and tokens below 2^32 take half the space.
// An answer holds only the bindings of the call's free variables, in the order
// in which these occur first (substitution factoring; the engine sees to it).
//
// Threads. A *space* holds *tables*, one per tabled predicate. Each thread
// that evaluates attaches itself and passes its `struct bl_table_thread` to
// every call; a `struct bl_subgoal` is that thread's own view of one call, and
// no other thread may touch it. What lies behind is private or shared, after
// the table's design:
//   NS  no sharing: each thread has its own call and answer tries;
//   SS  subgoal sharing: one call trie, answers private;
//   FS  full sharing: one call trie, one answer trie per call. Each thread
//       evaluates for itself, and is told BL_ANSWER_REPEATED for an answer that
//       another one found first; its cursors return it all the same.
// Source: [AreiasRocha-2012], section II; see docs/REFERENCES.md.
//
// Link with libbigleaf-table.a (-lbigleaf-table -lpthread). It has the pools of
// bigleaf/pool.h, and no malloc; where libbigleaf.a or libbigleaf.so is too,
// before it, behind it or preloaded, the pools are the runtime's. A plug-in
// that has pools of its own inside stays loaded when dlclose is called; twelve
// such find addresses for them in one process.
//
// Fork. A child may use spaces that it makes, and of its parent's those that no
// other thread was calling a function with when it was forked; what threads
// that it does not have left attached there, it may detach. It may use any pool
// but a private one that another thread was using.
//
// A call, from the engine's side: `bl_table_call` returns the subgoal. If it is
// FRESH, the engine sets it to EVALUATING and is its generator; if EVALUATING,
// the engine is a consumer: it reads with a cursor until that is dry, and again
// whenever new answers may have come; if COMPLETE, it reads all answers. The
// generator calls `bl_answer_insert` for each answer found, and at the end of
// its component `bl_subgoal_complete`, or, after an exception,
// `bl_subgoal_abandon`.
//
#ifndef BIGLEAF_TABLE_H
#define BIGLEAF_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BL_TOKEN_KIND_BITS 3

enum bl_table_design { BL_TABLE_NS, BL_TABLE_SS, BL_TABLE_FS };

// Where the lock of a trie node lies (TLWL: one writer per parent node).
enum bl_table_locks { BL_LOCKS_NODE, BL_LOCKS_ARRAY };

enum bl_table_alloc { BL_ALLOC_PAGES, BL_ALLOC_MALLOC };

struct bl_table_options {
    enum bl_table_design design; // for the engine to keep: each table names
                                 // its own
    enum bl_table_locks locks;
    enum bl_table_alloc alloc;
    bool spin;       // wait for a lock; false: try it, look again, try again
    bool one_by_one; // one allocation per answer, as in the source, and not
                     // one per chunk of them: for comparing allocators
};

struct bl_table_space;
struct bl_table;
struct bl_table_thread;
struct bl_subgoal;
struct bl_answer; // stays where it is until its table is abolished or, if it
                  // is private, its call abandoned or its thread detached

enum bl_subgoal_state { BL_FRESH, BL_EVALUATING, BL_COMPLETE };

enum bl_answer_result {
    BL_ANSWER_NO_MEMORY = -1,
    BL_ANSWER_REPEATED = 0,
    BL_ANSWER_NEW = 1
};

// A reader's place in the list of a call's answers. All zero: before the first.
struct bl_answer_cursor {
    struct bl_answer_chunk *chunk;
    uint64_t index;
};

// ---- space and threads

// NULL without memory, and where an option has no value of its type. `options`
// NULL means all zero: NS, node, pages.
struct bl_table_space *
bl_table_space_new(const struct bl_table_options *options);

// No thread may be attached any more; where one is, that ends the program with
// one line. NULL is allowed.
void bl_table_space_delete(struct bl_table_space *space);

// The calling thread's entrance, or NULL without memory, and where
// BL_TABLE_THREADS_MAX are attached to this space already.
#define BL_TABLE_THREADS_MAX 4096
struct bl_table_thread *bl_table_attach(struct bl_table_space *space);

// Says that the thread makes no call for a while (it waits for a message, or
// for other threads), so that nothing which the others replace need be kept for
// it. Its next call ends the rest.
void bl_table_rest(struct bl_table_thread *thread);

// Drops the thread's private tables wholesale. Called by the thread itself, or
// by another after the thread has ended.
void bl_table_detach(struct bl_table_thread *thread);

// ---- tables

// One tabled predicate, until the space is deleted; NULL without memory, and
// where there is no such design. The first 63 bytes of `name` are copied;
// `user` is the engine's. Any thread.
struct bl_table *bl_table_new(struct bl_table_space *space, const char *name,
                              enum bl_table_design design, void *user);
const char *bl_table_name(const struct bl_table *table);
void *bl_table_user(const struct bl_table *table);

// The thread's view of the call with these n tokens (n may be 0), made if
// there was none; NULL without memory. Here as below, thread, table and call
// are of one space.
struct bl_subgoal *bl_table_call(struct bl_table_thread *thread,
                                 struct bl_table *table, const uint64_t *tokens,
                                 size_t n);

// As `bl_table_call`, but NULL where the thread has not made this call.
struct bl_subgoal *bl_table_find_call(struct bl_table_thread *thread,
                                      struct bl_table *table,
                                      const uint64_t *tokens, size_t n);

// Empties one table, or all, as this thread sees them: the next call is FRESH
// again. Other threads keep what they share until they abolish it too or
// detach, and the last of them frees it. False, and nothing done, where this
// thread is still evaluating one of the calls concerned. Otherwise this
// thread's subgoals of it, their answers and cursors are no more: no function
// may be given them, `bl_subgoal_state` neither; `bl_table_call` returns new
// ones.
bool bl_table_abolish(struct bl_table_thread *thread, struct bl_table *table);
bool bl_table_abolish_all(struct bl_table_thread *thread);

// ---- calls

enum bl_subgoal_state bl_subgoal_state(const struct bl_subgoal *sg);
void bl_subgoal_evaluate(struct bl_subgoal *sg); // FRESH -> EVALUATING

// To COMPLETE, by the generator, once the call can have no further answer.
// Under FS other threads are told (`bl_subgoal_completed_elsewhere`).
void bl_subgoal_complete(struct bl_table_thread *thread, struct bl_subgoal *sg);

// Back to FRESH after an exception. Private answers go, and cursors in them are
// no more; shared ones stay, as each of them is true and others may be reading
// them.
void bl_subgoal_abandon(struct bl_table_thread *thread, struct bl_subgoal *sg);

// Whether another thread has completed this call meanwhile (FS); the thread
// may then treat it as complete.
bool bl_subgoal_completed_elsewhere(const struct bl_subgoal *sg);

void *bl_subgoal_user(const struct bl_subgoal *sg); // NULL when FRESH
void bl_subgoal_set_user(struct bl_subgoal *sg, void *user);
struct bl_table *bl_subgoal_table(const struct bl_subgoal *sg);

// The call's own tokens, in any state, written so that they end before `end`;
// returns the first. `bl_subgoal_depth` says how many there are, and so how
// much room there must be.
const uint64_t *bl_subgoal_read(const struct bl_subgoal *sg, uint64_t *end);
size_t bl_subgoal_depth(const struct bl_subgoal *sg);

// Calls `visit` for every call of this thread, of `table` or, where that is
// NULL, of all tables. `visit` makes no calls and abolishes nothing.
void bl_subgoal_each(struct bl_table_thread *thread, struct bl_table *table,
                     void (*visit)(struct bl_subgoal *sg, void *arg),
                     void *arg);

// ---- answers

// Whether the answer is new to the call's table. For the generator, before it
// completes the call: who reads a COMPLETE one takes its answers for all. After
// NO_MEMORY the table holds what it held, and the answer may be tried again.
enum bl_answer_result bl_answer_insert(struct bl_table_thread *thread,
                                       struct bl_subgoal *sg,
                                       const uint64_t *tokens, size_t n);

// The next answer, in order of insertion, or NULL where there is none yet.
const struct bl_answer *bl_answer_next(const struct bl_subgoal *sg,
                                       struct bl_answer_cursor *cursor);

// The answer's tokens, written so that they end before `end`; returns the
// first. There are at most `bl_answer_depth_max` of them, asked after the
// answer was got.
const uint64_t *bl_answer_read(const struct bl_answer *answer, uint64_t *end);
size_t bl_answer_depth_max(const struct bl_subgoal *sg);

// On the list, of which each block is visited.
uint64_t bl_answer_count(const struct bl_subgoal *sg);
uint64_t bl_answer_repeated(const struct bl_subgoal *sg); // by this thread

// ---- figures

// Lengths of the paths of a trie; the average is sum / paths.
struct bl_depths {
    uint64_t min;
    uint64_t sum;
    uint64_t max;
};

// As Table I of the source counts them: a root counts as a node; a call trie
// exists once a first call was made, an answer trie once its call was made.
struct bl_table_counts {
    uint64_t calls;
    uint64_t call_nodes;
    uint64_t unique;
    uint64_t repeated;
    uint64_t answer_nodes;
    struct bl_depths call_depth;
    struct bl_depths answer_depth;
};

// What this thread sees of `table`, or of all tables where that is NULL. Walks
// the tries; takes time linear in their answers. Exact while the threads that
// share them rest.
void bl_table_count(struct bl_table_thread *thread, struct bl_table *table,
                    struct bl_table_counts *out);

// The types of blocks, each on pages of its own.
enum bl_table_type {
    BL_TYPE_TABLE,        // table entries
    BL_TYPE_VIEW,         // a thread's share in one table
    BL_TYPE_CALLS,        // roots of shared call tries: SS and FS
    BL_TYPE_BUCKETS,      // per-thread buckets, beyond those in the entries
    BL_TYPE_CALL_NODE,    // nodes of call tries
    BL_TYPE_SUBGOAL,      // subgoal frames with their answers: NS and SS
    BL_TYPE_FRAME,        // subgoal frames without: FS
    BL_TYPE_ENTRY,        // subgoal entries without answers: SS
    BL_TYPE_SHARED_ENTRY, // subgoal entries with answers: FS
    BL_TYPE_ANSWER_NODE,  // inner nodes of answer tries
    BL_TYPE_CHUNK,        // chunks of answers, that is, of leaf nodes
    BL_TYPE_CHILDREN,     // hashed sets of a node's inner children
    BL_TYPE_LEAVES,       // hashed sets of a node's last tokens
    BL_TYPE_COUNT
};

struct bl_table_memory_stats {
    const char *name;      // the library's own; never freed
    uint64_t blocks;       // in use
    uint64_t block_bytes;  // in those
    uint64_t pages;        // 0 with malloc
    uint64_t mapped_bytes; // of those pages; 0 with malloc
};

struct bl_table_lock_stats {
    uint64_t taken;
    uint64_t failed; // tries that found the lock held
};

// Sums over shared memory and all threads attached; exact while the others
// rest. What is no type ends the program with one line.
void bl_table_read_memory(struct bl_table_space *space, enum bl_table_type type,
                          struct bl_table_memory_stats *out);
void bl_table_read_locks(struct bl_table_space *space,
                         struct bl_table_lock_stats *out);

// Walks all that this thread can see and ends the program with one line where
// an invariant does not hold. Returns the number of answers visited. For tests,
// and while no other thread makes calls or inserts answers: what is being
// changed under a lock looks broken.
uint64_t bl_table_check(struct bl_table_thread *thread);

#ifdef __cplusplus
}
#endif

#endif
