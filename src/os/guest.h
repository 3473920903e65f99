// SPDX-License-Identifier: MIT
//
// What the emulator plug-in (src/tlb) asks of the kernel: files that grow
// under shared mappings, the mappings of its own process, and execve.
//
// Linked into the plug-in only, never into the runtime: it uses libc freely,
// and may be called from any thread.
//
#ifndef BL_OS_GUEST_H
#define BL_OS_GUEST_H

#include "base/base.h"

// Maps `bytes` more of the file at `offset`, shared and backed: a full disk or
// a limit is NULL here and no signal later. At offset 0 the file is made, and
// must not be there.
void *bl_guest_extend(const char *path, uint64_t offset, size_t bytes);
void bl_guest_unmap(void *at, size_t bytes);

struct bl_guest_mapping {
    uint64_t start, end, offset;
    bool writable;
    char path[1024]; // "" where there is no file
};
// All mappings of this process, in the order of their addresses.
void bl_guest_mappings(void (*each)(const struct bl_guest_mapping *m,
                                    void *context),
                       void *context);
// Of this process's command line, the word `further` behind `option`; "" where
// there is none.
void bl_guest_own_word(const char *option, unsigned further, char *word,
                       size_t capacity);

// What a system call, with this first argument, does to the address space.
enum bl_guest_change {
    BL_GUEST_NOTHING,
    BL_GUEST_MAP,
    BL_GUEST_UNMAP,
    BL_GUEST_MOVE,
    BL_GUEST_BREAK,
    BL_GUEST_EXEC,
    BL_GUEST_FORK
};
enum bl_guest_change bl_guest_change_of(int64_t call, uint64_t argument);

// Arguments of mmap, read.
struct bl_guest_map_flags {
    bool file;
    bool private_memory;
    bool stack;
    bool writable;
    bool executable;
};
struct bl_guest_map_flags bl_guest_map_flags(uint64_t protection,
                                             uint64_t flags);

#endif
