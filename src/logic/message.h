// SPDX-License-Identifier: MIT
//
// Error terms as sentences, and their context.
//
#ifndef BL_LOGIC_MESSAGE_H
#define BL_LOGIC_MESSAGE_H

#include "logic/clause.h"
#include "logic/record.h"
#include "logic/writer.h"

// Fills the second argument of error/2 where it is free: from the builtin that
// failed, or NULL, and from the clause that `pc` is in.
void bl_error_add_context(struct bl_machine *m, const bl_word *pc,
                          const struct bl_pred *culprit);

void bl_message_of(struct bl_machine *m, bl_word ball, struct bl_out *out);
// One line or more on standard error, with `where` in front or "leaflog".
void bl_print_record(struct bl_machine *m, const struct bl_record *ball,
                     const char *where);

#endif
