// SPDX-License-Identifier: MIT
//
// `leaflog bench table1 table2 table3`: the source's tables in its form, with
// the memory beside them; `leaflog bench backing`: what huge pages below the
// tables change; `leaflog bench program`: the text of a program.
//
// A ratio compares the processor time per thread with that of one thread under
// NS over glibc's malloc, which runs in turn with the others; with as many
// cores as threads --time=wall gives what the source printed.
// Source: [AreiasRocha-2012], section V.
//
#include "logic/bench.h"

#include "logic/bench_measure.h"
#include "logic/bench_program.h"
#include "logic/bench_run.h"
#include "logic/memory.h"
#include "logic/stream.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { MAX_LIST = 16 };

// What a command may ask for; tables of one command share their runs.
enum wish {
    TABLE1 = 1,
    TABLE2 = 2,
    TABLE3 = 4,
    BACKING = 8,
    PROGRAM = 16,
};

struct bench {
    const char *self;
    const char *folder; // of programs, or NULL
    const char *only;   // program names with this in them, or NULL
    unsigned wishes;    // of enum wish
    int threads[MAX_LIST];
    int n_threads;
    int repeat;
    int warm_mib;
    bool wall;
    bool brief;
};

static const struct bl_bench_variant variants[] = {
    {"one", "ns", "node", "malloc", NULL, NULL, true},
    {"NS", "ns", "node", "malloc", NULL, NULL, false},
    {"NS_P", "ns", "node", "pages", NULL, NULL, false},
    {"SS", "ss", "node", "malloc", NULL, NULL, false},
    {"SS_P", "ss", "node", "pages", NULL, NULL, false},
    {"FS", "fs", "node", "malloc", NULL, NULL, false},
    {"FS_P", "fs", "node", "pages", NULL, NULL, false},
    {"FS_G", "fs", "array", "malloc", NULL, NULL, false},
    {"FS_GP", "fs", "array", "pages", NULL, NULL, false},
    {"jemalloc", "ns", "node", "malloc", "libjemalloc.so.2", NULL, false},
    {"mimalloc", "ns", "node", "malloc", "libmimalloc.so.2", NULL, false},
    {"tcmalloc", "ns", "node", "malloc", "libtcmalloc_minimal.so.4", NULL,
     false},
};

enum { N_VARIANTS = (int)BL_ARRAY_LEN(variants) };

// ---- what is read from a sample

static double first_cpu(const struct bl_bench_sample *s) {
    return s->first.cpu;
}

static double first_wall(const struct bl_bench_sample *s) {
    return s->first.wall;
}

static double second_cpu(const struct bl_bench_sample *s) {
    return s->second.cpu;
}

static double second_wall(const struct bl_bench_sample *s) {
    return s->second.wall;
}

static double memory(const struct bl_bench_sample *s) { return s->rss_mib; }

// ---- rows

static bool wanted(const struct bench *b, const struct bl_bench_program *p) {
    return (b->only == NULL || strstr(p->name, b->only) != NULL) &&
           (p->brief || !b->brief);
}

static void not_there(FILE *out, const struct bl_bench_program *p) {
    fprintf(out, "%-18s not measured: no such file in --programs\n", p->name);
}

static void heading(FILE *out, const char **set,
                    const struct bl_bench_program *p) {
    if (*set == NULL || strcmp(*set, p->set) != 0)
        fprintf(out, "%s\n", p->set);
    *set = p->set;
}

static struct bl_bench_plan
plan_of(const struct bench *b, const struct bl_bench_program *p, int threads) {
    return (struct bl_bench_plan){.self = b->self,
                                  .folder = b->folder,
                                  .program = p->name,
                                  .threads = threads,
                                  .rounds = b->repeat,
                                  .warm_bytes = (size_t)b->warm_mib << 20};
}

// ---- Table I

