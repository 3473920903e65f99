// SPDX-License-Identifier: MIT
//
// A comparison under way: its variants, what was measured of them, and how
// alike their outputs are. compare.c has the command and its options,
// compare_runs.c the runs, compare_report.c the tables.
//
#ifndef BL_CLI_COMPARE_H
#define BL_CLI_COMPARE_H

#include "cli/output.h"
#include "cli/report.h"
#include "cli/request.h"

#include <stdio.h>

enum {
    BL_VARIANT_BASE,
    BL_VARIANT_OURS, // the user's own follow
    BL_MOST_VARIANTS = 16
};

struct bl_variant {
    char *name;
    struct bl_plan plan;
    const char *pages; // borrowed
};

// A measured run.
struct bl_sample {
    struct bl_result result;
    size_t variant;
};

struct bl_comparison {
    const struct bl_command *command;
    struct bl_program program;
    char **argv;
    size_t runs; // rounds that are measured
    struct bl_output_rules rules;
    struct bl_variant variants[BL_MOST_VARIANTS];
    size_t variant_count;
    sigset_t mask;             // of signals, as the program has it
    struct bl_sample *samples; // round by round
    size_t sample_count;
    FILE *reference; // the first run's output
    enum bl_sameness sameness;
    char *where; // the first difference in outputs; NULL: none
    bool same_exit;
    int reference_exit;
};

// Runs all variants round by round and keeps what was measured of whole rounds;
// `runs` is their number in the end. Returns the command's exit status: 0, or
// that of what stopped it, which it has told of.
int bl_comparison_run(struct bl_comparison *c);

void bl_comparison_text(const struct bl_comparison *c, FILE *out);
void bl_comparison_json(const struct bl_comparison *c, FILE *out);
void bl_comparison_free(struct bl_comparison *c);

#endif
