// SPDX-License-Identifier: MIT
//
// The measurements of `leaflog bench`: every run is a process of its own
// (bench_run.h), so that first runs are first and another allocator can be put
// underneath; what is compared runs in turn, A B ... B A, so that a machine
// that changes its speed does so for all.
//
#ifndef BL_LOGIC_BENCH_MEASURE_H
#define BL_LOGIC_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>

enum { BL_BENCH_MAX_ROUNDS = 64 };

struct bl_bench_variant {
    const char *label;
    const char *tables, *locks, *alloc;
    const char *preload; // an allocator below malloc, or NULL
    const char *backing; // BIGLEAF_PAGES, or NULL
    bool alone;          // one thread, whatever the row has
};

struct bl_bench_time {
    double cpu, system, wall; // seconds, all threads together
};

// What one process says.
struct bl_bench_sample {
    struct bl_bench_time first, second;
    unsigned long long calls, call_nodes, unique, repeated, answer_nodes;
    double rss_mib; // the peak of the first run
    double huge;    // the share of the tables' memory that is on huge pages
};

// The samples of one variant.
struct bl_bench_series {
    struct bl_bench_sample samples[BL_BENCH_MAX_ROUNDS];
    int n; // 0: it could not be measured
};

struct bl_bench_plan {
    const char *self;   // leaflog
    const char *folder; // of programs, or NULL
    const char *program;
    int threads;
    int rounds;        // up to BL_BENCH_MAX_ROUNDS
    size_t warm_bytes; // touched, and given back, before every process
};

// A variant that cannot be measured is left out of the rounds after the first.
void bl_bench_measure(const struct bl_bench_plan *plan,
                      const struct bl_bench_variant *variants, size_t n,
                      struct bl_bench_series *series);

// The median of what `of` says of the samples, of which there must be one.
double bl_bench_median(const struct bl_bench_series *series,
                       double (*of)(const struct bl_bench_sample *));

#endif
