// SPDX-License-Identifier: MIT
//
// The names of bigleaf/pool.h in libbigleaf-table.a. They are weak, but the
// loader takes a program's weak name before a shared library's, and by the time
// that one is known it is too late to leave them out. So they ask for the
// runtime by a name that only it has, and else lead to the library's own pools,
// those of page/ by other names.
//
#include "page/page.h"
#include "table/own_start.h"

extern const struct bl_pool_functions bl_runtime_pools
    __attribute__((weak, visibility("default")));

struct bl_pool *bl_own_pool_new(const struct bl_pool_spec *spec);
void *bl_own_pool_alloc(struct bl_pool *pool);
void bl_own_pool_free(struct bl_pool *pool, void *block);
void bl_own_pool_read_stats(const struct bl_pool *pool,
                            struct bl_pool_stats *out);
void bl_own_pool_delete(struct bl_pool *pool);

static bool has_runtime(void) { return BL_UNLIKELY(&bl_runtime_pools != NULL); }

struct bl_pool *bl_pool_new(const struct bl_pool_spec *spec) {
    if (has_runtime())
        return bl_runtime_pools.make(spec);
    bl_own_start();
    return bl_own_pool_new(spec);
}

void *bl_pool_alloc(struct bl_pool *pool) {
    if (has_runtime())
        return bl_runtime_pools.alloc(pool);
    return bl_own_pool_alloc(pool);
}

void bl_pool_free(struct bl_pool *pool, void *block) {
    if (has_runtime())
        bl_runtime_pools.free(pool, block);
    else
        bl_own_pool_free(pool, block);
}

void bl_pool_read_stats(const struct bl_pool *pool, struct bl_pool_stats *out) {
    if (has_runtime())
        bl_runtime_pools.read_stats(pool, out);
    else
        bl_own_pool_read_stats(pool, out);
}

void bl_pool_delete(struct bl_pool *pool) {
    if (has_runtime())
        bl_runtime_pools.drop(pool);
    else
        bl_own_pool_delete(pool);
}
