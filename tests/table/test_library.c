// SPDX-License-Identifier: MIT
//
// libbigleaf-table.a as another engine would use it: with the public headers
// and the library alone. Evaluates reachability on a small cycle, and names
// every function of the interface, so that one missing from the library does
// not link. With the word "runtime", the pools must be those of the runtime
// that malloc comes from.
//
#include <bigleaf/pool.h>
#include <bigleaf/table.h>

#include <stdio.h>
#include <stdlib.h>

typedef void function(void);

static function *const interface[] = {
    (function *)bl_answer_count,     (function *)bl_answer_depth_max,
    (function *)bl_answer_insert,    (function *)bl_answer_next,
    (function *)bl_answer_read,      (function *)bl_answer_repeated,
    (function *)bl_pool_alloc,       (function *)bl_pool_delete,
    (function *)bl_pool_free,        (function *)bl_pool_new,
    (function *)bl_pool_read_stats,  (function *)bl_subgoal_abandon,
    (function *)bl_subgoal_complete, (function *)bl_subgoal_completed_elsewhere,
    (function *)bl_subgoal_depth,    (function *)bl_subgoal_each,
    (function *)bl_subgoal_evaluate, (function *)bl_subgoal_read,
    (function *)bl_subgoal_set_user, (function *)bl_subgoal_state,
    (function *)bl_subgoal_table,    (function *)bl_subgoal_user,
    (function *)bl_table_abolish,    (function *)bl_table_abolish_all,
    (function *)bl_table_attach,     (function *)bl_table_call,
    (function *)bl_table_check,      (function *)bl_table_count,
    (function *)bl_table_detach,     (function *)bl_table_find_call,
    (function *)bl_table_name,       (function *)bl_table_new,
    (function *)bl_table_read_locks, (function *)bl_table_read_memory,
    (function *)bl_table_rest,       (function *)bl_table_space_delete,
    (function *)bl_table_space_new,  (function *)bl_table_user,
};

#define NODES ((uint64_t)10)

static uint64_t number(uint64_t value) { return value << 3 | 1; }

// Each copy of the pools has its own 4 TiB of addresses, or more.
static uint64_t territory(const void *p) { return (uint64_t)p >> 42; }

static bool pools_are_those_of_malloc(void) {
    const struct bl_pool_spec spec = {.name = "block", .block_bytes = 100};
    struct bl_pool *const pool = bl_pool_new(&spec);
    void *const block = bl_pool_alloc(pool);
    void *const other = malloc(100);
    const bool same = territory(block) == territory(other);
    printf("block at %p, malloc's at %p\n", block, other);
    free(other);
    bl_pool_free(pool, block);
    bl_pool_delete(pool);
    return same;
}

int main(int argc, char **argv) {
    (void)argv;
    if (pools_are_those_of_malloc() != (argc > 1))
        return 1;
    struct bl_table_space *const space = bl_table_space_new(NULL);
    struct bl_table *const path =
        bl_table_new(space, "path/2", BL_TABLE_FS, NULL);
    struct bl_table_thread *const thread = bl_table_attach(space);
    const uint64_t call[] = {2, 10};
    struct bl_subgoal *const sg = bl_table_call(thread, path, call, 2);
    bl_subgoal_evaluate(sg);
    for (uint64_t x = 0; x < NODES; x++) {
        const uint64_t edge[] = {number(x), number((x + 1) % NODES)};
        bl_answer_insert(thread, sg, edge, 2);
    }
    struct bl_answer_cursor cursor = {NULL, 0};
    const struct bl_answer *answer;
    while ((answer = bl_answer_next(sg, &cursor)) != NULL) {
        uint64_t buffer[2] = {0};
        const uint64_t *const pair = bl_answer_read(answer, buffer + 2);
        const uint64_t y = pair[1] >> 3;
        const uint64_t longer[] = {pair[0], number((y + 1) % NODES)};
        bl_answer_insert(thread, sg, longer, 2);
    }
    bl_subgoal_complete(thread, sg);
    struct bl_table_counts counts;
    bl_table_count(thread, path, &counts);
    printf("%lu answers, %lu repeated, %lu nodes, %zu functions\n",
           (unsigned long)counts.unique, (unsigned long)counts.repeated,
           (unsigned long)counts.answer_nodes,
           sizeof(interface) / sizeof(interface[0]));
    const bool ok = counts.unique == NODES * NODES &&
                    counts.repeated == NODES &&
                    counts.answer_nodes == 1 + NODES + NODES * NODES;
    bl_table_detach(thread);
    bl_table_space_delete(space);
    for (size_t i = 0; i < sizeof(interface) / sizeof(interface[0]); i++)
        if (interface[i] == NULL)
            return 1;
    return ok ? 0 : 1;
}
