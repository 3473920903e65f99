// SPDX-License-Identifier: MIT
//
// Fork at any moment. Every lock is taken before and freed after, so that no
// other thread is inside the reservoir or the page layer when the child's
// copy is made, and no signal handler forks in between; the fast paths touch
// only what the thread owns. In the child
// the locals of threads that are gone stay as they were: what was free on
// their pages is lost to the child, nothing else is.
//
#include "runtime/fork.h"

#include "os/file.h"
#include "os/os.h"
#include "reservoir/reservoir.h"
#include "runtime/handlers.h"
#include "runtime/runtime.h"

// glibc 2.32: true until the first thread is made.
extern char __libc_single_threaded __attribute__((weak));

static bool surely_alone(void) {
    return &__libc_single_threaded != NULL && __libc_single_threaded;
}

static bool single_threaded(void) {
    if (&__libc_single_threaded != NULL)
        return __libc_single_threaded;
    return bl_load_relaxed(&bl_stats.locals_now) <= 1;
}

// The C library's list of streams, which glibc's fork locks after our handler
// has run: a thread that holds it and waits for malloc would wait for ever, so
// it is ours before malloc is. Not in every C library.
extern void _IO_list_lock(void) __attribute__((weak));
extern void _IO_list_unlock(void) __attribute__((weak));
extern void _IO_list_resetlock(void) __attribute__((weak));

// From `before` to `after`: of the one thread that holds the locks.
static struct {
    uint64_t signals; // blocked until then: their handlers may fork
    bool streams;     // the list of streams is ours
    bool interrupted; // see below
    bool pool_shared;
} fork_now;

// A handler that interrupted the only thread inside of the heap may fork: what
// that thread holds it goes on to use and free, in parent and child alike.
static bool interrupted_itself(void) {
    return surely_alone() && bl_locks_are_held();
}

static void before(void) {
    const uint64_t signals = bl_file_block_signals();
    const bool interrupted = interrupted_itself();
    const bool streams = !single_threaded() && _IO_list_lock &&
                         _IO_list_unlock && _IO_list_resetlock;
    if (streams)
        _IO_list_lock();
    if (!interrupted)
        bl_locks_before_fork();
    fork_now.signals = signals;
    fork_now.streams = streams;
    fork_now.interrupted = interrupted;
    fork_now.pool_shared = false;
    if (interrupted || !bl_reservoir_has_hugetlb())
        return;
    fork_now.pool_shared = !single_threaded();
    if (fork_now.pool_shared)
        bl_reservoir_before_sharing();
    else
        bl_reservoir_leave_hugetlb();
}

static void after_in_parent(void) {
    const uint64_t signals = fork_now.signals;
    const bool streams = fork_now.streams;
    if (fork_now.pool_shared)
        bl_reservoir_await_child();
    if (!fork_now.interrupted)
        bl_locks_after_fork();
    if (streams)
        _IO_list_unlock();
    bl_file_restore_signals(signals);
}

// glibc has reset the list of streams; it is done again where it has not.
static void after_in_child(void) {
    if (fork_now.pool_shared)
        bl_reservoir_end_sharing();
    if (!fork_now.interrupted)
        bl_locks_after_fork();
    if (fork_now.streams)
        _IO_list_resetlock();
    bl_runtime_after_fork_in_child();
    bl_file_restore_signals(fork_now.signals);
}

void bl_fork_start(void) {
    static _Atomic(uint32_t) started;
    if (bl_exchange_acquire(&started, 1) == 0)
        bl_at_fork(before, after_in_parent, after_in_child);
}
