// SPDX-License-Identifier: MIT
//
// The runs of a comparison: in turn, each with the same input, their outputs
// held against that of the first.
//
#include "cli/compare.h"
#include "cli/input.h"
#include "cli/scratch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *scratch(const struct bl_comparison *c) {
    char *file = bl_scratch_file();
    FILE *out = file ? fopen(file, "w+e") : NULL;
    if (file)
        unlink(file);
    free(file);
    if (!out)
        bl_say(c->command, "no folder for a temporary file: set TMPDIR to one "
                           "that can be written");
    return out;
}

// The last lines of what the program said on standard error.
static void show_end_of(FILE *err) {
    char text[2048];
    fseek(err, 0, SEEK_END);
    const long size = ftell(err);
    fseek(err, size > 2047 ? size - 2047 : 0, SEEK_SET);
    const size_t n = fread(text, 1, sizeof text - 1, err);
    text[n] = '\0';
    if (n)
        fprintf(stderr, "its standard error ended:\n%s", text);
}

// Reasoners end with 10, 20, or 30 for both, where they have an answer.
static bool is_success(int status) {
    return status == 0 || status == 10 || status == 20 || status == 30;
}

static void judge(struct bl_comparison *c, FILE **out, FILE *err,
                  const struct bl_result *r, const char *name) {
    if (!c->reference) {
        c->reference = *out;
        c->reference_exit = r->exit_status;
        *out = NULL;
        if (!is_success(r->exit_status)) {
            bl_say(c->command,
                   "the program ended with status %d: is that as "
                   "it should be?",
                   r->exit_status);
            show_end_of(err);
        }
        return;
    }
    char *where = NULL;
    const enum bl_sameness same =
        bl_output_compare(c->reference, *out, &c->rules, &where);
    if (same > c->sameness) {
        c->sameness = same;
        free(c->where);
        c->where = where ? bl_xprintf("%s, %s", name, where) : NULL;
    }
    free(where);
    if (r->exit_status != c->reference_exit && c->same_exit) {
        c->same_exit = false;
        bl_say(c->command, "%s ended with status %d, the first run with %d",
               name, r->exit_status, c->reference_exit);
        show_end_of(err);
    }
}

struct runs {
    struct bl_comparison *c;
    struct bl_input input;
    size_t number; // of the run under way, from 1
    size_t total;
    bool one_line; // progress is one line that is written anew
};

// The first round only warms caches.
static bool is_warm_up(const struct runs *runs) {
    return runs->number <= runs->c->variant_count;
}

static bool can_erase_lines(int file) {
    const char *term = getenv("TERM");
    return isatty(file) && term && *term && strcmp(term, "dumb") != 0;
}

// Before the run without, behind it with its result.
static void progress(const struct runs *runs, const struct bl_variant *v,
                     const struct bl_result *r) {
    if (runs->one_line && !r)
        bl_progress("run %zu of %zu: %s", runs->number, runs->total, v->name);
    else if (runs->one_line)
        bl_progress_end();
    else if (r)
        fprintf(stderr, "run %zu of %zu: %s, %.3f s%s\n", runs->number,
                runs->total, v->name, r->wall,
                is_warm_up(runs) ? " (warms up)" : "");
    fflush(stderr);
}

// Keeps the result of a measured run; warm-up runs are only judged.
static void keep(struct bl_comparison *c, size_t variant,
                 const struct bl_result *result) {
    c->samples =
        bl_xrealloc(c->samples, (c->sample_count + 1) * sizeof *c->samples);
    c->samples[c->sample_count++] = (struct bl_sample){*result, variant};
}

// The loader says so of a library. That one for this program's class is of the
// wrong class, another program's loader says: one that this has started.
static bool is_passed_over(const struct bl_comparison *c, const char *line) {
    char child[48];
    snprintf(child, sizeof child, "wrong ELF class: ELFCLASS%u",
             c->program.bits);
    return strstr(line, "LD_PRELOAD cannot be preloaded") &&
           !strstr(line, child);
}

