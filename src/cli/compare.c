// SPDX-License-Identifier: MIT
//
// `bigleaf compare`: the program as it is and on huge pages, in turn: A B, B A,
// A B, ... so that a machine that warms up or slows down favours neither. The
// first round only warms caches and is dropped. Ratios are taken within a
// round, where both ran under the same conditions.
//
#include "cli/compare.h"

#include "cli/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_RUNS 5
#define MOST_RUNS 1000

// An empty pattern matches every line, and outputs would never differ.
static bool take_ignore(struct bl_comparison *c, const char *pattern) {
    struct bl_output_rules *rules = &c->rules;
    if (!pattern[0]) {
        bl_usage(c->command, "--ignore= needs a pattern");
        return false;
    }
    rules->ignored = bl_xrealloc(rules->ignored, (rules->ignored_count + 1) *
                                                     sizeof *rules->ignored);
    const int error = regcomp(&rules->ignored[rules->ignored_count], pattern,
                              REG_EXTENDED | REG_NOSUB);
    if (error) {
        char text[128];
        regerror(error, &rules->ignored[rules->ignored_count], text,
                 sizeof text);
        bl_usage(c->command, "wrong pattern '%s' for --ignore: %s", pattern,
                 text);
        return false;
    }
    rules->ignored_count++;
    return true;
}

static bool is_taken(const struct bl_comparison *c, const char *name) {
    bool taken = false;
    for (size_t v = 0; v < c->variant_count && !taken; v++)
        taken = strcmp(name, c->variants[v].name) == 0;
    return taken;
}

static bool begins_assignment(const char *p) {
    const size_t n = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "abcdefghijklmnopqrstuvwxyz0123456789_");
    return n && p[n] == '=';
}

// "VAR=VALUE,VAR=VALUE": a comma separates only where an assignment follows,
// since values hold commas too. False where there are too many.
static bool take_environment(struct bl_plan *plan, const char *p) {
    while (*p) {
        const char *value = strchr(p, '=') + 1;
        const char *end = value;
        while ((end = strchr(end, ',')) && !begins_assignment(end + 1))
            end++;
        if (!end)
            end = value + strlen(value);
        if (plan->environment_count == BL_ARRAY_LEN(plan->environment))
            return false;
        plan->environment[plan->environment_count++] =
            (struct bl_setting){bl_xprintf("%.*s", (int)(value - 1 - p), p),
                                bl_xprintf("%.*s", (int)(end - value), value)};
        p = *end ? end + 1 : end;
    }
    return true;
}

static struct bl_variant *add_variant(struct bl_comparison *c, char *name) {
    struct bl_variant *v = &c->variants[c->variant_count++];
    *v = (struct bl_variant){.name = name};
    return v;
}

// "NAME:VAR=VALUE,..."
static bool take_variant(struct bl_comparison *c, const char *text) {
    const size_t n = strcspn(text, ":");
    const char *environment = text + n + 1;
    if (c->variant_count == BL_MOST_VARIANTS) {
        bl_usage(c->command, "more than %d variants", BL_MOST_VARIANTS);
        return false;
    }
    if (n == 0 || text[n] == '\0' ||
        (*environment && !begins_assignment(environment))) {
        bl_usage(c->command,
                 "wrong value '%s' for --variant: NAME:VAR=VALUE,...", text);
        return false;
    }
    char *name = bl_xprintf("%.*s", (int)n, text);
    if (is_taken(c, name)) {
        bl_usage(c->command, "--variant %s: that name is taken", name);
        free(name);
        return false;
    }
    struct bl_plan *plan = &add_variant(c, name)->plan;
    plan->why = bl_xprintf("as the variant says: %s", environment);
    plan->mechanism = BL_MECHANISM_NONE;
    if (take_environment(plan, environment))
        return true;
    bl_usage(c->command, "too many variables in --variant %s", name);
    return false;
}

static bool take_runs(struct bl_comparison *c, const char *value) {
    uint64_t runs = 0;
    const char *p = value;
    if (bl_read_u64(&p, &runs) && !*p && runs >= 1 && runs <= MOST_RUNS) {
        c->runs = (size_t)runs;
        return true;
    }
    bl_usage(c->command, "wrong value '%s' for --runs: a number from 1 to %d",
             value, MOST_RUNS);
    return false;
}

struct compare {
    struct bl_comparison made;
    struct bl_request request;
    const char *json_name; // NULL: none
    struct bl_report_file json;
};

static bool take_json(struct compare *c, const char *file) {
    c->json_name = file;
    if (!file[0])
        bl_usage(c->made.command, "--json= needs the name of a file");
    return file[0];
}

