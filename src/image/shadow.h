// SPDX-License-Identifier: MIT
//
// Shadow files: copies of a program's read-only segments on tmpfs, whose pages
// the kernel makes huge and every process of the user then shares; or on a
// hugetlbfs mount, whose pages are huge and come from the pool.
//
// A shadow is an ELF file of its own: the source's headers, every read-only
// segment and the symbol table, so that perf and gdb read names from it; what
// is not copied (written data, debug sections) is marked as absent. A segment
// lies at an offset that equals its address modulo 2 MiB, else no huge page
// could map it; where it has to move for that, program and section headers
// move with it. `phase` is the load bias modulo 2 MiB.
//
// A *seal* beside the shadow says what it is a copy of (device, inode, size,
// both times, phase) and how the finished shadow looked (inode, size, both
// times). The time of change cannot be set by anybody, so a shadow that was
// written, truncated, replaced or re-moded after its seal does not match it
// and is made anew. Both lie in a directory only this user may enter, belong
// to him, have mode 0400 and one link; anything else is not used.
//
// Making goes on under a lock on the directory, into a name of its own, is
// read back and compared, and is published by rename, the seal last: a maker
// that dies at any moment leaves nothing that passes for a shadow.
//
#ifndef BL_IMAGE_SHADOW_H
#define BL_IMAGE_SHADOW_H

#include "image/elf.h"
#include "os/file.h"

// Units, by the addresses in the source's headers.
struct bl_shadow_range {
    uint64_t vaddr;
    uint64_t bytes;
    uint64_t offset; // in the shadow
};

struct bl_shadow {
    int fd;
    uint64_t device;
    uint64_t inode;
    struct bl_shadow_range ranges[BL_ELF_SEGMENTS];
    uint32_t count;
    bool pool; // it is on hugetlbfs
    bool made; // by this call
};

// The file a shadow is made of.
struct bl_shadow_source {
    int fd;
    const char *path; // for the shadow's name
    struct bl_file_facts facts;
    const struct bl_elf *elf;
    uint64_t phase;
};

#define BL_SHADOW_PATH 512

// The path of this user's directory under `root`, or under the usual place
// where that is empty; false: it is too long, and cut.
bool bl_shadow_directory(const char *root, char path[BL_SHADOW_PATH]);
// Opens (and makes) that directory, or one under the next usual place. Where
// shadows may be run from there: NULL and a handle, else the reason.
const char *bl_shadow_open_directory(const char *root, int *out);

// Finds or makes the shadow. NULL and a handle to close, else the reason.
// Where another process is making shadows, waits for it at most `wait_ms`.
const char *bl_shadow_get(int directory, const struct bl_shadow_source *source,
                          uint32_t wait_ms, struct bl_shadow *out);
// The same, but never makes one.
const char *bl_shadow_find(int directory, const struct bl_shadow_source *source,
                           struct bl_shadow *out);

// Where the shadow holds [start, end) of a program loaded with `bias`: false
// where it does not hold all of it, or not so that huge pages could map it.
bool bl_shadow_offset(const struct bl_shadow *shadow, uint64_t bias,
                      uint64_t start, uint64_t end, uint64_t *out);

// True for a mapped file that is itself a shadow of this user's.
bool bl_shadow_is_one(const char *path, const struct bl_file_facts *facts);

struct bl_shadow_census {
    uint32_t removed; // shadows
    uint64_t removed_bytes;
    uint32_t left;
    uint64_t left_bytes;
};

// Removes this user's shadows that were not used for `seconds`, and what dead
// makers left. Running programs keep theirs: the pages go with the last of
// them. NULL, or why not.
const char *bl_shadow_clean(const char *root, uint64_t seconds,
                            struct bl_shadow_census *out);
// What this user's shadows and their seals take. Makes no directory.
uint64_t bl_shadow_bytes(const char *root);

#endif
