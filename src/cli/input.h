// SPDX-License-Identifier: MIT
//
// Standard input of a program that runs more than once. Every run must read
// the same: a file from the same place each time, anything else is nothing.
//
#ifndef BL_CLI_INPUT_H
#define BL_CLI_INPUT_H

#include "cli/cli.h"

#include <sys/types.h>

struct bl_input {
    int file;
    off_t start;      // -1: nothing
    bool may_be_lost; // what somebody gives; a terminal's user knows
};

struct bl_input bl_input_open(void);
// Back to where it stood.
void bl_input_rewind(const struct bl_input *in);
// Something stands in it that a later run does not get.
bool bl_input_waits(const struct bl_input *in);
// Tells, once, that `who` finds it empty, where somebody may have given it.
void bl_input_tell(struct bl_input *in, const struct bl_command *command,
                   const char *who);

#endif
