// SPDX-License-Identifier: MIT
//
// The file that a report goes to. It is opened before the program starts, so
// that a mistake costs no run; what was in it stays, and one that was not there
// goes, where there is no report in the end.
//
// A name may stand for what is standard output or error already (/dev/stdout):
// opened once more, a file would be written from its beginning, over what the
// program has said, and nobody would know that a pipe is shared. Then a copy of
// that stream serves, as it does where the report goes there by default: the
// program may close its own.
//
#ifndef BL_CLI_REPORT_FILE_H
#define BL_CLI_REPORT_FILE_H

#include "cli/cli.h"

struct bl_report_file {
    const char *name; // const; NULL: standard error, "-": standard output
    FILE *out;        // NULL: none is open; closed on exec
    int stream;       // a descriptor of which `out` is a copy; -1: of none
    bool is_new;
    bool begun;
};

// For when the program has run and its end counts, not ours: neither a limit on
// the size of files nor a reader that has gone away ends this command.
void bl_report_undisturbed(void);
// False, and errno, where it cannot.
bool bl_report_file_open(struct bl_report_file *file, const char *name);
// To write the report to: what was in the file is gone then.
FILE *bl_report_file_begin(struct bl_report_file *file);
// False, and errno, where the report is not whole.
bool bl_report_file_close(struct bl_report_file *file);

#endif
