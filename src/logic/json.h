// SPDX-License-Identifier: MIT
//
// Answers as JSON, one line each, schema leaflog.answer/1.
//
#ifndef BL_LOGIC_JSON_H
#define BL_LOGIC_JSON_H

#include "logic/machine.h"
#include "logic/reader.h"
#include "logic/writer.h"

// {"schema":"leaflog.answer/1","bindings":{"X":...}}; a term that
// contains itself is {"cyclic":true}.
void bl_json_answer(struct bl_machine *m, struct bl_out *o,
                    const struct bl_read_result *query);
// Numbers as they are, atoms as strings, lists as arrays, f(a) as
// {"functor":"f","args":["a"]}, a variable as {"var":"_"}, a float that is no
// number of JSON as {"float":"1.0Inf"}.
void bl_json_term(struct bl_machine *m, struct bl_out *o, bl_word t);

#endif