static void row_of_table1(const struct bench *b,
                          const struct bl_bench_program *p) {
    static struct bl_bench_series series[2]; // NS and NS_P
    const struct bl_bench_plan plan = plan_of(b, p, 1);
    bl_bench_measure(&plan, &variants[1], 2, series);
    if (series[0].n == 0 || series[1].n == 0) {
        not_there(stdout, p);
        return;
    }
    const struct bl_bench_sample *const s = &series[1].samples[0];
    printf("%-18s %8llu %8llu %10llu %10llu %10llu %8.0f %8.0f %8.0f%s%s\n",
           p->name, s->calls, s->call_nodes, s->unique, s->repeated,
           s->answer_nodes, bl_bench_median(&series[0], first_cpu) * 1e3,
           bl_bench_median(&series[1], first_cpu) * 1e3,
           bl_bench_median(&series[1], memory), p->note ? "  " : "",
           p->note ? p->note : "");
}

static void table1(const struct bench *b) {
    const char *set = NULL;
    printf("Table I: the programs; times of a first run in milliseconds, one "
           "thread, NS\n%-18s %8s %8s %10s %10s %10s %8s %8s %8s\n",
           "program", "calls", "nodes", "unique", "repeated", "nodes", "NS",
           "NS_P", "MiB P");
    for (size_t i = 0; i < bl_bench_program_count; i++) {
        const struct bl_bench_program *const p = &bl_bench_programs[i];
        if (!wanted(b, p))
            continue;
        heading(stdout, &set, p);
        row_of_table1(b, p);
    }
}

// ---- Tables II and III, and the memory of Table II

// A table that grows row by row: at once, or in memory until it is its turn.
struct table {
    bool asked;
    double (*of)(const struct bl_bench_sample *);
    FILE *out;
    char *text;
    size_t bytes;
    const char *set;
};

enum { FIRST, SECOND, MEMORY, N_TABLES };

static void open_table(struct table *t, bool asked, bool at_once,
                       double (*of)(const struct bl_bench_sample *)) {
    *t = (struct table){.asked = asked, .of = of};
    t->out = at_once ? stdout : open_memstream(&t->text, &t->bytes);
    bl_must_have(t->out);
}

static void end_table(struct table *t) {
    if (t->out == stdout)
        return;
    fclose(t->out);
    if (t->asked)
        printf("\n%s", t->text);
    free(t->text);
}

static void head_of_table(const struct table *t, const char *title) {
    fprintf(t->out,
            "%s;\n%ld cores; the last three columns are NS over other "
            "allocators\n%-18s %3s",
            title, sysconf(_SC_NPROCESSORS_ONLN), "program", "thr");
    for (int i = 1; i < N_VARIANTS; i++)
        fprintf(t->out, " %8s", variants[i].label);
    fputs("\n", t->out);
}

static void open_tables(const struct bench *b, struct table *tables) {
    const bool first = (b->wishes & TABLE2) != 0;
    const bool second = (b->wishes & TABLE3) != 0;
    char title[128];
    open_table(&tables[FIRST], first, first, b->wall ? first_wall : first_cpu);
    open_table(&tables[SECOND], second, second && !first,
               b->wall ? second_wall : second_cpu);
    open_table(&tables[MEMORY], first, false, memory);
    for (int i = FIRST; i <= SECOND; i++) {
        snprintf(title, sizeof title,
                 "Table %s: %s runs, %s per thread over that of one thread "
                 "under NS",
                 i == FIRST ? "II" : "III", i == FIRST ? "first" : "second",
                 b->wall ? "time" : "processor time");
        head_of_table(&tables[i], title);
    }
    head_of_table(&tables[MEMORY],
                  "Peak memory of first runs over that of one thread under NS");
}

static void add_row(struct table *t, const struct bl_bench_plan *plan,
                    const struct bl_bench_series *series, double share) {
    fprintf(t->out, "%-18s %3d", plan->program, plan->threads);
    const double base = bl_bench_median(&series[0], t->of);
    for (int i = 1; i < N_VARIANTS; i++) {
        if (series[i].n == 0)
            fprintf(t->out, " %8s", "-");
        else
            fprintf(t->out, " %8.2f",
                    bl_bench_median(&series[i], t->of) * share / base);
    }
    fputs("\n", t->out);
    if (t->out == stdout)
        bl_flush_output();
}

