// SPDX-License-Identifier: MIT
//
// The counted run. The program runs as it is, and then once more on huge pages
// with its output thrown away: two runs, of which the user sees one.
//
#include "cli/flame.h"
#include "cli/input.h"
#include "cli/request.h"
#include "cli/tlb.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sample {
    const char *path; // one pointer for one file
    uint64_t offset;
};

struct count {
    const struct bl_tlb_request *request;
    const struct bl_program *program;
    struct bl_tlb_counts counts;
    struct bl_misses misses;
    char **paths;
    size_t path_count;
    struct sample *samples; // of one run
    size_t sample_count;
    struct bl_input input;
};

static char *why_not(int error) {
    if (error == EACCES || error == EPERM)
        return bl_xprintf("the kernel keeps the counters from you: sysctl "
                          "kernel.perf_event_paranoid=2");
    if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV)
        return bl_xprintf("this machine shows no TLB counters, like most "
                          "virtual ones");
    return bl_xprintf("no counters: %s", strerror(error));
}

static bool parse_event(const char *line, struct bl_counter_event *e) {
    char kind[16];
    char number[32];
    char rest;
    char *end;
    if (sscanf(line, " %63s %15s %31s %c", e->name, kind, number, &rest) != 3)
        return false;
    e->config = strtoull(number, &end, 0);
    for (int i = 0; i < BL_COUNTER_KINDS; i++) {
        e->kind = (enum bl_counter_kind)i;
        if (strcmp(kind, bl_counter_kind_names[i]) == 0)
            return *end == '\0';
    }
    return false;
}

// 0, or the status to leave with: the user has been told.
static int read_events(struct count *c) {
    const struct bl_command *command = c->request->command;
    const char *name = c->request->events;
    char line[256];
    unsigned number = 0;
    int status = 0;
    FILE *in = fopen(name, "re");
    if (!in) {
        bl_say(command, "%s: %s", name, strerror(errno));
        return BL_EXIT_USAGE;
    }
    while (status == 0 && fgets(line, sizeof line, in)) {
        number++;
        line[strcspn(line, "#\n")] = '\0';
        if (line[strspn(line, " \t")] == '\0')
            continue;
        if (c->counts.event_count == BL_COUNTERS_MOST ||
            !parse_event(line, &c->counts.events[c->counts.event_count++])) {
            bl_say(command,
                   "%s:%u: want NAME raw|cache|software NUMBER, at most %d "
                   "of them",
                   name, number, BL_COUNTERS_MOST);
            status = BL_EXIT_USAGE;
        }
    }
    fclose(in);
    if (status == 0 && c->counts.event_count == 0) {
        bl_say(command, "%s: names no counter", name);
        status = BL_EXIT_USAGE;
    }
    return status;
}

static const char *path_of(struct count *c, const char *path) {
    for (size_t i = 0; i < c->path_count; i++) {
        if (strcmp(c->paths[i], path) == 0)
            return c->paths[i];
    }
    c->paths = bl_xrealloc(c->paths, (c->path_count + 1) * sizeof *c->paths);
    return c->paths[c->path_count++] = bl_xstrdup(path);
}

static void take_sample(void *context, const char *path, uint64_t offset) {
    struct count *c = context;
    if ((c->sample_count & (c->sample_count - 1)) == 0)
        c->samples = bl_xrealloc(c->samples, (2 * c->sample_count + 1) *
                                                 sizeof *c->samples);
    c->samples[c->sample_count++] = (struct sample){path_of(c, path), offset};
}

