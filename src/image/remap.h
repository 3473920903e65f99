// SPDX-License-Identifier: MIT
//
// Replacing whole 2 MiB units of a mapping by huge pages with the same bytes.
// Private to `image`.
//
// Both ways replace the mapping by one system call, under the kernel's lock:
// there is no moment at which the range is not mapped, so this very code, the
// C library and other threads may all run from it.
//
#ifndef BL_IMAGE_REMAP_H
#define BL_IMAGE_REMAP_H

#include "base/base.h"

// Units [start, end) of this process, of which [mapped_start, mapped_end) is
// part of a private file mapping and the rest is unused.
struct bl_remap {
    uint64_t start;
    uint64_t end;
    uint64_t mapped_start;
    uint64_t mapped_end;
    unsigned protection; // of enum bl_file_protection
    int file;            // the mapped file, to put back; -1: not to be had
    uint64_t offset;     // of `mapped_start` in it
    uint64_t huge;       // out: bytes huge afterwards
    bool unknown;        // out: the kernel does not tell; `huge` is 0
    bool shadowed;       // out: the shadow is mapped, huge or not
};

extern const char bl_remap_no_huge_page[]; // reasons
extern const char bl_remap_not_told[];

// Maps `shadow` at `offset` over the units; `pool`: it is on hugetlbfs. NULL,
// or why it was left.
const char *bl_remap_file(struct bl_remap *r, int shadow, uint64_t offset,
                          bool pool);

// Puts a private copy in place of the units, all of which must be mapped.
// NULL, or why it was left.
const char *bl_remap_copy(struct bl_remap *r);

// True where the kernel maps the units, all of them mapped, huge as they are,
// or could be led to.
bool bl_remap_is_huge_already(struct bl_remap *r);

#endif
