// SPDX-License-Identifier: MIT
//
// The parts of a table space above the tries, private to `table`.
//
//   space -> tables -> (NS) one view per thread, with its call trie
//                   -> (SS, FS) the call trie -> entries -> one subgoal frame
//                      per thread
//
// A *view* is one thread's share in one table. A *subgoal entry* is what the
// threads share of one call: who has made it, and under FS the answers. Per
// thread cells are found by the thread's number in *buckets*: some directly,
// the others in a chain of blocks. A number is free again after its thread has
// detached, when none of its cells is set any more.
// Source: [AreiasRocha-2012], figures 1 to 3. There an SS leaf is the bucket
// array itself; here it is an entry, so that both designs look alike.
//
// Locks, in the order of taking: space.lock; a trie node's lock; pools.making.
//
#ifndef BL_TABLE_SPACE_H
#define BL_TABLE_SPACE_H

#include "table/alloc.h"
#include "table/retire.h"
#include "table/table.h"

#define BL_BUCKETS_TABLE 32 // cells in a table entry itself
#define BL_BUCKETS_ENTRY 7  // cells in a subgoal entry itself
#define BL_BUCKETS_BLOCK 31 // cells in each further block
#define BL_LOCK_COUNT 512

// Cells 0.. lie in the owner, the next ones in the blocks of the chain.
struct bl_buckets {
    _Atomic(struct bl_buckets *) next; // release once the block is clean
    _Atomic(void *) cell[BL_BUCKETS_BLOCK];
};

struct bl_subgoal_entry {
    struct bl_trie_node *call;              // const
    struct bl_subgoal_entry *next;          // const once on the table's list
    _Atomic uint32_t complete;              // release after the last answer
    _Atomic(struct bl_buckets *) more;      // of the cells
    _Atomic(void *) cell[BL_BUCKETS_ENTRY]; // subgoals; owner of the cell
    struct bl_answers answers[];            // one under FS
};

// A shared call trie with all that hangs below it. The table's current one
// serves the threads that come; abolishing puts it out of service, and it is
// freed with the last view of it.
struct bl_shared_calls {
    struct bl_trie_node root;
    _Atomic(struct bl_subgoal_entry *) entries; // all of them
    unsigned views;                             // space.lock
    _Atomic uint32_t abolished; // space.lock, release: out of service
};

struct bl_table_view {
    struct bl_table *table;        // const
    struct bl_table_view *next;    // the thread's views
    struct bl_shared_calls *calls; // const: SS, FS
    struct bl_subgoal *subgoals;
    struct bl_trie_node root; // NS: of the call trie
};

struct bl_table_thread;

// What differs between the designs.
struct bl_design {
    // The thread's frame for the call, made if `make`; NULL where there is
    // none or no memory.
    struct bl_subgoal *(*call)(struct bl_table_thread *thread,
                               struct bl_table_view *view,
                               const uint64_t *tokens, size_t n, bool make);
    // What abandoning a call does to its answers.
    void (*forget)(struct bl_table_thread *thread, struct bl_subgoal *sg);
    // Frees, one by one, all that only this thread has of the table.
    void (*free_view)(struct bl_table_thread *thread,
                      struct bl_table_view *view);
    // Takes the thread's frames out of what is shared, as their pools go next.
    void (*unlink_view)(struct bl_table_thread *thread,
                        struct bl_table_view *view);
    // Not of NS: frees, one by one, a call trie that no thread has a view of,
    // but not the `calls` themselves.
    void (*free_shared)(struct bl_memory *memory,
                        struct bl_shared_calls *calls);
    // The root of the call trie that the view sees.
    struct bl_trie_node *(*call_root)(struct bl_table_view *view);
};

extern const struct bl_design bl_design_ns;
extern const struct bl_design bl_design_ss;
extern const struct bl_design bl_design_fs;

struct bl_table {
    struct bl_table_space *space;   // const
    const struct bl_design *design; // const
    enum bl_table_design kind;      // const
    void *user;                     // const
    struct bl_table *next;          // const: the space's tables
    _Atomic(struct bl_buckets *) more;
    _Atomic(void *) cell[BL_BUCKETS_TABLE]; // views; owner of the cell
    struct bl_shared_calls *calls; // space.lock: SS, FS; NULL: none yet
    char name[64];
};

struct bl_line_lock {
    _Alignas(BL_LINE_BYTES) _Atomic uint32_t held;
};

struct bl_table_space {
    struct bl_table_options options;   // const
    struct bl_line_lock *locks;        // const: BL_LOCKS_ARRAY
    pthread_mutex_t lock;              // guards the fields below
    _Atomic(struct bl_table *) tables; // also read without the lock
    struct bl_table_thread *threads;
    unsigned thread_count;
    uint64_t numbers[BL_TABLE_THREADS_MAX / 64]; // taken
    struct bl_memory ended; // counts of threads that have detached
    struct bl_table_lock_stats ended_locks;
    struct bl_memory entries;  // table entries
    struct bl_retired orphans; // of threads that have detached
    struct bl_pools pools;     // shared
    struct bl_epochs epochs;
};

