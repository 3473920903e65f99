// SPDX-License-Identifier: MIT
//
// The space and its threads.
//
// Private memory goes as a whole when its thread detaches or abolishes all;
// with malloc the same moments free block by block.
//
#include "table/space.h"

#include "os/os.h"

#include <stdlib.h>
#include <string.h>

// ---- space

static bool are_options(const struct bl_table_options *o) {
    return (unsigned)o->design <= BL_TABLE_FS &&
           (unsigned)o->locks <= BL_LOCKS_ARRAY &&
           (unsigned)o->alloc <= BL_ALLOC_MALLOC;
}

struct bl_table_space *
bl_table_space_new(const struct bl_table_options *options) {
    if (options != NULL && !are_options(options))
        return NULL;
    struct bl_table_space *const space =
        aligned_alloc(64, bl_align_up(sizeof(*space), 64));
    if (space == NULL)
        return NULL;
    memset(space, 0, sizeof(*space));
    if (options != NULL)
        space->options = *options;
    if (space->options.locks == BL_LOCKS_ARRAY) {
        const size_t bytes = BL_LOCK_COUNT * sizeof(*space->locks);
        space->locks = aligned_alloc(BL_LINE_BYTES, bytes);
        if (space->locks == NULL) {
            free(space);
            return NULL;
        }
        memset(space->locks, 0, bytes);
    }
    BL_CHECK(pthread_mutex_init(&space->lock, NULL) == 0);
    bl_pools_init(&space->pools, space->options.alloc, BL_POOL_SHARED);
    bl_memory_init(&space->ended, &space->pools, NULL, false);
    bl_memory_init(&space->entries, &space->pools, NULL, false);
    bl_store_relaxed(&space->epochs.now, 1);
    return space;
}

void bl_table_space_delete(struct bl_table_space *space) {
    if (space == NULL)
        return;
    if (space->thread_count != 0)
        bl_fatal("bl_table_space_delete: a thread is still attached; "
                 "bl_table_detach comes first");
    if (space->options.alloc == BL_ALLOC_MALLOC)
        bl_tables_free(space);
    bl_pools_drop(&space->pools, BL_TYPE_COUNT);
    bl_retired_fini(&space->orphans);
    pthread_mutex_destroy(&space->lock);
    pthread_mutex_destroy(&space->pools.making);
    free(space->locks);
    free(space);
}

// ---- threads

static bool take_number(struct bl_table_space *space, unsigned *number) {
    for (unsigned i = 0; i < BL_ARRAY_LEN(space->numbers); i++) {
        if (space->numbers[i] == UINT64_MAX)
            continue;
        const unsigned bit = bl_lowest_bit(~space->numbers[i]);
        space->numbers[i] |= (uint64_t)1 << bit;
        *number = i * 64 + bit;
        return true;
    }
    return false;
}

static void leave_number(struct bl_table_space *space, unsigned number) {
    space->numbers[number / 64] &= ~((uint64_t)1 << number % 64);
}

static void init_thread(struct bl_table_thread *thread,
                        struct bl_table_space *space) {
    const bool one_by_one = space->options.one_by_one;
    memset(thread, 0, sizeof(*thread));
    thread->head.own = &thread->own;
    thread->head.common = &thread->common;
    thread->space = space;
    thread->retired.thread = thread;
    bl_store_relaxed(&thread->retired.seen, BL_NOT_AT_WORK);
    bl_pools_init(&thread->pools, space->options.alloc, BL_POOL_PRIVATE);
    bl_memory_init(&thread->own, &thread->pools, NULL, one_by_one);
    bl_memory_init(&thread->common, &space->pools, &thread->retired,
                   one_by_one);
}

struct bl_table_thread *bl_table_attach(struct bl_table_space *space) {
    struct bl_table_thread *const thread =
        aligned_alloc(64, bl_align_up(sizeof(*thread), 64));
    if (thread == NULL)
        return NULL;
    init_thread(thread, space);
    pthread_mutex_lock(&space->lock);
    const bool ok = take_number(space, &thread->number);
    if (ok) {
        thread->next = space->threads;
        space->threads = thread;
        space->thread_count++;
    }
    pthread_mutex_unlock(&space->lock);
    if (ok)
        return thread;
    pthread_mutex_destroy(&thread->pools.making);
    free(thread);
    return NULL;
}

static void unlist_thread(struct bl_table_thread *thread) {
    struct bl_table_thread **link = &thread->space->threads;
    while (*link != thread)
        link = &(*link)->next;
    *link = thread->next;
    thread->space->thread_count--;
}

void bl_table_detach(struct bl_table_thread *thread) {
    struct bl_table_space *const space = thread->space;
    bl_views_drop(thread);
    pthread_mutex_lock(&space->lock);
    unlist_thread(thread);
    leave_number(space, thread->number);
    bl_retired_leave(&thread->retired);
    bl_memory_merge(&space->ended, &thread->common);
    space->ended_locks.taken += bl_load_relaxed(&thread->locks_taken);
    space->ended_locks.failed += bl_load_relaxed(&thread->locks_failed);
    pthread_mutex_unlock(&space->lock);
    bl_retired_fini(&thread->retired);
    pthread_mutex_destroy(&thread->pools.making);
    free(thread);
}
