// SPDX-License-Identifier: MIT
//
// Medians, and how far a ratio of paired measurements can be trusted.
//
#ifndef BL_CLI_STATISTICS_H
#define BL_CLI_STATISTICS_H

#include <stddef.h>

// NaN for n == 0. Leaves `x` as it is.
double bl_median(const double *x, size_t n);

struct bl_interval {
    double median;
    double low;
    double high;
};

// Of pairs measured side by side: the median of the ratios a[i] / b[i], with a
// 95 % interval by the percentile bootstrap (2000 resamples, always the same
// ones). A pair with b[i] == 0 counts as 1 where a[i] is 0 too, and is left
// out otherwise. With one pair the interval is that ratio.
struct bl_interval bl_ratio(const double *a, const double *b, size_t n);

#endif
