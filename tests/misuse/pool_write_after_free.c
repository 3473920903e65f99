// SPDX-License-Identifier: MIT
//
// crime: write into a freed block of a pool
// signal: SIGABRT
// says: bigleaf: a free block was overwritten: its link is 0x*
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
    struct bl_pool *const pool = pool_of(64);
    sink = bl_pool_alloc(pool);
    bl_pool_free(pool, sink);
    memset(sink, 0x41, 64);
    sink = bl_pool_alloc(pool);
    sink = bl_pool_alloc(pool);
    return 0;
}
