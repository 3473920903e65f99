// SPDX-License-Identifier: MIT
//
// Of what the runtime stands before or registers for, each once: threads that
// allocate and free, a fork beside them, a large block, dlsym, the end by
// quick_exit. Prints the same whatever malloc there is.
//
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define BLOCKS 1000
#define LARGE ((size_t)16 << 20)

static void *storm(void *seed) {
    unsigned x = *(unsigned *)seed;
    char *blocks[BLOCKS] = {0};
    for (int i = 0; i < 50000; i++) {
        x = x * 1664525u + 1013904223u;
        char **block = &blocks[(x >> 8) % BLOCKS];
        free(*block);
        *block = malloc((x >> 16) % 3000 + 1);
        **block = (char)i;
    }
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    return NULL;
}

static void fork_beside(unsigned *seed) {
    int status = 0;
    const int pid = fork();
    if (pid == 0) {
        storm(seed);
        _exit(3);
    }
    waitpid(pid, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
}

static void at_end(void) {
    puts("end");
    fflush(stdout);
}

int main(void) {
    pthread_t threads[THREADS];
    unsigned seeds[THREADS] = {1, 2, 3, 4};
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, storm, &seeds[i]);
    fork_beside(&seeds[0]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    char *large = malloc(LARGE);
    memset(large, 7, LARGE);
    printf("large %d, dlsym %d\n", large[LARGE / 2],
           dlsym(RTLD_DEFAULT, "qsort") != NULL);
    free(large);
    at_quick_exit(at_end);
    fflush(stdout);
    quick_exit(5);
}
