// SPDX-License-Identifier: MIT
//
// `bigleaf tlb`: what its parts share. The misses come from the processor's
// counters (tlb_counters.c) or from an emulated run (tlb_emulator.c); how they
// are shown is one matter (tlb_report.c).
//
#ifndef BL_CLI_TLB_H
#define BL_CLI_TLB_H

#include "cli/launch.h"
#include "cli/misses.h"
#include "cli/report_file.h"
#include "os/counters.h"

enum bl_tlb_means { BL_TLB_AUTO, BL_TLB_COUNTERS, BL_TLB_EMULATOR };

struct bl_tlb_request {
    const struct bl_command *command;
    const char *geometry; // a name or a file
    const char *events;   // a file of counters to use; NULL: none
    enum bl_tlb_means means;
    enum bl_tlb_policy policy; // whose walks order the report
    uint64_t every;            // of so many windows one is measured
    size_t functions;          // rows of the table
    const char *no_counters;   // why it was not counted; NULL: not tried
    FILE *text;
    struct bl_report_file *json;  // NULL: none
    struct bl_report_file *flame; // NULL: none
    char **argv;
};

int bl_tlb_main(const struct bl_command *self, int argc, char **argv);

// What the processor counted, in the program as it is and on huge pages. The
// report's policies are these two then, and its walks are samples.
struct bl_tlb_counts {
    char processor[96];
    struct bl_counter_event events[BL_COUNTERS_MOST];
    size_t event_count;
    uint64_t counts[2][BL_COUNTERS_MOST]; // UINT64_MAX: not to be had
    uint64_t lost[2];
    double wall[2];
    int stopped; // the signal that left the second run without counts; 0: none
    char *note;  // why the second run is not what was wanted; NULL: it is
};

// Runs the program twice, counted: as it is, then, its output thrown away, on
// huge pages. *why is set, to be freed, where there are no counters, and
// nothing has been run; otherwise as below.
int bl_tlb_count(const struct bl_tlb_request *request,
                 const struct bl_program *program, struct bl_result *result,
                 char **why);

// Runs the program in the emulator and reports. The status to leave with; the
// user has been told where it is not the program's. *result is how it ended.
int bl_tlb_emulate(const struct bl_tlb_request *request,
                   const struct bl_program *program, struct bl_result *result);

struct bl_tlb_report {
    const struct bl_tlb_request *request;
    const struct bl_tlb_geometry *geometry; // NULL: counted
    const struct bl_tlb_counts *counts;     // NULL: emulated
    const struct bl_misses *misses;
    const struct bl_result *result;
};
void bl_tlb_report_text(const struct bl_tlb_report *report);
void bl_tlb_report_json(const struct bl_tlb_report *report, FILE *out);

#endif
