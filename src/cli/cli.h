// SPDX-License-Identifier: MIT
//
// The `bigleaf` command: one file per subcommand, one table of subcommands
// (commands.c), one table of options per subcommand. Parser, --help, the man
// pages' tests and the completions all follow those tables.
//
// Single threaded; uses libc freely. It links none of the runtime: it talks
// to it through the environment and reads what the kernel says.
//
#ifndef BL_CLI_CLI_H
#define BL_CLI_CLI_H

#include "base/base.h"

#include <stdio.h>

// Exit statuses of our own; otherwise the program's.
enum bl_exit {
    BL_EXIT_USAGE = 2,   // wrong usage
    BL_EXIT_MACHINE = 3, // the machine lacks something; the remedy is said
    BL_EXIT_BUG = 70,    // a fault of ours
    BL_EXIT_NOT_EXECUTABLE = 126, // as a shell gives
    BL_EXIT_NOT_FOUND = 127,      // as a shell gives
    BL_EXIT_SIGNAL = 128          // plus the signal's number
};

// The order is that of the tables.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct bl_option {
    const char *name;     // without the dashes
    char letter;          // 0: none
    const char *argument; // what stands behind it in the help; NULL: none
    bool optional;        // the argument may be left out
    const char *help;
};

struct bl_command {
    const char *name;
    const char *synopsis;            // what follows "bigleaf NAME"
    const char *summary;             // one line
    const char *more;                // further lines of the help; may be ""
    const struct bl_option *options; // ends with a NULL name
    bool runtime_options;            // those of options.def too
    int (*main)(const struct bl_command *self, int argc, char **argv);
};

extern const struct bl_command bl_commands[]; // ends with a NULL name
const struct bl_command *bl_command_find(const char *name);

// One line on standard error: "bigleaf NAME: text". `name` may be NULL.
__attribute__((format(printf, 2, 3))) void
bl_say(const struct bl_command *command, const char *format, ...);
// The same, with where help is to be had behind it. Returns BL_EXIT_USAGE.
__attribute__((format(printf, 2, 3))) int
bl_usage(const struct bl_command *command, const char *format, ...);

// On a terminal: a line on standard error that stands until the next one, the
// next message, or its end.
__attribute__((format(printf, 1, 2))) void bl_progress(const char *format, ...);
void bl_progress_end(void);

// Writes what standard output still holds.
void bl_output_flush(void);
// It has not taken something, and why. For what a child of this command wrote.
void bl_output_lost(int error);
// Why it has not taken all, of whatever was flushed; 0: it has, or whoever
// started this command had closed it.
int bl_output_error(void);

// Never NULL: ends the command with status 70 where memory is out.
void *bl_xrealloc(void *old, size_t bytes);
char *bl_xstrdup(const char *s);
__attribute__((format(printf, 1, 2))) char *bl_xprintf(const char *format, ...);

// The word of `words` (ends with NULL) nearest to `word`; NULL: none is near.
const char *bl_nearest(const char *word, const char *const *words);

int bl_run_main(const struct bl_command *self, int argc, char **argv);
int bl_compare_main(const struct bl_command *self, int argc, char **argv);
int bl_attach_main(const struct bl_command *self, int argc, char **argv);
int bl_cc_main(const struct bl_command *self, int argc, char **argv);
int bl_doctor_main(const struct bl_command *self, int argc, char **argv);

#endif
