// SPDX-License-Identifier: MIT
//
// `bigleaf tlb`: options, and which means serves.
//
#include "cli/tlb.h"

#include "cli/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_FUNCTIONS = 12, MOST_FUNCTIONS = 100000 };

struct names {
    const char *json;
    const char *flame;
};

// The index of `word` in `words`; -1: it is none of them.
static int find_word(const char *word, const char *const *words, int count) {
    for (int i = 0; i < count; i++) {
        if (strcmp(word, words[i]) == 0)
            return i;
    }
    return -1;
}

static bool take_number(const char *p, uint64_t most, uint64_t *out) {
    return bl_read_u64(&p, out) && *p == '\0' && *out >= 1 && *out <= most;
}

static bool wrong(const struct bl_cursor *c, const char *want) {
    bl_usage(c->command, "wrong value '%s' for --%s: %s", c->value,
             c->option->name, want);
    return false;
}

static bool take_sample(const struct bl_cursor *c,
                        struct bl_tlb_request *request) {
    return (strncmp(c->value, "1/", 2) == 0 &&
            take_number(c->value + 2, 10000, &request->every)) ||
           wrong(c, "1/N, with N from 1 to 10000");
}

static bool take_means(const struct bl_cursor *c,
                       struct bl_tlb_request *request) {
    static const char *const words[] = {"auto", "counters", "emulator"};
    const int i = find_word(c->value, words, BL_ARRAY_LEN(words));
    request->means = (enum bl_tlb_means)i;
    return i >= 0 || wrong(c, "one of auto|counters|emulator");
}

static bool take_policy(const struct bl_cursor *c,
                        struct bl_tlb_request *request) {
    const int i = find_word(c->value, bl_tlb_policy_names, BL_TLB_POLICIES);
    request->policy = (enum bl_tlb_policy)i;
    return i >= 0 || wrong(c, "one of base|huge|backed");
}

static bool take_functions(const struct bl_cursor *c,
                           struct bl_tlb_request *request) {
    uint64_t n = 0;
    const bool fine = take_number(c->value, MOST_FUNCTIONS, &n);
    request->functions = (size_t)n;
    return fine || wrong(c, "a number from 1 to 100000");
}

static bool take_option(const struct bl_cursor *c,
                        struct bl_tlb_request *request, struct names *names) {
    const char *name = c->option->name;
    if (strcmp(name, "by") == 0)
        return take_means(c, request);
    if (strcmp(name, "pages") == 0)
        return take_policy(c, request);
    if (strcmp(name, "sample") == 0)
        return take_sample(c, request);
    if (strcmp(name, "functions") == 0)
        return take_functions(c, request);
    if (strcmp(name, "geometry") == 0)
        request->geometry = c->value;
    else if (strcmp(name, "events") == 0)
        request->events = c->value;
    else if (!c->value[0])
        return wrong(c, "the name of a file");
    else if (strcmp(name, "json") == 0)
        names->json = c->value;
    else
        names->flame = c->value;
    return true;
}

// `file` where there is a name, else NULL.
static struct bl_report_file *open_file(const struct bl_command *self,
                                        const char *name,
                                        struct bl_report_file *file,
                                        bool *fine) {
    if (!name)
        return NULL;
    if (!bl_report_file_open(file, name)) {
        bl_say(self, "cannot write %s: %s", name, strerror(errno));
        *fine = false;
    }
    return file;
}

// On standard error. Where that is closed, the files that were asked for are
// the report.
static bool open_text(const struct names *names, struct bl_report_file *text) {
    return bl_report_file_open(text, NULL) ||
           ((names->json || names->flame) &&
            bl_report_file_open(text, "/dev/null"));
}

// The program has run: its end counts, not ours.
static void close_file(const struct bl_command *self,
                       struct bl_report_file *file) {
    if (file && !bl_report_file_close(file))
        bl_say(self, "%s is not whole: %s",
               file->name ? file->name : "standard error", strerror(errno));
}

static int measure(struct bl_tlb_request *request,
                   const struct bl_program *program, struct bl_result *result) {
    char *why = NULL;
    if (request->means == BL_TLB_EMULATOR)
        return bl_tlb_emulate(request, program, result);
    int status = bl_tlb_count(request, program, result, &why);
    if (why && request->means == BL_TLB_COUNTERS) {
        bl_say(request->command, "%s", why);
        status = BL_EXIT_MACHINE;
    } else if (why) {
        request->no_counters = why;
        status = bl_tlb_emulate(request, program, result);
    }
    free(why);
    return status;
}

static int run(struct bl_tlb_request *request, const struct names *names,
               const struct bl_program *program) {
    const struct bl_command *self = request->command;
    struct bl_result result = {0};
    struct bl_report_file json;
    struct bl_report_file flame;
    struct bl_report_file text;
    bool fine = true;
    request->json = open_file(self, names->json, &json, &fine);
    request->flame = open_file(self, names->flame, &flame, &fine);
    fine = open_text(names, &text) && fine;
    request->text = text.out;
    int status = fine ? measure(request, program, &result) : BL_EXIT_MACHINE;
    close_file(self, request->json);
    close_file(self, request->flame);
    close_file(self, &text);
    if (status == 0)
        status = bl_launch_end_like(&result);
    bl_result_free(&result);
    return status;
}

int bl_tlb_main(const struct bl_command *self, int argc, char **argv) {
    struct bl_tlb_request request = {.command = self,
                                     .geometry = "skylake",
                                     .every = 1,
                                     .functions = DEFAULT_FUNCTIONS};
    struct names names = {0};
    struct bl_program program;
    struct bl_cursor cursor = {
        .command = self, .argv = argv, .argc = argc, .at = 1};
    enum bl_step step;
    while ((step = bl_cursor_next(&cursor)) == BL_STEP_OPTION) {
        if (!take_option(&cursor, &request, &names))
            return BL_EXIT_USAGE;
    }
    if (step != BL_STEP_END)
        return step == BL_STEP_HELP ? 0 : BL_EXIT_USAGE;
    if (request.events && request.means == BL_TLB_EMULATOR)
        return bl_usage(self, "--events goes with counters");
    if (names.json && names.flame && strcmp(names.json, names.flame) == 0 &&
        strcmp(names.json, "/dev/null") != 0)
        return bl_usage(self,
                        "--json and --flame both write to %s: name two "
                        "files",
                        names.json);
    int status = bl_request_program(&cursor, &program);
    if (status)
        return status;
    request.argv = argv + cursor.at;
    status = run(&request, &names, &program);
    bl_program_free(&program);
    return status;
}
