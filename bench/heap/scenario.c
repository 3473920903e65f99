// SPDX-License-Identifier: MIT
//
// Programs that ask much of malloc, with a fixed amount of work, so that
// processor time and peak memory can be compared between allocators: ours
// (micro.c) and those of the public suites (suites.c). Preload the one to be
// measured:
//
//     LD_PRELOAD=libbigleaf.so heap-micro lifetimes [--threads=N] [--scale=N]
//                                                   [--live=MIB]
//
// One line of JSON: scenario, operations, seconds of user, system and wall
// time, the peak of the resident set.
//
#include "scenario.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

size_t scale = 1;
size_t live_bytes = (size_t)16 << 20;
unsigned threads = 2;
static atomic_size_t operations;

static struct {
    struct rusage usage;
    double wall;
} counted_from;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// What came before was preparation.
void count_from_here(void) {
    operations = 0;
    getrusage(RUSAGE_SELF, &counted_from.usage);
    counted_from.wall = now();
}

void *must(void *p) {
    if (p == NULL) {
        fputs("heap-micro: no memory\n", stderr);
        exit(1);
    }
    return p;
}

// The first word is written, as every program would.
void *make(size_t size) {
    uint64_t *const p = must(malloc(size));
    *p = size;
    return p;
}

void count(size_t done) { atomic_fetch_add(&operations, done); }

void on_threads(void *(*body)(void *), unsigned n) {
    pthread_t thread[64];
    for (uintptr_t i = 0; i < n; i++)
        if (pthread_create(&thread[i], NULL, body, (void *)(i + 1)) != 0)
            exit(1);
    for (unsigned i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
}

static const struct scenario *const tables[] = {micro, suites};

static _Noreturn void usage(void) {
    fputs("usage: heap-micro SCENARIO [--threads=N] [--scale=N] [--live=MIB]\n"
          "scenarios:",
          stderr);
    for (int t = 0; t < 2; t++)
        for (const struct scenario *s = tables[t]; s->name; s++)
            fprintf(stderr, " %s", s->name);
    fputs("\n", stderr);
    exit(2);
}

static size_t number(const char *text, size_t most) {
    char *end;
    const unsigned long n = strtoul(text, &end, 10);
    if (*end != '\0' || n == 0 || n > most)
        usage();
    return n;
}

static double seconds(struct timeval end, struct timeval start) {
    return (double)(end.tv_sec - start.tv_sec) +
           (double)(end.tv_usec - start.tv_usec) / 1e6;
}

// The peak of this program alone: getrusage's would be that of the program
// which started it, if that is larger.
static long peak_kib(void) {
    FILE *const status = fopen("/proc/self/status", "re");
    char line[256];
    long kib = 0;
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    if (status)
        fclose(status);
    return kib;
}

static void measure(const struct scenario *s) {
    count_from_here();
    s->run();
    const double wall = now() - counted_from.wall;
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    printf("{\"scenario\": \"%s\", \"operations\": %zu, \"user_seconds\": %.6f,"
           " \"system_seconds\": %.6f, \"wall_seconds\": %.6f, "
           "\"peak_kib\": %ld}\n",
           s->name, atomic_load(&operations),
           seconds(r.ru_utime, counted_from.usage.ru_utime),
           seconds(r.ru_stime, counted_from.usage.ru_stime), wall, peak_kib());
}

int main(int argc, char **argv) {
    if (argc < 2)
        usage();
    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], "--threads=", 10) == 0)
            threads = (unsigned)number(argv[i] + 10, 64);
        else if (strncmp(argv[i], "--scale=", 8) == 0)
            scale = number(argv[i] + 8, 1000);
        else if (strncmp(argv[i], "--live=", 7) == 0)
            live_bytes = number(argv[i] + 7, 1 << 20) << 20;
        else
            usage();
    }
    for (int t = 0; t < 2; t++)
        for (const struct scenario *s = tables[t]; s->name; s++)
            if (strcmp(s->name, argv[1]) == 0) {
                measure(s);
                return 0;
            }
    usage();
}
