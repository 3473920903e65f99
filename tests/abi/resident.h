// SPDX-License-Identifier: MIT
//
// What of this process is in memory, as the kernel counts it.
//
#ifndef BL_TESTS_ABI_RESIDENT_H
#define BL_TESTS_ABI_RESIDENT_H

#include "bl_test.h"

#include <stdio.h>
#include <unistd.h>

static inline size_t resident_bytes(void) {
    FILE *const f = fopen("/proc/self/statm", "r");
    size_t total = 0;
    size_t resident = 0;
    if (f == NULL || fscanf(f, "%zu %zu", &total, &resident) != 2)
        bl_test_skip("no /proc/self/statm");
    fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

#endif
