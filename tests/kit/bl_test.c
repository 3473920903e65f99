// SPDX-License-Identifier: MIT
//
// The runner of the test kit: `main`, selection, one process and one process
// group per test, the time limit, and the printing of checks.
//
// Exit status: 0 all passed, 1 something failed or nothing was selected,
// 77 everything that was selected was skipped, 2 wrong usage.
//
#include "bl_test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXIT_SKIPPED 77

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define LIMIT_FACTOR 10
#else
#define LIMIT_FACTOR 1
#endif

enum verdict { PASSED, FAILED, SKIPPED };

struct settings {
    uint64_t seed;
    unsigned limit_seconds; // 0: the test's own
    bool list;
    bool same_process;
    char **patterns;
    int pattern_count;
    char **rest;
    int rest_count;
};

static struct bl_test *first_test;
static struct bl_test **last_link = &first_test;
static struct settings settings;
static atomic_uint failures;

void bl_test_register(struct bl_test *t) {
    *last_link = t;
    last_link = &t->next;
}

static void write_all(int fd, const char *s, size_t n) {
    while (n > 0) {
        const ssize_t done = write(fd, s, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return;
        s += done;
        n -= (size_t)done;
    }
}

// One line: prefix, message, newline. Cut where it is too long.
static void write_line(const char *prefix, const char *format, va_list args) {
    char line[1024];
    int n = snprintf(line, sizeof line - 1, "%s", prefix);
    const int m =
        vsnprintf(line + n, sizeof line - 1 - (size_t)n, format, args);
    n += m > 0 ? m : 0;
    if (n > (int)sizeof line - 2)
        n = (int)sizeof line - 2;
    line[n] = '\n';
    write_all(STDOUT_FILENO, line, (size_t)n + 1);
}

void bl_test_note(const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_line("", format, args);
    va_end(args);
}

void bl_test_skip(const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_line("  skipped: ", format, args);
    va_end(args);
    _exit(EXIT_SKIPPED);
}

void bl_test_fail(const char *file, int line, const char *format, ...) {
    const int saved = errno;
    char where[512];
    snprintf(where, sizeof where, "  %s:%d: ", file, line);
    va_list args;
    va_start(args, format);
    write_line(where, format, args);
    va_end(args);
    atomic_fetch_add(&failures, 1);
    errno = saved;
}

void bl_test_exit(void) { _exit(atomic_load(&failures) != 0); }

static bool verdict(bool ok, bool fatal) {
    if (!ok && fatal)
        _exit(1);
    return ok;
}

bool bl_test_check_int(const char *file, int line, const char *text,
                       long long a, const char *op, long long b, bool ok,
                       bool fatal) {
    if (!ok)
        bl_test_fail(file, line, "%s: not %lld %s %lld", text, a, op, b);
    return verdict(ok, fatal);
}

bool bl_test_check_size(const char *file, int line, const char *text,
                        unsigned long long a, const char *op,
                        unsigned long long b, bool ok, bool fatal) {
    if (!ok)
        bl_test_fail(file, line, "%s: not %llu %s %llu", text, a, op, b);
    return verdict(ok, fatal);
}

bool bl_test_check_ptr(const char *file, int line, const char *text,
                       const void *a, const char *op, const void *b, bool ok,
                       bool fatal) {
    if (!ok)
        bl_test_fail(file, line, "%s: not %p %s %p", text, a, op, b);
    return verdict(ok, fatal);
}

bool bl_test_check_str(const char *file, int line, const char *text,
                       const char *a, const char *b, bool fatal) {
    const bool ok = a != NULL && b != NULL && strcmp(a, b) == 0;
    if (!ok)
        bl_test_fail(file, line, "%s: \"%s\" is not \"%s\"", text,
                     a ? a : "(null)", b ? b : "(null)");
    return verdict(ok, fatal);
}

bool bl_test_check_true(const char *file, int line, const char *text, bool ok,
                        bool fatal) {
    if (!ok)
        bl_test_fail(file, line, "false: %s", text);
    return verdict(ok, fatal);
}

static pid_t wait_for(pid_t pid, int *status) {
    pid_t done;
    do
        done = waitpid(pid, status, 0);
    while (done < 0 && errno == EINTR);
    return done;
}

void bl_test_expect_child(const char *file, int line, pid_t pid) {
    int status = 0;
    if (pid < 0 || wait_for(pid, &status) != pid) {
        bl_test_fail(file, line, "no child to wait for (pid %d)", (int)pid);
        return;
    }
    if (WIFSIGNALED(status))
        bl_test_fail(file, line, "child ended by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        bl_test_fail(file, line, "child ended with status %d",
                     WEXITSTATUS(status));
}

void bl_test_in_child(void (*body)(void *), void *arg) {
    const pid_t pid = fork();
    if (pid == 0) {
        atomic_store(&failures, 0);
        body(arg);
        bl_test_exit();
    }
    expect_child_ok(pid);
}

uint64_t bl_test_seed(void) { return settings.seed; }
int bl_test_argc(void) { return settings.rest_count; }
char **bl_test_argv(void) { return settings.rest; }

bool bl_test_on_bigleaf(void) {
    const char *const under = getenv("BL_TEST_MALLOC");
    return under != NULL && strcmp(under, "bigleaf") == 0;
}

// A run that is labelled "bigleaf" and uses another malloc proves nothing, so
// it fails: the heap's territory is fixed (see architecture.md).
static bool malloc_is_as_labelled(void) {
#if defined(__x86_64__)
    if (!bl_test_on_bigleaf())
        return true;
    void *const p = malloc(100);
    const uintptr_t at = (uintptr_t)p;
    free(p);
    if (at >= 0x100000000000u && at < 0x500000000000u)
        return true;
    bl_test_note("FAILED: BL_TEST_MALLOC=bigleaf, but malloc gave %#lx",
                 (unsigned long)at);
    return false;
#else
    return true;
#endif
}

static bool read_number(const char *s, uint64_t *out) {
    char *end = NULL;
    errno = 0;
    const unsigned long long x = strtoull(s, &end, 0);
    if (errno != 0 || end == s || *end != '\0')
        return false;
    *out = x;
    return true;
}

static uint64_t seed_of_the_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct bl_random r = {(uint64_t)now.tv_sec * 1000000007u +
                          (uint64_t)now.tv_nsec + (uint64_t)getpid()};
    return bl_random_next(&r) >> 16;
}