static bool take_own(struct compare *c, const char *name, const char *value) {
    if (strcmp(name, "json") == 0)
        return take_json(c, value);
    if (strcmp(name, "ignore") == 0)
        return take_ignore(&c->made, value);
    if (strcmp(name, "variant") == 0)
        return take_variant(&c->made, value);
    BL_CHECK(strcmp(name, "runs") == 0);
    return take_runs(&c->made, value);
}

static enum bl_step take_option(struct compare *c,
                                const struct bl_cursor *cursor) {
    const enum bl_step step = bl_request_take(cursor, &c->request);
    if (step != BL_STEP_END)
        return step;
    return take_own(c, cursor->option->name, cursor->value) ? BL_STEP_OPTION
                                                            : BL_STEP_WRONG;
}

// What is opened later must not take the place of a closed standard stream: it
// would be lost to the program, and messages would go into it.
static void fill_standard_streams(void) {
    int file;
    do
        file = open("/dev/null", O_RDWR);
    while (file >= 0 && file <= STDERR_FILENO);
    if (file >= 0)
        close(file);
}

static int plan_variants(struct compare *c) {
    const struct bl_command *command = c->made.command;
    const struct bl_program *program = &c->made.program;
    const struct bl_request plain = {.heap = BL_HEAP_NONE};
    struct bl_variant *base = &c->made.variants[BL_VARIANT_BASE];
    struct bl_variant *ours = &c->made.variants[BL_VARIANT_OURS];
    ours->pages = bl_request_pages(&c->request);
    const int status = bl_plan_make(command, &plain, program, &base->plan);
    return status ? status
                  : bl_plan_make(command, &c->request, program, &ours->plan);
}

static int open_json(struct compare *c) {
    if (!c->json_name || bl_report_file_open(&c->json, c->json_name))
        return 0;
    bl_say(c->made.command, "cannot write the report to %s: %s", c->json_name,
           strerror(errno));
    return BL_EXIT_MACHINE;
}

// The table makes room for JSON on standard output. A limit on the size of
// files is an error like a full disk, and does not end this command.
static void report(struct compare *c) {
    signal(SIGXFSZ, SIG_IGN);
    const bool aside = c->json.out && c->json.stream == STDOUT_FILENO;
    bl_comparison_text(&c->made, aside ? stderr : stdout);
    if (c->json.out)
        bl_comparison_json(&c->made, bl_report_file_begin(&c->json));
}

// Until all is reported. What comes between two runs, while outputs are
// compared, waits for the next one and ends that.
static void hold_signals(struct compare *c) {
    static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < BL_ARRAY_LEN(endings); i++)
        sigaddset(&held, endings[i]);
    sigprocmask(SIG_BLOCK, &held, &c->made.mask);
}

// Where it is stopped by a signal, the rounds that are whole are reported.
static int compare_program(struct compare *c) {
    const struct bl_comparison *made = &c->made;
    int status = open_json(c);
    if (status == 0)
        status = plan_variants(c);
    if (status == 0)
        status = bl_comparison_run(&c->made);
    if (status == 0 || (status > BL_EXIT_SIGNAL && made->runs > 0))
        report(c);
    if (status)
        return status;
    return made->same_exit && made->sameness <= BL_SAME_TEXT ? 0 : 1;
}

static int close_json(struct compare *c, int status) {
    if (bl_report_file_close(&c->json))
        return status;
    bl_say(c->made.command, "the report in %s is not whole: %s", c->json_name,
           strerror(errno));
    return BL_EXIT_MACHINE;
}

int bl_compare_main(const struct bl_command *self, int argc, char **argv) {
    struct compare c = {
        .made = {.command = self, .runs = DEFAULT_RUNS, .same_exit = true},
        .request.heap = BL_HEAP_BIGLEAF};
    struct bl_cursor cursor = {
        .command = self, .argv = argv, .argc = argc, .at = 1};
    add_variant(&c.made, bl_xstrdup("base"));
    add_variant(&c.made, bl_xstrdup("bigleaf"));
    enum bl_step step;
    while ((step = bl_cursor_next(&cursor)) == BL_STEP_OPTION &&
           (step = take_option(&c, &cursor)) == BL_STEP_OPTION)
        ;
    int status = step == BL_STEP_HELP ? 0 : BL_EXIT_USAGE;
    if (step == BL_STEP_END)
        status = bl_request_program(&cursor, &c.made.program);
    if (step == BL_STEP_END && status == 0) {
        c.made.argv = argv + cursor.at;
        fill_standard_streams();
        hold_signals(&c);
        status = close_json(&c, compare_program(&c));
        bl_output_flush();
        sigprocmask(SIG_SETMASK, &c.made.mask, NULL);
    }
    bl_comparison_free(&c.made);
    bl_request_free(&c.request);
    return status;
}
