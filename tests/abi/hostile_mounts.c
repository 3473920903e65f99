// SPDX-License-Identifier: MIT
//
// No /proc and no /sys, a /dev/shm that may not hold programs: in a mount
// namespace of the test's own.
//
#include "hostile.h"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

static const char *enter_namespace(void) {
    const int flags =
        geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    if (unshare(flags) != 0)
        return "no mount namespace of our own";
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return "the mounts cannot be made private";
    return NULL;
}

static const char *cover(const char *path, unsigned long flags) {
    return mount("tmpfs", path, "tmpfs", flags, NULL) == 0
               ? NULL
               : "no tmpfs can be mounted";
}

static const char *hide_proc_and_sys(void) {
    const char *why_not = enter_namespace();
    if (why_not == NULL)
        why_not = cover("/sys", 0);
    if (why_not == NULL)
        why_not = cover("/proc", 0);
    return why_not;
}

static const char *forbid_programs_in_shm(void) {
    const char *const why_not = enter_namespace();
    return why_not != NULL ? why_not : cover("/dev/shm", MS_NOEXEC);
}

static const char *empty_dev(void) {
    const char *const why_not = enter_namespace();
    return why_not != NULL ? why_not : cover("/dev", 0);
}

TEST(no_proc_and_no_sys) { hostile_run(hide_proc_and_sys); }

TEST(no_programs_in_shm) { hostile_run(forbid_programs_in_shm); }

TEST(no_devices) { hostile_run(empty_dev); }
