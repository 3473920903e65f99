// SPDX-License-Identifier: MIT
//
// crime: free malloc's small block into a pool of large ones
// signal: SIGABRT
// says: bigleaf: bl_pool_free(0x*): a block of another pool
//
#include <bigleaf/pool.h>

#include <stdlib.h>
#include <string.h>

static char *volatile sink;

static struct bl_pool *pool_of(size_t bytes) {
    const struct bl_pool_spec spec = {"test", bytes, 0, BL_POOL_SHARED};
    return bl_pool_new(&spec);
}

int main(void) {
    struct bl_pool *const pool = pool_of(64 << 20);
    sink = bl_pool_alloc(pool);
    bl_pool_free(pool, malloc(48));
    return 0;
}
