// SPDX-License-Identifier: MIT
//
// crime: delete a pool twice
// signal: SIGABRT
// says: bigleaf: bl_pool_delete(0x*): deleted already
//
#include <bigleaf/pool.h>

int main(void) {
    const struct bl_pool_spec spec = {"test", 48, 0, BL_POOL_SHARED};
    struct bl_pool *const pool = bl_pool_new(&spec);
    bl_pool_delete(pool);
    bl_pool_delete(pool);
    return bl_pool_new(&spec) == bl_pool_new(&spec);
}
