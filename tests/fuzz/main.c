// SPDX-License-Identifier: MIT
//
// fuzz_replay [--seconds N] FILE...: the fuzz target without a fuzzer. Plays
// every file; then, for N seconds, changed copies of them, blindly. For
// compilers without -fsanitize=fuzzer, and to play a finding again.
//
#include "bl_random.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_BYTES 16384

static uint8_t input[MOST_BYTES];

static size_t read_input(const char *path) {
    FILE *const f = fopen(path, "rb");
    if (f == NULL) {
        perror(path);
        exit(2);
    }
    const size_t size = fread(input, 1, sizeof input, f);
    fclose(f);
    return size;
}

static size_t change(size_t size, struct bl_random *r) {
    for (uint64_t n = 1 + bl_random_below(r, 20); n > 0 && size > 0; n--)
        input[bl_random_below(r, size)] = (uint8_t)bl_random_next(r);
    const size_t more = bl_random_below(r, 600);
    for (size_t i = 0; i < more && size < MOST_BYTES; i++)
        input[size++] = (uint8_t)bl_random_next(r);
    return size;
}

int main(int argc, char **argv) {
    struct bl_random r = {(uint64_t)time(NULL)};
    int first = 1;
    time_t end = 0;
    unsigned long runs = 0;
    if (argc > 2 && strcmp(argv[1], "--seconds") == 0) {
        end = time(NULL) + strtol(argv[2], NULL, 10);
        first = 3;
    }
    if (first >= argc) {
        fprintf(stderr, "usage: fuzz_replay [--seconds N] FILE...\n");
        return 2;
    }
    printf("seed %llu\n", (unsigned long long)r.state);
    for (int i = first; i < argc; i++, runs++)
        LLVMFuzzerTestOneInput(input, read_input(argv[i]));
    for (; time(NULL) < end; runs++) {
        const int i =
            first + (int)bl_random_below(&r, (uint64_t)(argc - first));
        LLVMFuzzerTestOneInput(input, change(read_input(argv[i]), &r));
    }
    printf("%lu inputs played\n", runs);
    return 0;
}
