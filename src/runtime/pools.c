// SPDX-License-Identifier: MIT
//
// Where libbigleaf-table.a finds the runtime's pools.
//
#include "page/page.h"

extern const struct bl_pool_functions bl_runtime_pools
    __attribute__((visibility("default")));

const struct bl_pool_functions bl_runtime_pools = {
    .make = bl_pool_new,
    .alloc = bl_pool_alloc,
    .free = bl_pool_free,
    .read_stats = bl_pool_read_stats,
    .drop = bl_pool_delete,
};
