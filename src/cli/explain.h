// SPDX-License-Identifier: MIT
//
// Why a part of a program's memory is not on huge pages. Each reason comes
// from something read: the machine's THP mode, the flags and sizes of the
// mappings, and what the plan could not do.
//
#ifndef BL_CLI_EXPLAIN_H
#define BL_CLI_EXPLAIN_H

#include "cli/launch.h"

struct bl_fallback {
    enum bl_region region;
    char *object;
    uint64_t bytes; // resident and not huge
    char *reason;
};

struct bl_fallbacks {
    struct bl_fallback *at;
    size_t count;
};

void bl_explain(const struct bl_result *result, struct bl_fallbacks *out);
void bl_fallbacks_free(struct bl_fallbacks *f);

#endif
