// SPDX-License-Identifier: MIT
//
// The options that `run` and `compare` share: which heap, which pages, and
// the rest of the runtime's own.
//
#ifndef BL_CLI_REQUEST_H
#define BL_CLI_REQUEST_H

#include "cli/options.h"
#include "cli/plan.h"

#define BL_OPTION_HEAP                                                         \
    {                                                                          \
        "heap", 0, "bigleaf|glibc|injected|none", false,                       \
            "who provides the heap: the preloaded runtime (default), the "     \
            "program's own glibc by its tunable, the program itself with its " \
            "calls of memory served from outside, or the program unchanged"    \
    }

// Takes the option that the cursor stands on, where it is one of these.
// BL_STEP_END: it is not.
enum bl_step bl_request_take(const struct bl_cursor *cursor,
                             struct bl_request *request);

// Finds and inspects the program. 0, or the status to leave with (the user
// has been told).
int bl_request_program(const struct bl_cursor *cursor,
                       struct bl_program *program);

#endif
