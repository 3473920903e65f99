// SPDX-License-Identifier: MIT
//
// The processor's own counters (perf_event_open): how often events happened in
// a program that is about to be started and in all that it starts, and at
// which instructions.
//
// Counters are opened on this thread, asleep, to be inherited by a child and
// to wake at its execve; this process itself never counts. A thread drains the
// samples while the program runs.
//
// For the command only; it uses libc freely.
//
#ifndef BL_OS_COUNTERS_H
#define BL_OS_COUNTERS_H

#include "base/base.h"

enum { BL_COUNTERS_MOST = 16 };

enum bl_counter_kind {
    BL_COUNTER_RAW,      // the processor's own number
    BL_COUNTER_CACHE,    // the kernel's generic cache events
    BL_COUNTER_SOFTWARE, // of the kernel: page faults and the like
    BL_COUNTER_KINDS
};

extern const char *const bl_counter_kind_names[BL_COUNTER_KINDS];

struct bl_counter_event {
    char name[64];
    enum bl_counter_kind kind;
    uint64_t config;
};

// As /proc/cpuinfo has it; vendor "ARM" of all that Arm designed.
struct bl_counter_processor {
    char vendor[32];
    unsigned family;
    unsigned model;
};

// TLB events of a processor, at most eight, the one to be sampled first.
size_t bl_counters_of(const struct bl_counter_processor *processor,
                      struct bl_counter_event *out);
// TLB events of this machine's processor, the one to be sampled first; their
// number.
size_t bl_counters_of_processor(struct bl_counter_event *out, char *processor,
                                size_t capacity);

// As the kernel gives it; in ns it was enabled, and ran.
struct bl_counter_reading {
    uint64_t count, enabled, running;
};

// Scaled up to all of the time; UINT64_MAX where it never ran.
uint64_t bl_counter_value(const struct bl_counter_reading *reading);

struct bl_counters;

// What a sample hit: a file and a place in it, or "" and an address.
typedef void bl_counters_sample(void *context, const char *path,
                                uint64_t offset);

// NULL: *error is why, as errno has it. Events that the processor does not
// know are left out, but for the first.
struct bl_counters *bl_counters_open(const struct bl_counter_event *events,
                                     size_t count, int *error);
// Stops all of it. counts[i] is of events[i]: UINT64_MAX where it was not to
// be had. Where counters took turns, counts are scaled up.
void bl_counters_close(struct bl_counters *counters, uint64_t *counts,
                       uint64_t *lost, bl_counters_sample *each, void *context);

#endif
