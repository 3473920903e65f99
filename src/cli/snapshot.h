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

// Why a mapping is not all huge, as far as the mapping itself shows.
enum bl_cause {
    BL_CAUSE_NONE,      // it is
    BL_CAUSE_SMALL,     // holds no whole aligned 2 MiB
    BL_CAUSE_REFUSED,   // MADV_NOHUGEPAGE
    BL_CAUSE_TAIL,      // the kernel would give more, less than 2 MiB is used
    BL_CAUSE_SHORTAGE,  // the kernel would give more, and did not
    BL_CAUSE_UNADVISED, // the kernel gives none here
    BL_CAUSES
};

// One object in one region, over all processes and mappings; bytes.
struct bl_object {
    enum bl_region region;
    char *name;
    bool own;                  // the runtime's heap
    uint64_t plain[BL_CAUSES]; // resident and not huge
};

// What puts text on huge pages, by what was seen.
enum bl_text_mechanism {
    BL_TEXT_NONE,
    BL_TEXT_FILE,      // the page cache's own huge pages
    BL_TEXT_ANONYMOUS, // a private copy
    BL_TEXT_SHADOW     // a shared copy on tmpfs or in a memfd
};

extern const char *const bl_text_mechanism_names[];

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
void bl_snapshot_free(struct bl_snapshot *s);

#endif
