// SPDX-License-Identifier: MIT
//
// crime: free a pool's block by free()
// signal: SIGABRT
// says: bigleaf: free(0x*): a pool's block
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
    struct bl_pool *const pool = pool_of(48);
    free(malloc(48)); // the thread has its caches
    sink = bl_pool_alloc(pool);
    free(sink);
    return 0;
}
