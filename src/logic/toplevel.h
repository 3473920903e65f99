// SPDX-License-Identifier: MIT
//
// The top level: goals typed at a terminal or read from a pipe, their answers,
// and single goals from the command line.
//
#ifndef BL_LOGIC_TOPLEVEL_H
#define BL_LOGIC_TOPLEVEL_H

#include "logic/machine.h"

struct bl_toplevel_options {
    bool json;
    bool stats;
    int threads;
};

// Whether somebody types the goals.
bool bl_toplevel_is_interactive(void);
// Runs until end of input or halt; the exit status.
int bl_toplevel(struct bl_machine *m, const struct bl_toplevel_options *o);
// Runs the goal once, or in so many threads: 0 true, 1 false, 2 error; what
// halt/1 said. With `json` all answers are printed.
int bl_run_goal(struct bl_machine *m, const char *goal,
                const struct bl_toplevel_options *o);

#endif
