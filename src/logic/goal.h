// SPDX-License-Identifier: MIT
//
// From a goal as a term to a call.
//
#ifndef BL_LOGIC_GOAL_H
#define BL_LOGIC_GOAL_H

#include "logic/clause.h"

// The goal without the modules in front of it.
bl_word bl_goal_plain(bl_word goal);

// Makes of call/N with its arguments in the registers (`extra` of them behind
// the goal) a call of a predicate, again with its arguments there; NULL with
// the ball set.
struct bl_pred *bl_goal_to_call(struct bl_machine *m, uint32_t extra);

// The same of tnot/1: the tabled predicate of its goal, or '$not'/1.
struct bl_pred *bl_goal_to_negate(struct bl_machine *m);

#endif
