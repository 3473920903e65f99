// SPDX-License-Identifier: MIT
//
// Ends, and while it does so, a fifth of a second later,
//   end_twice thread     another thread ends it too
//   end_twice fork       another thread forks, and the child ends (by _exit,
//                        since exit unregisters a library's fork handlers)
//   end_twice handler    a signal's handler ends it too
//
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int signal) {
    (void)signal;
    _exit(7);
}

static void *end_later(void *forks) {
    usleep(200000);
    if (forks != NULL && fork() != 0) {
        wait(NULL);
        pause();
    }
    end(0);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc != 2)
        return 2;
    if (strcmp(argv[1], "handler") == 0) {
        signal(SIGALRM, end);
        ualarm(200000, 0);
        return 7;
    }
    void *const forks = strcmp(argv[1], "fork") == 0 ? argv : NULL;
    if (pthread_create(&thread, NULL, end_later, forks) != 0)
        abort();
    if (forks != NULL)
        end(0);
    return 7;
}
