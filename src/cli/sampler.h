// SPDX-License-Identifier: MIT
//
// Watches a process and its descendants from outside, so that peak and end
// are known for a program that is killed, static, or brings its own malloc.
//
// Cheap by construction: a glance at /proc/PID/status tells whether memory
// grew; smaps is read only then, or once a second. After each look the sampler
// asks to sleep so long that at most 1 % of the time goes into looking.
//
#ifndef BL_CLI_SAMPLER_H
#define BL_CLI_SAMPLER_H

#include "cli/snapshot.h"

struct bl_sampler {
    int root;  // const: the program's pid
    int *pids; // the root first, then descendants in no order
    size_t pid_count;
    struct bl_snapshot peak;  // at the largest sum of resident bytes seen
    struct bl_snapshot later; // the last reading behind the peak, if any
    uint64_t peak_bytes;      // resident with hugetlb, largest process sum seen
    bool thp_disabled;        // the kernel refuses the program huge pages
    uint64_t next_scan_us;    // when descendants are looked for again
    uint64_t next_maps_us;    // not before that may smaps be read again
    uint64_t seen_bytes;      // resident at the last reading of smaps
    uint64_t looks;
};

void bl_sampler_init(struct bl_sampler *s, int pid);
// Looks; returns the microseconds to sleep before the next look.
uint64_t bl_sampler_look(struct bl_sampler *s);
// The last reading of all.
const struct bl_snapshot *bl_sampler_end(const struct bl_sampler *s);
void bl_sampler_free(struct bl_sampler *s);

uint64_t bl_now_us(void); // on a clock that never goes back

#endif
