// SPDX-License-Identifier: MIT
//
// The command leaflog: options, loading, and either one goal or a top level.
//
#include "logic/bench.h"
#include "logic/engine.h"
#include "logic/limit.h"
#include "logic/memory.h"
#include "logic/profile.h"
#include "logic/stream.h"
#include "logic/toplevel.h"
#include "logic/worker.h"
#include "reservoir/reservoir.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char usage[] =
    "usage: leaflog [options] [FILE...]\n"
    "       leaflog bench table1|table2|table3|backing|program [options]\n"
    "\n"
    "  -g GOAL            run GOAL once and end: 0 true, 1 false, 2 error\n"
    "  -t N               run the goal in N threads at once\n"
    "  --tables=DESIGN    ns, ss or fs: what threads share of the tables\n"
    "  --locks=WHERE      node or array: where the locks of shared tries lie\n"
    "  --spin             wait for a held lock, do not try and look again\n"
    "  --alloc=SOURCE     pages or malloc: where table blocks come from\n"
    "  --one-by-one       one allocation per answer, for comparisons\n"
    "  --memory=SIZE      limit on the stacks of each thread, as 500M or 2G\n"
    "                     (default: 2G, or half the machine's memory if less)\n"
    "  --table-memory=SIZE  limit on all tables together\n"
    "  --term-size=N      limit on the symbols of a call or answer in a table\n"
    "  --collect=N        collect the heap at every Nth call, for tests\n"
    "  --time=SECONDS     limit on the goal\n"
    "  --stats            print the figures of the tables at the end\n"
    "  --json             print answers, and figures, as JSON\n"
    "  --profile          count calls per predicate\n"
    "  --version, --help\n"
    "\n"
    "Without -g goals are read from the terminal or from standard input.\n"
    "A FILE is a program; NAME.csv and NAME.tsv are facts of NAME.\n"
    "BIGLEAF_PAGES=auto|thp|hugetlb|base says what backs tables and stacks.\n";

struct command {
    const char *goal;
    char **files;
    int n_files;
    struct bl_toplevel_options top;
    struct bl_table_options tables;
    size_t memory;
    double seconds;
    bool profile;
};

static int wrong(const char *what, const char *argument) {
    fprintf(stderr, "leaflog: %s: %s; see leaflog --help\n", what, argument);
    return 2;
}

enum {
    LEAST_MEMORY = 1 << 16,
    MOST_SECONDS = 1000000000 // its nanoseconds are a number of 64 bits
};

static bool read_size(const char *s, size_t *out) {
    char *end;
    const double n = strtod(s, &end);
    size_t unit = 1;
    if (*end == 'K' || *end == 'k')
        unit = BL_KIB;
    else if (*end == 'M' || *end == 'm')
        unit = BL_MIB;
    else if (*end == 'G' || *end == 'g')
        unit = BL_GIB;
    if (end == s || (*end != 0 && unit == 1) || (unit > 1 && end[1] != 0))
        return false;
    if (!(n > 0 && n * (double)unit < (double)INT64_MAX)) // nor nan
        return false;
    *out = (size_t)(n * (double)unit);
    return true;
}

