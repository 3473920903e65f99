// SPDX-License-Identifier: MIT
//
// crime: free the middle of a pool's block
// signal: SIGABRT
// says: bigleaf: bl_pool_free(0x*): not the start of a block
// says: bigleaf: free(0x*): not the start of a block
//
#include <bigleaf/pool.h>

#include <stddef.h>
#include <stdlib.h>

static struct bl_pool *pool_of(size_t bytes) {
    const struct bl_pool_spec spec = {"test", bytes, 0, BL_POOL_SHARED};
    return bl_pool_new(&spec);
}

int main(void) {
    struct bl_pool *const pool = pool_of(200);
    char *const p = bl_pool_alloc(pool);
    bl_pool_free(pool, p + 16);
    return 0;
}
