// SPDX-License-Identifier: MIT
//
// A set of token sequences in order of insertion, as plain as can be: what the
// table space is compared with. And random sequences that are a prefix code.
//
#ifndef BL_TESTS_TABLE_NAIVE_H
#define BL_TESTS_TABLE_NAIVE_H

#include "bl_test.h"

#define NAIVE_TOKENS_MAX 64

struct naive_item {
    size_t length;
    uint64_t *tokens;
    size_t chain; // index + 1 of the next with this hash; 0: none
};

struct naive_set {
    struct naive_item *items;
    size_t count;
    size_t capacity;
    size_t heads[4096];
};

void naive_init(struct naive_set *set);
void naive_free(struct naive_set *set);
bool naive_has(const struct naive_set *set, const uint64_t *tokens, size_t n);
// Whether it was new.
bool naive_insert(struct naive_set *set, const uint64_t *tokens, size_t n);

// How random sequences look.
struct naive_shape {
    unsigned terms;  // per sequence
    uint64_t values; // numbers are below this, times `stride`
    uint64_t stride;
    unsigned depth; // of nesting; 0: numbers only
};

// Writes one sequence, at most NAIVE_TOKENS_MAX long; returns its length.
size_t naive_random(struct bl_random *random, const struct naive_shape *shape,
                    uint64_t *out);

#endif
