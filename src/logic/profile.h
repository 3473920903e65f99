// SPDX-License-Identifier: MIT
//
// Counting calls per predicate (`--profile`). Off, it costs one test a call.
//
#ifndef BL_LOGIC_PROFILE_H
#define BL_LOGIC_PROFILE_H

#include "logic/clause.h"

extern bool bl_profiling; // const once machines run

void bl_profile_call(struct bl_pred *p);
void bl_profile_print(FILE *out);

// The flag `unknown`: whether calling this undefined predicate is an error.
bool bl_unknown_is_error(const struct bl_pred *p);
void bl_warn_of_unknown(const struct bl_pred *p); // if the flag says so

#endif
