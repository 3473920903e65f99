// SPDX-License-Identifier: MIT
//
// Makes the pools of plain_pools.c run out of memory.
//
#ifndef BL_TESTS_TABLE_PLAIN_POOLS_H
#define BL_TESTS_TABLE_PLAIN_POOLS_H

#include <stdint.h>

// The next `count` blocks and pools are granted, later ones refused until this
// is called again; negative: no limit.
void plain_pools_grant(int64_t count);

#endif
