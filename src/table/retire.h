// SPDX-License-Identifier: MIT
//
// Freeing blocks that readers without a lock may still hold.
//
// A shared set that was replaced by a larger one is retired: stamped with the
// epoch in which it became unreachable, and freed once every thread at work has
// been seen in a later epoch. A thread is seen whenever it enters a shared
// trie, for it holds no block from one operation to the next. It is not at work
// before its first operation, nor after `bl_table_rest`. So a thread that waits
// without having said so keeps retired blocks alive, but no more than one
// generation of sets: together less than the sets in use.
//
// What a thread that detaches cannot free yet is left to the space: *orphans*,
// looked at by who retires or detaches later. An attempt to free goes through
// the whole list, so the next one waits until the list has grown by a part:
// however long a thread keeps all of it alive, the attempts take time linear in
// what was retired.
//
// Why no fences: the new set is published before the epoch is advanced, and the
// stamp is the value that this advance, one atomic addition, replaced. All
// changes of the epoch being additions, a thread that reads a later value
// (acquire) synchronises with ours and reads the new set from then on; its
// note of that epoch (release) comes after all its reads of the old one. A
// thread that comes back to work notes an epoch and then adds 0 to it: either
// that comes before our addition, and we see the note; or after, and it reads
// the new set.
//
#ifndef BL_TABLE_RETIRE_H
#define BL_TABLE_RETIRE_H

#include "table/alloc.h"

struct bl_table_space;
struct bl_table_thread;

#define BL_NOT_AT_WORK UINT64_MAX

struct bl_epochs {
    _Alignas(64) _Atomic uint64_t now; // starts at 1
};

struct bl_retired_block {
    void *block;
    uint64_t epoch;
    enum bl_table_type type;
    unsigned sizeclass;
};

// One thread's retired blocks, or the orphans, which space.lock guards.
struct bl_retired {
    _Alignas(64) _Atomic uint64_t seen; // written by the owner, release; or
                                        // BL_NOT_AT_WORK
    struct bl_table_thread *thread;     // const; NULL: the space's
    struct bl_retired_block *blocks;    // owner
    size_t count;
    size_t capacity;
    size_t bytes;      // of the blocks
    size_t kept;       // blocks that the last attempt to free some has left
    size_t kept_bytes; // and theirs
};

// Owner: notes that the thread has seen the epoch `now`.
void bl_retired_see(struct bl_retired *retired, struct bl_epochs *epochs,
                    uint64_t now);

// Owner, before each operation on a shared trie.
BL_INLINE void bl_retired_enter(struct bl_retired *retired,
                                struct bl_epochs *epochs) {
    // Acquire: pairs with the advance in `bl_retired_add`.
    const uint64_t now = bl_load_acquire(&epochs->now);
    // Relaxed: only this thread writes it.
    if (BL_UNLIKELY(bl_load_relaxed(&retired->seen) != now))
        bl_retired_see(retired, epochs, now);
}

// Takes over a block that has just become unreachable for newcomers. A block
// for which there is no room to remember it is never freed.
void bl_retired_add(struct bl_retired *retired, enum bl_table_type type,
                    unsigned sizeclass, void *block);

// Leaves the blocks of a thread that is off the list to the space, and frees of
// the orphans what nobody can hold; all of them where no thread is left. Under
// space.lock.
void bl_retired_leave(struct bl_retired *retired);

// Frees everything, orphans too: no other thread is attached. Under space.lock.
void bl_retired_flush(struct bl_retired *retired);

void bl_retired_fini(struct bl_retired *retired);

#endif
