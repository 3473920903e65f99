// SPDX-License-Identifier: MIT
//
// What kind of file a program is, as far as its heap and text are concerned.
//
#ifndef BL_CLI_PROGRAM_H
#define BL_CLI_PROGRAM_H

#include "cli/cli.h"

enum bl_program_kind {
    BL_PROGRAM_DYNAMIC, // has a program interpreter: LD_PRELOAD works
    BL_PROGRAM_STATIC,
    BL_PROGRAM_FOREIGN, // an ELF file of another class or machine
    BL_PROGRAM_UNKNOWN  // no ELF file, or a broken one
};

struct bl_program {
    char *path;        // as it is executed
    char *script;      // not NULL: `path` is the interpreter of this script
    char *interpreter; // PT_INTERP; NULL: none
    char *runtime;     // version of the runtime linked in; NULL: none
    const char *other; // what it is instead of a program; NULL: it may be one
    enum bl_program_kind kind;
    uint16_t machine; // e_machine; 0: unknown
    unsigned bits;    // 32 or 64; 0: unknown
    bool position_independent;
    bool app_image;      // brings a file system with the real program in it
    bool secure;         // setuid, setgid or capabilities take effect
    bool defines_malloc; // in its dynamic symbol table, where it wins over a
                         // preload, or in the library of a sanitizer
    bool sanitized;      // such a library wants to be ahead of any preload
    bool thp_malloc;     // its libc's malloc has our patch (packaging/glibc)
    bool needs_runtime;  // linked with libbigleaf.so
    bool libc_malloc;    // its libc's malloc is there too, for BIGLEAF=off
    bool tunable;        // its libc knows glibc.malloc.hugetlb (glibc 2.35)
    uint64_t text_bytes; // of the largest executable segment
    uint64_t text_align; // its p_align
    uint64_t text_whole; // whole 2 MiB units in it, in bytes
    uint64_t data_bytes; // of the largest writable segment, .bss with it
};

// The file that execvp would run, by a name with a '/'. 0, or ENOENT, ...
int bl_program_find(const char *name, char **path);
// Never fails: what cannot be read is BL_PROGRAM_UNKNOWN. Follows "#!" lines.
void bl_program_inspect(const char *path, struct bl_program *out);
// Of a shared library the path, machine and kind (dynamic), nothing else: its
// symbols are not looked through at each start of a program.
void bl_program_inspect_library(const char *path, struct bl_program *out);
void bl_program_free(struct bl_program *program);

// Linked in, or linked with: then it serves unless BIGLEAF=off.
bool bl_program_has_runtime(const struct bl_program *program);

// Whether the first line may be one of a script: no zero byte is in it.
bool bl_program_is_text(const char *path);
// Whether a text stands in the file, anywhere.
bool bl_program_contains(const char *path, const char *text);

// e_machine of this command itself.
uint16_t bl_program_own_machine(void);
const char *bl_program_machine_name(uint16_t machine);
// One line about the loader and libc, e.g. "dynamic, 64-bit x86-64, PIE".
char *bl_program_describe(const struct bl_program *program);

#endif