static bool choose(const char *value, const char *const *names, int n,
                   int *out) {
    for (int i = 0; i < n; i++) {
        if (strcmp(value, names[i]) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static const char *value_of(const char *arg, const char *option) {
    const size_t n = strlen(option);
    return strncmp(arg, option, n) == 0 && arg[n] == '=' ? arg + n + 1 : NULL;
}

// An option with a value; false where it is none or the value is wrong.
static bool valued_option(struct command *c, const char *arg) {
    const char *v;
    bool ok = false;
    if ((v = value_of(arg, "--memory")) != NULL) {
        ok = read_size(v, &c->memory) && c->memory >= LEAST_MEMORY;
    } else if ((v = value_of(arg, "--table-memory")) != NULL) {
        ok = read_size(v, &bl_engine.table_limit);
    } else if ((v = value_of(arg, "--term-size")) != NULL) {
        ok = read_size(v, &bl_engine.token_limit);
    } else if ((v = value_of(arg, "--collect")) != NULL) {
        ok = read_size(v, &bl_engine.collect_every);
    } else if ((v = value_of(arg, "--time")) != NULL) {
        char *end;
        c->seconds = strtod(v, &end);
        ok = end != v && *end == 0 && c->seconds > 0 &&
             c->seconds < (double)MOST_SECONDS;
    }
    return ok;
}

static bool flag_option(struct command *c, const char *arg) {
    if (strcmp(arg, "--stats") == 0)
        c->top.stats = true;
    else if (strcmp(arg, "--json") == 0)
        c->top.json = true;
    else if (strcmp(arg, "--profile") == 0)
        c->profile = true;
    else
        return bl_table_option(&c->tables, arg);
    return true;
}

static bool read_threads(struct command *c, const char *text) {
    char *end;
    const long n = strtol(text, &end, 10);
    if (end == text || *end != 0 || n < 1 || n > 256)
        return false;
    c->top.threads = (int)n;
    return true;
}

// What is no option as it stands may be one that is written otherwise, or has a
// wrong value.
static int unknown(const char *arg) {
    static const struct {
        const char *name, *example, *wish;
    } valued[] = {
        {"--tables", "fs", "ns, ss or fs"},
        {"--locks", "array", "node or array"},
        {"--alloc", "malloc", "pages or malloc"},
        {"--memory", "500M", "a size of at least 64K, such as 500M or 2G"},
        {"--table-memory", "500M", "a size above 0, such as 500M or 2G"},
        {"--term-size", "1000", "a number above 0"},
        {"--collect", "100", "a number above 0"},
        {"--time", "10", "seconds, above 0 and below 1000000000"},
    };
    if (strcmp(arg, "--") == 0)
        return wrong("file names stand without it, or as ./-NAME", arg);
    if (strncmp(arg, "-t", 2) == 0 && arg[2] >= '0' && arg[2] <= '9')
        return wrong("the number stands apart, as in -t 2", arg);
    for (size_t i = 0; i < BL_ARRAY_LEN(valued); i++) {
        const char *const value = value_of(arg, valued[i].name);
        if (strcmp(arg, valued[i].name) == 0)
            fprintf(stderr, "leaflog: %s wants a value, as in %s=%s\n", arg,
                    arg, valued[i].example);
        else if (value != NULL)
            fprintf(stderr,
                    "leaflog: %s wants %s, not: %s; see leaflog --help\n",
                    valued[i].name, valued[i].wish, value);
        else
            continue;
        return 2;
    }
    return wrong("unknown option", arg);
}

// 0 to go on, else one more than the status to end with.
static int parse(struct command *c, int argc, char **argv) {
    c->files = calloc((size_t)argc, sizeof *c->files);
    bl_must_have(c->files);
    for (int i = 1; i < argc; i++) {
        const char *const arg = argv[i];
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            fputs(usage, stdout);
            return 1;
        }
        if (strcmp(arg, "--version") == 0) {
            puts("leaflog " BL_VERSION);
            return 1;
        }
        const bool takes = strcmp(arg, "-g") == 0 || strcmp(arg, "-t") == 0;
        if (takes && i + 1 == argc)
            return 1 + wrong("an argument is missing behind", arg);
        if (strcmp(arg, "-g") == 0) {
            c->goal = argv[++i];
        } else if (strcmp(arg, "-t") == 0) {
            if (!read_threads(c, argv[++i]))
                return 1 +
                       wrong("-t wants a number from 1 to 256, not", argv[i]);
        } else if (arg[0] == '-' && arg[1] != 0) {
            if (!flag_option(c, arg) && !valued_option(c, arg))
                return 1 + unknown(arg);
        } else {
            c->files[c->n_files++] = argv[i];
        }
    }
    return 0;
}

static bool has_suffix(const char *s, const char *suffix) {
    const size_t n = strlen(s);
    const size_t k = strlen(suffix);
    return n > k && strcmp(s + n - k, suffix) == 0;
}

static int load_table(struct bl_machine *m, const char *path) {
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        return bl_cannot_read(path);
    }
    const char *const slash = strrchr(path, '/');
    const char *const name = slash != NULL ? slash + 1 : path;
    int64_t rows;
    const int r = bl_load_csv(m, path, bl_atom(name, strlen(name) - 4),
                              has_suffix(path, ".tsv") ? '\t' : ',', &rows);
    if (r == BL_TRUE)
        return 0;
    bl_print_ball(m, NULL);
    return 1;
}

static int load_files(struct bl_machine *m, const struct command *c) {
    int errors = 0;
    for (int i = 0; i < c->n_files && !m->halting; i++) {
        const char *const path = c->files[i];
        if (has_suffix(path, ".csv") || has_suffix(path, ".tsv"))
            errors += load_table(m, path);
        else
            errors += bl_consult(m, path);
    }
    if (errors > 0)
        fprintf(stderr, "leaflog: %d error%s while loading\n", errors,
                errors == 1 ? "" : "s");
    return errors;
}

// What the environment says of the pages below tables and stacks; 0, or the
// exit status.
static int read_backing(void) {
    static const char *const names[] = {"auto", "thp", "hugetlb", "base"};
    const char *const v = getenv("BIGLEAF_PAGES");
    int i = 0;
    bl_reservoir_expect_growth();
    if (v != NULL && !choose(v, names, 4, &i))
        return wrong("BIGLEAF_PAGES is not auto, thp, hugetlb or base", v);
    // tables that are dropped together are often built again: all of their
    // memory stays warm for a while
    bl_reservoir_configure((enum bl_backing)i, BL_PURGE_DELAY_MS + 1);
    bl_engine.on_base_pages = i == BL_BACKING_BASE;
    return 0;
}

static bool set_time_limit(struct bl_machine *m, double seconds) {
    if (bl_limit_set_deadline(m, bl_now_ns() + (uint64_t)(seconds * 1e9)))
        return true;
    fputs("leaflog: error: out of threads: --time needs one more; allow it "
          "(ulimit -u, -v) or use timeout(1) instead\n",
          stderr);
    return false;
}

static int run(struct bl_machine *m, const struct command *c) {
    const int errors = load_files(m, c);
    if (m->halting)
        return m->halt_code;
    if (errors > 0 && (c->goal != NULL || !bl_toplevel_is_interactive()))
        return 2;
    if (c->seconds > 0 && !set_time_limit(m, c->seconds))
        return 3;
    if (c->goal == NULL)
        return bl_toplevel(m, &c->top);
    const int code = bl_run_goal(m, c->goal, &c->top);
    return code;
}

static int leaflog(int argc, char **argv) {
    struct command c = {.top = {.threads = 1}};
    const int refused = read_backing();
    if (refused != 0)
        return refused;
    if (argc > 1 && strcmp(argv[1], "bench") == 0)
        return bl_bench_main(argc - 1, argv + 1);
    const int stop = parse(&c, argc, argv);
    if (stop != 0) {
        free(c.files);
        return stop - 1;
    }
    bl_engine.memory_limit = c.memory;
    bl_profiling = c.profile;
    struct bl_machine *const m =
        bl_engine_start(&c.tables) ? bl_engine_machine() : NULL;
    if (m == NULL) {
        fputs("leaflog: no memory to start with\n", stderr);
        return 3;
    }
    bl_worker_adopt(m);
    const int code = run(m, &c);
    free(c.files);
    bl_flush_output();
    if (c.profile)
        bl_profile_print(stderr);
    return code;
}

int main(int argc, char **argv) { return bl_end_output(leaflog(argc, argv)); }
