// SPDX-License-Identifier: MIT
//
// model [--seed N] [--seconds N | --traces N] [--ops N] [--profile NAME]
//       [--out FOLDER] [--in-process] [TRACE...]
//
// Without TRACE: random traces, each in a child, until the time is up or one
// fails; that one is shrunk and written to FOLDER. With TRACE files: these
// are replayed. Exit status 0, 1 where a trace failed, 2 for wrong usage.
//
#include "model.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct settings {
    uint64_t seed;
    unsigned seconds;
    unsigned traces; // 0: as many as the time allows
    size_t ops;
    const char *profile;
    const char *out;
    bool in_process; // for sanitizers and debuggers: no child, no shrinking
};

static bool replay_once(const struct model_api *api, const struct settings *s,
                        const struct trace *t, char *why, size_t capacity) {
    size_t at = 0;
    if (!s->in_process)
        return replay_in_child(api, t, why, capacity);
    const char *const wrong = replay(api, t, &at);
    if (wrong != NULL)
        snprintf(why, capacity, "operation %zu: %s", at, wrong);
    return wrong == NULL;
}

static int replay_files(const struct model_api *api, const struct settings *s,
                        char **paths, int count) {
    struct trace t = trace_new(MODEL_MAX_OPS);
    int failed = 0;
    for (int i = 0; i < count; i++) {
        char why[256] = "";
        if (!trace_read(&t, paths[i]))
            return 2;
        const bool ok = replay_once(api, s, &t, why, sizeof why);
        printf("%s %s: %zu operations%s%s\n", ok ? "passed" : "FAILED",
               paths[i], t.count, ok ? "" : ": ", why);
        failed += !ok;
    }
    return failed != 0;
}

static void write_failure(const struct settings *s, const struct trace *t,
                          uint64_t seed, const char *profile, const char *why) {
    char path[512];
    snprintf(path, sizeof path, "%s/model-%llu.trace", s->out,
             (unsigned long long)seed);
    FILE *const f = fopen(path, "w");
    if (f == NULL) {
        perror(path);
        return;
    }
    fprintf(f, "# seed %llu, profile %s: %s\n", (unsigned long long)seed,
            profile, why);
    trace_write(t, f);
    fclose(f);
    printf("written to %s:\n", path);
    if (t->count <= 40)
        trace_write(t, stdout);
}

static bool run_one(const struct model_api *api, const struct settings *s,
                    struct trace *t, uint64_t seed, unsigned profile) {
    char why[256] = "";
    struct bl_random r = {seed};
    generate(t, s->ops, profile, api->pool_new != NULL, &r);
    if (replay_once(api, s, t, why, sizeof why))
        return true;
    printf("FAILED seed %llu, profile %s, %zu operations: %s\n",
           (unsigned long long)seed, profile_name(profile), t->count, why);
    fflush(stdout);
    if (!s->in_process) {
        shrink(api, t, 60);
        replay_once(api, s, t, why, sizeof why);
    }
    write_failure(s, t, seed, profile_name(profile), why);
    return false;
}

static unsigned count_profiles(void) {
    unsigned n = 0;
    while (profile_name(n) != NULL)
        n++;
    return n;
}

static bool choose_profile(const struct settings *s, unsigned i,
                           unsigned *profile) {
    *profile = i % count_profiles();
    if (s->profile == NULL)
        return true;
    for (*profile = 0; profile_name(*profile) != NULL; ++*profile)
        if (strcmp(profile_name(*profile), s->profile) == 0)
            return true;
    return false;
}

// The seed of the i-th trace: with --seed N --traces 1 --profile P a trace is
// made again.
static int run_random(const struct model_api *api, const struct settings *s) {
    struct trace t = trace_new(s->ops + 16);
    const time_t end = time(NULL) + (time_t)s->seconds;
    uint64_t total = 0;
    unsigned i = 0;
    for (; s->traces ? i < s->traces : time(NULL) < end; i++) {
        unsigned profile = 0;
        if (!choose_profile(s, i, &profile)) {
            fprintf(stderr, "model: no profile \"%s\"\n", s->profile);
            return 2;
        }
        if (!run_one(api, s, &t, s->seed + i, profile))
            return 1;
        total += t.count;
    }
    printf("passed: seeds %llu to %llu, %u traces, %llu operations\n",
           (unsigned long long)s->seed, (unsigned long long)s->seed + i - 1, i,
           (unsigned long long)total);
    return 0;
}

static int usage(void) {
    fprintf(stderr,
            "usage: model [--seed N] [--seconds N | --traces N] [--ops N]\n"
            "             [--profile NAME] [--out FOLDER] [--in-process]\n"
            "             [TRACE...]\nprofiles:");
    for (unsigned i = 0; profile_name(i) != NULL; i++)
        fprintf(stderr, " %s", profile_name(i));
    fputc('\n', stderr);
    return 2;
}

static uint64_t some_seed(void) {
    struct bl_random r = {(uint64_t)time(NULL) * 1000003u + (uint64_t)getpid()};
    return bl_random_next(&r) >> 32;
}

int main(int argc, char **argv) {
    struct settings s = {
        .seed = some_seed(), .seconds = 5, .ops = 6000, .out = "."};
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        const char *const name = argv[i] + 2;
        if (strcmp(name, "in-process") == 0) {
            s.in_process = true;
            continue;
        }
        if (++i == argc)
            return usage();
        if (strcmp(name, "seed") == 0)
            s.seed = strtoull(argv[i], NULL, 0);
        else if (strcmp(name, "seconds") == 0)
            s.seconds = (unsigned)strtoul(argv[i], NULL, 0);
        else if (strcmp(name, "traces") == 0)
            s.traces = (unsigned)strtoul(argv[i], NULL, 0);
        else if (strcmp(name, "ops") == 0)
            s.ops = strtoul(argv[i], NULL, 0);
        else if (strcmp(name, "profile") == 0)
            s.profile = argv[i];
        else if (strcmp(name, "out") == 0)
            s.out = argv[i];
        else
            return usage();
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    const struct model_api api = model_api();
    if (i < argc)
        return replay_files(&api, &s, argv + i, argc - i);
    return run_random(&api, &s);
}
