// SPDX-License-Identifier: MIT
//
// crime: free a private pool's block twice
// signal: SIGABRT
// says: bigleaf: bl_pool_free(0x*): double free
// says: bigleaf: free(0x*): double free
//
#include <bigleaf/pool.h>

#include <stdlib.h>

static void *volatile sink;

int main(void) {
    const struct bl_pool_spec spec = {"test", 48, 0, BL_POOL_PRIVATE};
    struct bl_pool *const pool = bl_pool_new(&spec);
    sink = bl_pool_alloc(pool);
    void *const p = bl_pool_alloc(pool);
    bl_pool_free(pool, p);
    bl_pool_free(pool, p);
    return 0;
}
