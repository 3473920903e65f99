// SPDX-License-Identifier: MIT
//
// `bigleaf attach`: huge pages for a program that already runs.
//
// A *round* looks at the process's memory (smaps, pagemap), marks its large
// writable areas so that what it touches next comes in huge pages
// (MADV_HUGEPAGE), and makes huge pages of what is there, one after the other
// (MADV_COLLAPSE). Marks may only be set by the process itself; collapsing is
// done from outside where the kernel allows it. What is left to the process is
// done by a visitor (os/visitor.h), and the program is stopped once in a round:
// for as long as it takes to let the visitor in. Else a thread of it waits only
// where it touches a unit that is being collapsed.
//
// A 2 MiB unit is collapsed where at least half of it is resident and belongs
// to this process alone: so memory at most doubles where it is thinnest, and
// nothing that is shared after a fork is copied.
//
#ifndef BL_CLI_ATTACH_H
#define BL_CLI_ATTACH_H

#include "cli/cli.h"
#include "cli/json.h"
#include "os/backing.h"
#include "os/target.h"
#include "os/visitor.h"

struct bl_attach_area {
    uint64_t start, end; // whole units
    uint64_t from, to;   // the mapping
    bool mark;
    bool collapse;
};

// Bytes left on base pages by the last round, by reason.
enum bl_attach_left {
    BL_LEFT_SPARSE,  // units less than half in use by this process alone
    BL_LEFT_REFUSED, // the program advised against huge pages
    BL_LEFT_FAILED,  // the kernel did not
    BL_LEFTS
};

struct bl_attach {
    struct bl_target target; // const
    struct bl_visitor visitor;
    bool visited; // a visitor is there
    int handle;   // of the process, for calls from outside; < 0: none
    int claim;
    bool outside;       // collapses from outside
    bool may_inject;    // const
    bool may_collapse;  // const
    unsigned shortages; // refusals in a row
    char *wrong;        // why it went no further; NULL: nothing
    bool passing;       // and that may be otherwise later
    bool ended;         // the process is gone
    // What was done.
    unsigned rounds;
    unsigned marked_areas;
    uint64_t marked;
    uint64_t left[BL_LEFTS];
    int last_errno;               // of BL_LEFT_FAILED
    uint64_t longest_collapse_ns; // of one unit
    uint64_t begin_ns;
    double seconds, cpu_seconds;
    struct bl_backing before, after;
};

// 0, or -1 where the process cannot be served: `wrong` says why.
int bl_attach_open(struct bl_attach *a, int pid);
// Why the memory of a process could not be looked at: a shortage here, or, as
// any other error tells, its end.
void bl_attach_unseen(struct bl_attach *a, int error);
void bl_attach_close(struct bl_attach *a);
// Ends early, with `wrong` set or not, where a signal asks this command to
// end.
void bl_attach_round(struct bl_attach *a);
// A signal that asks this command to end has come and waits.
bool bl_attach_interrupted(void);

void bl_attach_text(FILE *out, const struct bl_attach *a);
void bl_attach_line(FILE *out, const struct bl_attach *a); // for --all
void bl_attach_round_line(FILE *out, const struct bl_attach *a,
                          const struct bl_backing *round_before);
void bl_attach_json(struct bl_json *j, const struct bl_attach *a);

// Every process of at least `least` bytes; `user` -1: of any user.
struct bl_attach_choice {
    uint64_t least;
    int64_t user;
    bool json;
};
int bl_attach_all(const struct bl_command *self,
                  const struct bl_attach_choice *choice);

#endif
