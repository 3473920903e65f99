// SPDX-License-Identifier: MIT
//
// crime: free a variable on the stack into a pool
// signal: SIGABRT
// says: bigleaf: bl_pool_free(0x*): no block of this heap
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
    char on_stack[48];
    sink = on_stack;
    bl_pool_free(pool, sink);
    return 0;
}
