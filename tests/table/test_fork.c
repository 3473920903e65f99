// SPDX-License-Identifier: MIT
//
// Fork in a program that has libbigleaf-table.a alone, while other threads are
// inside of it: a child uses a space of its own, one that it inherits and that
// no other thread was using, and pools that others were using.
//
#include <bigleaf/pool.h>
#include <bigleaf/table.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORKS 200
#define THREADS 3
#define BLOCKS 500
#define SECONDS 20 // for a child that hangs

static struct bl_pool *common;
static struct bl_table_space *busy;
static struct bl_table *busy_table;
static struct bl_table_space *idle;
static struct bl_table *idle_table;
static struct bl_table_thread *idle_thread;
static atomic_bool stop;

static bool make_and_drop_pool(void) {
    const struct bl_pool_spec spec = {.name = "new", .block_bytes = 64};
    struct bl_pool *const pool = bl_pool_new(&spec);
    for (int i = 0; pool != NULL && i < BLOCKS; i++)
        if (bl_pool_alloc(pool) == NULL)
            return false;
    bl_pool_delete(pool);
    return pool != NULL;
}

static bool use_common(void) {
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        if ((blocks[i] = bl_pool_alloc(common)) == NULL)
            return false;
    for (int i = 0; i < BLOCKS; i++)
        bl_pool_free(common, blocks[i]);
    return true;
}

static bool call_often(struct bl_table_thread *thread, struct bl_table *table) {
    for (uint64_t i = 1; i <= 50; i++) {
        const uint64_t tokens[] = {i << BL_TOKEN_KIND_BITS};
        struct bl_subgoal *const sg = bl_table_call(thread, table, tokens, 1);
        if (sg == NULL)
            return false;
        if (bl_subgoal_state(sg) == BL_FRESH)
            bl_subgoal_evaluate(sg);
        if (bl_answer_insert(thread, sg, tokens, 1) == BL_ANSWER_NO_MEMORY)
            return false;
        bl_subgoal_complete(thread, sg);
    }
    return bl_table_abolish_all(thread);
}

static void *be_inside(void *unused) {
    while (!atomic_load(&stop)) {
        struct bl_table_thread *const thread = bl_table_attach(busy);
        call_often(thread, busy_table);
        bl_table_detach(thread);
        make_and_drop_pool();
        use_common();
    }
    return unused;
}

static bool use_new_space(void) {
    struct bl_table_space *const space = bl_table_space_new(NULL);
    struct bl_table *const table =
        bl_table_new(space, "new", BL_TABLE_FS, NULL);
    struct bl_table_thread *const thread = bl_table_attach(space);
    const bool ok = call_often(thread, table);
    bl_table_detach(thread);
    bl_table_space_delete(space);
    return ok;
}

static bool use_idle_space(void) {
    const bool ok = call_often(idle_thread, idle_table);
    bl_table_detach(idle_thread);
    bl_table_space_delete(idle);
    return ok;
}

static int be_child(void) {
    alarm(SECONDS);
    const bool ok = use_new_space() && use_idle_space() &&
                    make_and_drop_pool() && use_common();
    return ok ? 0 : 1;
}

static bool fork_once(int number) {
    const pid_t child = fork();
    if (child == 0)
        _exit(be_child());
    int status = -1;
    waitpid(child, &status, 0);
    if (status != 0)
        printf("child %d: status %#x\n", number, (unsigned)status);
    return status == 0;
}

int main(void) {
    const struct bl_pool_spec spec = {.name = "common", .block_bytes = 3000};
    common = bl_pool_new(&spec);
    busy = bl_table_space_new(NULL);
    busy_table = bl_table_new(busy, "busy", BL_TABLE_FS, NULL);
    idle = bl_table_space_new(NULL);
    idle_table = bl_table_new(idle, "idle", BL_TABLE_FS, NULL);
    idle_thread = bl_table_attach(idle);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, be_inside, NULL);
    bool ok = call_often(idle_thread, idle_table);
    for (int i = 0; ok && i < FORKS; i++)
        ok = fork_once(i);
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return ok ? 0 : 1;
}
