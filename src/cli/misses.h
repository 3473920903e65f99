// SPDX-License-Identifier: MIT
//
// What the emulated processes of one run missed, put together from their
// profiles: totals, functions with their lines, and the tree of calls behind a
// flame graph. Sampled figures are scaled up to the whole run.
//
#ifndef BL_CLI_MISSES_H
#define BL_CLI_MISSES_H

#include "cli/symbols.h"
#include "tlb/tlb.h"

struct bl_cost {
    uint64_t first;  // not in the first level
    uint64_t walks;  // nor in the second
    uint64_t cycles; // spent translating, estimated
};

struct bl_line_misses {
    const char *file; // NULL: not known
    int line;
    struct bl_cost cost[BL_TLB_POLICIES];
};

struct bl_function_misses {
    const char *name;
    const char *object;
    struct bl_cost cost[BL_TLB_POLICIES];
    struct bl_line_misses *lines; // the costliest first
    size_t line_count;
};

// A function, an inlined one or a line, under what called or holds it.
struct bl_call_node {
    const char *name;
    uint64_t walks[BL_TLB_POLICIES]; // here and below
    struct bl_call_node **children;  // by name
    size_t child_count;
};

struct bl_process_misses {
    int pid;
    int parent;
    char *program;
    uint64_t start_us;
    uint64_t threads;
    uint64_t instructions;
    uint64_t counted_instructions;
    uint64_t accesses;
    uint64_t lost; // misses that could not be recorded
    struct bl_cost cost[BL_TLB_SIDES][BL_TLB_POLICIES];
};

struct bl_misses {
    struct bl_process_misses *processes; // in the order of their starts
    size_t process_count;
    struct bl_process_misses total;
    struct bl_function_misses *functions; // the costliest first
    size_t function_count;
    struct bl_call_node root;
    struct bl_symbols *symbols;
};

// Adds the profile in `path`; false: it is none.
bool bl_misses_add(struct bl_misses *misses, const char *path);
// Adds `count` samples of the processor at a place in a file.
void bl_misses_add_samples(struct bl_misses *misses, const char *program,
                           const char *path, uint64_t offset,
                           enum bl_tlb_policy policy, uint64_t count);
// Puts everything in order: by the walks of `policy`.
void bl_misses_finish(struct bl_misses *misses, enum bl_tlb_policy policy);
void bl_misses_free(struct bl_misses *misses);

#endif
