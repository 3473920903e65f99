// SPDX-License-Identifier: MIT
//
// A library that test_plugins.c loads, with libbigleaf-table.a inside.
//
#include <bigleaf/pool.h>
#include <bigleaf/table.h>

__attribute__((visibility("default"))) bool plugin_use(void);

bool plugin_use(void) {
    struct bl_table_space *const space = bl_table_space_new(NULL);
    if (space == NULL)
        return false;
    struct bl_table *const table = bl_table_new(space, "t", BL_TABLE_FS, NULL);
    if (table == NULL)
        return false;
    struct bl_table_thread *const thread = bl_table_attach(space);
    const uint64_t tokens[] = {1};
    const bool ok = bl_table_call(thread, table, tokens, 1) != NULL;
    bl_table_detach(thread);
    bl_table_space_delete(space);
    return ok;
}
