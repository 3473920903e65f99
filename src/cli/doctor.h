// SPDX-License-Identifier: MIT
//
// What the facts of a machine mean for huge pages: findings, each with the one
// command that mends it, and a verdict. A pure function of the facts.
//
#ifndef BL_CLI_DOCTOR_H
#define BL_CLI_DOCTOR_H

#include "cli/options.h"
#include "os/machine.h"

enum bl_level {
    BL_LEVEL_OK,
    BL_LEVEL_NOTE,   // huge pages can be had, with less than all they give
    BL_LEVEL_MISSING // this keeps huge pages away
};

extern const char *const bl_level_names[];

struct bl_finding {
    enum bl_level level;
    char *text;
    char *remedy; // a command, or NULL
};

struct bl_findings {
    struct bl_finding at[32];
    size_t count;
    bool huge_pages; // they can be had, one way or the other
    char *verdict;
};

// `probe` is NULL where nothing was tried.
void bl_diagnose(const struct bl_machine *machine, const struct bl_probe *probe,
                 struct bl_findings *out);
void bl_findings_free(struct bl_findings *f);

// The program that the cursor stands on. Returns the status to leave with.
int bl_doctor_program(struct bl_cursor *cursor, bool json);

#endif
