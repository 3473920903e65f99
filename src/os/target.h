// SPDX-License-Identifier: MIT
//
// Another process that runs, seen from outside: what it is, which of its
// threads is best asked, what of its memory is resident, and advice given to
// it without stopping it.
//
// For the command only, never linked into the runtime.
//
#ifndef BL_OS_TARGET_H
#define BL_OS_TARGET_H

#include "base/base.h"

// As /proc shows it; 0 and "" where it does not tell.
struct bl_target {
    int pid;
    int process; // of which `pid` is a thread; `pid` itself for a process
    int parent;
    char state;    // of its first thread, as in proc(5)
    int tracer;    // of its first thread; 0: none
    uint32_t user; // real
    unsigned threads;
    bool kernel;      // a thread of the kernel's
    bool other_class; // no 64-bit program of this machine
    bool thp_disabled;
    unsigned filters; // seccomp filters; UINT_MAX: strict mode, or not known
    uint64_t rss;     // bytes
    char program[256];
};

// 0, or -ESRCH where there is no such process.
int bl_target_read(int pid, struct bl_target *out);

// How well a thread bears to be stopped: what it is doing now goes on after it
// as if nothing had been.
enum bl_calm {
    BL_CALM_RUNNING, // in no system call
    BL_CALM_RESTART, // in one that the kernel takes up again
    BL_CALM_UNKNOWN,
    BL_CALM_EINTR, // in one that ends with EINTR, as it does after a SIGSTOP
    BL_CALM_DEEP,  // in uninterruptible sleep: cannot be stopped
    BL_CALM_STOPPED,
    BL_CALM_ENDED // or one of the kernel's, that never runs the program's code
};

struct bl_target_thread {
    int tid;
    enum bl_calm calm;
};

// The calmest threads first, at most `capacity`; of equals, the one behind
// the `turn`-th comes first. Their number; 0: the process has ended.
size_t bl_target_threads(int pid, unsigned turn, struct bl_target_thread *out,
                         size_t capacity);

// All of them, in no order, until the next call. False: there may be more than
// this command has memory for.
bool bl_target_list(int pid, const int **out, size_t *count);

bool bl_target_has_ended(int pid, int tid);

// Where one that does not run now goes on; false: it runs, or has ended.
bool bl_target_goes_on_at(int pid, int tid, uint64_t *out);

// Any of them but `tid`, also one that has ended; 0: there is no other.
int bl_target_other_thread(int pid, int tid);

// Whether one of them is called `name`.
bool bl_target_has_thread(int pid, const char *name);

// Of each 2 MiB of [start, start + units * 2 MiB): how many base pages are
// resident and belong to this process alone; 0 where it is huge already.
// 0 or -errno.
int bl_target_resident(int pid, uint64_t start, size_t units, uint16_t *own);

// Whether the kernel knows MADV_COLLAPSE.
bool bl_target_may_collapse(void);
// Has the kernel find a huge page, back it and put it back, and empty its
// queues of fresh pages (which a collapse waits for), here and now, so that the
// next collapse on this processor finds that done.
void bl_target_prepare(void);

// Makes huge pages of what is there, from outside (Linux 6.1, CAP_SYS_NICE).
// `handle` is that of `bl_target_handle`. 0 or -errno.
int bl_target_handle(int pid);
int bl_target_collapse(int handle, uint64_t start, uint64_t bytes);

// One holder per process: a name that vanishes with this command. A handle,
// or -EADDRINUSE where another command has it.
int bl_target_claim(int pid);

#endif
