// SPDX-License-Identifier: MIT
//
// Retired blocks; see retire.h for why this is right.
//
#include "table/retire.h"

#include "table/space.h"

#include <stdlib.h>

#define RECLAIM_EVERY 64     // blocks
#define RECLAIM_BYTES BL_MIB // or bytes, whichever comes first
#define RECLAIM_PART 8       // but no less than this part of what was kept

static bool ensure_room(struct bl_retired *retired) {
    if (retired->count < retired->capacity)
        return true;
    const size_t capacity =
        retired->capacity == 0 ? 128 : retired->capacity * 2;
    struct bl_retired_block *const blocks =
        realloc(retired->blocks, capacity * sizeof(*blocks));
    if (blocks == NULL)
        return false;
    retired->blocks = blocks;
    retired->capacity = capacity;
    return true;
}

void bl_retired_see(struct bl_retired *retired, struct bl_epochs *epochs,
                    uint64_t now) {
    const bool at_work = bl_load_relaxed(&retired->seen) != BL_NOT_AT_WORK;
    bl_store_release(&retired->seen, now);
    // Pairs with the addition in `bl_retired_add`.
    if (!at_work)
        bl_add_acq_rel(&epochs->now, 0);
}

void bl_table_rest(struct bl_table_thread *thread) {
    bl_store_release(&thread->retired.seen, BL_NOT_AT_WORK);
}

static void put(struct bl_retired *retired, const struct bl_retired_block *b) {
    retired->blocks[retired->count++] = *b;
    retired->bytes += bl_table_type_bytes(b->type, b->sizeclass);
}

// Whether so much has come since the last attempt to free some that another one
// is worth going through all.
static bool is_due(const struct bl_retired *retired) {
    const size_t blocks = retired->count - retired->kept;
    const size_t bytes = retired->bytes - retired->kept_bytes;
    return (blocks >= RECLAIM_EVERY &&
            blocks >= retired->kept / RECLAIM_PART) ||
           (bytes >= RECLAIM_BYTES &&
            bytes >= retired->kept_bytes / RECLAIM_PART);
}

static void free_older(struct bl_retired *retired, struct bl_memory *memory,
                       uint64_t epoch) {
    const size_t count = retired->count;
    retired->count = 0;
    retired->bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const struct bl_retired_block b = retired->blocks[i];
        if (b.epoch < epoch)
            bl_memory_free(memory, b.type, b.sizeclass, b.block);
        else
            put(retired, &b);
    }
    retired->kept = retired->count;
    retired->kept_bytes = retired->bytes;
}

// The oldest epoch that a thread was last seen in; under space.lock.
static uint64_t oldest_seen(const struct bl_table_space *space) {
    uint64_t oldest = UINT64_MAX;
    for (const struct bl_table_thread *t = space->threads; t != NULL;
         t = t->next) {
        // Acquire: pairs with `bl_retired_see`; that thread's reads are over.
        const uint64_t seen = bl_load_acquire(&t->retired.seen);
        if (seen < oldest)
            oldest = seen;
    }
    return oldest;
}

// Frees what no other thread can hold, also of the orphans. Not while the list
// of threads is in use: the next block tries again.
static void reclaim(struct bl_retired *retired) {
    struct bl_table_space *const space = retired->thread->space;
    if (pthread_mutex_trylock(&space->lock) != 0)
        return;
    const uint64_t oldest = oldest_seen(space);
    if (is_due(&space->orphans))
        free_older(&space->orphans, &space->ended, oldest);
    pthread_mutex_unlock(&space->lock);
    free_older(retired, &retired->thread->common, oldest);
}

void bl_retired_add(struct bl_retired *retired, enum bl_table_type type,
                    unsigned sizeclass, void *block) {
    if (!ensure_room(retired))
        return;
    struct bl_epochs *const epochs = &retired->thread->space->epochs;
    const struct bl_retired_block b = {
        .block = block,
        // Pairs with the acquire in `bl_retired_enter`. A plain load might
        // return an epoch that others have long left, and stamp too early.
        .epoch = bl_add_acq_rel(&epochs->now, 1),
        .type = type,
        .sizeclass = sizeclass};
    put(retired, &b);
    if (is_due(retired))
        reclaim(retired);
}

void bl_retired_leave(struct bl_retired *retired) {
    struct bl_table_space *const space = retired->thread->space;
    struct bl_retired *const orphans = &space->orphans;
    if (space->threads == NULL) {
        bl_retired_flush(retired);
        return;
    }
    for (size_t i = 0; i < retired->count; i++)
        if (ensure_room(orphans))
            put(orphans, &retired->blocks[i]);
    retired->count = 0;
    if (is_due(orphans))
        free_older(orphans, &space->ended, oldest_seen(space));
}

void bl_retired_flush(struct bl_retired *retired) {
    struct bl_table_space *const space = retired->thread->space;
    free_older(retired, &retired->thread->common, UINT64_MAX);
    free_older(&space->orphans, &space->ended, UINT64_MAX);
}

void bl_retired_fini(struct bl_retired *retired) {
    free(retired->blocks);
    retired->blocks = NULL;
    retired->count = 0;
    retired->capacity = 0;
}
