// SPDX-License-Identifier: MIT
//
// The C library's own malloc, to be linked into a static program beside ours.
//
#ifndef BL_CLI_LIBC_MALLOC_H
#define BL_CLI_LIBC_MALLOC_H

#include "cli/cli.h"

// The words of a compiler's call; `words` ends with NULL.
struct bl_compiler_call {
    char *const *words;
    size_t own; // so many of them are the compiler's name and its options
    const char *runtime; // libbigleaf.a
};

// A path that the linker reads while this process, or what it executes, runs;
// free() it. NULL where the program's libc has no malloc that can be told from
// ours: then the runtime does without.
char *bl_libc_malloc_object(const struct bl_compiler_call *call);

#endif
