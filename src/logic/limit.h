// SPDX-License-Identifier: MIT
//
// Limits on time, and Ctrl-C: both interrupt a machine from outside.
//
#ifndef BL_LOGIC_LIMIT_H
#define BL_LOGIC_LIMIT_H

#include "logic/machine.h"

// The machine gets BL_INT_TIME at that moment of `bl_now_ns`; 0: no limit.
// False where the thread that watches the first limit cannot be made.
bool bl_limit_set_deadline(struct bl_machine *m, uint64_t at_ns);
// What that is now; where it has passed and is not answered yet, a moment long
// past. 0: no limit.
uint64_t bl_limit_deadline(struct bl_machine *m);
// SIGINT interrupts this machine from now on; a second one while it has not
// answered ends the program. NULL: the default action again.
void bl_limit_catch_interrupts(struct bl_machine *m);
// Somebody sits at a terminal: between goals SIGINT ends nothing from now on.
void bl_limit_begin_session(void);
// Whether one came between goals since the last question.
bool bl_limit_was_idle_interrupt(void);

#endif
