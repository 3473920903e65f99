// SPDX-License-Identifier: MIT
//
// `leaflog bench table1|table2|table3`: the source's tables in its form;
// `leaflog bench backing`: what huge pages below the tables change;
// `leaflog bench program`: the text of a program.
//
// Every measurement is a process of its own (`leaflog bench run`, one line of
// JSON), so that first runs are first and another allocator can be put
// underneath. A ratio compares the processor time per thread with that of one
// thread under NS over glibc's malloc; with as many cores as threads
// --time=wall gives what the source printed.
// Source: [AreiasRocha-2012], section V.
//
#include "logic/bench.h"

#include "logic/bench_program.h"
#include "logic/bench_run.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_LIST = 16, MAX_ARGS = 16 };

struct bench {
    const char *self;
    const char *folder; // of programs, or NULL
    const char *only;   // program names with this in them, or NULL
    int threads[MAX_LIST];
    int n_threads;
    int repeat;
    bool second; // second runs
    bool wall;
    bool brief;
};

// What the child says of one measurement.
struct sample {
    double cpu, system, wall;
    unsigned long long calls, call_nodes, unique, repeated, answer_nodes;
    double rss_mib;
    double huge; // the share of the tables' memory that is on huge pages
};

struct variant {
    const char *label;
    const char *tables, *locks, *alloc;
    const char *preload; // an allocator below malloc, or NULL
    const char *backing; // BIGLEAF_PAGES, or NULL
};

static const struct variant variants[] = {
    {"NS", "ns", "node", "malloc", NULL, NULL},
    {"NS_P", "ns", "node", "pages", NULL, NULL},
    {"SS", "ss", "node", "malloc", NULL, NULL},
    {"SS_P", "ss", "node", "pages", NULL, NULL},
    {"FS", "fs", "node", "malloc", NULL, NULL},
    {"FS_P", "fs", "node", "pages", NULL, NULL},
    {"FS_G", "fs", "array", "malloc", NULL, NULL},
    {"FS_GP", "fs", "array", "pages", NULL, NULL},
    {"jemalloc", "ns", "node", "malloc", "libjemalloc.so.2", NULL},
    {"mimalloc", "ns", "node", "malloc", "libmimalloc.so.2", NULL},
    {"tcmalloc", "ns", "node", "malloc", "libtcmalloc_minimal.so.4", NULL},
};

// ---- one measurement

static const char *figure(const char *line, const char *name) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *const p = strstr(line, key);
    return p == NULL ? "0" : p + strlen(key);
}

static void read_sample(const char *line, bool second, struct sample *s) {
    const char *const at =
        second ? strstr(line, "\"second\":") : strstr(line, "\"first\":");
    s->cpu = strtod(figure(at, "cpu_seconds"), NULL);
    s->system = strtod(figure(at, "system_seconds"), NULL);
    s->wall = strtod(figure(at, "wall_seconds"), NULL);
    s->calls = strtoull(figure(line, "calls"), NULL, 10);
    s->call_nodes = strtoull(figure(line, "call_nodes"), NULL, 10);
    s->unique = strtoull(figure(line, "unique"), NULL, 10);
    s->repeated = strtoull(figure(line, "repeated"), NULL, 10);
    s->answer_nodes = strtoull(figure(line, "answer_nodes"), NULL, 10);
    s->rss_mib = strtod(figure(line, "peak_rss_kib"), NULL) / 1024;
    s->huge = strtod(figure(line, "huge_share"), NULL);
}

// The loader would go on without a library that it does not find. One that it
// finds may be there for preloading only: its thread-local data may want a room
// that no library gets which comes later.
static bool is_there(const char *library) {
    return dlopen(library, RTLD_LAZY) != NULL ||
           strstr(dlerror(), "static TLS") != NULL;
}

static void exec_child(const struct bench *b, const char *program,
                       const struct variant *v, int threads) {
    char text[5][4200];
    char *argv[MAX_ARGS];
    int n = 0;
    static char word_bench[] = "bench";
    static char word_run[] = "run";
    snprintf(text[0], sizeof text[0], "--program=%s", program);
    snprintf(text[1], sizeof text[1], "--threads=%d", threads);
    snprintf(text[2], sizeof text[2], "--tables=%s", v->tables);
    snprintf(text[3], sizeof text[3], "--locks=%s", v->locks);
    snprintf(text[4], sizeof text[4], "--alloc=%s", v->alloc);
    char self[4200];
    char folder[4200];
    snprintf(self, sizeof self, "%s", b->self);
    argv[n++] = self;
    argv[n++] = word_bench;
    argv[n++] = word_run;
    for (int i = 0; i < 5; i++)
        argv[n++] = text[i];
    if (b->folder != NULL) {
        snprintf(folder, sizeof folder, "--programs=%s", b->folder);
        argv[n++] = folder;
    }
    argv[n] = NULL;
    if (v->preload != NULL && !is_there(v->preload))
        _exit(127);
    if (v->preload != NULL)
        setenv("LD_PRELOAD", v->preload, 1);
    if (v->backing != NULL)
        setenv("BIGLEAF_PAGES", v->backing, 1);
    execv(b->self, argv);
    _exit(127);
}

