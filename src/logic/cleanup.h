// SPDX-License-Identifier: MIT
//
// What shall run when a goal is through: setup_call_cleanup/3.
//
#ifndef BL_LOGIC_CLEANUP_H
#define BL_LOGIC_CLEANUP_H

#include "logic/machine.h"

// Runs the cleanups of the choice points above `b`, which are about to be cut.
// False where one of them threw: its ball is set.
BL_MUST_USE bool bl_cleanup_above(struct bl_machine *m,
                                  const struct bl_choice *b);
// Runs that of the newest choice point, which backtracking has come to, and
// takes the choice point away. False where it threw: its ball is set.
BL_MUST_USE bool bl_cleanup_in_failure(struct bl_machine *m);
// Runs that of choice point `b`, which an error takes away: the machine is
// where it was when the goal was called, and the ball is kept.
void bl_cleanup_in_error(struct bl_machine *m, struct bl_choice *b);

#endif
