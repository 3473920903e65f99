// SPDX-License-Identifier: MIT
//
// Whether two runs of a program said the same. Solvers print how long they
// took and how much memory they used, so byte equality is asked for first and
// equality apart from such figures second. What counts as such a figure:
//
// 1. a number with a unit of time or memory, or a rate, behind it:
//    "12 ms", "0.3 seconds", "8.77 MB", "5 % CPU", "1234 /sec";
// 2. a number right behind one of the words time, memory, mem, rss, cpu:
//    ":memory 12", "Time = 3";
// 3. on a comment line (it begins with c, %, ;, | or #) and on a line that
//    holds one of those words: every number with a decimal point;
// 4. on a comment line, the whole number behind a leading decimal one: the
//    memory column of SAT solvers' progress lines ("c - 0.12 7 38 3 ...").
//
// A comment line that holds such figures and no other numbers is dropped: the
// lines of a profile come in the order of their times. All other text and all
// other numbers (conflicts, decisions, models, answers) must be equal, and all
// of a line with a zero byte in it, which is no text.
//
#ifndef BL_CLI_OUTPUT_H
#define BL_CLI_OUTPUT_H

#include "cli/cli.h"

#include <regex.h>

enum bl_sameness {
    BL_SAME_BYTES,  // identical
    BL_SAME_TEXT,   // but for times and memory
    BL_SAME_WORDS,  // other figures differ, the words do not
    BL_SAME_NOTHING // the text differs
};

extern const char *const bl_sameness_names[];

struct bl_output_rules {
    regex_t *ignored; // lines that match are left out
    size_t ignored_count;
};

// Compares two files from their beginnings. *where is set to a description of
// the first place that differs, to be freed, or NULL.
enum bl_sameness bl_output_compare(FILE *a, FILE *b,
                                   const struct bl_output_rules *rules,
                                   char **where);

// `line` with figures of time and memory (all figures: every number) written
// as "#"; NULL where the line is dropped. For the tests as well.
char *bl_output_mask(const char *line, bool all_figures);

#endif
