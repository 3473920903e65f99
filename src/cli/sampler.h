// SPDX-License-Identifier: MIT
//
// Watches a process and its descendants from outside, so that peak and end
// are known for a program that is killed, static, or brings its own malloc.
//
// Cheap by construction: a glance at /proc/PID/status tells whether memory has
// changed; smaps is read only then, or once a second, and /proc is searched
// for descendants seldom. Each of the three may take a third of 1 % of the
// time that has passed; reading smaps 3 ms in advance, so that a program of a
// tenth of a second is seen as well. While nothing changes glances get rare.
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
    uint64_t start_us;        // when watching began
    uint64_t maps_spent_us;   // on reading smaps so far
    uint64_t maps_cost_us;    // the last time
    uint64_t next_maps_us;    // even where nothing seems to have changed
    uint64_t next_scan_us;
    uint64_t glance_bytes; // resident at the last glance
    uint64_t sleep_us;     // after it
    uint64_t seen_bytes;   // resident at the last reading of smaps
};

void bl_sampler_init(struct bl_sampler *s, int pid);
// Looks; returns the microseconds to sleep before the next look.
uint64_t bl_sampler_look(struct bl_sampler *s);
void bl_sampler_free(struct bl_sampler *s);

#endif
