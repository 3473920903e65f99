// SPDX-License-Identifier: MIT
//
// A small C program for the static link: every part of the family that a
// statically linked program may ask for, threads, fork, and where its blocks
// lie.
//
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *arg) {
    char *p = malloc(1000);
    memset(p, 1, 1000);
    p = realloc(p, 3 << 20);
    p[(3 << 20) - 1] = 2;
    free(p);
    return calloc((size_t)(uintptr_t)arg, 8);
}

int main(void) {
    pthread_t thread[4];
    void *p = NULL;
    int status = 0;
    for (uintptr_t i = 0; i < 4; i++)
        if (pthread_create(&thread[i], NULL, work, (void *)(i + 100)) != 0)
            return 1;
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], &p);
        free(p);
    }
    if (posix_memalign(&p, 4096, 100) != 0 || (uintptr_t)p % 4096 != 0)
        return 2;
    const int ours =
        (uintptr_t)p >= 0x100000000000 && (uintptr_t)p < 0x500000000000;
    free(p);
    free(strdup("text"));
    const struct mallinfo2 info = mallinfo2();
    mallopt(M_ARENA_MAX, 1);
    malloc_trim(0);
    const pid_t pid = fork();
    if (pid == 0) {
        free(work((void *)(uintptr_t)10));
        _exit(0);
    }
    waitpid(pid, &status, 0);
    printf("ours %d, child %d, arena %s\n", ours, status,
           info.arena > 0 ? "counted" : "empty");
    return 0;
}
