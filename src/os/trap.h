// SPDX-License-Identifier: MIT
//
// Traced programs whose memory calls are trapped (`bl_trace_release_trapped`):
// what happens to them, one event after the other, and the calls themselves,
// made otherwise than they were meant. Built into the `bigleaf` command only,
// for x86-64 only.
//
// A trapped call stands before the kernel has done anything. It can be let
// through, answered without the kernel, or made with other arguments; further
// calls can be made behind it, by the program's own system call instruction.
// A thread that is being served stops for nobody else: signals wait while
// further calls are made. What cannot wait (SIGKILL, SIGSTOP, another thread's
// execve) wins.
//
#ifndef BL_OS_TRAP_H
#define BL_OS_TRAP_H

#include "base/base.h"

enum bl_trap_event {
    BL_TRAP_CALL,  // a thread is about to make a call of memory
    BL_TRAP_CHILD, // a thread has made `other`, a thread or a process
    BL_TRAP_EXEC,  // became another program; it was thread `other`
    BL_TRAP_BEGIN, // a new thread stands before its first instruction
    BL_TRAP_END,   // a thread has ended
    BL_TRAP_PASSED // nothing of interest, and already gone on
};

struct bl_trap {
    int tid;
    enum bl_trap_event event;
    int other;
    bool shares_memory; // of BL_TRAP_CHILD
    int status;         // as waitpid gave it
};

// The next event of any thread; false: no traced thread is left.
bool bl_trap_next(struct bl_trap *out);
// What was seen of a thread while it was served.
void bl_trap_take(int tid, int status, struct bl_trap *out);
// Lets a thread go on after an event; a trapped call is made as it was meant.
void bl_trap_pass(int tid);

enum bl_trap_number {
    BL_TRAP_BRK,
    BL_TRAP_MAP,
    BL_TRAP_UNMAP,
    BL_TRAP_REMAP,
    BL_TRAP_FILTER, // sets a seccomp filter, or strict mode
    BL_TRAP_MAKE,   // makes a thread or a process
    BL_TRAP_OTHER
};

// A thread that is served.
struct bl_trap_call {
    int tid;
    enum bl_trap_number number;
    uint64_t arguments[6];
    bool away;        // it has to do with a signal, or is gone: serve no more
    int status;       // and that came instead; to be taken
    bool made;        // the kernel has seen the call
    bool masked;      // its signals wait
    uint64_t signals; // and which did before
    _Alignas(8) unsigned char registers[256]; // as they were
};

// False: the thread is gone.
bool bl_trap_read(int tid, struct bl_trap_call *out);

// Each makes one call and gives the kernel's result; of a call that is away,
// -EINTR: the kernel has not seen it.
long bl_trap_brk(struct bl_trap_call *c, uint64_t to);
long bl_trap_map(struct bl_trap_call *c, uint64_t hint);
long bl_trap_map_new(struct bl_trap_call *c, uint64_t hint, uint64_t bytes);
// As asked for, but readable and writable from the beginning.
long bl_trap_map_open(struct bl_trap_call *c, uint64_t hint);
// Reserves addresses: nothing is behind them.
long bl_trap_reserve(struct bl_trap_call *c, uint64_t hint, uint64_t bytes);
// In place, or (`to` not 0) over what is at `to`.
long bl_trap_remap(struct bl_trap_call *c, uint64_t at, uint64_t from_bytes,
                   uint64_t to_bytes, uint64_t to);
long bl_trap_unmap(struct bl_trap_call *c, uint64_t at, uint64_t bytes);
// The program's bytes, copied by us. 0 or -errno.
int bl_trap_copy(const struct bl_trap_call *c, uint64_t to, uint64_t from,
                 uint64_t bytes);
// Gives its pages back; zeros come at the next touch.
long bl_trap_empty(struct bl_trap_call *c, uint64_t at, uint64_t bytes);
// Writes zeros. 0 or -errno.
int bl_trap_zero(const struct bl_trap_call *c, uint64_t at, uint64_t bytes);
long bl_trap_advise(struct bl_trap_call *c, uint64_t at, uint64_t bytes);

// Lets a call be made as it was meant and waits for its end, or for the thread
// or process that it makes; traced that is, whatever the program says
// (CLONE_UNTRACED). The kernel's result; the call is away.
long bl_trap_run(struct bl_trap_call *c);

// The program sees this result and goes on. What came in between, if `away`,
// is still to be taken; with -EINTR as well, the program makes its call anew.
void bl_trap_answer(struct bl_trap_call *c, long result);

// Of a mapping that is asked for.
bool bl_trap_is_fixed(const struct bl_trap_call *c); // at its address only
bool bl_trap_is_plain(const struct bl_trap_call *c); // readable, writable
// Addresses that glibc reserves for an arena of threads, and opens bit by bit.
bool bl_trap_is_arena(const struct bl_trap_call *c);
// Of a remapping that is asked for: it is a plain one, to anywhere.
bool bl_trap_may_move(const struct bl_trap_call *c);
bool bl_trap_is_aimed(const struct bl_trap_call *c); // at an address

#endif
