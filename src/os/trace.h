// SPDX-License-Identifier: MIT
//
// Another process, held at the moment after execve: its memory, and system
// calls made by it. Built into the `bigleaf` command only, for x86-64 only.
//
// A call is made at a `syscall` instruction of the process's vdso, so no byte
// of its text is changed for it: by a single step, which costs one stop but
// ends in a SIGTRAP that would undo an ignored or blocked SIGTRAP, so where
// that is the case by two PTRACE_SYSCALL stops. Should the tracer die in
// between, the process is killed (PTRACE_O_EXITKILL): it must not run on with
// foreign registers.
//
#ifndef BL_OS_TRACE_H
#define BL_OS_TRACE_H

#include "base/base.h"

// Calls that are noted, to be made in one go (`bl_trace_batch_begin`).
#define BL_TRACE_STEPS 64
struct bl_trace_batch {
    uint64_t code; // in the process, executable: what lies there is overwritten
    uint64_t text; // the next text goes below
    uint32_t count;
    struct {
        uint64_t number;
        uint64_t arguments[6];
        uint64_t result;
    } steps[BL_TRACE_STEPS];
};

struct bl_trace {
    int pid;
    int memory;            // handle of its memory
    uint64_t call_address; // of a system call instruction; 0: not found yet
    uint64_t stack;        // its stack pointer
    bool single_step;      // SIGTRAP is neither ignored nor blocked
    bool in_exec;          // execve is done but has not returned
    struct bl_trace_batch *batch;             // NULL: calls are made at once
    uint64_t instruction;                     // where it is to start
    _Alignas(8) unsigned char registers[256]; // as they were
};

// Starts a process that runs `function` on a stack of its own, in this one's
// memory: nothing is copied for it, and when this one executes a program, the
// memory is left to it. Until then this one must wait wherever the other
// works, and may start no second.
int bl_trace_start_beside(int (*function)(void *), void *context);
// True where processes that nobody is parent of any more become this one's, and
// those of what it executes.
bool bl_trace_adopts_orphans(void);
// What this process executes shall have this open file, under its number.
void bl_trace_hand_down(int fd);
// Begins to trace a process that runs; 0 or -errno.
int bl_trace_seize(int pid);
// True in a process whose calls may be made by single steps, and after execve
// as well.
bool bl_trace_may_step(void);
// Waits until execve has succeeded and holds the process there, before any
// instruction of the program. -errno when
// it ended, or became a program that cannot be held.
int bl_trace_await_exec(int pid, struct bl_trace *out);
// Lets it run on, starting at `instruction`.
void bl_trace_release(struct bl_trace *t);
// Lets it run on, traced, and with these calls trapped (os/trap.h): brk,
// mremap, mmap of plain heap and of much anonymous memory, mmap and munmap
// among the slots; what makes threads and processes, and what sets a seccomp
// filter. -errno, and it is still held: the kernel has no filters, or another
// one forbids it.
#define BL_TRACE_SLOTS_LOW ((uint64_t)0x600000000000)
#define BL_TRACE_SLOTS_HIGH ((uint64_t)0x700000000000)
int bl_trace_release_trapped(struct bl_trace *t);

int bl_trace_read(struct bl_trace *t, uint64_t at, void *to, size_t bytes);
int bl_trace_write(struct bl_trace *t, uint64_t at, const void *from,
                   size_t bytes);
// Looks for a system call instruction in [start, end) of the process.
bool bl_trace_find_call(struct bl_trace *t, uint64_t start, uint64_t end);

// From here on the calls below are only noted, and seem to succeed. Then they
// are made, by a loop that the process runs on its own: one stop in all, where
// each call alone takes as many, and a stop can be two hops between
// processors. For a process of which `single_step` is true, and not for
// `bl_trace_open`.
void bl_trace_batch_begin(struct bl_trace *t, struct bl_trace_batch *batch,
                          uint64_t code);
// 0, or the result of the first that failed; none behind it was made then.
long bl_trace_batch_end(struct bl_trace *t);

// System calls of the process: the kernel's own result.
long bl_trace_open(struct bl_trace *t, const char *path);
long bl_trace_close(struct bl_trace *t, int fd);
// Over nothing that is there; fd -1: zeroed memory.
long bl_trace_map_new(struct bl_trace *t, uint64_t at, uint64_t bytes,
                      unsigned protection, int fd, uint64_t offset);
// Asks for huge pages at the first touch.
long bl_trace_advise(struct bl_trace *t, uint64_t at, uint64_t bytes);
// Over what is there, read in at once.
long bl_trace_map_over(struct bl_trace *t, uint64_t at, uint64_t bytes,
                       unsigned protection, int fd, uint64_t offset);
// The same, from hugetlbfs, mapped elsewhere first and moved: perf is not told
// of what is moved. Not to be noted in a batch.
long bl_trace_move_over(struct bl_trace *t, uint64_t at, uint64_t bytes,
                        unsigned protection, int fd, uint64_t offset);
long bl_trace_unmap(struct bl_trace *t, uint64_t at, uint64_t bytes);

// What the kernel notes of a process's memory and shows in /proc, to debuggers
// and in core dumps. All addresses.
struct bl_trace_layout {
    uint64_t start_code, end_code;
    uint64_t start_data, end_data;
    uint64_t start_brk, brk;
    uint64_t start_stack;
    uint64_t arg_start, arg_end;
    uint64_t env_start, env_end;
    uint64_t auxv; // where the new auxiliary vector lies
    uint32_t auxv_bytes;
};
int bl_trace_read_layout(struct bl_trace *t, struct bl_trace_layout *out);
// Needs no privilege, but a kernel with CONFIG_CHECKPOINT_RESTORE.
long bl_trace_set_layout(struct bl_trace *t,
                         const struct bl_trace_layout *layout);

// Leaves everything of the caller behind (standard streams, terminal).
void bl_trace_detach_from_caller(const int *keep, size_t count);
// Allows `pid` to trace this process where only parents may (Yama).
void bl_trace_permit(int pid);
// The file that `pid` runs, one it has open, or its environment as it began.
int bl_trace_open_program(int pid);
int bl_trace_open_environment(int pid);
int bl_trace_open_descriptor(int pid, int fd);

#endif
