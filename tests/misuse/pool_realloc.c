// SPDX-License-Identifier: MIT
//
// crime: realloc a pool's block
// signal: SIGABRT
// says: bigleaf: realloc(0x*): a pool's block
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
    sink = bl_pool_alloc(pool);
    sink = realloc(sink, 500);
    return 0;
}
