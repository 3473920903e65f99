// SPDX-License-Identifier: MIT
#include "cli/clock.h"

#include <time.h>

static uint64_t read_us(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

uint64_t bl_now_us(void) { return read_us(CLOCK_MONOTONIC); }

uint64_t bl_cpu_us(void) { return read_us(CLOCK_PROCESS_CPUTIME_ID); }
