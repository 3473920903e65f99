// SPDX-License-Identifier: MIT
//
// Command lines: long options with "=value" or a value behind them, single
// letters, "--"; the first word that is no option ends the options, so that a
// program's own options stay its own.
//
#ifndef BL_CLI_OPTIONS_H
#define BL_CLI_OPTIONS_H

#include "cli/cli.h"

enum bl_option_kind {
    BL_KIND_SWITCH,
    BL_KIND_CHOICE,
    BL_KIND_NUMBER,
    BL_KIND_PATH,
    BL_KIND_FOLDER
};

// An option of the runtime (base/options.def) that the command passes on as
// an environment variable. BIGLEAF and BIGLEAF_REPORT are left out: --heap
// and --report stand for them.
struct bl_runtime_option {
    struct bl_option option;
    const char *variable;
    enum bl_option_kind kind;
    const char *choices;         // words with '|' between
    uint64_t low, high, initial; // of a number; initial: of a choice its place
};

// Where the parser stands.
struct bl_cursor {
    const struct bl_command *command;        // const
    char **argv;                             // const
    int argc;                                // const
    int at;                                  // the next word
    const struct bl_option *option;          // what was found last
    const struct bl_runtime_option *runtime; // not NULL: one of the runtime's
    const char *value;                       // NULL: none given
};

enum bl_step { BL_STEP_OPTION, BL_STEP_END, BL_STEP_HELP, BL_STEP_WRONG };

// BL_STEP_WRONG: the user has been told, leave with BL_EXIT_USAGE;
// BL_STEP_HELP: the help was printed, leave with 0.
enum bl_step bl_cursor_next(struct bl_cursor *cursor);

// Whether the runtime takes this for the value of an option that is a word, not
// NULL or a wrong one, for which its default holds.
bool bl_runtime_knows(const char *variable, const char *value);
// What the runtime makes of an option that is a number: wrong values and none
// (NULL) become its default.
uint64_t bl_runtime_number(const char *variable, const char *value);

void bl_help_command(FILE *out, const struct bl_command *command);
void bl_help_commands(FILE *out);

#endif
