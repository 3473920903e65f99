// SPDX-License-Identifier: MIT
#ifndef BL_CLI_ALIGN_H
#define BL_CLI_ALIGN_H

#include "cli/cli.h"
#include "os/file.h"

int bl_align_main(const struct bl_command *self, int argc, char **argv);

#endif
