// SPDX-License-Identifier: MIT
//
// From what the user asks and what the program is: which mechanism puts the
// heap on huge pages, why that one, and what the environment must say.
//
#ifndef BL_CLI_PLAN_H
#define BL_CLI_PLAN_H

#include "cli/program.h"

enum bl_heap { BL_HEAP_BIGLEAF, BL_HEAP_GLIBC, BL_HEAP_INJECTED, BL_HEAP_NONE };

enum bl_mechanism {
    BL_MECHANISM_BIGLEAF,  // the runtime, preloaded or linked in
    BL_MECHANISM_TUNABLE,  // the program's own glibc, told by a tunable
    BL_MECHANISM_INJECTED, // a keeper serves its calls of memory
    BL_MECHANISM_NONE
};

struct bl_setting {
    char *name;
    char *value;
};

struct bl_request {
    enum bl_heap heap;
    struct bl_setting settings[16]; // what the user set for the runtime
    size_t setting_count;
};

struct bl_plan {
    enum bl_mechanism mechanism;
    char *why;                         // one clause
    bool failed;                       // `mechanism` is not what was asked for
    bool switches_off;                 // a runtime that would serve otherwise
    struct bl_setting environment[24]; // to be set for the program
    size_t environment_count;
};

extern const char *const bl_mechanism_names[];

// --heap's words; false where `word` is none of them.
bool bl_heap_parse(const char *word, enum bl_heap *out);
void bl_request_set(struct bl_request *request, const char *name,
                    const char *value);
// What --pages said, or the environment where it said nothing.
const char *bl_request_pages(const struct bl_request *request);
void bl_request_free(struct bl_request *request);

// Whether that is a word by which BIGLEAF switches a runtime off.
bool bl_plan_is_off(const char *word);
// Whether the environment switches every runtime off.
bool bl_plan_is_switched_off(void);
// 0, or the status to leave with (the user has been told).
int bl_plan_make(const struct bl_command *command,
                 const struct bl_request *request,
                 const struct bl_program *program, struct bl_plan *out);
void bl_plan_free(struct bl_plan *plan);
#define BL_NO_HUGE_LIMIT 100
// BIGLEAF_HUGE_PERCENT as it will hold in the program; with --pages=thp there
// is no limit.
uint64_t bl_plan_huge_percent(const struct bl_plan *plan);
// Puts the plan into the environment of this process.
void bl_plan_apply(const struct bl_plan *plan);
// Prints environment and command as a line for a shell.
void bl_plan_print(FILE *out, const struct bl_plan *plan, char **argv);

#endif
