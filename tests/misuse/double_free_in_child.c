// SPDX-License-Identifier: MIT
//
// crime: a forked child frees twice
// signal: SIGABRT
// says: bigleaf: free(0x*): double free
//
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    int status = 0;
    void *const p = malloc(40);
    free(p);
    if (fork() == 0)
        free(p);
    wait(&status);
    if (WIFSIGNALED(status))
        raise(WTERMSIG(status));
    return 0;
}
