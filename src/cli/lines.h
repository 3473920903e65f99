// SPDX-License-Identifier: MIT
//
// The lines (`bigleaf.process/1`) that processes under the runtime append when
// they end, taken into a result. A line may be cut or foreign: what is not
// understood is passed over.
//
#ifndef BL_CLI_LINES_H
#define BL_CLI_LINES_H

#include "cli/launch.h"

// Takes the lines of `file` (NULL: none) and appends them to `onward` (what
// BIGLEAF_REPORT said to this command; may be NULL).
void bl_lines_collect(struct bl_result *result, const char *file,
                      const char *onward);

#endif
