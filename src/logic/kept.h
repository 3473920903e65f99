// SPDX-License-Identifier: MIT
//
// Answers that outlive their table.
//
#ifndef BL_LOGIC_KEPT_H
#define BL_LOGIC_KEPT_H

#include "logic/tabling.h"

// Called before `table`, or with NULL every table of this thread, goes.
// False: ball set.
BL_MUST_USE bool bl_keep_answers(struct bl_machine *m,
                                 const struct bl_table *table);
// Empties all tables of this thread if `abolish_soon` asks for it and nothing
// is being evaluated. False: ball set.
BL_MUST_USE bool bl_abolish_if_idle(struct bl_machine *m);
// Backtracking into a choice point that has copies.
enum bl_tabling_step bl_retry_kept(struct bl_machine *m);
void bl_kept_drop_all(struct bl_tabler *t);

#endif
