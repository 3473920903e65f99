// SPDX-License-Identifier: MIT
//
// splitmix64: one word of state, and a good stream from every seed, small
// ones too, so that a printed seed is all it takes to run a test again.
// Source: [Steele-2014].
//
#ifndef BL_TESTS_KIT_BL_RANDOM_H
#define BL_TESTS_KIT_BL_RANDOM_H

#include <stdint.h>

struct bl_random {
    uint64_t state;
};

static inline uint64_t bl_random_next(struct bl_random *r) {
    uint64_t z = (r->state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// In [0, n); n is not 0. The bias of the remainder is of no account here.
static inline uint64_t bl_random_below(struct bl_random *r, uint64_t n) {
    return bl_random_next(r) % n;
}

#endif
