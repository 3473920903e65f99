// SPDX-License-Identifier: MIT
//
// Accesses whose TLB misses can be told beforehand.
//
//   walker sweep PAGES ROUNDS   one byte of each base page, round by round
//   walker threads N PAGES      as many sweeps of ROUNDS 4 at once
//   walker fork PAGES           the child sweeps, the parent waits
//   walker forks N PAGES        as many forks while two threads sweep
//   walker jump PAGES           sweeps below a call that a longjmp has left
//   walker deep PAGES           sweeps under 500 recursive calls
//   walker killed PAGES         20 rounds, then SIGKILL
//   walker end signal|status    ends by signal 6, or with status 42
//
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BASE_PAGE ((size_t)4096)

static jmp_buf back;
static volatile unsigned char sink;
static volatile int armed = 1;

static void sweep(volatile unsigned char *at, size_t pages, size_t rounds) {
    for (size_t r = 0; r < rounds; r++) {
        for (size_t i = 0; i < pages; i++)
            at[i * BASE_PAGE]++; // the line of every miss
    }
}

static unsigned char *new_memory(size_t pages) {
    unsigned char *at = malloc((pages + 1) * BASE_PAGE);
    if (!at)
        exit(1);
    memset(at, 0, (pages + 1) * BASE_PAGE);
    return at;
}

static void *in_thread(void *pages) {
    const size_t n = (size_t)pages;
    sweep(new_memory(n), n, 4);
    return NULL;
}

static void run_threads(size_t count, size_t pages) {
    pthread_t threads[64];
    for (size_t i = 0; i < count && i < 64; i++)
        pthread_create(&threads[i], NULL, in_thread, (void *)pages);
    for (size_t i = 0; i < count && i < 64; i++)
        pthread_join(threads[i], NULL);
}

static int run_fork(size_t pages) {
    int status = 1;
    const pid_t child = fork();
    if (child == 0) {
        sweep(new_memory(pages), pages, 4);
        _exit(7);
    }
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

static volatile int stop;

static void *sweep_on(void *pages) {
    const size_t n = (size_t)pages;
    unsigned char *at = new_memory(n);
    while (!stop)
        sweep(at, n, 1);
    return NULL;
}

static void *sweep_on_too(void *pages) {
    sweep_on(pages);
    sink++;
    return NULL;
}

// The two miss by the same instruction, each in a context of its own.
static void run_forks(size_t count, size_t pages) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, sweep_on, (void *)pages);
    pthread_create(&threads[1], NULL, sweep_on_too, (void *)pages);
    for (size_t i = 0; i < count; i++) {
        const pid_t child = fork();
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
    }
    stop = 1;
    for (size_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static void leave(int depth) {
    if (depth == 0 && armed)
        longjmp(back, 1);
    if (depth > 0)
        leave(depth - 1);
    sink++;
}

static void after_jump(size_t pages) {
    if (setjmp(back) == 0)
        leave(20);
    sweep(new_memory(pages), pages, 4);
}

static void deep(int depth, size_t pages) {
    if (depth == 0)
        sweep(new_memory(pages), pages, 4);
    else
        deep(depth - 1, pages);
    sink++;
}

static void killed(size_t pages) {
    sweep(new_memory(pages), pages, 20);
    kill(getpid(), SIGKILL);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    const size_t first = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    const size_t second = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    printf("%s\n", what);
    fflush(stdout);
    if (strcmp(what, "sweep") == 0)
        sweep(new_memory(first), first, second);
    else if (strcmp(what, "threads") == 0)
        run_threads(first, second);
    else if (strcmp(what, "fork") == 0)
        return run_fork(first);
    else if (strcmp(what, "forks") == 0)
        run_forks(first, second);
    else if (strcmp(what, "jump") == 0)
        after_jump(first);
    else if (strcmp(what, "deep") == 0)
        deep(500, first);
    else if (strcmp(what, "killed") == 0)
        killed(first);
    else if (strcmp(what, "end") == 0 && strcmp(argv[2], "signal") == 0)
        raise(SIGABRT);
    else
        return 42;
    return 0;
}
