// SPDX-License-Identifier: MIT
//
// `bigleaf compare`: the program as it is and on huge pages, in turn: A B, B A,
// A B, ... so that a machine that warms up or slows down favours neither. The
// first round only warms caches and is dropped. Ratios are taken within a
// round, where both ran under the same conditions.
//
#include "cli/output.h"
#include "cli/report.h"
#include "cli/request.h"
#include "cli/statistics.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BASE "base"
#define OURS "bigleaf"
#define MOST_VARIANTS 16
#define DEFAULT_RUNS 5
#define MOST_RUNS 1000

struct variant {
    char *name;
    struct bl_plan plan;
    const char *pages; // borrowed
};

struct sample {
    struct bl_result result;
    size_t variant;
};

struct compare {
    const struct bl_command *command;
    struct bl_request request;
    struct bl_program program;
    char **argv;
    size_t runs;
    const char *json_file; // NULL: none
    FILE *json;
    bool json_is_new;
    struct bl_output_rules rules;
    struct variant variants[MOST_VARIANTS];
    size_t variant_count;
    struct sample *samples; // measured runs, round by round
    size_t sample_count;
    FILE *reference; // the first run's output
    enum bl_sameness sameness;
    char *where; // the first difference in outputs; NULL: none
    bool same_exit;
    int reference_exit;
    int input; // for the program's standard input
    off_t input_start;
};

// What the table and the ratios show of a run.
static const struct measure {
    const char *name; // in JSON
    const char *head;
    int decimals;
    bool ratio;
} measures[] = {{"wall", "wall s", 3, true},
                {"cpu", "cpu s", 3, true},
                {"user", "user s", 3, true},
                {"system", "system s", 3, true},
                {"peak_rss", "memory MiB", 1, true},
                {"minor_faults", "faults", 0, true},
                {"huge_coverage", "huge %", 1, false},
                {"heap_coverage", "heap huge %", 1, false}};

static double percent(const struct bl_region_backing *r) {
    return r->bytes ? 100 * bl_coverage(r) : 0;
}

static double value_of(const struct bl_result *r, size_t measure) {
    const struct bl_region_backing total = bl_backing_total(&r->peak.backing);
    switch (measure) {
    case 0:
        return r->wall;
    case 1:
        return r->user + r->system + r->keeper;
    case 2:
        return r->user;
    case 3:
        return r->system;
    case 4:
        return (double)r->peak_rss / (double)BL_MIB;
    case 5:
        return (double)r->minor_faults;
    case 6:
        return percent(&total);
    default:
        return percent(&r->peak.backing.region[BL_REGION_HEAP]);
    }
}

// The measured values of one variant, round by round; to be freed.
static double *values(const struct compare *c, size_t variant, size_t measure,
                      size_t *count) {
    double *x = bl_xrealloc(NULL, (c->runs + 1) * sizeof *x);
    *count = 0;
    for (size_t i = 0; i < c->sample_count; i++) {
        if (c->samples[i].variant == variant)
            x[(*count)++] = value_of(&c->samples[i].result, measure);
    }
    return x;
}

static double median_of(const struct compare *c, size_t variant,
                        size_t measure) {
    size_t n;
    double *x = values(c, variant, measure, &n);
    const double median = bl_median(x, n);
    free(x);
    return median;
}

static struct bl_interval ratio_of(const struct compare *c, size_t variant,
                                   size_t measure) {
    size_t n;
    double *a = values(c, variant, measure, &n);
    double *b = values(c, 0, measure, &n);
    const struct bl_interval ratio = bl_ratio(a, b, n);
    free(a);
    free(b);
    return ratio;
}

static bool take_ignore(struct compare *c, const char *pattern) {
    struct bl_output_rules *rules = &c->rules;
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

static bool is_taken(const struct compare *c, const char *name) {
    bool taken = strcmp(name, BASE) == 0 || strcmp(name, OURS) == 0;
    for (size_t v = 2; v < c->variant_count && !taken; v++)
        taken = strcmp(name, c->variants[v].name) == 0;
    return taken;
}

static bool begins_assignment(const char *p) {
    const size_t n = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "abcdefghijklmnopqrstuvwxyz0123456789_");
    return n && p[n] == '=';
}

