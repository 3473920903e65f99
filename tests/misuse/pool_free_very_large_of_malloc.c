// SPDX-License-Identifier: MIT
//
// crime: free malloc's block of 64 MiB into a pool
// signal: SIGABRT
// says: bigleaf: bl_pool_free(0x*): a block of another pool
//
#include <bigleaf/pool.h>

#include <stddef.h>
#include <stdlib.h>

static void *volatile sink;

static struct bl_pool *pool_of(size_t bytes) {
    const struct bl_pool_spec spec = {"test", bytes, 0, BL_POOL_SHARED};
    return bl_pool_new(&spec);
}

int main(void) {
    struct bl_pool *const pool = pool_of(48);
    sink = bl_pool_alloc(pool);
    bl_pool_free(pool, malloc((size_t)64 << 20));
    return 0;
}
