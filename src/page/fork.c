// SPDX-License-Identifier: MIT
//
// Fork at any moment, seen from the pages. Every lock is taken before and freed
// after, so that no other thread is inside the reservoir or the page layer when
// the child's copy is made; the fast paths touch only what the thread owns. In
// the child the locals of threads that are gone stay as they were: what was
// free on their pages is lost to the child, and so is a page that one of them
// was about to report.
//
// Who calls these has blocked signals, whose handlers may fork.
//
#include "page/page.h"

// glibc 2.32: true until the first thread is made. Where there is none nobody
// can tell: a thread that has never allocated is unknown to us.
extern char __libc_single_threaded __attribute__((weak));

bool bl_is_single_threaded(void) {
    return &__libc_single_threaded != NULL && __libc_single_threaded;
}

// From before to after: of the one thread that holds the locks.
static struct {
    bool interrupted; // see below
    bool pool_shared;
} fork_now;

// A handler that interrupted the only thread inside of the heap may fork: what
// that thread holds it goes on to use and free, in parent and child alike.
static bool interrupted_itself(void) {
    return bl_is_single_threaded() && bl_locks_are_held();
}

void bl_pages_before_fork(void) {
    const bool interrupted = interrupted_itself();
    if (!interrupted)
        bl_locks_before_fork();
    fork_now.interrupted = interrupted;
    fork_now.pool_shared = false;
    bl_reservoir_before_fork();
    if (interrupted || !bl_reservoir_has_hugetlb())
        return;
    fork_now.pool_shared = !bl_is_single_threaded();
    if (fork_now.pool_shared)
        bl_reservoir_before_sharing();
    else
        bl_reservoir_leave_hugetlb();
}

void bl_pages_after_fork(bool in_child) {
    if (fork_now.pool_shared && in_child)
        bl_reservoir_end_sharing();
    else if (fork_now.pool_shared)
        bl_reservoir_await_child();
    if (!fork_now.interrupted)
        bl_locks_after_fork();
    if (in_child)
        bl_store_relaxed(&bl_stats.locals_now, bl_self != NULL);
}