// Processor time is shared among the threads; wall time and memory are not.
static void rows_of_tables(const struct bench *b,
                           const struct bl_bench_program *p,
                           struct table *tables) {
    static struct bl_bench_series series[BL_ARRAY_LEN(variants)];
    for (int i = 0; i < N_TABLES; i++)
        heading(tables[i].out, &tables[i].set, p);
    for (int k = 0; k < b->n_threads; k++) {
        const struct bl_bench_plan plan = plan_of(b, p, b->threads[k]);
        bl_bench_measure(&plan, variants, BL_ARRAY_LEN(variants), series);
        for (int i = 0; i < N_TABLES; i++) {
            const double share =
                i == MEMORY || b->wall ? 1 : 1.0 / plan.threads;
            if (series[0].n == 0)
                not_there(tables[i].out, p);
            else
                add_row(&tables[i], &plan, series, share);
        }
        if (series[0].n == 0)
            return;
    }
}

static void scaling_tables(const struct bench *b) {
    struct table tables[N_TABLES];
    open_tables(b, tables);
    for (size_t i = 0; i < bl_bench_program_count; i++) {
        if (wanted(b, &bl_bench_programs[i]))
            rows_of_tables(b, &bl_bench_programs[i], tables);
    }
    for (int i = 0; i < N_TABLES; i++)
        end_table(&tables[i]);
}

// ---- backing

// What is above the least is the machine's.
static const struct bl_bench_sample *
least_system(const struct bl_bench_series *series) {
    const struct bl_bench_sample *least = &series->samples[0];
    for (int i = 1; i < series->n; i++) {
        if (series->samples[i].first.system < least->first.system)
            least = &series->samples[i];
    }
    return least;
}

static void row_of_backing(const struct bench *b,
                           const struct bl_bench_program *p) {
    static const struct bl_bench_variant backings[] = {
        {"base", "ns", "node", "pages", NULL, "base", false},
        {"huge", "ns", "node", "pages", NULL, "auto", false}};
    static struct bl_bench_series series[BL_ARRAY_LEN(backings)];
    const struct bl_bench_plan plan = plan_of(b, p, 1);
    bl_bench_measure(&plan, backings, BL_ARRAY_LEN(backings), series);
    if (series[0].n == 0 || series[1].n == 0) {
        not_there(stdout, p);
        return;
    }
    const double base = least_system(&series[0])->first.system;
    const struct bl_bench_sample *const huge = least_system(&series[1]);
    printf("%-18s %8.0f %8.0f %8.2f %7.1f%%\n", p->name, base * 1e3,
           huge->first.system * 1e3, base > 0 ? huge->first.system / base : 0,
           huge->huge * 100);
}

