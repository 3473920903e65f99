// SPDX-License-Identifier: MIT
//
// The runtime's statistics, one struct made from stats.def. Updated off the
// fast paths only, with relaxed atomics: no reader draws an order from them.
//
#ifndef BL_BASE_STATS_H
#define BL_BASE_STATS_H

#include "base/atomic.h"

#include <stdint.h>

struct bl_stats {
#define BL_STAT(name, help) _Atomic(uint64_t) name;
#define BL_LEVEL BL_STAT
#include "base/stats.def"
#undef BL_STAT
#undef BL_LEVEL
};

extern struct bl_stats bl_stats;

#define BL_COUNT(name) BL_COUNT_BY(name, 1)
#define BL_COUNT_BY(name, n)                                                   \
    ((void)bl_add_relaxed(&bl_stats.name, (uint64_t)(n)))
#define BL_DISCOUNT_BY(name, n)                                                \
    ((void)bl_sub_relaxed(&bl_stats.name, (uint64_t)(n)))

#endif
