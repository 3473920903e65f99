// SPDX-License-Identifier: MIT
//
// The figures of `tabling_statistics` and `--stats`.
//
#ifndef BL_LOGIC_STATISTICS_H
#define BL_LOGIC_STATISTICS_H

#include "logic/clause.h"

// Of one tabled predicate, or of all where `p` is NULL, on the machine's
// current output.
void bl_statistics_print(struct bl_machine *m, const struct bl_pred *p);
// The same as one line of JSON, schema leaflog.tables/1.
void bl_statistics_json(struct bl_machine *m, FILE *out);

#endif
