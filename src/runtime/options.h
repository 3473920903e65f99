// SPDX-License-Identifier: MIT
//
// The runtime's options, made from base/options.def and read from the
// environment. Const after start-up.
//
#ifndef BL_RUNTIME_OPTIONS_H
#define BL_RUNTIME_OPTIONS_H

#include "base/base.h"

struct bl_options {
#define BL_SWITCH(key, name, initial, help) bool key;
#define BL_CHOICE(key, name, initial, choices, help) unsigned key;
#define BL_NUMBER(key, name, initial, low, high, help) uint64_t key;
#define BL_PATH(key, name, help) const char *key; // a copy of ours
#define BL_FOLDER BL_PATH
#include "base/options.def"
#undef BL_SWITCH
#undef BL_CHOICE
#undef BL_NUMBER
#undef BL_PATH
#undef BL_FOLDER
};

extern struct bl_options bl_options;

// Reads `environment` (NULL-terminated, as `environ`). A wrong value gets one
// line on standard error, and the default stays.
void bl_options_read(char *const *environment);
// What it would make of `bl_options.on`; changes and says nothing.
bool bl_options_leave_on(char *const *environment);

#endif
