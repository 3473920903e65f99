// SPDX-License-Identifier: MIT
//
// The table of subcommands and their options.
//
#include "cli/align.h"
#include "cli/request.h"
#include "cli/tlb.h"

#include <string.h>

static const struct bl_option run_options[] = {
    BL_OPTION_HEAP,
    {"report", 0, "FILE", true,
     "run the program watched and write what came of it to FILE, or to "
     "standard error"},
    {"json", 0, NULL, false, "the report as JSON (bigleaf.run/1)"},
    {"dry-run", 0, NULL, false,
     "print the environment and the command, run nothing"},
    {0}};

static const struct bl_option compare_options[] = {
    {"runs", 'n', "RUNS", false,
     "measured runs of each variant, one more warms up (default 5)"},
    {"json", 0, "FILE", false,
     "write all runs and ratios as JSON (bigleaf.compare/1); - is standard "
     "output"},
    {"ignore", 0, "REGEX", false,
     "leave lines that match out when outputs are compared; may be repeated"},
    {"variant", 0, "NAME:VAR=VALUE,...", false,
     "a further variant: the program with these variables; may be repeated"},
    BL_OPTION_HEAP,
    {0}};

static const struct bl_option attach_options[] = {
    {"watch", 0, NULL, false,
     "come back as the process grows, until it ends or Ctrl-C"},
    {"all", 0, NULL, false,
     "every large process instead of one, a line for each"},
    {"min-rss", 0, "SIZE", false, "with --all: what is large (default 64M)"},
    {"user", 0, "NAME", true,
     "with --all: only your own processes, or those of user NAME"},
    {"json", 0, NULL, false, "what came of it as JSON (bigleaf.attach/1)"},
    {0}};

static const struct bl_option doctor_options[] = {
    {"json", 0, NULL, false, "the findings as JSON (bigleaf.doctor/1)"},
    {"root", 0, "DIR", false,
     "read copies of /proc and /sys below DIR, try nothing on this machine"},
    {"clean", 0, NULL, false,
     "remove your shadow copies of program text and say what they took"},
    {0}};

static const struct bl_option align_options[] = {
    {"output", 'o', "FILE", false, "write the result to FILE instead"},
    {"undo", 0, NULL, false, "give back the file as it was, bit by bit"},
    {0}};

static const struct bl_option tlb_options[] = {
    {"by", 0, "auto|counters|emulator", false,
     "where the figures come from: the processor's counters, an emulated run, "
     "or the first of these that serves (default)"},
    {"geometry", 0, "NAME", false,
     "the TLBs of the emulated run: haswell, skylake (default), icelake, zen2, "
     "zen4, zen5, neoverse, or a file"},
    {"events", 0, "FILE", false,
     "the counters to use, a line for each: NAME raw|cache|software NUMBER; "
     "the first is sampled"},
    {"pages", 0, "base|huge|backed", false,
     "whose misses order the functions and make the flame graph: all memory "
     "on base pages (default), all on huge ones, or as Bigleaf would have it"},
    {"functions", 0, "NUMBER", false,
     "functions in the table, at most (default 12)"},
    {"sample", 0, "1/N", false,
     "measure one of N windows of 100 million instructions and scale up"},
    {"flame", 0, "FILE", false, "write a flame graph of the misses as SVG"},
    {"json", 0, "FILE", false, "write all figures as JSON (bigleaf.tlb/1)"},
    {0}};

static const struct bl_option cc_options[] = {
    {"libc", 0, "system|thp", false,
     "thp: a static program gets glibc's own malloc with our patch for huge "
     "pages instead of Bigleaf's"},
    {0}};

#define BL_CC_MORE                                                             \
    "All other words are the compiler's. BIGLEAF=off in its environment\n"     \
    "switches a program back at run time.\n"                                   \
    "Exit status: the compiler's; 2 wrong usage; 3 a file of Bigleaf is\n"     \
    "missing; 126 and 127 as a shell gives.\n"

const struct bl_command bl_commands[] = {
    {"run", "[OPTION...] [--] PROGRAM [ARG...]",
     "run PROGRAM with its memory on huge pages",
     "Exit status: the program's own (128+n after signal n); 2 wrong usage;\n"
     "3 the machine lacks something; 126 and 127 as a shell gives.\n",
     run_options, true, bl_run_main},
    {"compare", "[OPTION...] [--] PROGRAM [ARG...]",
     "run PROGRAM with and without huge pages, in turn, and compare",
     "Exit status: 0 where output and exit status are the same, 1 otherwise;\n"
     "2 wrong usage; 3 the machine lacks something; 126 and 127 as a shell\n"
     "gives.\n",
     compare_options, true, bl_compare_main},
    {"attach", "[OPTION...] PID | --all",
     "put the memory of a program that already runs on huge pages",
     "The program goes on as if nothing had been, but for a stop of\n"
     "about half a millisecond.\n"
     "Exit status: 0; 2 wrong usage; 3 the process cannot be served, or only\n"
     "in part, and why; 128+n when stopped by signal n, but with --watch 0.\n",
     attach_options, false, bl_attach_main},
    {"doctor", "[OPTION...] [PROGRAM]",
     "say whether this machine gives huge pages, and what mends it",
     "With PROGRAM: what Bigleaf would do with it, and why.\n"
     "Exit status: 0 huge pages can be had, and PROGRAM can be given them;\n"
     "2 wrong usage; 3 they cannot; 126 and 127 as a shell gives.\n",
     doctor_options, false, bl_doctor_main},
    {"align", "[OPTION...] FILE",
     "mark a program or library so that its text loads on huge pages",
     "The file is loaded at multiples of 2 MiB from then on, and its text is\n"
     "wanted on huge pages; without Bigleaf it runs as before.\n"
     "Exit status: 0; 2 wrong usage, or a file that gains nothing; 3 the file\n"
     "cannot be written.\n",
     align_options, false, bl_align_main},
    {"tlb", "[OPTION...] [--] PROGRAM [ARG...]",
     "count the TLB misses of PROGRAM by page size, function and line",
     "The report goes to standard error. Emulated, a program takes about ten\n"
     "times as long.\n"
     "Exit status: the program's own (128+n after signal n); 2 wrong usage;\n"
     "3 the machine lacks something; 126 and 127 as a shell gives.\n",
     tlb_options, false, bl_tlb_main},
    {"cc", "[--libc=system|thp] ARG...",
     "compile and link C with Bigleaf inside", BL_CC_MORE, cc_options, false,
     bl_cc_main},
    {"c++", "[--libc=system|thp] ARG...",
     "compile and link C++ with Bigleaf inside", BL_CC_MORE, cc_options, false,
     bl_cc_main},
    {0}};

const struct bl_command *bl_command_find(const char *name) {
    for (const struct bl_command *c = bl_commands; c->name; c++) {
        if (strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}
