// SPDX-License-Identifier: MIT
//
// Takes and touches some MiB of heap, then ends as told:
//   grow MIB exit|_exit|abort|hang|stop|fork|drop|rename|linger
// or takes 1 MiB of heap, and MIB for itself, past malloc:
//   grow MIB map
// or takes some MiB of heap, and 24 MiB that are zeroed at its start:
//   grow MIB bss
//
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define BLOCK (64 * 1024)

static char zeroed[24 * MIB];

static char **grow(size_t mib) {
    const size_t count = mib * MIB / BLOCK;
    char **blocks = malloc((count + 1) * sizeof *blocks);
    for (size_t i = 0; i < count; i++) {
        blocks[i] = malloc(BLOCK);
        memset(blocks[i], 1, BLOCK);
    }
    blocks[count] = NULL;
    return blocks;
}

static void drop(char **blocks) {
    for (char **p = blocks; *p; p++)
        free(*p);
    free(blocks);
}

static void map(size_t mib) {
    char *const at = mmap(NULL, mib * MIB, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        abort();
    memset(at, 1, mib * MIB);
    printf("at %p\n", (void *)at);
}

// As programs do that write a longer name for themselves where others look.
static void write_over_environment(void) {
    for (char **entry = environ; *entry; entry++)
        memset(*entry, 'x', strlen(*entry));
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    const char *end = argv[2];
    const bool maps = strcmp(end, "map") == 0;
    char **blocks = grow(maps ? 1 : (size_t)atoi(argv[1]));
    if (maps)
        map((size_t)atoi(argv[1]));
    if (strcmp(end, "bss") == 0)
        memset(zeroed, 1, sizeof zeroed);
    printf("grown\n");
    fflush(stdout);
    usleep(100000);
    if (strcmp(end, "linger") == 0) // for who looks now and then
        sleep(2);
    if (strcmp(end, "drop") == 0)
        drop(blocks);
    if (strcmp(end, "rename") == 0)
        write_over_environment();
    if (strcmp(end, "_exit") == 0)
        _exit(7);
    if (strcmp(end, "abort") == 0)
        raise(SIGABRT);
    if (strcmp(end, "stop") == 0)
        raise(SIGSTOP);
    if (strcmp(end, "hang") == 0) {
        sleep(300);
        return 9;
    }
    if (strcmp(end, "fork") == 0 && fork() == 0) {
        drop(grow((size_t)atoi(argv[1])));
        exit(0);
    }
    while (wait(NULL) > 0)
        ;
    return 7;
}
