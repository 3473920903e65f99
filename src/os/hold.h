// SPDX-License-Identifier: MIT
//
// One thread of a running process, held for a moment. Built into the `bigleaf`
// command only; x86-64 only.
//
// The other threads run on. The held one is brought to a stop inside the
// kernel's handling of signals (PTRACE_SEIZE, PTRACE_INTERRUPT): where it was
// in a system call, that call has been broken off in the way the kernel would
// take it up again, and it is taken up when the thread is let go. Nothing of a
// thread in a restartable sequence (rseq) is touched: the kernel would not
// abort it. Which thread is in one the kernel tells since Linux 5.13.
//
#ifndef BL_OS_HOLD_H
#define BL_OS_HOLD_H

#include "base/base.h"

enum bl_hold_result {
    BL_HOLD_OK,
    BL_HOLD_AGAIN,   // it has a signal to take first, or similar: later
    BL_HOLD_GONE,    // the process has ended
    BL_HOLD_DENIED,  // the kernel refuses to trace it
    BL_HOLD_DEEP,    // all threads are in uninterruptible sleep
    BL_HOLD_STOPPED, // by job control
    BL_HOLD_STUCK,   // one did not stop, see `bl_hold_has_let_go`
    BL_HOLD_FROZEN,  // it does not run, though nobody has stopped it
    BL_HOLD_UNFIT,   // no call can be made in it
    BL_HOLD_FULL,    // it may have no further thread
    BL_HOLD_BUSY     // a thread of another bigleaf is still in it
};

struct bl_hold {
    int pid;                                  // of the process
    int tid;                                  // held; 0: none
    unsigned turn;                            // of the threads
    uint64_t since_ns;                        // it was asked to stop
    uint64_t mask;                            // the signals that it blocks
    _Alignas(8) unsigned char registers[256]; // as they were
    // What it cost.
    uint64_t count;
    uint64_t total_ns;
    uint64_t longest_ns;
};

uint64_t bl_hold_now_ns(void);

// Holds a thread of `pid`, the calmest that can be had, at a stop inside the
// kernel's handling of signals.
enum bl_hold_result bl_hold_begin(struct bl_hold *h, int pid);
// Whether a thread of `pid` goes on within these bytes, or may: one that
// cannot be asked. Those that run are stopped for a moment.
bool bl_hold_any_within(int pid, uint64_t start, uint64_t bytes);

// A thread that did not stop in time (BL_HOLD_STUCK) stops as soon as it can,
// and has to be let go then: true where there is none, or it has just been.
// Until then nobody is held.
bool bl_hold_has_let_go(void);

// Waits for the next stop of a thread that is traced; false: it has ended. A
// frozen cgroup holds a thread on its way out of the kernel, but one that is
// asked to stop there does: where it takes more than a second, it is (`asked`).
// Where that does not help, a signal may end this command.
bool bl_hold_await(int pid, int tid, int *status, bool *asked);
// Brings the thread from the end of a system call on to such a stop, without
// an instruction of its own. `signal`: it came in between. False: it has ended.
bool bl_hold_settle(struct bl_hold *h, int *signal);
// Gives it its registers and signals back.
void bl_hold_restore(struct bl_hold *h);
// Lets it go on, from such a stop, with that signal; 0: none.
void bl_hold_release(struct bl_hold *h, int signal);
// It has ended.
void bl_hold_lost(struct bl_hold *h);

struct user_regs_struct;
// The registers with which the thread goes on where no kernel restarts its
// system call: what the kernel would make of them.
void bl_hold_home(const struct bl_hold *h, struct user_regs_struct *out);

// Of a thread that this command traces and that has stopped.
bool bl_hold_peek(int tid, uint64_t at, void *to, size_t words);
bool bl_hold_poke(int tid, uint64_t at, const void *from, size_t words);

#endif
