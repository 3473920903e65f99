// SPDX-License-Identifier: MIT
//
// What a compiler's command line asks for, as far as the wrapper must know:
// does it link, and what. The words are those that gcc and clang share.
//
#ifndef BL_CLI_LINK_LINE_H
#define BL_CLI_LINK_LINE_H

#include "cli/cli.h"

struct bl_link_line {
    bool compiles;         // an input that may include a header
    bool links;            // the linker will run
    bool shared;           // it makes a shared library
    bool is_static;        // it makes a static program
    bool bare;             // without the C library
    bool narrow;           // for the 32-bit machine
    bool chosen_linker;    // -fuse-ld
    const char *sanitizer; // one that brings a malloc of its own; NULL: none
};

// `words` without the compiler's name. What "@FILE" names is read; a file that
// cannot be read counts as an input, as it does with the compiler.
void bl_link_line_read(int count, char **words, struct bl_link_line *out);

#endif
