// SPDX-License-Identifier: MIT
//
// `bigleaf run`: without a report, sets the environment and becomes the
// program; with one, watches it.
//
#include "cli/report.h"
#include "cli/report_file.h"
#include "cli/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
    struct bl_request request;
    bool report;
    bool json;
    bool dry_run;
    const char *report_file; // NULL: standard error
};

static enum bl_step take_option(const struct bl_cursor *c, struct run *run) {
    const enum bl_step step = bl_request_take(c, &run->request);
    const char *name = c->option->name;
    if (step != BL_STEP_END)
        return step;
    if (strcmp(name, "report") == 0) {
        run->report = true;
        run->report_file = c->value;
        if (c->value && !c->value[0]) {
            bl_usage(c->command, "--report= needs the name of a file");
            return BL_STEP_WRONG;
        }
    } else if (strcmp(name, "json") == 0) {
        run->report = true;
        run->json = true;
    } else {
        BL_CHECK(strcmp(name, "dry-run") == 0);
        run->dry_run = true;
    }
    return BL_STEP_OPTION;
}

static const char *report_name(const struct run *run) {
    return run->report_file ? run->report_file : "standard error";
}

static bool open_report(const struct bl_command *self, const struct run *run,
                        struct bl_report_file *file) {
    const bool fine = bl_report_file_open(file, run->report_file);
    if (!fine)
        bl_say(self, "cannot write the report to %s: %s", report_name(run),
               strerror(errno));
    return fine;
}

static void write_report(const struct bl_command *self, const struct run *run,
                         const struct bl_result *result,
                         struct bl_report_file *file) {
    bl_report_undisturbed();
    (run->json ? bl_report_json : bl_report_text)(bl_report_file_begin(file),
                                                  result);
    if (!bl_report_file_close(file))
        bl_say(self, "the report in %s is not whole: %s", report_name(run),
               strerror(errno));
}

static int run_watched(const struct bl_command *self, const struct run *run,
                       const struct bl_program *program, char **argv) {
    struct bl_plan plan;
    struct bl_result result;
    struct bl_report_file file;
    if (!open_report(self, run, &file))
        return BL_EXIT_MACHINE;
    int status = bl_plan_make(self, &run->request, program, &plan);
    if (status == 0) {
        const struct bl_launch what = {.command = self,
                                       .program = program,
                                       .plan = &plan,
                                       .streams = {-1, -1, -1},
                                       .argv = argv,
                                       .pages =
                                           bl_request_pages(&run->request)};
        status = bl_launch(&what, &result);
        if (status == 0) {
            write_report(self, run, &result, &file);
            status = bl_launch_end_like(&result);
        }
        bl_result_free(&result);
    }
    bl_plan_free(&plan);
    bl_report_file_close(&file);
    return status;
}

static int run_directly(const struct bl_command *self, const struct run *run,
                        const struct bl_program *program, char **argv) {
    struct bl_plan plan;
    int status = bl_plan_make(self, &run->request, program, &plan);
    if (status == 0 && run->dry_run)
        bl_plan_print(stdout, &plan, argv);
    else if (status == 0)
        status = bl_launch_exec(self, program, &plan, argv);
    bl_plan_free(&plan);
    return status;
}

int bl_run_main(const struct bl_command *self, int argc, char **argv) {
    struct run run = {.request.heap = BL_HEAP_BIGLEAF};
    struct bl_program program;
    struct bl_cursor cursor = {
        .command = self, .argv = argv, .argc = argc, .at = 1};
    enum bl_step step;
    while ((step = bl_cursor_next(&cursor)) == BL_STEP_OPTION &&
           (step = take_option(&cursor, &run)) == BL_STEP_OPTION)
        ;
    if (step != BL_STEP_END)
        return step == BL_STEP_HELP ? 0 : BL_EXIT_USAGE;
    int status = bl_request_program(&cursor, &program);
    if (status) {
        // The value of --report stands behind '=' only.
        if (strcmp(argv[cursor.at - 1], "--report") == 0 && argv[cursor.at])
            fprintf(stderr, "as the report's file: --report=%s\n",
                    argv[cursor.at]);
        return status;
    }
    char **words = argv + cursor.at;
    status = run.report && !run.dry_run
                 ? run_watched(self, &run, &program, words)
                 : run_directly(self, &run, &program, words);
    bl_program_free(&program);
    bl_request_free(&run.request);
    return status;
}
