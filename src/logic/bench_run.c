// SPDX-License-Identifier: MIT
//
// A program run twice in one process, each time in so many threads that all
// solve the same goal; the tables are dropped in between. Loading the program
// is not part of the times; the threads' start and the dropping of private
// tables at their end are, as in the source.
//
#include "logic/bench_run.h"

#include "logic/bench_program.h"
#include "logic/engine.h"
#include "logic/memory.h"
#include "logic/record.h"
#include "logic/tabling.h"
#include "logic/worker.h"
#include "os/backing.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct plan {
    const char *program, *folder;
    int threads;
    struct bl_table_options tables;
};

static bool option(struct plan *p, const char *a) {
    if (strncmp(a, "--program=", 10) == 0)
        p->program = a + 10;
    else if (strncmp(a, "--programs=", 11) == 0)
        p->folder = a + 11;
    else if (strncmp(a, "--threads=", 10) == 0)
        return (p->threads = atoi(a + 10)) >= 1;
    else
        return bl_table_option(&p->tables, a);
    return true;
}

// Otherwise the user has been told.
static bool parse(struct plan *p, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (!option(p, argv[i])) {
            fprintf(stderr, "leaflog: bench run: wrong option or value: %s\n",
                    argv[i]);
            return false;
        }
    }
    if (p->program == NULL)
        fputs("leaflog: bench run, which the tables are made by, wants "
              "--program=NAME\n",
              stderr);
    return p->program != NULL;
}

struct run {
    int status;
    double user, system, wall;
};

static double seconds(struct timeval t) {
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

// The processor time of the whole process, so that what threads do at their
// end counts too.
static struct run run_once(struct bl_machine *m, const struct bl_record *goal,
                           int threads) {
    struct rusage before;
    struct rusage after;
    getrusage(RUSAGE_SELF, &before);
    const struct bl_worker_report r = bl_workers_run(m, goal, threads);
    getrusage(RUSAGE_SELF, &after);
    (void)bl_table_abolish_all(m->tabler->thread);
    return (struct run){
        .status = r.status,
        .user = seconds(after.ru_utime) - seconds(before.ru_utime),
        .system = seconds(after.ru_stime) - seconds(before.ru_stime),
        .wall = r.wall_seconds};
}

static void print_run(const char *name, const struct run *r) {
    printf("\"%s\":{\"cpu_seconds\":%.6f,\"system_seconds\":%.6f,"
           "\"wall_seconds\":%.6f},",
           name, r->user + r->system, r->system, r->wall);
}

static void add_table_memory(const struct bl_mapping *map, void *sum) {
    struct bl_region_backing *const tables = sum;
    if (strcmp(map->object, BL_OWN_HEAP) != 0)
        return;
    tables->bytes += map->rss + map->hugetlb;
    tables->huge += map->huge + map->hugetlb;
}

// Of what the kernel shows under the tables' memory now.
static double huge_share(void) {
    struct bl_backing seen;
    struct bl_region_backing tables = {0};
    (void)bl_backing_read(0, &seen, add_table_memory, &tables);
    return tables.bytes == 0 ? 0 : (double)tables.huge / (double)tables.bytes;
}

// The counts are those of the goal run once more in this very thread, after
// the times were taken.
static bool print_counts(struct bl_machine *m, bl_word goal) {
    struct bl_query q;
    struct bl_table_counts c;
    const bool ok = bl_query_open(m, &q, goal) == BL_RUN_TRUE;
    bl_query_close(m, &q);
    bl_table_count(m->tabler->thread, NULL, &c);
    printf("\"calls\":%llu,\"call_nodes\":%llu,\"unique\":%llu,"
           "\"repeated\":%llu,\"answer_nodes\":%llu,"
           "\"huge_share\":%.4f}\n",
           (unsigned long long)c.calls, (unsigned long long)c.call_nodes,
           (unsigned long long)c.unique, (unsigned long long)c.repeated,
           (unsigned long long)c.answer_nodes, huge_share());
    return ok;
}

int bl_bench_run(int argc, char **argv) {
    struct plan p = {.threads = 1};
    struct bl_out text = {0};
    if (!parse(&p, argc, argv))
        return 2;
    // an allocator that is not there would be left out with a warning only
    const char *const preload = getenv("LD_PRELOAD");
    if (preload != NULL && dlopen(preload, RTLD_NOLOAD | RTLD_LAZY) == NULL)
        return 3;
    if (!bl_bench_program_text(p.program, p.folder, &text)) {
        fprintf(stderr,
                "leaflog: bench run: %s is neither generated nor in "
                "--programs=FOLDER\n",
                p.program);
        return 2;
    }
    struct bl_machine *const m =
        bl_engine_start(&p.tables) ? bl_engine_machine() : NULL;
    if (m == NULL)
        return 3;
    bl_worker_adopt(m);
    if (bl_consult_text(m, p.program, text.text, text.bytes, false) != 0)
        return 2;
    bl_out_fini(&text);
    const bl_word goal = bl_atom_str("run");
    struct bl_record *const r = bl_record_make(m, &goal, 1);
    bl_must_have(r);
    const struct run first = run_once(m, r, p.threads);
    struct rusage peak;
    getrusage(RUSAGE_SELF, &peak);
    const struct run second = run_once(m, r, p.threads);
    printf("{\"schema\":\"leaflog.bench/1\",\"program\":\"%s\","
           "\"threads\":%d,\"peak_rss_kib\":%ld,",
           p.program, p.threads, peak.ru_maxrss);
    print_run("first", &first);
    print_run("second", &second);
    const bool ok = print_counts(m, goal);
    bl_record_free(r);
    const bool both =
        first.status == BL_RUN_TRUE && second.status == BL_RUN_TRUE;
    return ok && both ? 0 : 1;
}
