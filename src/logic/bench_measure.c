// SPDX-License-Identifier: MIT
//
// The measurements of `leaflog bench`; see bench_measure.h.
//
#include "logic/bench_measure.h"

#include "logic/bench_program.h"
#include "logic/stream.h"
#include "os/os.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ARGS = 16 };

// ---- one process

static const char *figure(const char *line, const char *name) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *const p = strstr(line, key);
    return p == NULL ? "0" : p + strlen(key);
}

static struct bl_bench_time read_time(const char *line, const char *run) {
    const char *const at = figure(line, run);
    return (struct bl_bench_time){
        .cpu = strtod(figure(at, "cpu_seconds"), NULL),
        .system = strtod(figure(at, "system_seconds"), NULL),
        .wall = strtod(figure(at, "wall_seconds"), NULL)};
}

static struct bl_bench_sample read_sample(const char *line) {
    return (struct bl_bench_sample){
        .first = read_time(line, "first"),
        .second = read_time(line, "second"),
        .calls = strtoull(figure(line, "calls"), NULL, 10),
        .call_nodes = strtoull(figure(line, "call_nodes"), NULL, 10),
        .unique = strtoull(figure(line, "unique"), NULL, 10),
        .repeated = strtoull(figure(line, "repeated"), NULL, 10),
        .answer_nodes = strtoull(figure(line, "answer_nodes"), NULL, 10),
        .rss_mib = strtod(figure(line, "peak_rss_kib"), NULL) / 1024,
        .huge = strtod(figure(line, "huge_share"), NULL)};
}

// The loader would go on without a library that it does not find. One that it
// finds may be there for preloading only: its thread-local data may want a room
// that no library gets which comes later.
static bool is_there(const char *library) {
    return dlopen(library, RTLD_LAZY) != NULL ||
           strstr(dlerror(), "static TLS") != NULL;
}

static void exec_child(const struct bl_bench_plan *p,
                       const struct bl_bench_variant *v) {
    char text[6][4200];
    char *argv[MAX_ARGS];
    int n = 0;
    static char word_bench[] = "bench";
    static char word_run[] = "run";
    snprintf(text[0], sizeof text[0], "--program=%s", p->program);
    snprintf(text[1], sizeof text[1], "--threads=%d",
             v->alone ? 1 : p->threads);
    snprintf(text[2], sizeof text[2], "--tables=%s", v->tables);
    snprintf(text[3], sizeof text[3], "--locks=%s", v->locks);
    snprintf(text[4], sizeof text[4], "--alloc=%s", v->alloc);
    snprintf(text[5], sizeof text[5], "--programs=%s",
             p->folder == NULL ? "" : p->folder);
    char self[4200];
    snprintf(self, sizeof self, "%s", p->self);
    argv[n++] = self;
    argv[n++] = word_bench;
    argv[n++] = word_run;
    for (int i = 0; i < (p->folder == NULL ? 5 : 6); i++)
        argv[n++] = text[i];
    argv[n] = NULL;
    if (v->preload != NULL && !is_there(v->preload))
        _exit(127);
    if (v->preload != NULL)
        setenv("LD_PRELOAD", v->preload, 1);
    if (v->backing != NULL)
        setenv("BIGLEAF_PAGES", v->backing, 1);
    execv(p->self, argv);
    _exit(127);
}

// A hypervisor that takes free blocks back hands them out again at a price that
// has nothing to do with what is measured: a process that has just touched and
// freed as many leaves them ready for the next.
static void warm(size_t bytes) {
    const pid_t pid = bytes == 0 ? -1 : fork();
    if (pid == 0) {
        void *at;
        if (posix_memalign(&at, BL_HUGE_SIZE, bytes) == 0) {
            (void)bl_os.advise_huge(at, bytes);
            (void)bl_os.populate(at, bytes);
        }
        _exit(0);
    }
    if (pid > 0)
        waitpid(pid, NULL, 0);
}

// False where the program is not there or the child failed.
static bool run_child(const struct bl_bench_plan *p,
                      const struct bl_bench_variant *v,
                      struct bl_bench_sample *s) {
    int ends[2];
    char line[2048] = "";
    bl_flush_output();
    warm(p->warm_bytes);
    if (pipe(ends) != 0)
        return false;
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        exec_child(p, v);
    }
    close(ends[1]);
    FILE *const in = fdopen(ends[0], "r");
    const bool said = in != NULL && fgets(line, sizeof line, in) != NULL;
    if (in != NULL)
        fclose(in);
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0 || !said)
        return false;
    *s = read_sample(line);
    return true;
}

// ---- rounds

// On a terminal only: elsewhere the rows of the table tell how far it is.
static void show_progress(const struct bl_bench_plan *p, int round,
                          const char *label) {
    if (!isatty(STDERR_FILENO))
        return;
    if (label == NULL)
        fputs("\r\033[K", stderr);
    else
        fprintf(stderr, "\r\033[K%s, %d threads, round %d of %d: %s",
                p->program, p->threads, round + 1, p->rounds, label);
    fflush(stderr);
}

void bl_bench_measure(const struct bl_bench_plan *p,
                      const struct bl_bench_variant *variants, size_t n,
                      struct bl_bench_series *series) {
    struct bl_out text = {0};
    for (size_t i = 0; i < n; i++)
        series[i].n = 0;
    if (!bl_bench_program_text(p->program, p->folder, &text))
        return;
    bl_out_fini(&text);
    for (int round = 0; round < p->rounds; round++) {
        for (size_t i = 0; i < n; i++) {
            const size_t k = round % 2 == 0 ? i : n - 1 - i;
            struct bl_bench_series *const its = &series[k];
            if (its->n < round)
                continue;
            show_progress(p, round, variants[k].label);
            if (run_child(p, &variants[k], &its->samples[its->n]))
                its->n++;
            else
                its->n = 0;
        }
    }
    show_progress(p, 0, NULL);
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

double bl_bench_median(const struct bl_bench_series *s,
                       double (*of)(const struct bl_bench_sample *)) {
    double values[BL_BENCH_MAX_ROUNDS];
    for (int i = 0; i < s->n; i++)
        values[i] = of(&s->samples[i]);
    qsort(values, (size_t)s->n, sizeof values[0], by_value);
    return values[s->n / 2];
}
