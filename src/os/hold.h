// SPDX-License-Identifier: MIT
//
// One thread of a running process, held for a moment, and system calls made by
// it. Built into the `bigleaf` command only; x86-64 only.
//
// The other threads run on. The held one is brought to a stop inside the
// kernel's handling of signals (PTRACE_SEIZE, PTRACE_INTERRUPT): where it was
// in a system call, that call has been broken off in the way the kernel would
// take it up again, and it is taken up when the thread is let go.
//
// A call is made at a *stub*: a few bytes in the unused end of the process's
// vdso, so that not a byte of a program's text, stack or heap is changed. The
// stub is a system call instruction and, behind it, the way back: it loads
// every register that the call may change and jumps to where the thread
// was. So the thread finds home by itself, with its system call restarted,
// should this command be killed between any two steps. A signal that comes up
// before the call ends the attempt: the thread gets its registers and its
// signal, and `BL_HOLD_AGAIN` says so.
//
// What is put back, in order: registers, stub, tracing. Nothing of a thread
// in a restartable sequence (rseq) is touched: the kernel would not abort it.
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
    BL_HOLD_STUCK,   // did not stop, and is let go when this command ends
    BL_HOLD_UNFIT    // no call can be made in it
};

struct bl_hold {
    int pid;             // const
    int tid;             // held; 0: none
    uint64_t room;       // for the stub, in the process; 0: not looked for
    bool called;         // since it is held
    unsigned turn;       // of the threads
    unsigned leftovers;  // times a stub was found there
    uint64_t since_ns;   // it was asked to stop
    uint64_t stopped_ns; // it was seen to have stopped
    uint64_t signals;    // of this command, before
    // What it cost.
    uint64_t holds;
    uint64_t calls;
    uint64_t held_ns;
    uint64_t longest_ns;
    _Alignas(8) unsigned char registers[256]; // as they were
};

uint64_t bl_hold_now_ns(void);

// Holds a thread. From here to the release, signals to this command wait.
enum bl_hold_result bl_hold_begin(struct bl_hold *h, int pid);
// madvise by the held thread: *result is the kernel's. Anything but
// BL_HOLD_OK: the thread is not held any more.
enum bl_hold_result bl_hold_madvise(struct bl_hold *h, uint64_t at,
                                    uint64_t bytes, int advice, long *result);
// Lets it go on as if nothing had been.
void bl_hold_end(struct bl_hold *h);

// For `bl_hold_madvise`.
#define BL_HOLD_HUGEPAGE 14 // MADV_HUGEPAGE
#define BL_HOLD_COLLAPSE 25 // MADV_COLLAPSE

#endif