static int usage(const char *program) {
    bl_test_note("usage: %s [--seed N] [--limit SECONDS] [--list] [--no-fork] "
                 "[PATTERN...] [-- ARG...]\n"
                 "PATTERN selects the tests whose name contains it.",
                 program);
    return 2;
}

static bool read_arguments(int argc, char **argv) {
    const char *const from_env = getenv("BL_TEST_SEED");
    uint64_t n = 0;
    settings.seed = seed_of_the_clock();
    if (from_env != NULL && read_number(from_env, &n))
        settings.seed = n;
    settings.patterns = argv + 1;
    for (int i = 1; i < argc; i++) {
        const bool has_next = i + 1 < argc;
        if (strcmp(argv[i], "--") == 0) {
            settings.rest = argv + i + 1;
            settings.rest_count = argc - i - 1;
            return true;
        } else if (strcmp(argv[i], "--list") == 0) {
            settings.list = true;
        } else if (strcmp(argv[i], "--no-fork") == 0) {
            settings.same_process = true;
        } else if (strcmp(argv[i], "--seed") == 0 && has_next &&
                   read_number(argv[i + 1], &n)) {
            settings.seed = n;
            i++;
        } else if (strcmp(argv[i], "--limit") == 0 && has_next &&
                   read_number(argv[i + 1], &n)) {
            settings.limit_seconds = (unsigned)n;
            i++;
        } else if (argv[i][0] == '-') {
            return false;
        } else {
            settings.patterns[settings.pattern_count++] = argv[i];
        }
    }
    return true;
}

static bool selected(const struct bl_test *t) {
    if (settings.pattern_count == 0)
        return true;
    for (int i = 0; i < settings.pattern_count; i++)
        if (strstr(t->name, settings.patterns[i]) != NULL)
            return true;
    return false;
}

// Waits for SIGCHLD, which is blocked, until the limit is over.
static bool ends_in_time(pid_t pid, unsigned limit, int *status) {
    struct timespec now;
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    clock_gettime(CLOCK_MONOTONIC, &now);
    const time_t end = now.tv_sec + (time_t)limit + 1;
    while (now.tv_sec < end) {
        if (waitpid(pid, status, WNOHANG) == pid)
            return true;
        const struct timespec step = {1, 0};
        sigtimedwait(&child, NULL, &step);
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    return false;
}

static void run_body(const struct bl_test *t, const sigset_t *mask) {
    setpgid(0, 0);
    sigprocmask(SIG_SETMASK, mask, NULL);
    t->body();
    bl_test_exit();
}

static enum verdict verdict_of(int status) {
    if (WIFSIGNALED(status)) {
        bl_test_note("  ended by signal %d (%s)", WTERMSIG(status),
                     strsignal(WTERMSIG(status)));
        return FAILED;
    }
    if (WEXITSTATUS(status) == EXIT_SKIPPED)
        return SKIPPED;
    return WEXITSTATUS(status) == 0 ? PASSED : FAILED;
}

static enum verdict run_one(const struct bl_test *t) {
    const unsigned limit =
        LIMIT_FACTOR *
        (settings.limit_seconds ? settings.limit_seconds : t->limit_seconds);
    sigset_t child;
    sigset_t before;
    if (settings.same_process) {
        t->body();
        return atomic_exchange(&failures, 0) == 0 ? PASSED : FAILED;
    }
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before);
    const pid_t pid = fork();
    if (pid == 0)
        run_body(t, &before);
    if (pid < 0) {
        bl_test_note("  fork: %s", strerror(errno));
        return FAILED;
    }
    int status = 0;
    const bool in_time = ends_in_time(pid, limit, &status);
    // What the test left behind goes with it: the group is the test's own.
    kill(-pid, SIGKILL);
    if (!in_time) {
        wait_for(pid, &status);
        bl_test_note("  not done after %u s", limit);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return in_time ? verdict_of(status) : FAILED;
}

static int run_selected(void) {
    static const char *const words[] = {"passed ", "FAILED ", "skipped"};
    unsigned count[3] = {0, 0, 0};
    for (const struct bl_test *t = first_test; t != NULL; t = t->next) {
        if (!selected(t))
            continue;
        const enum verdict v = run_one(t);
        count[v]++;
        bl_test_note("%s %s", words[v], t->name);
    }
    bl_test_note("%u passed, %u failed, %u skipped", count[PASSED],
                 count[FAILED], count[SKIPPED]);
    if (count[PASSED] + count[FAILED] + count[SKIPPED] == 0) {
        bl_test_note("no test was selected");
        return 1;
    }
    if (count[FAILED] > 0)
        return 1;
    return count[PASSED] == 0 ? EXIT_SKIPPED : 0;
}

int main(int argc, char **argv) {
    if (!read_arguments(argc, argv))
        return usage(argv[0]);
    if (settings.list) {
        for (const struct bl_test *t = first_test; t != NULL; t = t->next)
            bl_test_note("%s", t->name);
        return 0;
    }
    bl_test_note("seed %llu", (unsigned long long)settings.seed);
    if (!malloc_is_as_labelled())
        return 1;
    return run_selected();
}
