// SPDX-License-Identifier: MIT
//
// What backs a process or a tree of processes at one moment: sums by region,
// and the same by object (a program, a library, the heap), so that a report
// can say why a part is not huge.
//
#ifndef BL_CLI_SNAPSHOT_H
#define BL_CLI_SNAPSHOT_H

#include "cli/cli.h"
#include "os/backing.h"

// One object in one region, over all processes and mappings; bytes.
struct bl_object {
    enum bl_region region;
    char *name;
    uint64_t plain[BL_CAUSES]; // resident and not huge
};

// What puts text on huge pages, by what was seen.
enum bl_text_mechanism {
    BL_TEXT_NONE,
    BL_TEXT_FILE,      // the page cache's own huge pages
    BL_TEXT_ANONYMOUS, // a private copy
    BL_TEXT_SHADOW,    // a shared copy on tmpfs or in a memfd
    BL_TEXT_MECHANISMS
};

extern const char *const bl_text_mechanism_names[BL_TEXT_MECHANISMS];

struct bl_snapshot {
    struct bl_backing backing; // sums over the processes
    unsigned processes;        // 0: nothing was read
    enum bl_text_mechanism text;
    struct bl_object *objects;
    size_t object_count;
};

void bl_snapshot_init(struct bl_snapshot *s);
// Adds what backs `pid` now; 0 or -errno (and then nothing was added).
int bl_snapshot_add(struct bl_snapshot *s, int pid);
// Adds `plain` bytes of one object.
void bl_snapshot_add_object(struct bl_snapshot *s, enum bl_region region,
                            const char *name, enum bl_cause cause,
                            uint64_t plain);
void bl_snapshot_free(struct bl_snapshot *s);

#endif
