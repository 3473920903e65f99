// SPDX-License-Identifier: MIT
//
// What the programs that ask much of malloc share: see scenario.c.
//
#ifndef BIGLEAF_BENCH_SCENARIO_H
#define BIGLEAF_BENCH_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scenario {
    const char *name; // NULL ends a table
    void (*run)(void);
};
extern const struct scenario micro[];  // micro.c
extern const struct scenario suites[]; // suites.c

extern size_t scale;      // --scale: how often the work is done
extern size_t live_bytes; // --live
extern unsigned threads;  // --threads

void *must(void *p);           // ends the program for NULL
void *make(size_t size);       // its first word is written
void count(size_t operations); // done now; any thread
void count_from_here(void);    // what came before, prepared
void on_threads(void *(*body)(void *), unsigned n); // each gets 1 to n

// Inline, so that who calls keeps the state in a register. In memory, where
// each number has to be loaded from what the last one stored, Zen 4 takes 12 ns
// for that now and then, for seconds, whatever malloc does.
static inline uint64_t next(uint64_t *state) { // splitmix64 [Steele-2014]
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

// 0 to n - 1.
static inline size_t below(uint64_t *state, size_t n) {
    return next(state) % n;
}

#endif
