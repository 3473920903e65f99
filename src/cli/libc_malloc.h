// SPDX-License-Identifier: MIT
//
// The C library's own malloc, to be linked into a static program beside ours.
//
#ifndef BL_CLI_LIBC_MALLOC_H
#define BL_CLI_LIBC_MALLOC_H

#include "cli/cli.h"

// A compiler's call. Each list has as many words as its number says.
struct bl_compiler_call {
    char *const *compiler; // its name and its options
    size_t compiler_words;
    char *const *given;
    size_t given_words;
    const char *runtime; // the object whose names the libc's must not have
};

// A path that the linker reads while this process, or what it executes, runs;
// free() it. NULL where the program's libc has no malloc that can be told from
// ours: then the runtime does without.
char *bl_libc_malloc_object(const struct bl_compiler_call *call);

#endif
