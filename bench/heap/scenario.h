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

uint64_t next(uint64_t *state);          // splitmix64 [Steele-2014]
size_t below(uint64_t *state, size_t n); // 0 to n - 1
void *must(void *p);                     // ends the program for NULL
void *make(size_t size);                 // its first word is written
void count(size_t operations);           // done now; any thread
void count_from_here(void);              // what came before, prepared
void on_threads(void *(*body)(void *), unsigned n); // each gets 1 to n

#endif