// "NAME:VAR=VALUE,VAR=VALUE": a comma separates only where an assignment
// follows, since values hold commas too.
static bool take_variant(struct compare *c, const char *text) {
    const size_t name = strcspn(text, ":");
    if (c->variant_count == MOST_VARIANTS) {
        bl_usage(c->command, "more than %d variants", MOST_VARIANTS);
        return false;
    }
    if (name == 0 || text[name] == '\0' ||
        (text[name + 1] && !begins_assignment(text + name + 1))) {
        bl_usage(c->command,
                 "wrong value '%s' for --variant: NAME:VAR=VALUE,...", text);
        return false;
    }
    char *own = bl_xprintf("%.*s", (int)name, text);
    if (is_taken(c, own)) {
        bl_usage(c->command, "--variant %s: that name is taken", own);
        free(own);
        return false;
    }
    struct variant *v = &c->variants[c->variant_count++];
    *v = (struct variant){.name = own};
    v->plan.why = bl_xprintf("as the variant says: %s", text + name + 1);
    v->plan.mechanism = BL_MECHANISM_NONE;
    for (const char *p = text + name + 1; *p;) {
        const size_t n = strcspn(p, "=");
        const char *end = p + n;
        while ((end = strchr(end, ',')) && !begins_assignment(end + 1))
            end++;
        const size_t value = (end ? (size_t)(end - p) : strlen(p)) - n - 1;
        struct bl_plan *plan = &v->plan;
        if (plan->environment_count == BL_ARRAY_LEN(plan->environment)) {
            bl_usage(c->command, "too many variables in --variant %s", v->name);
            return false;
        }
        plan->environment[plan->environment_count++] =
            (struct bl_setting){bl_xprintf("%.*s", (int)n, p),
                                bl_xprintf("%.*s", (int)value, p + n + 1)};
        p = end ? end + 1 : p + n + 1 + value;
    }
    return true;
}

