// SPDX-License-Identifier: MIT
//
// The command line that runs a program in the emulator with the plug-in: for
// the command, and for what an emulated program starts in its turn, since
// execve would run that on the machine itself, unseen.
//
#ifndef BL_TLB_EMULATE_H
#define BL_TLB_EMULATE_H

#include "base/base.h"

struct bl_emulator {
    char file[4096];   // of the emulator
    char plugin[9000]; // what follows -plugin
    const char *unset; // a variable not for the program; NULL: none
    uint16_t machine;  // e_machine of what it emulates: its own
};

// `plugin` is the file of the plug-in, `words` what it is given: commas in
// them are doubled, as the emulator reads them. False: no such files, or names
// that are too long.
bool bl_emulator_init(struct bl_emulator *e, const char *file,
                      const char *plugin, const char *const *words,
                      size_t count);

// The command line for `path`, with `argv` (not empty) of its own; scripts are
// resolved. In one block of malloc; NULL where the emulator cannot run the
// file: another machine's, setuid, or none at all.
char **bl_emulator_words(const struct bl_emulator *e, const char *path,
                         char *const *argv);

#endif
