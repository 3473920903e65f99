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
#define BL_CGROUP_PATH 4096    // bytes: the kernel tells of none that is longer

// Files that an administrator writes to.
#define BL_MACHINE_THP "/sys/kernel/mm/transparent_hugepage/"
#define BL_MACHINE_THP_2MIB BL_MACHINE_THP "hugepages-2048kB/"
#define BL_MACHINE_COMPACT "/proc/sys/vm/compact_memory"

// THP of pages of 2 MiB, as the administrator set it.
enum bl_thp_mode {
    BL_THP_UNKNOWN,
    BL_THP_ALWAYS,
    BL_THP_MADVISE,
    BL_THP_NEVER,
    BL_THP_ABSENT // the kernel is built without
};

enum bl_thp_mode bl_machine_thp_mode(void);

// What happened when this command tried; in a child, so that neither a signal
// nor a filter that kills can harm it.
struct bl_probe {
    bool ran;            // the child came to its end
    int map_errno;       // of mapping 8 MiB; 0: mapped
    int advise_errno;    // of MADV_HUGEPAGE
    uint64_t huge_bytes; // of 4 MiB advised and touched, read back
    bool by_faults;      // judged by page faults, for want of /proc
    int collapse_errno;  // of MADV_COLLAPSE on touched memory
    uint64_t collapsed_bytes;
    int hugetlb_errno;  // of a 2 MiB page of the pool, touched
    int thp_disabled;   // PR_GET_THP_DISABLE: 0, 1 or 3; BL_UNKNOWN
    int disabled_errno; // why that is unknown
};

// BL_UNKNOWN, BL_NO_LIMIT and "" stand for what could not be read.
struct bl_machine {
    bool proc;
    bool sys;
    char kernel[65];
    char libc[32];
    enum bl_thp_mode thp; // of pages of 2 MiB
    bool thp_own;         // it is set for these alone
    char thp_defrag[24];
    char thp_shmem[24];
    int64_t thp_huge_bytes; // what one huge page holds
    int khugepaged_defrag;
    int64_t pool_total, pool_free, pool_reserved, pool_overcommit; // of 2 MiB
    int64_t pool_giant_free;                                       // of 1 GiB
    int cgroup_version;                                            // 0: none
    char cgroup_path[BL_CGROUP_PATH];
    uint64_t cgroup_limit, cgroup_usage; // bytes; the tightest above us
    uint64_t cgroup_hugetlb_limit;       // bytes, pages of 2 MiB
    int64_t memory_total, memory_available;
    int64_t free_huge_blocks; // free and contiguous, in units of 2 MiB
    int overcommit;           // vm.overcommit_memory
    uint64_t address_limit;   // RLIMIT_AS
    int shm;                  // /dev/shm is there: 0 or 1
    int shm_noexec;
    int64_t shadow_bytes; // of copies of program text; who asks fills it in
    int seccomp;          // 0 none, 1 strict, 2 filter
    int hypervisor;
    int page_reporting; // free pages go back to the hypervisor
    int ptrace_scope;
};

// Reads the files below `root` ("" for this machine; else a folder that holds
// copies of /proc and /sys).
void bl_machine_read(struct bl_machine *out, const char *root);
void bl_machine_probe(struct bl_probe *out);

// The lines of a status file, of which each is cut at 127 bytes: one names all
// groups of the user. Its length or -errno; "" then.
#define BL_STATUS_BYTES 8192
long bl_machine_read_status(const char *path, char text[BL_STATUS_BYTES]);

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
// A file in memory, empty, open in this command and in what it executes; in
// `path` the name by which any of them opens it. The handle or -errno.
int bl_machine_memory_file(const char *name, char *path, size_t capacity);

#endif