// What a variant names for LD_PRELOAD and the loader passes over would leave a
// run of base under its name.
static int check_preload(const struct bl_comparison *c,
                         const struct bl_variant *v, FILE *err) {
    char line[1024];
    bool names_one = false;
    for (size_t i = 0; i < v->plan.environment_count; i++)
        names_one |= strcmp(v->plan.environment[i].name, "LD_PRELOAD") == 0;
    rewind(err);
    while (names_one && fgets(line, sizeof line, err)) {
        if (!is_passed_over(c, line))
            continue;
        bl_say(c->command, "%s: the loader said: %s", v->name,
               strtok(line, "\n"));
        return BL_EXIT_MACHINE;
    }
    return 0;
}

static int run_with(struct runs *runs, size_t variant, FILE **out, FILE *err) {
    struct bl_comparison *c = runs->c;
    const struct bl_variant *v = &c->variants[variant];
    const struct bl_launch what = {
        .command = c->command,
        .program = &c->program,
        .plan = &v->plan,
        .streams = {runs->input.file, fileno(*out), fileno(err)},
        .mask = &c->mask,
        .argv = c->argv,
        .pages = v->pages};
    struct bl_result result;
    bl_input_rewind(&runs->input);
    progress(runs, v, NULL);
    int status = bl_launch(&what, &result);
    if (status)
        return status;
    progress(runs, v, &result);
    // Behind each run: who writes into a pipe may begin later than we do.
    if (bl_input_waits(&runs->input))
        bl_input_tell(&runs->input, c->command, "the program");
    if (!result.interrupt)
        judge(c, out, err, &result, v->name);
    status = check_preload(c, v, err);
    if (status == 0 && result.interrupt) {
        bl_say(c->command, "stopped by signal %d", result.interrupt);
        status = BL_EXIT_SIGNAL + result.interrupt;
    }
    if (status == 0 && !is_warm_up(runs))
        keep(c, variant, &result);
    else
        bl_result_free(&result);
    return status;
}

static int run_once(struct runs *runs, size_t variant) {
    FILE *out = scratch(runs->c);
    FILE *err = scratch(runs->c);
    int status = BL_EXIT_MACHINE;
    runs->number++;
    if (out && err)
        status = run_with(runs, variant, &out, err);
    if (out)
        fclose(out);
    if (err)
        fclose(err);
    return status;
}

// Every second round backwards.
static int run_round(struct runs *runs, size_t round) {
    const size_t variants = runs->c->variant_count;
    int status = 0;
    for (size_t i = 0; i < variants && status == 0; i++)
        status = run_once(runs, round % 2 ? variants - 1 - i : i);
    return status;
}

static void keep_whole_rounds(struct bl_comparison *c) {
    c->runs = c->sample_count / c->variant_count;
    while (c->sample_count > c->runs * c->variant_count)
        bl_result_free(&c->samples[--c->sample_count].result);
}

int bl_comparison_run(struct bl_comparison *c) {
    struct runs runs = {.c = c,
                        .input = bl_input_open(),
                        .total = (c->runs + 1) * c->variant_count,
                        .one_line = can_erase_lines(STDERR_FILENO)};
    int status = 0;
    for (size_t round = 0; round <= c->runs && status == 0; round++)
        status = run_round(&runs, round);
    if (status)
        keep_whole_rounds(c);
    return status;
}

void bl_comparison_free(struct bl_comparison *c) {
    for (size_t i = 0; i < c->sample_count; i++)
        bl_result_free(&c->samples[i].result);
    free(c->samples);
    for (size_t i = 0; i < c->variant_count; i++) {
        free(c->variants[i].name);
        bl_plan_free(&c->variants[i].plan);
    }
    for (size_t i = 0; i < c->rules.ignored_count; i++)
        regfree(&c->rules.ignored[i]);
    free(c->rules.ignored);
    free(c->where);
    if (c->reference)
        fclose(c->reference);
    bl_program_free(&c->program);
}
