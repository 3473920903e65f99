// SPDX-License-Identifier: MIT
#include "cli/statistics.h"

#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RESAMPLES 2000

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle_of_sorted(const double *x, size_t n) {
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

double bl_median(const double *x, size_t n) {
    if (n == 0)
        return NAN;
    double *sorted = bl_xrealloc(NULL, n * sizeof *sorted);
    memcpy(sorted, x, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    const double median = middle_of_sorted(sorted, n);
    free(sorted);
    return median;
}

// xorshift64: the resamples must be the same each time, not be good secrets.
static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static struct bl_interval bootstrap(const double *x, size_t n) {
    uint64_t state = 0x9e3779b97f4a7c15;
    double *medians = bl_xrealloc(NULL, RESAMPLES * sizeof *medians);
    double *sample = bl_xrealloc(NULL, n * sizeof *sample);
    for (size_t i = 0; i < RESAMPLES; i++) {
        for (size_t k = 0; k < n; k++)
            sample[k] = x[next_random(&state) % n];
        medians[i] = bl_median(sample, n);
    }
    qsort(medians, RESAMPLES, sizeof *medians, by_value);
    const struct bl_interval interval = {
        bl_median(x, n), medians[RESAMPLES / 40],
        medians[RESAMPLES - 1 - RESAMPLES / 40]};
    free(medians);
    free(sample);
    return interval;
}

struct bl_interval bl_ratio(const double *a, const double *b, size_t n) {
    double *ratios = bl_xrealloc(NULL, n * sizeof *ratios);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (b[i] > 0)
            ratios[count++] = a[i] / b[i];
        else if (a[i] <= 0)
            ratios[count++] = 1;
    }
    struct bl_interval interval = {NAN, NAN, NAN};
    if (count)
        interval = bootstrap(ratios, count);
    free(ratios);
    return interval;
}
