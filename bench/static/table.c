// SPDX-License-Identifier: MIT
// A hash table with chains: table NODES LOOKS.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define BUCKETS (UINT64_C(1) << 20)

struct node {
    struct node *next;
    uint64_t key, value[5];
};

static uint64_t state = 1;

static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    const long nodes = atol(argv[1]);
    const long looks = atol(argv[2]);
    struct node **table = calloc(BUCKETS, sizeof *table);
    for (long i = 0; i < nodes; i++) {
        const uint64_t key = next_random();
        struct node *n = malloc(sizeof *n);
        if (!n || !table)
            return 1;
        *n = (struct node){table[key % BUCKETS], key, {key}};
        table[key % BUCKETS] = n;
    }
    uint64_t found = 0;
    for (long i = 0; i < looks; i++) {
        for (const struct node *n = table[next_random() % BUCKETS]; n;
             n = n->next)
            found += n->key & 1;
    }
    printf("%llu\n", (unsigned long long)found);
    return 0;
}
