// SPDX-License-Identifier: MIT
//
// From a goal as a term to a call.
//
#ifndef BL_LOGIC_GOAL_H
#define BL_LOGIC_GOAL_H

#include "logic/clause.h"

// Makes of call/N with its arguments in the registers (`extra` of them behind
// the goal) a call of a predicate, again with its arguments there; NULL with
// the ball set.
struct bl_pred *bl_goal_to_call(struct bl_machine *m, uint32_t extra);

#endif
