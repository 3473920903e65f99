// SPDX-License-Identifier: MIT
//
// From an instruction to its function and source line, with libdw: symbol
// tables, DWARF (separate files too, and debuginfod where the environment
// names servers), and where a file is stripped of all of that, the bounds of
// functions in its unwind tables, so that a function has at least an address
// for a name.
//
#ifndef BL_CLI_SYMBOLS_H
#define BL_CLI_SYMBOLS_H

#include "cli/cli.h"

struct bl_symbols;

enum { BL_MOST_INLINED = 16 };

// Where an instruction is. Strings live as long as the symbols.
struct bl_place {
    const char *object;   // file name without folders, or what it is instead
    const char *function; // the one that was compiled, not what is inlined
    const char *file;     // of the line in that function; NULL: not known
    int line;
    // What is inlined here, outermost first.
    const char *inlined[BL_MOST_INLINED];
    size_t inlined_count;
};

struct bl_symbols *bl_symbols_new(void);
void bl_symbols_free(struct bl_symbols *symbols);
// `path` is "" for memory without a file; then `offset` is an address.
void bl_symbols_place(struct bl_symbols *symbols, const char *path,
                      uint64_t offset, struct bl_place *out);
// A name of the caller's that lives as long.
const char *bl_symbols_name(struct bl_symbols *symbols, const char *name);

#endif
