// SPDX-License-Identifier: MIT
//
// A mutex of four bytes that needs no start-up, usable before any constructor.
// Ranks order the locks: a thread takes them in growing rank only; where
// BL_CHECKS is 2 or more, taking one out of order ends the program.
//
// Fork: `bl_locks_before_fork` takes every lock of the table for the forking
// thread, which may then go on calling anything that locks (a later fork
// handler may well call malloc): to that thread the locks are transparent
// until `bl_locks_after_fork` frees them, in parent and child alike.
//
#ifndef BL_OS_LOCK_H
#define BL_OS_LOCK_H

#include "base/base.h"

// X(name, rank, what it guards). Rank grows in the order of taking.
#define BL_LOCKS(X)                                                            \
    X(bl_lock_start, 1, "the one-time start of the heap")                      \
    X(bl_lock_locals, 2, "all locals; pages between two lists of theirs")      \
    X(bl_lock_pools, 3, "records of deleted pools")                            \
    X(bl_lock_pages, 4, "global and stranded pages, unit bitmaps")             \
    X(bl_lock_reservoir, 5, "units: addresses, warm runs, backing")

struct bl_lock {
    _Atomic(uint32_t) state; // 0 free, 1 held, 2 held and waited for
    uint32_t rank;           // const
};

#define BL_DECLARE_LOCK(name, rank, guards) extern struct bl_lock name;
BL_LOCKS(BL_DECLARE_LOCK)
#undef BL_DECLARE_LOCK

void bl_lock_acquire(struct bl_lock *lock);
void bl_lock_release(struct bl_lock *lock);

void bl_locks_before_fork(void);
void bl_locks_after_fork(void);
// Whether anybody holds one of the table's locks at this moment.
bool bl_locks_are_held(void);

#endif
