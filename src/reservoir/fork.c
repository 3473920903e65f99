// SPDX-License-Identifier: MIT
//
// hugetlb pages and fork. After a fork a write to a shared pool page takes a
// further page of the pool; where there is none, the child loses its own, even
// when it is the parent that writes. So no process shares them for long:
//
//  * A process of one thread turns its pool pages into ordinary ones before it
//    forks, for good.
//  * Where other threads run, that would pull pages from under them, and what
//    they write meanwhile would be torn in any copy made before the fork. Only
//    the kernel's own copy is one of a single moment. So the child turns its
//    pool pages into ordinary ones, and the parent waits for that: one child
//    shares them at a time, and needs no more pages than the parent holds.
//    That many are left in the pool (`leaves_enough`).
//
// Where others have emptied the pool all the same, the kernel takes from the
// child what the parent writes to in that moment: such a unit is left as it
// is, and a child that goes on to use it, instead of calling exec, is killed
// by SIGBUS. It never reads wrong bytes.
//
#include "reservoir/internal.h"

void bl_reservoir_before_fork(void) { bl_policy.has_forked = true; }

static void drop_copy(char *copy) {
    bl_unmap(copy, BL_HUGE_SIZE);
    bl_unit_address_free(copy, 1);
}

// Ordinary memory with the bytes of `unit`, or NULL without memory or where
// the kernel has taken the unit back.
static char *copy_of(const char *unit) {
    char *copy = bl_unit_address_take();
    if (copy == NULL)
        return NULL;
    if (bl_os.map(copy, BL_HUGE_SIZE, BL_OS_BASE_PAGES) < 0) {
        bl_unit_address_free(copy, 1);
        return NULL;
    }
    bl_os.advise_huge(copy, BL_HUGE_SIZE);
    if (bl_os_copy_own(copy, unit, BL_HUGE_SIZE) == 0)
        return copy;
    drop_copy(copy);
    return NULL;
}

// Where there is no copy, or the unit cannot be unmapped, it stays as it is.
static void exchange(char *unit) {
    char *copy = copy_of(unit);
    if (copy == NULL)
        return;
    if (bl_os.unmap(unit, BL_HUGE_SIZE) < 0) {
        drop_copy(copy);
        return;
    }
    bl_marks_clear(unit, 1);
    bl_move_or_copy_units(copy, 1, unit);
    bl_unit_address_free(copy, 1);
}

void bl_reservoir_leave_hugetlb(void) {
    bl_policy.leave_hugetlb = true;
    bl_warm_purge(UINT64_MAX);
    char *unit = bl_marked_next(NULL, BL_MARK_POOL);
    for (; unit != NULL;
         unit = bl_marked_next(unit + BL_HUGE_SIZE, BL_MARK_POOL))
        exchange(unit);
}

// ---------------------------------------------------------------------------
// A pipe to which the child writes when it has its own memory; where it is gone
// before, the other end closes. But what another thread clones meanwhile holds
// that end too, and who looks into the child may stop it: a parent that has
// waited for a hundred times as long as a copy takes goes on.

#define WAIT_MS 1000
#define WAIT_MS_A_UNIT 100

static int child_holds[2]; // {read, write}; -1: no pipe, no waiting

void bl_reservoir_before_sharing(void) {
    bl_warm_purge(UINT64_MAX); // leaves more in the pool
    if (bl_os_pipe(child_holds) < 0)
        child_holds[0] = child_holds[1] = -1;
}

void bl_reservoir_await_child(void) {
    if (child_holds[0] < 0)
        return;
    bl_os_close(child_holds[1]);
    bl_os_await_input(child_holds[0],
                      WAIT_MS + WAIT_MS_A_UNIT * bl_marked(BL_MARK_POOL));
    bl_os_close(child_holds[0]);
}

void bl_reservoir_end_sharing(void) {
    bl_reservoir_leave_hugetlb();
    if (child_holds[0] < 0)
        return;
    // No SIGPIPE while it holds the other end itself.
    bl_os_write(child_holds[1], "", 1);
    bl_os_close(child_holds[0]);
    bl_os_close(child_holds[1]);
}
