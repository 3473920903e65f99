// SPDX-License-Identifier: MIT
//
// Pools with a malloc and a free for each block, for sanitized builds: the
// sanitizers' own layout of addresses leaves no room for the territory, and so
// every use of a block that was freed, or goes with its pool, is found. Blocks
// are listed by relaxed exchanges only, so that nothing here orders what the
// table space itself leaves unordered.
//
#include "plain_pools.h"

#include "bigleaf/pool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct note {
    struct note *next;
    void *memory; // NULL: freed
};

struct bl_pool {
    struct bl_pool_spec spec;
    _Atomic(struct note *) notes;
    _Atomic size_t in_use;
};

static _Atomic int64_t granted = -1;

void plain_pools_grant(int64_t count) {
    atomic_store_explicit(&granted, count, memory_order_relaxed);
}

static bool take_grant(void) {
    int64_t left = atomic_load_explicit(&granted, memory_order_relaxed);
    while (left > 0 && !atomic_compare_exchange_weak_explicit(
                           &granted, &left, left - 1, memory_order_relaxed,
                           memory_order_relaxed)) {
    }
    return left != 0;
}

// The note's address lies right before the block.
static size_t lead_bytes(const struct bl_pool *pool) {
    return pool->spec.align > 16 ? pool->spec.align : 16;
}

struct bl_pool *bl_pool_new(const struct bl_pool_spec *spec) {
    if (!take_grant())
        return NULL;
    struct bl_pool *const pool = calloc(1, sizeof(*pool));
    if (pool != NULL)
        pool->spec = *spec;
    return pool;
}

void *bl_pool_alloc(struct bl_pool *pool) {
    if (!take_grant())
        return NULL;
    const size_t lead = lead_bytes(pool);
    const size_t bytes = pool->spec.block_bytes + lead;
    struct note *const note = malloc(sizeof(*note));
    char *const memory = aligned_alloc(lead, (bytes + lead - 1) / lead * lead);
    if (note == NULL || memory == NULL) {
        free(note);
        free(memory);
        return NULL;
    }
    note->memory = memory;
    char *const block = memory + lead;
    ((struct note **)(void *)block)[-1] = note;
    note->next = atomic_load_explicit(&pool->notes, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&pool->notes, &note->next,
                                                  note, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
    atomic_fetch_add_explicit(&pool->in_use, 1, memory_order_relaxed);
    return block;
}

void bl_pool_free(struct bl_pool *pool, void *block) {
    if (block == NULL)
        return;
    struct note *const note = ((struct note **)block)[-1];
    free(note->memory);
    note->memory = NULL;
    atomic_fetch_sub_explicit(&pool->in_use, 1, memory_order_relaxed);
}

void bl_pool_read_stats(const struct bl_pool *pool, struct bl_pool_stats *out) {
    const size_t in_use =
        atomic_load_explicit(&pool->in_use, memory_order_relaxed);
    *out = (struct bl_pool_stats){.name = pool->spec.name,
                                  .block_bytes = pool->spec.block_bytes,
                                  .blocks_in_use = in_use};
}

void bl_pool_delete(struct bl_pool *pool) {
    struct note *note =
        atomic_load_explicit(&pool->notes, memory_order_relaxed);
    while (note != NULL) {
        struct note *const next = note->next;
        free(note->memory);
        free(note);
        note = next;
    }
    free(pool);
}
