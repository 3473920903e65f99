// SPDX-License-Identifier: MIT
//
// crime: free a block that is a run of its own into another pool
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
    struct bl_pool *const right = pool_of(5 << 20);
    struct bl_pool *const wrong = pool_of(5 << 20);
    sink = bl_pool_alloc(wrong);
    bl_pool_free(wrong, bl_pool_alloc(right));
    return 0;
}
