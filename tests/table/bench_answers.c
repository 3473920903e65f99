// SPDX-License-Identifier: MIT
//
// What one answer costs: inserts the answers of path/2 over a cycle in the
// order in which the left- or right-recursive program finds them, then inserts
// all of them again, and prints nanoseconds and bytes. Not a test.
//
//     bench_answers [-n NODES] [-d ns|ss|fs] [-t THREADS] [-a pages|malloc]
//                   [-l node|array] [-r (right recursion)] [-o (one by one)]
//                   [-R RUNS]
//
#include "table/table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct setting {
    struct bl_table_options options;
    uint64_t nodes;
    unsigned threads;
    unsigned runs;
    bool right;
    struct bl_table_space *space;
    struct bl_table *table;
    pthread_barrier_t barrier;
};

struct result {
    double new_seconds;
    double repeated_seconds;
    uint64_t answers;
};

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t token_of(uint64_t value) {
    return value << BL_TOKEN_KIND_BITS | 1;
}

// What a consumer of the left-recursive clause does with each answer.
static void extend(struct bl_table_thread *thread, struct bl_subgoal *sg,
                   uint64_t nodes) {
    struct bl_answer_cursor cursor = {NULL, 0};
    const struct bl_answer *answer;
    uint64_t buffer[4] = {0};
    while ((answer = bl_answer_next_fast(sg, &cursor)) != NULL) {
        const uint64_t *const at = bl_answer_read_fast(answer, buffer + 2);
        const uint64_t y = at[1] >> BL_TOKEN_KIND_BITS;
        const uint64_t out[2] = {at[0], token_of(y == nodes ? 1 : y + 1)};
        bl_answer_insert_fast(thread, sg, out, 2);
    }
}

static void left(struct bl_table_thread *thread, struct setting *s,
                 struct result *out) {
    const uint64_t call[] = {2, 10};
    struct bl_subgoal *const sg = bl_table_call(thread, s->table, call, 2);
    if (bl_subgoal_state(sg) == BL_FRESH)
        bl_subgoal_evaluate(sg);
    double start = cpu_seconds();
    for (uint64_t x = 1; x <= s->nodes; x++) {
        const uint64_t edge[2] = {token_of(x),
                                  token_of(x == s->nodes ? 1 : x + 1)};
        bl_answer_insert_fast(thread, sg, edge, 2);
    }
    extend(thread, sg, s->nodes);
    out->new_seconds += cpu_seconds() - start;
    pthread_barrier_wait(&s->barrier);
    start = cpu_seconds();
    extend(thread, sg, s->nodes);
    out->repeated_seconds += cpu_seconds() - start;
    bl_subgoal_complete(thread, sg);
    out->answers = bl_answer_count(sg);
}

static void right(struct bl_table_thread *thread, struct setting *s,
                  struct result *out) {
    uint64_t answers = 0;
    for (unsigned again = 0; again < 2; again++) {
        const double start = cpu_seconds();
        for (uint64_t x = 1; x <= s->nodes; x++) {
            const uint64_t call[] = {token_of(x), 2};
            struct bl_subgoal *const sg =
                bl_table_call(thread, s->table, call, 2);
            for (uint64_t y = 1; y <= s->nodes; y++) {
                const uint64_t token = token_of((x + y) % s->nodes + 1);
                bl_answer_insert_fast(thread, sg, &token, 1);
            }
            if (again == 0)
                answers += bl_answer_count(sg);
        }
        *(again ? &out->repeated_seconds : &out->new_seconds) +=
            cpu_seconds() - start;
        pthread_barrier_wait(&s->barrier);
    }
    out->answers = answers;
}

struct job {
    struct setting *setting;
    struct result result;
    pthread_t id;
};

