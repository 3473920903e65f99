// SPDX-License-Identifier: MIT
//
// One run as text for a reader and as JSON `bigleaf.run/1` for a program.
//
#ifndef BL_CLI_REPORT_H
#define BL_CLI_REPORT_H

#include "cli/json.h"
#include "cli/launch.h"

void bl_report_text(FILE *out, const struct bl_result *result);
// The members of the report, without the braces around them.
void bl_report_members(struct bl_json *j, const struct bl_result *result);
// What backs each region, as one member.
void bl_report_regions(struct bl_json *j, const char *key,
                       const struct bl_backing *backing);
void bl_report_json(FILE *out, const struct bl_result *result);

static inline double bl_mib(uint64_t bytes) {
    return (double)bytes / (double)BL_MIB;
}

// Huge bytes as a share of all; NaN where there are none.
double bl_coverage(const struct bl_region_backing *r);

#endif
