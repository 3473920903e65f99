// SPDX-License-Identifier: MIT
//
// What is done to files for the sake of huge text.
//
#ifndef BL_CLI_ALIGN_H
#define BL_CLI_ALIGN_H

#include "cli/cli.h"
#include "os/file.h"

int bl_align_main(const struct bl_command *self, int argc, char **argv);
// For `bigleaf doctor --clean`.
int bl_clean_shadows(const struct bl_command *self);

#endif