static void *work(void *arg) {
    struct job *const job = arg;
    struct setting *const s = job->setting;
    struct bl_table_thread *const thread = bl_table_attach(s->space);
    job->result = (struct result){0, 0, 0};
    (s->right ? right : left)(thread, s, &job->result);
    pthread_barrier_wait(&s->barrier);
    if (s->threads == 1) {
        for (unsigned type = 0; type < BL_TYPE_COUNT; type++) {
            struct bl_table_memory_stats m;
            bl_table_read_memory(s->space, (enum bl_table_type)type, &m);
            if (m.blocks != 0)
                printf("  %-22s %9lu blocks %10lu bytes %10lu mapped\n", m.name,
                       (unsigned long)m.blocks, (unsigned long)m.block_bytes,
                       (unsigned long)m.mapped_bytes);
        }
    }
    const double start = cpu_seconds();
    bl_table_detach(thread);
    job->result.repeated_seconds += 0 * start;
    return NULL;
}

static void run(struct setting *s, unsigned round) {
    struct job *const jobs = calloc(s->threads, sizeof(*jobs));
    pthread_barrier_init(&s->barrier, NULL, s->threads);
    struct rusage before;
    getrusage(RUSAGE_SELF, &before);
    for (unsigned i = 0; i < s->threads; i++) {
        jobs[i].setting = s;
        pthread_create(&jobs[i].id, NULL, work, &jobs[i]);
    }
    double fresh = 0;
    double repeated = 0;
    for (unsigned i = 0; i < s->threads; i++) {
        pthread_join(jobs[i].id, NULL);
        fresh += jobs[i].result.new_seconds;
        repeated += jobs[i].result.repeated_seconds;
    }
    struct rusage after;
    getrusage(RUSAGE_SELF, &after);
    const double answers = (double)jobs[0].result.answers * s->threads;
    const double user =
        (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
        (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec) * 1e-6;
    const double system =
        (double)(after.ru_stime.tv_sec - before.ru_stime.tv_sec) +
        (double)(after.ru_stime.tv_usec - before.ru_stime.tv_usec) * 1e-6;
    printf("run %u: %.0f answers, first pass %.1f ns, repeated %.1f ns each; "
           "user %.3f s, system %.3f s, peak %.1f MB, %.1f B/answer\n",
           round, answers, fresh * 1e9 / answers, repeated * 1e9 / answers,
           user, system, (double)after.ru_maxrss / 1024,
           (double)after.ru_maxrss * 1024 / answers);
    pthread_barrier_destroy(&s->barrier);
    free(jobs);
}

int main(int argc, char **argv) {
    struct setting s = {.nodes = 2000, .threads = 1, .runs = 1};
    int c;
    while ((c = getopt(argc, argv, "n:d:t:a:l:roR:s")) != -1) {
        switch (c) {
        case 'n':
            s.nodes = strtoull(optarg, NULL, 10);
            break;
        case 'd':
            s.options.design = strcmp(optarg, "fs") == 0   ? BL_TABLE_FS
                               : strcmp(optarg, "ss") == 0 ? BL_TABLE_SS
                                                           : BL_TABLE_NS;
            break;
        case 't':
            s.threads = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'a':
            s.options.alloc = strcmp(optarg, "malloc") == 0 ? BL_ALLOC_MALLOC
                                                            : BL_ALLOC_PAGES;
            break;
        case 'l':
            s.options.locks =
                strcmp(optarg, "array") == 0 ? BL_LOCKS_ARRAY : BL_LOCKS_NODE;
            break;
        case 'r':
            s.right = true;
            break;
        case 'o':
            s.options.one_by_one = true;
            break;
        case 's':
            s.options.spin = true;
            break;
        case 'R':
            s.runs = (unsigned)strtoul(optarg, NULL, 10);
            break;
        default:
            return 2;
        }
    }
    s.space = bl_table_space_new(&s.options);
    s.table = bl_table_new(s.space, "path", s.options.design, NULL);
    for (unsigned i = 0; i < s.runs; i++) {
        run(&s, i + 1);
        struct bl_table_thread *const thread = bl_table_attach(s.space);
        bl_table_abolish_all(thread);
        bl_table_detach(thread);
    }
    struct bl_table_lock_stats locks;
    bl_table_read_locks(s.space, &locks);
    printf("locks taken %lu, tries failed %lu\n", (unsigned long)locks.taken,
           (unsigned long)locks.failed);
    bl_table_space_delete(s.space);
    return 0;
}
