// SPDX-License-Identifier: MIT
//
// A process that registers fork handlers of its own before it first forks or
// has a second thread. They take a lock under which other threads allocate: so
// the runtime's handlers, though it registers them no earlier than they are
// wanted, must be the first that were. In a process that the test kit has not
// forked.
//
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 3
#define FORKS 200

static atomic_bool stop;
static _Atomic(void *) shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void allocate(void) {
    free(atomic_exchange(&shared, malloc(100)));
    free(malloc(100000)); // takes the locks
}

static void before(void) {
    pthread_mutex_lock(&lock);
    allocate();
}

static void after(void) {
    allocate();
    pthread_mutex_unlock(&lock);
}

static void *work(void *unused) {
    (void)unused;
    while (!atomic_load(&stop)) {
        pthread_mutex_lock(&lock);
        allocate();
        pthread_mutex_unlock(&lock);
        sched_yield(); // who forks must have its turn on a busy machine too
    }
    return NULL;
}

static int fork_once(void) {
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 100; i++)
            allocate();
        _exit(0);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}

int main(void) {
    pthread_t thread[THREADS];
    int failed = 0;
    alarm(60);
    failed += pthread_atfork(before, after, after) != 0;
    failed += fork_once();
    for (int i = 0; i < THREADS; i++)
        failed += pthread_create(&thread[i], NULL, work, NULL) != 0;
    for (int i = 0; i < FORKS; i++)
        failed += fork_once();
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++)
        failed += pthread_join(thread[i], NULL) != 0;
    if (failed > 0)
        fprintf(stderr, "%d calls or children failed\n", failed);
    return failed > 0;
}
