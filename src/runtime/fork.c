// SPDX-License-Identifier: MIT
//
// Fork at any moment. Every lock is taken before and freed after, so that no
// other thread is inside the reservoir or the page layer when the child's
// copy is made; the fast paths touch only what the thread owns. In the child
// the locals of threads that are gone stay as they were: what was free on
// their pages is lost to the child, nothing else is.
//
#include "runtime/fork.h"

#include "os/os.h"
#include "reservoir/reservoir.h"
#include "runtime/handlers.h"
#include "runtime/runtime.h"

// glibc 2.32: true until the first thread is made.
extern char __libc_single_threaded __attribute__((weak));

static bool single_threaded(void) {
    if (&__libc_single_threaded != NULL)
        return __libc_single_threaded;
    return bl_load_relaxed(&bl_stats.locals_now) <= 1;
}

static bool pool_shared;

static void before(void) {
    bl_locks_before_fork();
    pool_shared = false;
    if (!bl_reservoir_has_hugetlb())
        return;
    pool_shared = !single_threaded();
    if (pool_shared)
        bl_reservoir_before_sharing();
    else
        bl_reservoir_leave_hugetlb();
}

static void after_in_parent(void) {
    if (pool_shared)
        bl_reservoir_await_child();
    bl_locks_after_fork();
}

static void after_in_child(void) {
    if (pool_shared)
        bl_reservoir_end_sharing();
    bl_locks_after_fork();
    bl_runtime_after_fork_in_child();
}

void bl_fork_start(void) {
    bl_at_fork(before, after_in_parent, after_in_child);
}
