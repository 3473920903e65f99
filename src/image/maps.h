// SPDX-License-Identifier: MIT
//
// The mappings of a process that come from files, as /proc/PID/maps lists
// them. Private to `image`.
//
#ifndef BL_IMAGE_MAPS_H
#define BL_IMAGE_MAPS_H

#include "base/base.h"
#include "os/file.h"

struct bl_maps_entry {
    uint64_t start;
    uint64_t end;
    uint64_t offset;
    uint64_t inode; // 0: anonymous
    uint32_t major;
    uint32_t minor;
    bool readable;
    bool writable;
    bool executable;
    bool shared;
    const char *path; // "" for none; lives as long as the list
};

// The whole list in one piece of scratch memory. pid 0: this process.
struct bl_maps {
    char *text;   // its lines, each ended by a NUL, and an empty one
    size_t bytes; // of the scratch memory
    bool cut;     // there are more
};

// 0 or -errno.
int bl_maps_read(int pid, struct bl_maps *out);
void bl_maps_free(struct bl_maps *maps);

// Reads the entry at *cursor (first: maps->text) and moves it on; false at
// the end.
bool bl_maps_next(const char **cursor, struct bl_maps_entry *out);

// A mapping of the file, as a rule: its device and inode.
struct bl_maps_entry bl_maps_of_file(const struct bl_file_facts *facts);
// By device and inode.
bool bl_maps_is_same_file(const struct bl_maps_entry *a,
                          const struct bl_maps_entry *b);
// How the list of this process names an open file: on btrfs, and on overlayfs
// before Linux 6.8, not by the device that fstat says. False: no telling.
bool bl_maps_identify(int fd, struct bl_maps_entry *out);

#endif
