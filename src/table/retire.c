// SPDX-License-Identifier: MIT
//
// Retired blocks; see retire.h for why this is right.
//
#include "table/retire.h"

#include "table/space.h"

#include <stdlib.h>

#define RECLAIM_EVERY 64     // blocks
#define RECLAIM_BYTES BL_MIB // or bytes, whichever comes first

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

void bl_retired_add(struct bl_retired *retired, enum bl_table_type type,
                    unsigned sizeclass, void *block) {
    if (!ensure_room(retired))
        return;
    struct bl_epochs *const epochs = &retired->thread->space->epochs;
    retired->blocks[retired->count++] = (struct bl_retired_block){
        .block = block,
        // Pairs with the acquire in `bl_retired_enter`. A plain load might
        // return an epoch that others have long left, and stamp too early.
        .epoch = bl_add_acq_rel(&epochs->now, 1),
        .type = type,
        .sizeclass = sizeclass};
    retired->bytes += bl_table_type_bytes(type, sizeclass);
    if (retired->count % RECLAIM_EVERY == 0 || retired->bytes >= RECLAIM_BYTES)
        bl_retired_reclaim(retired);
}

void bl_retired_hand_over(struct bl_retired *from, struct bl_retired *to) {
    for (size_t i = 0; i < from->count; i++)
        if (ensure_room(to))
            to->blocks[to->count++] = from->blocks[i];
    from->count = 0;
}

void bl_retired_fini(struct bl_retired *retired) {
    free(retired->blocks);
    retired->blocks = NULL;
    retired->count = 0;
    retired->capacity = 0;
}

// The oldest epoch that a thread was last seen in; 0 where the list of threads
// is in use. Adopts what ended threads have left.
static uint64_t adopt_and_find_oldest(struct bl_retired *retired) {
    struct bl_table_space *const space = retired->thread->space;
    if (pthread_mutex_trylock(&space->lock) != 0)
        return 0;
    bl_retired_hand_over(&space->orphans, retired);
    uint64_t oldest = UINT64_MAX;
    for (struct bl_table_thread *t = space->threads; t != NULL; t = t->next) {
        // Acquire: pairs with `bl_retired_see`; that thread's reads are over.
        const uint64_t seen = bl_load_acquire(&t->retired.seen);
        if (seen < oldest)
            oldest = seen;
    }
    pthread_mutex_unlock(&space->lock);
    return oldest;
}

static void free_older(struct bl_retired *retired, uint64_t epoch) {
    struct bl_memory *const memory = &retired->thread->common;
    size_t kept = 0;
    for (size_t i = 0; i < retired->count; i++) {
        const struct bl_retired_block *const b = &retired->blocks[i];
        if (b->epoch < epoch)
            bl_memory_free(memory, b->type, b->sizeclass, b->block);
        else
            retired->blocks[kept++] = *b;
    }
    retired->count = kept;
}

void bl_retired_reclaim(struct bl_retired *retired) {
    retired->bytes = 0;
    free_older(retired, adopt_and_find_oldest(retired));
}

void bl_retired_flush(struct bl_retired *retired) {
    free_older(retired, UINT64_MAX);
}
