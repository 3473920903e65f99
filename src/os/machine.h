// SPDX-License-Identifier: MIT
//
// What the machine, the container and the kernel allow, and what other
// processes are: the facts behind `bigleaf doctor` and behind the reasons in a
// report. Every file may be missing (no /proc, no /sys); then the fact is
// "unknown" and never a guess.
//
// For the command only, never linked into the runtime: it uses libc freely.
//
#ifndef BL_OS_MACHINE_H
#define BL_OS_MACHINE_H

#include "base/base.h"

#define BL_UNKNOWN (-1)        // of a fact that is a small number
#define BL_NO_LIMIT UINT64_MAX // of a limit; also where it is unknown

// THP as the administrator set it.
enum bl_thp_mode {
    BL_THP_UNKNOWN,
    BL_THP_ALWAYS,
    BL_THP_MADVISE,
    BL_THP_NEVER,
    BL_THP_ABSENT // the kernel is built without
};

enum bl_thp_mode bl_machine_thp_mode(void);

struct bl_process_memory {
    uint64_t rss; // bytes, without hugetlb
    uint64_t hugetlb;
    bool thp_disabled; // THP_enabled: 0
};

// 0 or -errno.
int bl_machine_process_memory(int pid, struct bl_process_memory *out);
// Calls `each` for every process there is.
void bl_machine_each_process(void (*each)(int pid, int parent, void *context),
                             void *context);
// The file of this command; false where the kernel does not tell.
bool bl_machine_own_path(char *out, size_t capacity);

#endif