struct bl_table_thread {
    struct bl_table_thread_head head; // const: of the two memories below
    struct bl_table_space *space;     // const
    struct bl_table_thread *next;     // space.lock
    struct bl_table_view *views;
    _Atomic uint64_t locks_taken;  // owner
    _Atomic uint64_t locks_failed; // owner
    unsigned number;               // const
    struct bl_retired retired;     // a line of its own
    struct bl_memory own;
    struct bl_memory common;
    struct bl_pools pools; // private
};

// ---- views and shared call tries (views.c)

// Frees all that is the thread's own, and what it was the last to share.
void bl_views_drop(struct bl_table_thread *thread);

// Frees all tables, of which no thread has a view, block by block.
void bl_tables_free(struct bl_table_space *space);

// The thread's view of the table; NULL if none was made.
struct bl_table_view *bl_view_find(struct bl_table_thread *thread,
                                   struct bl_table *table);

// ---- buckets

// The cell of that thread, made if `make`; NULL where there is none or no
// memory.
_Atomic(void *) *bl_bucket_cell(struct bl_memory *memory,
                                _Atomic(void *) *direct, unsigned direct_count,
                                _Atomic(struct bl_buckets *) *more,
                                unsigned number, bool make);
void bl_buckets_free(struct bl_memory *memory,
                     _Atomic(struct bl_buckets *) *more);

// ---- shared tries (TLWL)

struct bl_trie_node *bl_shared_step(struct bl_table_thread *thread,
                                    enum bl_table_type type,
                                    struct bl_trie_node *node, uint64_t token);
enum bl_answer_result bl_shared_insert(struct bl_table_thread *thread,
                                       struct bl_answers *answers,
                                       const uint64_t *tokens, size_t n);
// The same in two steps: the node below which an answer of `n` tokens ends,
// made if there is none, or NULL without memory; and the last token, before
// which the caller enters the epoch.
struct bl_trie_node *bl_shared_node(struct bl_table_thread *thread,
                                    struct bl_answers *answers,
                                    const uint64_t *tokens, size_t n);
enum bl_answer_result bl_shared_insert_at(struct bl_table_thread *thread,
                                          struct bl_answers *answers,
                                          struct bl_trie_node *node,
                                          uint64_t token);

// ---- subgoals

// A frame in the thread's private memory, on the view's list.
struct bl_subgoal *bl_subgoal_new(struct bl_table_thread *thread,
                                  struct bl_table_view *view,
                                  struct bl_trie_node *call,
                                  struct bl_subgoal_entry *entry);
// Frees the view's frames, and the answers where they are the frame's own.
void bl_subgoals_free(struct bl_table_thread *thread,
                      struct bl_table_view *view);

// ---- what SS and FS have in common (entry.c)

// The thread's frame for the call of a shared call trie.
struct bl_subgoal *bl_entry_call(struct bl_table_thread *thread,
                                 struct bl_table_view *view,
                                 const uint64_t *tokens, size_t n, bool make,
                                 bool with_answers);
// `free_view` and `unlink_view` of SS and FS.
void bl_entry_free_view(struct bl_table_thread *thread,
                        struct bl_table_view *view);
void bl_entry_unlink_view(struct bl_table_thread *thread,
                          struct bl_table_view *view);
void bl_entry_free_shared(struct bl_memory *memory,
                          struct bl_shared_calls *calls, bool with_answers);
struct bl_trie_node *bl_entry_call_root(struct bl_table_view *view);

// ---- tries as wholes (walk.c)

// The nodes below and including `root`, each once, children before parents,
// without recursion: bl_walk_first, then bl_walk_next until NULL. The node at
// hand may be freed once the next one is known.
struct bl_trie_node *bl_walk_first(struct bl_trie_node *root);
struct bl_trie_node *bl_walk_next(const struct bl_trie_node *root,
                                  const struct bl_trie_node *node);

void bl_node_init_root(struct bl_trie_node *root);
void bl_answers_init(struct bl_answers *answers, bool shared);

// Frees nodes, sets and chunks; the answers are empty afterwards.
void bl_answers_free(struct bl_memory *memory, struct bl_answers *answers);

// Frees the nodes and sets below `root`, which is empty afterwards.
void bl_trie_free(struct bl_memory *memory, enum bl_table_type type,
                  struct bl_trie_node *root, bool leaves);

size_t bl_trie_depth(const struct bl_trie_node *node);

#endif
