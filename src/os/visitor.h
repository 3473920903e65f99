// SPDX-License-Identifier: MIT
//
// A thread of ours in another process: the *visitor*. It makes the calls that
// only the process itself may make, while the program's threads run on. Built
// into the `bigleaf` command only; x86-64 only.
//
// One thread of the program is held (os/hold.h) for as long as clone takes. It
// runs a *stub*: some bytes in the unused end of the process's vdso, so that
// not a byte of the program's text, stack or heap is changed. The stub blocks
// all signals, clones, puts the signals back, loads every register that it has
// used and jumps to where the thread was, its system call restarted. So the
// thread finds home by itself, and a visitor that nobody leads ends by itself,
// should this command be killed between any two steps.
//
// The visitor blocks all signals for as long as it lives, so none of the
// program's handlers ever runs in it, and it has no use for the stack pointer
// that it shares. It keeps to the processor on which this command runs, so that
// a huge page made ready here is the one it gets. Lists of threads call it
// "bigleaf-visitor". This command traces it, and none of the program's threads.
//
#ifndef BL_OS_VISITOR_H
#define BL_OS_VISITOR_H

#include "os/hold.h"

struct bl_visitor {
    int pid;              // of the process
    int tid;              // 0: there is none
    uint64_t stub;        // in the process
    uint64_t visit;       // in the stub: where the visitor makes its calls
    uint64_t system_call; // an instruction of the vdso's own
    uint64_t signals;     // of this command, before
    bool pinned;          // and it keeps to a processor, as the visitor does
    _Alignas(8) unsigned char processors[128]; // where it ran before
    uint64_t calls;
    struct bl_hold hold; // of the thread that makes it
};

// Lets one in. From here to its end, signals to this command wait.
enum bl_hold_result bl_visitor_begin(struct bl_visitor *v, int pid);
// madvise by the visitor: OK, and *result is the kernel's; GONE, with the
// program; or FROZEN, and nothing is to be done but to end it.
enum bl_hold_result bl_visitor_madvise(struct bl_visitor *v, uint64_t at,
                                       uint64_t bytes, int advice,
                                       long *result);
// Ends it, and leaves the vdso as it was.
void bl_visitor_end(struct bl_visitor *v);

// For `bl_visitor_madvise`.
#define BL_VISITOR_HUGEPAGE 14 // MADV_HUGEPAGE
#define BL_VISITOR_COLLAPSE 25 // MADV_COLLAPSE

#endif