// False where the program is not there or the child failed.
static bool measure(const struct bench *b, const char *program,
                    const struct variant *v, int threads, struct sample *s) {
    int ends[2];
    char line[2048] = "";
    fflush(stdout);
    if (pipe(ends) != 0)
        return false;
    const pid_t pid = fork();
    if (pid < 0)
        return false;
    if (pid == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        exec_child(b, program, v, threads);
    }
    close(ends[1]);
    FILE *const in = fdopen(ends[0], "r");
    const bool said = in != NULL && fgets(line, sizeof line, in) != NULL;
    if (in != NULL)
        fclose(in);
    int status = 0;
    waitpid(pid, &status, 0);
    if (!said || status != 0)
        return false;
    read_sample(line, b->second, s);
    return true;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// The median time; negative where it cannot be measured.
static double median_time(const struct bench *b, const char *program,
                          const struct variant *v, int threads,
                          struct sample *s) {
    double times[64];
    int n = 0;
    for (int i = 0; i < b->repeat; i++) {
        if (!measure(b, program, v, threads, s))
            return -1;
        times[n++] = b->wall ? s->wall : s->cpu / threads;
    }
    qsort(times, (size_t)n, sizeof times[0], by_value);
    return times[n / 2];
}

// ---- tables

static bool wanted(const struct bench *b, const struct bl_bench_program *p) {
    return (b->only == NULL || strstr(p->name, b->only) != NULL) &&
           (p->brief || !b->brief);
}

static void not_there(const struct bl_bench_program *p) {
    printf("%-18s not measured: no such file in --programs\n", p->name);
}

static void heading(const char **set, const struct bl_bench_program *p) {
    if (*set == NULL || strcmp(*set, p->set) != 0)
        printf("%s\n", p->set);
    *set = p->set;
}

static void table1(const struct bench *b) {
    const char *set = NULL;
    printf("Table I: the programs; times of a first run in milliseconds, one "
           "thread, NS\n%-18s %8s %8s %10s %10s %10s %8s %8s %8s\n",
           "program", "calls", "nodes", "unique", "repeated", "nodes", "NS",
           "NS_P", "MiB P");
    for (size_t i = 0; i < bl_bench_program_count; i++) {
        const struct bl_bench_program *const p = &bl_bench_programs[i];
        struct sample s = {0};
        if (!wanted(b, p))
            continue;
        heading(&set, p);
        const double ns = median_time(b, p->name, &variants[0], 1, &s);
        const double pages = median_time(b, p->name, &variants[1], 1, &s);
        if (ns < 0 || pages < 0) {
            not_there(p);
            continue;
        }
        printf("%-18s %8llu %8llu %10llu %10llu %10llu %8.0f %8.0f %8.0f%s%s\n",
               p->name, s.calls, s.call_nodes, s.unique, s.repeated,
               s.answer_nodes, ns * 1e3, pages * 1e3, s.rss_mib,
               p->note ? "  " : "", p->note ? p->note : "");
    }
}

static void row(const struct bench *b, const struct bl_bench_program *p,
                int threads, double base) {
    struct sample s;
    printf("%-18s %3d", p->name, threads);
    for (size_t i = 0; i < BL_ARRAY_LEN(variants); i++) {
        const double t = median_time(b, p->name, &variants[i], threads, &s);
        if (t < 0)
            printf(" %8s", "-");
        else
            printf(" %8.2f", t / base);
        fflush(stdout);
    }
    puts("");
}

static void ratios(const struct bench *b) {
    const char *set = NULL;
    printf("Table %s: %s runs, %s per thread over that of one thread under "
           "NS;\n%ld cores; the last three columns are NS over other "
           "allocators\n%-18s %3s",
           b->second ? "III" : "II", b->second ? "second" : "first",
           b->wall ? "time" : "processor time", sysconf(_SC_NPROCESSORS_ONLN),
           "program", "thr");
    for (size_t i = 0; i < BL_ARRAY_LEN(variants); i++)
        printf(" %8s", variants[i].label);
    puts("");
    for (size_t i = 0; i < bl_bench_program_count; i++) {
        const struct bl_bench_program *const p = &bl_bench_programs[i];
        struct sample s;
        if (!wanted(b, p))
            continue;
        heading(&set, p);
        const double base = median_time(b, p->name, &variants[0], 1, &s);
        if (base < 0) {
            not_there(p);
            continue;
        }
        for (int k = 0; k < b->n_threads; k++)
            row(b, p, b->threads[k], base);
    }
}

// The least system time of `repeat` runs: what is above it is the machine's.
static bool least_system(const struct bench *b, const char *program,
                         const struct variant *v, struct sample *least) {
    for (int i = 0; i < b->repeat; i++) {
        struct sample s;
        if (!measure(b, program, v, 1, &s))
            return false;
        if (i == 0 || s.system < least->system)
            *least = s;
    }
    return true;
}

static void backing(const struct bench *b) {
    static const struct variant on_base = {"base",  "ns", "node",
                                           "pages", NULL, "base"};
    static const struct variant on_huge = {"huge",  "ns", "node",
                                           "pages", NULL, "auto"};
    printf("System time of first runs in milliseconds, one thread, NS_P, on "
           "base pages\nand on huge ones; the share of the tables on huge "
           "pages\n%-18s %8s %8s %8s %8s\n",
           "program", "base", "huge", "ratio", "share");
    for (size_t i = 0; i < bl_bench_program_count; i++) {
        const struct bl_bench_program *const p = &bl_bench_programs[i];
        struct sample small;
        struct sample huge;
        if (!wanted(b, p))
            continue;
        if (!least_system(b, p->name, &on_base, &small) ||
            !least_system(b, p->name, &on_huge, &huge)) {
            not_there(p);
            continue;
        }
        printf("%-18s %8.0f %8.0f %8.2f %7.1f%%\n", p->name, small.system * 1e3,
               huge.system * 1e3,
               small.system > 0 ? huge.system / small.system : 0,
               huge.huge * 100);
    }
}

static int print_program(const struct bench *b) {
    struct bl_out text = {0};
    if (b->only == NULL || !bl_bench_program_text(b->only, b->folder, &text)) {
        fputs("leaflog: bench program wants --only=NAME of a program that is "
              "generated or in\n--programs=FOLDER\n",
              stderr);
        return 2;
    }
    fwrite(text.text, 1, text.bytes, stdout);
    bl_out_fini(&text);
    return 0;
}

// ---- the command

static int usage(void) {
    fputs("usage: leaflog bench table1|table2|table3|backing "
          "[--programs=FOLDER]\n"
          "           [--only=NAME] [--short] [--threads=16,24] [--repeat=5]\n"
          "           [--time=cpu|wall]\n"
          "       leaflog bench program --only=NAME [--programs=FOLDER]\n"
          "--short measures six programs once, in 4 threads.\n"
          "Programs that are not generated (WordNet, model checkers) are read "
          "from FOLDER,\nwhich bench/tabling/programs.py fills.\n",
          stderr);
    return 2;
}

static bool read_threads(struct bench *b, const char *text) {
    b->n_threads = 0;
    while (b->n_threads < MAX_LIST) {
        char *end;
        const long n = strtol(text, &end, 10);
        if (end == text || n < 1 || n > 256)
            return false;
        b->threads[b->n_threads++] = (int)n;
        if (*end == 0)
            return true;
        if (*end != ',')
            return false;
        text = end + 1;
    }
    return false;
}

static bool option(struct bench *b, const char *arg) {
    if (strncmp(arg, "--programs=", 11) == 0)
        b->folder = arg + 11;
    else if (strncmp(arg, "--only=", 7) == 0)
        b->only = arg + 7;
    else if (strncmp(arg, "--threads=", 10) == 0)
        return read_threads(b, arg + 10);
    else if (strncmp(arg, "--repeat=", 9) == 0)
        b->repeat = atoi(arg + 9);
    else if (strcmp(arg, "--short") == 0)
        *b = (struct bench){.self = b->self,
                            .folder = b->folder,
                            .only = b->only,
                            .threads = {4},
                            .n_threads = 1,
                            .repeat = 1,
                            .wall = b->wall,
                            .brief = true};
    else if (strcmp(arg, "--time=wall") == 0)
        b->wall = true;
    else if (strcmp(arg, "--time=cpu") != 0)
        return false;
    return b->repeat >= 1 && b->repeat <= 64;
}

int bl_bench_main(int argc, char **argv) {
    if (argc < 2)
        return usage();
    if (strcmp(argv[1], "run") == 0)
        return bl_bench_run(argc - 1, argv + 1);
    struct bench b = {.threads = {16, 24}, .n_threads = 2, .repeat = 5};
    b.self = (const char *)getauxval(AT_EXECFN);
    for (int i = 2; i < argc; i++) {
        if (!option(&b, argv[i]))
            return usage();
    }
    b.second = strcmp(argv[1], "table3") == 0;
    if (strcmp(argv[1], "table1") == 0)
        table1(&b);
    else if (b.second || strcmp(argv[1], "table2") == 0)
        ratios(&b);
    else if (strcmp(argv[1], "backing") == 0)
        backing(&b);
    else if (strcmp(argv[1], "program") == 0)
        return print_program(&b);
    else
        return usage();
    return 0;
}
