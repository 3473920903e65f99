// SPDX-License-Identifier: MIT
//
// crime: give a pool's block to free
// signal: SIGABRT
// says: bigleaf: free(0x*): a block of another pool
//
#include <bigleaf/pool.h>

#include <stddef.h>
#include <stdlib.h>

static struct bl_pool *pool_of(size_t bytes) {
    const struct bl_pool_spec spec = {"test", bytes, 0, BL_POOL_SHARED};
    return bl_pool_new(&spec);
}

int main(void) {
    struct bl_pool *const pool = pool_of(48);
    free(bl_pool_alloc(pool));
    return 0;
}