static int by_place(const void *a, const void *b) {
    const struct sample *x = a;
    const struct sample *y = b;
    if (x->path != y->path)
        return x->path < y->path ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static void add_samples(struct count *c, enum bl_tlb_policy policy) {
    const char *slash = strrchr(c->program->path, '/');
    const char *name = slash ? slash + 1 : c->program->path;
    if (c->sample_count)
        qsort(c->samples, c->sample_count, sizeof *c->samples, by_place);
    for (size_t i = 0, n; i < c->sample_count; i += n) {
        for (n = 1; i + n < c->sample_count &&
                    by_place(&c->samples[i], &c->samples[i + n]) == 0;)
            n++;
        bl_misses_add_samples(&c->misses, name, c->samples[i].path,
                              c->samples[i].offset, policy, n);
    }
    c->sample_count = 0;
}

static int run_counted(struct count *c, struct bl_counters *counters,
                       const struct bl_plan *plan,
                       const struct bl_streams *streams, int variant,
                       struct bl_result *result) {
    const struct bl_launch what = {.command = c->request->command,
                                   .program = c->program,
                                   .plan = plan,
                                   .streams = *streams,
                                   .argv = c->request->argv};
    const int status = bl_launch(&what, result);
    c->counts.wall[variant] = result->wall;
    bl_counters_close(counters, c->counts.counts[variant],
                      &c->counts.lost[variant], take_sample, c);
    if (variant == 1 && result->interrupt)
        c->sample_count = 0;
    add_samples(c, (enum bl_tlb_policy)variant);
    return status;
}

// Behind the first run: it may have read all of a pipe, whose writer is gone.
static bool is_closed_pipe(void) {
    struct pollfd p = {.fd = STDIN_FILENO};
    return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0;
}

static void drop_second_run(struct bl_tlb_counts *c, int signal) {
    c->stopped = signal;
    for (size_t i = 0; i < c->event_count; i++)
        c->counts[1][i] = UINT64_MAX;
}

// On huge pages; with the same input again where that can be had.
static int run_huge(struct count *c, const struct bl_plan *plan) {
    const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const struct bl_streams streams = {c->input.file, nothing, nothing};
    struct bl_result result = {0};
    int error;
    struct bl_counters *counters =
        bl_counters_open(c->counts.events, c->counts.event_count, &error);
    int status = BL_EXIT_MACHINE;
    if (bl_input_waits(&c->input) || is_closed_pipe())
        bl_input_tell(&c->input, c->request->command, "the second run");
    if (counters)
        status = run_counted(c, counters, plan, &streams, 1, &result);
    else
        bl_say(c->request->command, "the counters are gone: %s",
               strerror(error));
    if (result.interrupt)
        drop_second_run(&c->counts, result.interrupt);
    bl_result_free(&result);
    close(nothing);
    return status;
}

static int run_both(struct count *c, struct bl_counters *counters,
                    struct bl_result *result) {
    const struct bl_command *command = c->request->command;
    const struct bl_request plain = {.heap = BL_HEAP_NONE};
    struct bl_request huge = {.heap = BL_HEAP_BIGLEAF};
    const struct bl_streams streams = {-1, -1, -1};
    struct bl_plan plans[2] = {0};
    // All of it, whatever huge pages cost here: misses are counted, not time.
    bl_request_set(&huge, "BIGLEAF_HUGE_PERCENT", "100");
    int status = bl_plan_make(command, &plain, c->program, &plans[0]);
    if (status == 0)
        status = bl_plan_make(command, &huge, c->program, &plans[1]);
    if (status == 0 && plans[1].failed)
        c->counts.note = bl_xstrdup(plans[1].why);
    if (status == 0)
        status = run_counted(c, counters, &plans[0], &streams, 0, result);
    if (status == 0 && result->interrupt)
        drop_second_run(&c->counts, result->interrupt);
    else if (status == 0)
        status = run_huge(c, &plans[1]);
    bl_plan_free(&plans[0]);
    bl_plan_free(&plans[1]);
    bl_request_free(&huge);
    return status;
}

static void report(struct count *c, const struct bl_result *result) {
    const struct bl_tlb_request *request = c->request;
    // There is no third run.
    const enum bl_tlb_policy policy =
        request->policy == BL_TLB_ALL_BASE ? BL_TLB_ALL_BASE : BL_TLB_ALL_HUGE;
    struct bl_tlb_request shown = *request;
    shown.policy = policy;
    bl_report_undisturbed();
    bl_misses_finish(&c->misses, policy);
    const struct bl_tlb_report report = {.request = &shown,
                                         .counts = &c->counts,
                                         .misses = &c->misses,
                                         .result = result};
    bl_tlb_report_text(&report);
    if (request->json)
        bl_tlb_report_json(&report, bl_report_file_begin(request->json));
    if (request->flame) {
        char *title = bl_xprintf("%s: samples of %s", request->argv[0],
                                 c->counts.events[0].name);
        bl_flame_write(bl_report_file_begin(request->flame), &c->misses, policy,
                       title);
        free(title);
    }
}

static int count_with(struct count *c, struct bl_result *result, char **why) {
    int error = 0;
    int status = 0;
    if (c->request->events) {
        status = read_events(c);
        snprintf(c->counts.processor, sizeof c->counts.processor, "%s",
                 c->request->events);
    } else {
        c->counts.event_count = bl_counters_of_processor(
            c->counts.events, c->counts.processor, sizeof c->counts.processor);
    }
    if (status)
        return status;
    struct bl_counters *counters =
        bl_counters_open(c->counts.events, c->counts.event_count, &error);
    if (!counters) {
        *why = why_not(error);
        return 0;
    }
    c->input = bl_input_open();
    if (bl_input_waits(&c->input))
        bl_input_tell(&c->input, c->request->command, "the second run");
    status = run_both(c, counters, result);
    if (status == 0)
        report(c, result);
    return status;
}

int bl_tlb_count(const struct bl_tlb_request *request,
                 const struct bl_program *program, struct bl_result *result,
                 char **why) {
    struct count c = {.request = request, .program = program};
    const int status = count_with(&c, result, why);
    for (size_t i = 0; i < c.path_count; i++)
        free(c.paths[i]);
    free(c.paths);
    free(c.samples);
    free(c.counts.note);
    bl_misses_free(&c.misses);
    return status;
}