static enum bl_step take_option(struct compare *c,
                                const struct bl_cursor *cursor) {
    const enum bl_step step = bl_request_take(cursor, &c->request);
    const char *name = cursor->option->name;
    const char *value = cursor->value;
    if (step != BL_STEP_END)
        return step;
    if (strcmp(name, "json") == 0) {
        c->json_file = value;
        if (value[0])
            return BL_STEP_OPTION;
        bl_usage(c->command, "--json= needs the name of a file");
        return BL_STEP_WRONG;
    }
    if (strcmp(name, "ignore") == 0)
        return take_ignore(c, value) ? BL_STEP_OPTION : BL_STEP_WRONG;
    if (strcmp(name, "variant") == 0)
        return take_variant(c, value) ? BL_STEP_OPTION : BL_STEP_WRONG;
    BL_CHECK(strcmp(name, "runs") == 0);
    uint64_t runs = 0;
    const char *p = value;
    if (!bl_read_u64(&p, &runs) || *p || runs < 1 || runs > MOST_RUNS) {
        bl_usage(c->command,
                 "wrong value '%s' for --runs: a number from 1 "
                 "to %d",
                 value, MOST_RUNS);
        return BL_STEP_WRONG;
    }
    c->runs = (size_t)runs;
    return BL_STEP_OPTION;
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

static bool waits_in_a_pipe(int file) {
    int bytes = 0;
    return ioctl(file, FIONREAD, &bytes) == 0 && bytes > 0;
}

// Every run must read the same: a file is read from the same place each time,
// anything else is nothing.
static void open_input(struct compare *c) {
    c->input_start = lseek(STDIN_FILENO, 0, SEEK_CUR);
    c->input = c->input_start >= 0 && !isatty(STDIN_FILENO)
                   ? STDIN_FILENO
                   : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (c->input != STDIN_FILENO && waits_in_a_pipe(STDIN_FILENO))
        bl_say(c->command, "standard input is no file, so the program finds "
                           "it empty: give it as a file (< FILE)");
}

static FILE *scratch(const struct compare *c) {
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

static void judge(struct compare *c, FILE **out, FILE *err,
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

static void progress(const struct compare *c, size_t done, size_t total,
                     const struct variant *v, const struct bl_result *r) {
    const bool terminal = isatty(STDERR_FILENO);
    if (terminal && !r)
        fprintf(stderr, "\r\033[Krun %zu of %zu: %s", done, total, v->name);
    else if (terminal)
        fputs("\r\033[K", stderr);
    else if (r)
        fprintf(stderr, "run %zu of %zu: %s, %.3f s%s\n", done, total, v->name,
                r->wall, done <= c->variant_count ? " (warms up)" : "");
    fflush(stderr);
}

// Keeps the result of a measured run; warm-up runs are only judged.
static void keep(struct compare *c, size_t variant,
                 const struct bl_result *result) {
    c->samples =
        bl_xrealloc(c->samples, (c->sample_count + 1) * sizeof *c->samples);
    c->samples[c->sample_count++] = (struct sample){*result, variant};
}

// What a variant names for LD_PRELOAD and the loader passes over would leave a
// run of base under its name.
static int check_preload(const struct compare *c, const struct variant *v,
                         FILE *err) {
    char line[1024];
    bool names_one = false;
    for (size_t i = 0; i < v->plan.environment_count; i++)
        names_one |= strcmp(v->plan.environment[i].name, "LD_PRELOAD") == 0;
    rewind(err);
    while (names_one && fgets(line, sizeof line, err)) {
        if (!strstr(line, "LD_PRELOAD cannot be preloaded"))
            continue;
        bl_say(c->command, "%s: the loader said: %s", v->name,
               strtok(line, "\n"));
        return BL_EXIT_MACHINE;
    }
    return 0;
}

static int run_with(struct compare *c, size_t variant, size_t done,
                    size_t total, FILE **out, FILE *err) {
    const struct variant *v = &c->variants[variant];
    const struct bl_launch what = {
        .command = c->command,
        .program = &c->program,
        .plan = &v->plan,
        .streams = {c->input, fileno(*out), fileno(err)},
        .argv = c->argv,
        .pages = v->pages};
    struct bl_result result;
    if (c->input_start >= 0)
        lseek(c->input, c->input_start, SEEK_SET);
    progress(c, done, total, v, NULL);
    int status = bl_launch(&what, &result);
    if (status == 0) {
        progress(c, done, total, v, &result);
        if (!result.interrupt)
            judge(c, out, err, &result, v->name);
        status = check_preload(c, v, err);
    }
    if (status == 0 && result.interrupt) {
        bl_say(c->command, "stopped by signal %d", result.interrupt);
        status = BL_EXIT_SIGNAL + result.interrupt;
    }
    if (status == 0 && done > c->variant_count)
        keep(c, variant, &result);
    else
        bl_result_free(&result);
    return status;
}

static int run_once(struct compare *c, size_t variant, size_t done,
                    size_t total) {
    FILE *out = scratch(c);
    FILE *err = scratch(c);
    int status = BL_EXIT_MACHINE;
    if (out && err)
        status = run_with(c, variant, done, total, &out, err);
    if (out)
        fclose(out);
    if (err)
        fclose(err);
    return status;
}

// Round by round, every second one backwards; the first is dropped.
static int run_all(struct compare *c) {
    const size_t total = (c->runs + 1) * c->variant_count;
    size_t done = 0;
    for (size_t round = 0; round <= c->runs; round++) {
        for (size_t i = 0; i < c->variant_count; i++) {
            const size_t variant = round % 2 ? c->variant_count - 1 - i : i;
            const int status = run_once(c, variant, ++done, total);
            if (status)
                return status;
        }
    }
    return 0;
}

// A single round has a ratio and no interval.
static void text_ratio(FILE *out, const struct compare *c, size_t variant,
                       size_t measure) {
    const struct bl_interval r = ratio_of(c, variant, measure);
    if (isnan(r.median))
        fputs("       -", out);
    else if (c->runs == 1)
        fprintf(out, "   %5.3f", r.median);
    else
        fprintf(out, "   %5.3f   %.3f to %.3f", r.median, r.low, r.high);
}

// One variant beside base: medians, and the ratio where one makes sense.
static void text_beside(FILE *out, const struct compare *c, size_t variant) {
    fprintf(out, "\n%-12s %12s %12s   ratio%s\n", "median", c->variants[0].name,
            c->variants[variant].name, c->runs == 1 ? "" : "   95 % interval");
    for (size_t k = 0; k < BL_ARRAY_LEN(measures); k++) {
        const struct measure *m = &measures[k];
        fprintf(out, "%-12s %12.*f %12.*f", m->head, m->decimals,
                median_of(c, 0, k), m->decimals, median_of(c, variant, k));
        if (m->ratio)
            text_ratio(out, c, variant, k);
        fputc('\n', out);
    }
}

// Why a variant's heap is less on huge pages than it could be.
static void text_deferral(FILE *out, const struct compare *c, size_t variant) {
    const struct bl_result *dearest = NULL;
    for (size_t i = 0; i < c->sample_count; i++) {
        const struct bl_result *r = &c->samples[i].result;
        if (c->samples[i].variant == variant && bl_has_deferral(&r->deferral) &&
            (!dearest || r->deferral.price_us > dearest->deferral.price_us))
            dearest = r;
    }
    if (!dearest)
        return;
    fprintf(out, "%s bought huge pages as it earned them: ",
            c->variants[variant].name);
    if (dearest->deferral.price_us > 0)
        fprintf(out, "a fresh one takes %.1f ms here; ",
                (double)dearest->deferral.price_us / 1e3);
    fputs("--pages=thp has them at once\n", out);
}

static void report_text(FILE *out, const struct compare *c) {
    for (char **word = c->argv; *word; word++)
        fprintf(out, "%s%s", word == c->argv ? "" : " ", *word);
    fprintf(out, "\n%zu round%s, one more to warm up\n", c->runs,
            c->runs == 1 ? "" : "s");
    for (size_t v = 1; v < c->variant_count; v++)
        text_beside(out, c, v);
    fprintf(out, "\noutput: %s\n", bl_sameness_names[c->sameness]);
    if (c->sameness > BL_SAME_TEXT && c->where)
        fprintf(out, "  %s\n", c->where);
    if (c->same_exit)
        fprintf(out, "exit status: the same, %d\n", c->reference_exit);
    else
        fputs("exit status: differs\n", out);
    for (size_t v = 0; v < c->variant_count; v++) {
        if (v == 0 && bl_program_has_runtime(&c->program))
            fputs(BASE " has the runtime in the program switched off "
                       "(BIGLEAF=off)\n",
                  out);
        if (c->variants[v].plan.failed)
            fprintf(out, "%s has its heap by %s: %s\n", c->variants[v].name,
                    bl_mechanism_names[c->variants[v].plan.mechanism],
                    c->variants[v].plan.why);
        text_deferral(out, c, v);
    }
}

static void json_ratios(struct bl_json *j, const struct compare *c,
                        const char *key, size_t variant) {
    bl_json_open(j, key, '{');
    for (size_t k = 0; k < BL_ARRAY_LEN(measures); k++) {
        if (!measures[k].ratio)
            continue;
        const struct bl_interval r = ratio_of(c, variant, k);
        bl_json_open(j, measures[k].name, '{');
        bl_json_real(j, "median", r.median, 4);
        bl_json_real(j, "low", r.low, 4);
        bl_json_real(j, "high", r.high, 4);
        bl_json_close(j, '}');
    }
    bl_json_close(j, '}');
}

static void json_medians(struct bl_json *j, const struct compare *c) {
    bl_json_open(j, "medians", '{');
    for (size_t v = 0; v < c->variant_count; v++) {
        bl_json_open(j, c->variants[v].name, '{');
        for (size_t k = 0; k < BL_ARRAY_LEN(measures); k++)
            bl_json_real(j, measures[k].name, median_of(c, v, k), 6);
        bl_json_close(j, '}');
    }
    bl_json_close(j, '}');
}

static void report_json(FILE *out, const struct compare *c) {
    struct bl_json j = {.out = out};
    bl_json_open(&j, NULL, '{');
    bl_json_string(&j, "schema", "bigleaf.compare/1");
    bl_json_open(&j, "command", '[');
    for (char **word = c->argv; *word; word++)
        bl_json_string(&j, NULL, *word);
    bl_json_close(&j, ']');
    bl_json_open(&j, "runs", '[');
    for (size_t i = 0; i < c->sample_count; i++) {
        bl_json_open(&j, NULL, '{');
        bl_json_string(&j, "variant", c->variants[c->samples[i].variant].name);
        bl_report_members(&j, &c->samples[i].result);
        bl_json_close(&j, '}');
    }
    bl_json_close(&j, ']');
    json_ratios(&j, c, "ratio", 1);
    bl_json_open(&j, "ratios", '{');
    for (size_t v = 1; v < c->variant_count; v++)
        json_ratios(&j, c, c->variants[v].name, v);
    bl_json_close(&j, '}');
    json_medians(&j, c);
    bl_json_bool(&j, "same_output", c->sameness <= BL_SAME_TEXT);
    bl_json_string(&j, "output", bl_sameness_names[c->sameness]);
    bl_json_string(&j, "difference", c->where ? c->where : "");
    bl_json_bool(&j, "same_exit", c->same_exit);
    bl_json_close(&j, '}');
    fputc('\n', out);
}

// The two that are always there; the user's own follow.
static int plan_variants(struct compare *c) {
    const struct bl_request plain = {.heap = BL_HEAP_NONE};
    c->variants[0].name = bl_xstrdup(BASE);
    c->variants[1].name = bl_xstrdup(OURS);
    c->variants[1].pages = bl_request_pages(&c->request);
    const int status =
        bl_plan_make(c->command, &plain, &c->program, &c->variants[0].plan);
    return status ? status
                  : bl_plan_make(c->command, &c->request, &c->program,
                                 &c->variants[1].plan);
}

// What is in the file stays until there is a report.
static int open_json(struct compare *c) {
    if (!c->json_file)
        return 0;
    if (strcmp(c->json_file, "-") == 0) {
        c->json = stdout;
        return 0;
    }
    c->json_is_new = access(c->json_file, F_OK) != 0;
    c->json = fopen(c->json_file, "ae");
    if (c->json)
        return 0;
    bl_say(c->command, "cannot write the report to %s: %s", c->json_file,
           strerror(errno));
    return BL_EXIT_MACHINE;
}

static void free_all(struct compare *c) {
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
    bl_request_free(&c->request);
}

static void report(struct compare *c) {
    report_text(c->json == stdout ? stderr : stdout, c);
    if (c->json && c->json != stdout)
        (void)!ftruncate(fileno(c->json), 0); // it may be no plain file
    if (c->json)
        report_json(c->json, c);
    c->json_is_new = false;
}

// Of runs that were stopped by a signal the whole rounds are reported.
static void keep_whole_rounds(struct compare *c) {
    c->runs = c->sample_count / c->variant_count;
    while (c->sample_count > c->runs * c->variant_count)
        bl_result_free(&c->samples[--c->sample_count].result);
}

static int compare_program(struct compare *c) {
    int status = open_json(c);
    if (status == 0)
        status = plan_variants(c);
    if (status == 0) {
        open_input(c);
        status = run_all(c);
    }
    if (status > BL_EXIT_SIGNAL)
        keep_whole_rounds(c);
    if (status == 0 || (status > BL_EXIT_SIGNAL && c->runs > 0))
        report(c);
    if (status)
        return status;
    return c->same_exit && c->sameness <= BL_SAME_TEXT ? 0 : 1;
}

int bl_compare_main(const struct bl_command *self, int argc, char **argv) {
    struct compare c = {.command = self,
                        .request.heap = BL_HEAP_BIGLEAF,
                        .runs = DEFAULT_RUNS,
                        .variant_count = 2,
                        .same_exit = true};
    struct bl_cursor cursor = {
        .command = self, .argv = argv, .argc = argc, .at = 1};
    enum bl_step step;
    while ((step = bl_cursor_next(&cursor)) == BL_STEP_OPTION &&
           (step = take_option(&c, &cursor)) == BL_STEP_OPTION)
        ;
    if (step != BL_STEP_END)
        return step == BL_STEP_HELP ? 0 : BL_EXIT_USAGE;
    int status = bl_request_program(&cursor, &c.program);
    if (status)
        return status;
    c.argv = argv + cursor.at;
    fill_standard_streams();
    status = compare_program(&c);
    if (c.json_is_new)
        unlink(c.json_file);
    if (c.json && c.json != stdout && fclose(c.json) != 0) {
        bl_say(self, "the report in %s is not whole: %s", c.json_file,
               strerror(errno));
        status = BL_EXIT_MACHINE;
    }
    free_all(&c);
    return status;
}