static void backing(const struct bench *b) {
    printf("System time of first runs in milliseconds, one thread, NS_P, on "
           "base pages\nand on huge ones; the share of the tables on huge "
           "pages\n%-18s %8s %8s %8s %8s\n",
           "program", "base", "huge", "ratio", "share");
    for (size_t i = 0; i < bl_bench_program_count; i++) {
        if (wanted(b, &bl_bench_programs[i]))
            row_of_backing(b, &bl_bench_programs[i]);
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

static int usage(FILE *out) {
    fputs("usage: leaflog bench table1|table2|table3|backing... "
          "[--programs=FOLDER]\n"
          "           [--only=NAME] [--short] [--threads=16,24] [--repeat=5]\n"
          "           [--time=cpu|wall] [--warm=MIB]\n"
          "       leaflog bench program --only=NAME [--programs=FOLDER]\n"
          "Tables that are asked for together share their runs. --short "
          "measures six\nprograms once, in 4 threads. --warm touches so much "
          "memory, and gives it\nback, before each run, where a hypervisor "
          "takes free memory away.\n"
          "Programs that are not generated (WordNet, model checkers) are read "
          "from FOLDER,\nwhich bench/tabling/programs.py fills.\n",
          out);
    return out == stdout ? 0 : 2;
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

static bool read_number(const char *text, int most, int *out) {
    char *end;
    const long n = strtol(text, &end, 10);
    if (end == text || *end != 0 || n < 0 || n > most)
        return false;
    *out = (int)n;
    return true;
}

static bool option(struct bench *b, const char *arg) {
    if (strncmp(arg, "--programs=", 11) == 0)
        b->folder = arg + 11;
    else if (strncmp(arg, "--only=", 7) == 0)
        b->only = arg + 7;
    else if (strncmp(arg, "--threads=", 10) == 0)
        return read_threads(b, arg + 10);
    else if (strncmp(arg, "--repeat=", 9) == 0)
        return read_number(arg + 9, BL_BENCH_MAX_ROUNDS, &b->repeat) &&
               b->repeat >= 1;
    else if (strncmp(arg, "--warm=", 7) == 0)
        return read_number(arg + 7, INT_MAX, &b->warm_mib);
    else if (strcmp(arg, "--short") == 0)
        *b = (struct bench){.self = b->self,
                            .folder = b->folder,
                            .only = b->only,
                            .wishes = b->wishes,
                            .threads = {4},
                            .n_threads = 1,
                            .repeat = 1,
                            .warm_mib = b->warm_mib,
                            .wall = b->wall,
                            .brief = true};
    else if (strcmp(arg, "--time=wall") == 0)
        b->wall = true;
    else if (strcmp(arg, "--time=cpu") != 0)
        return false;
    return true;
}

static bool is_help(const char *arg) {
    return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

static bool any_wanted(const struct bench *b) {
    for (size_t i = 0; i < bl_bench_program_count; i++) {
        if (wanted(b, &bl_bench_programs[i]))
            return true;
    }
    return false;
}

static int none_wanted(const struct bench *b) {
    fprintf(stderr,
            "leaflog: --only=%s is in the name of no program%s; "
            "there are",
            b->only, b->brief ? " that --short measures" : "");
    for (size_t i = 0; i < bl_bench_program_count; i++) {
        if (bl_bench_programs[i].brief || !b->brief)
            fprintf(stderr, " %s", bl_bench_programs[i].name);
    }
    fputs("\n", stderr);
    return 2;
}

static unsigned wish_of(const char *word) {
    static const struct {
        const char *word;
        enum wish wish;
    } words[] = {{"table1", TABLE1},
                 {"table2", TABLE2},
                 {"table3", TABLE3},
                 {"backing", BACKING},
                 {"program", PROGRAM}};
    for (size_t i = 0; i < BL_ARRAY_LEN(words); i++) {
        if (strcmp(word, words[i].word) == 0)
            return words[i].wish;
    }
    return 0;
}

int bl_bench_main(int argc, char **argv) {
    if (argc < 2)
        return usage(stderr);
    for (int i = 1; i < argc; i++) {
        if (is_help(argv[i]))
            return usage(stdout);
    }
    if (strcmp(argv[1], "run") == 0)
        return bl_bench_run(argc - 1, argv + 1);
    struct bench b = {.threads = {16, 24}, .n_threads = 2, .repeat = 5};
    b.self = (const char *)getauxval(AT_EXECFN);
    for (int i = 1; i < argc; i++) {
        const unsigned wish = wish_of(argv[i]);
        b.wishes |= wish;
        if (wish == 0 && !option(&b, argv[i])) {
            fprintf(stderr, "leaflog: bench: wrong option or value: %s\n",
                    argv[i]);
            return usage(stderr);
        }
    }
    if (b.wishes == 0)
        return usage(stderr);
    if (b.folder != NULL && access(b.folder, R_OK | X_OK) != 0) {
        fprintf(stderr, "leaflog: --programs=%s: %s\n", b.folder,
                strerror(errno));
        return 2;
    }
    if (b.wishes & PROGRAM)
        return print_program(&b);
    if (!any_wanted(&b))
        return none_wanted(&b);
    if (b.wishes & TABLE1)
        table1(&b);
    if (b.wishes & (TABLE2 | TABLE3))
        scaling_tables(&b);
    if (b.wishes & BACKING)
        backing(&b);
    return 0;
}
