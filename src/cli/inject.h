// SPDX-License-Identifier: MIT
//
// The heap of a program that no preload reaches. A process of ours, the
// *keeper*, traces the program from its first instruction to its end, children
// and all, and serves its memory calls, which stop it (os/trap.h):
//
// - the break moves in steps of 2 MiB ahead of what the program asked for, and
//   the program is told what it asked for;
// - small private mappings are pieces of an area taken ahead, and what is
//   given back of them is used again;
// - large ones lie at multiples of 2 MiB, with room behind to grow
//   into; where one must move, it moves to such a place, so its huge pages do;
// - what was added is advised (MADV_HUGEPAGE), so that huge pages come at the
//   first touch.
//
// Should the keeper be killed, the program is killed with it
// (PTRACE_O_EXITKILL): no call of memory could be made any more.
//
#ifndef BL_CLI_INJECT_H
#define BL_CLI_INJECT_H

#include "cli/cli.h"
#include "os/trace.h"
#include "os/trap.h"

// A mapping in whole units, of which the program knows less; asked <= real.
struct bl_inject_area {
    uint64_t at;
    uint64_t asked; // in whole base pages
    uint64_t real;
};

// Memory of small mappings that the program gave back.
struct bl_inject_gap {
    uint64_t at, end;
};

// One per memory: threads and vfork's children share it.
struct bl_inject_space {
    unsigned users;
    bool idle; // not served: the runtime is in it or was switched off, or it is
    bool filtered;      // under a seccomp filter of its own, as what it becomes
    uint64_t asked;     // the break that the program knows; 0: not yet known
    uint64_t real;      // the break that the kernel knows
    uint64_t next;      // where the next large mapping goes
    uint64_t small_low; // where the area of small mappings begins
    uint64_t small_at, small_end; // mapped ahead, not yet handed out
    uint64_t small_step;          // and how much is taken next
    uint64_t small_used;          // behind it all is zero
    struct bl_inject_gap *gaps;   // among small mappings, by address, apart
    size_t gap_count;
    bool tainted; // the program maps over what it was given: none is used again
    uint64_t place, place_bytes; // reserved for a call that begins anew, or 0
    struct bl_inject_area *areas;
    size_t area_count;
};

void bl_inject_space_begin(struct bl_inject_space *s, bool idle);
// As after fork.
void bl_inject_space_copy(struct bl_inject_space *to,
                          const struct bl_inject_space *from);
void bl_inject_space_end(struct bl_inject_space *s);

struct bl_inject_count {
    uint64_t calls;
    uint64_t answered; // of these, those that needed no kernel
    uint64_t moves;    // mappings that moved
    uint64_t filtered; // programs served no more, for their seccomp filters
};

// What a call of the kernel gave is an error.
static inline bool bl_inject_failed(long result) {
    return result < 0 && result > -4096;
}

// Small mappings (inject_small.c). 0: the kernel has no more.
uint64_t bl_inject_take(struct bl_inject_space *s, struct bl_trap_call *call,
                        uint64_t bytes);
// False: it is none, and the kernel is to unmap it.
bool bl_inject_give(struct bl_inject_space *s, struct bl_trap_call *call,
                    uint64_t at, uint64_t bytes);
// A place of that many bytes and more, aligned; 0: no such place.
uint64_t bl_inject_slot(struct bl_inject_space *s, uint64_t bytes);
// The last piece that was handed out grows in place; false: it is another.
bool bl_inject_extend(struct bl_inject_space *s, uint64_t end, uint64_t more);

// Serves the call of memory at which `tid` stands. False: `call` went away and
// its status is to be taken.
bool bl_inject_serve(struct bl_inject_space *s, int tid,
                     struct bl_inject_count *count, struct bl_trap_call *call);

// The schema of the keeper's line in the file that BIGLEAF_REPORT names.
#define BL_INJECT_SCHEMA "bigleaf.injected/1"

// Takes over a program held at its first instruction, to its end.
void bl_inject_keep(struct bl_trace *held);
// Why it could not be: for the report, and for who asked for messages.
void bl_inject_note(const char *reason);

// True where this machine's programs can be kept.
bool bl_inject_is_possible(void);

#endif
