// SPDX-License-Identifier: MIT
//
// The three-state futex mutex of [Drepper-Futexes], section 5, mutex2, with a
// short spin before the first wait.
//
#include "os/lock.h"

#include "os/os.h"

#define BL_DEFINE_LOCK(name, order, guards) struct bl_lock name = {0, order};
BL_LOCKS(BL_DEFINE_LOCK)
#undef BL_DEFINE_LOCK

enum { FREE, HELD, WAITED_FOR };

// This thread forks and holds every lock. Thread-local, so that the child's one
// thread, whose id is new, knows it too.
static _Thread_local bool forking __attribute__((tls_model("initial-exec")));

#if BL_CHECKS >= 2
static _Thread_local uint32_t ranks_held; // bit r: a lock of rank r is held
#endif

static void note_taken(const struct bl_lock *lock) {
#if BL_CHECKS >= 2
    BL_CHECK(ranks_held >> lock->rank == 0);
    ranks_held |= 1u << lock->rank;
#else
    (void)lock;
#endif
}

static void note_freed(const struct bl_lock *lock) {
#if BL_CHECKS >= 2
    BL_CHECK((ranks_held >> lock->rank & 1) == 1);
    ranks_held &= ~(1u << lock->rank);
#else
    (void)lock;
#endif
}

static bool transparent(void) { return BL_UNLIKELY(forking); }

static void acquire(struct bl_lock *lock) {
    uint32_t seen = FREE;
    for (int spin = 0; spin < 64; spin++) {
        seen = FREE;
        if (bl_cas_strong_acq_rel(&lock->state, &seen, HELD))
            return;
        bl_cpu_relax();
    }
    while (bl_exchange_acquire(&lock->state, WAITED_FOR) != FREE)
        bl_os_wait(&lock->state, WAITED_FOR);
}

static void release(struct bl_lock *lock) {
    if (bl_exchange_acq_rel(&lock->state, FREE) == WAITED_FOR)
        bl_os_wake(&lock->state, 1);
}

void bl_lock_acquire(struct bl_lock *lock) {
    if (transparent())
        return;
    acquire(lock);
    note_taken(lock);
}

void bl_lock_release(struct bl_lock *lock) {
    if (transparent())
        return;
    note_freed(lock);
    release(lock);
}

bool bl_locks_are_held(void) {
    uint32_t held = FREE;
#define BL_LOOK(name, rank, guards) held |= bl_load_relaxed(&name.state);
    BL_LOCKS(BL_LOOK)
#undef BL_LOOK
    return held != FREE;
}

void bl_locks_before_fork(void) {
#define BL_TAKE(name, rank, guards) acquire(&name);
    BL_LOCKS(BL_TAKE)
#undef BL_TAKE
    forking = true;
}

void bl_locks_after_fork(void) {
    forking = false;
#define BL_FREE(name, rank, guards) release(&name);
    BL_LOCKS(BL_FREE)
#undef BL_FREE
}
