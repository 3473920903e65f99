// SPDX-License-Identifier: MIT
//
// Blocks by type and class, from pools or from malloc; see alloc.h.
//
#include "table/alloc.h"

#include "table/retire.h"
#include "table/space.h"
#include "table/trie_parts.h"

#include <stdlib.h>

struct type_info {
    const char *name;
    size_t bytes; // of a block; 0: the class decides
    size_t align; // 0: the allocator's own
};

static const struct type_info types[BL_TYPE_COUNT] = {
    [BL_TYPE_TABLE] = {"table entry", sizeof(struct bl_table), 64},
    [BL_TYPE_VIEW] = {"table view", sizeof(struct bl_table_view), 0},
    [BL_TYPE_CALLS] = {"shared calls", sizeof(struct bl_shared_calls), 0},
    [BL_TYPE_BUCKETS] = {"buckets", sizeof(struct bl_buckets), 64},
    [BL_TYPE_CALL_NODE] = {"call node", sizeof(struct bl_trie_node), 32},
    [BL_TYPE_SUBGOAL] = {"subgoal",
                         sizeof(struct bl_subgoal) + sizeof(struct bl_answers),
                         0},
    [BL_TYPE_FRAME] = {"subgoal frame", sizeof(struct bl_subgoal), 0},
    [BL_TYPE_ENTRY] = {"subgoal entry", sizeof(struct bl_subgoal_entry), 0},
    [BL_TYPE_SHARED_ENTRY] = {"shared subgoal entry",
                              sizeof(struct bl_subgoal_entry) +
                                  sizeof(struct bl_answers),
                              0},
    [BL_TYPE_ANSWER_NODE] = {"answer node", sizeof(struct bl_trie_node), 32},
    [BL_TYPE_CHUNK] = {"answers", 0, 0},
    [BL_TYPE_CHILDREN] = {"child hash", 0, BL_LINE_BYTES},
    [BL_TYPE_LEAVES] = {"leaf hash", 0, BL_LINE_BYTES},
};

const char *bl_table_type_name(enum bl_table_type type) {
    return types[type].name;
}

size_t bl_table_type_bytes(enum bl_table_type type, unsigned sizeclass) {
    BL_CHECK(sizeclass < BL_TABLE_CLASSES);
    if (types[type].bytes != 0)
        return types[type].bytes;
    return type == BL_TYPE_CHUNK ? (size_t)32 << sizeclass
                                 : bl_class_bytes(sizeclass);
}

static size_t type_align(enum bl_table_type type, unsigned sizeclass) {
    const size_t align = types[type].align;
    return bl_table_type_bytes(type, sizeclass) < align ? 32 : align;
}

void bl_pools_init(struct bl_pools *pools, enum bl_table_alloc kind,
                   enum bl_pool_sharing sharing) {
    pools->kind = kind;
    pools->sharing = sharing;
    BL_CHECK(pthread_mutex_init(&pools->making, NULL) == 0);
    for (unsigned type = 0; type < BL_TYPE_COUNT; type++)
        for (unsigned sizeclass = 0; sizeclass < BL_TABLE_CLASSES; sizeclass++)
            bl_store_relaxed(&pools->pool[type][sizeclass], NULL);
}

static void drop_type(struct bl_pools *pools, unsigned type) {
    for (unsigned sizeclass = 0; sizeclass < BL_TABLE_CLASSES; sizeclass++) {
        // Relaxed: no other thread uses the pools now.
        struct bl_pool *const pool =
            bl_load_relaxed(&pools->pool[type][sizeclass]);
        if (pool != NULL)
            bl_pool_delete(pool);
        bl_store_relaxed(&pools->pool[type][sizeclass], NULL);
    }
}

void bl_pools_drop(struct bl_pools *pools, enum bl_table_type type) {
    if (type != BL_TYPE_COUNT) {
        drop_type(pools, type);
        return;
    }
    for (unsigned each = 0; each < BL_TYPE_COUNT; each++)
        drop_type(pools, each);
}

void bl_pools_add_stats(struct bl_pools *pools, enum bl_table_type type,
                        struct bl_table_memory_stats *out) {
    for (unsigned sizeclass = 0; sizeclass < BL_TABLE_CLASSES; sizeclass++) {
        const struct bl_pool *const pool =
            bl_load_acquire(&pools->pool[type][sizeclass]);
        if (pool == NULL)
            continue;
        struct bl_pool_stats stats;
        bl_pool_read_stats(pool, &stats);
        out->pages += stats.pages_in_use;
        out->mapped_bytes += stats.bytes_mapped;
    }
}

static struct bl_pool *make_pool(struct bl_pools *pools,
                                 enum bl_table_type type, unsigned sizeclass) {
    const struct bl_pool_spec spec = {.name = types[type].name,
                                      .block_bytes =
                                          bl_table_type_bytes(type, sizeclass),
                                      .align = type_align(type, sizeclass),
                                      .sharing = pools->sharing};
    pthread_mutex_lock(&pools->making);
    // Relaxed: stored under the lock held here.
    struct bl_pool *pool = bl_load_relaxed(&pools->pool[type][sizeclass]);
    if (pool == NULL) {
        pool = bl_pool_new(&spec);
        bl_store_release(&pools->pool[type][sizeclass], pool);
    }
    pthread_mutex_unlock(&pools->making);
    return pool;
}

void bl_memory_init(struct bl_memory *memory, struct bl_pools *pools,
                    struct bl_retired *retired, bool one_by_one) {
    memory->pools = pools;
    memory->retired = retired;
    memory->one_by_one = one_by_one;
    for (unsigned type = 0; type < BL_TYPE_COUNT; type++) {
        bl_store_relaxed(&memory->blocks[type], 0);
        bl_store_relaxed(&memory->bytes[type], 0);
    }
}

// Relaxed, and no addition in one step: only the owner writes the counts.
static void count(struct bl_memory *memory, enum bl_table_type type,
                  int64_t blocks, int64_t bytes) {
    bl_store_relaxed(&memory->blocks[type],
                     bl_load_relaxed(&memory->blocks[type]) + blocks);
    bl_store_relaxed(&memory->bytes[type],
                     bl_load_relaxed(&memory->bytes[type]) + bytes);
}

static void *malloc_aligned(size_t bytes, size_t align) {
    return align <= _Alignof(max_align_t)
               ? malloc(bytes)
               : aligned_alloc(align, bl_align_up(bytes, align));
}

void *bl_memory_alloc(struct bl_memory *memory, enum bl_table_type type,
                      unsigned sizeclass) {
    struct bl_pools *const pools = memory->pools;
    const size_t bytes = bl_table_type_bytes(type, sizeclass);
    void *block;
    if (pools->kind == BL_ALLOC_MALLOC) {
        // Only whole lines gain from being aligned.
        const size_t align = type_align(type, sizeclass);
        block = malloc_aligned(bytes, align == 64 ? 64 : 0);
    } else {
        // Acquire: pairs with the release of the maker.
        struct bl_pool *pool = bl_load_acquire(&pools->pool[type][sizeclass]);
        if (BL_UNLIKELY(pool == NULL)) {
            pool = make_pool(pools, type, sizeclass);
            if (pool == NULL)
                return NULL;
        }
        block = bl_pool_alloc(pool);
    }
    if (BL_LIKELY(block != NULL))
        count(memory, type, 1, (int64_t)bytes);
    return block;
}

void bl_memory_free(struct bl_memory *memory, enum bl_table_type type,
                    unsigned sizeclass, void *block) {
    if (block == NULL)
        return;
    struct bl_pools *const pools = memory->pools;
    if (pools->kind == BL_ALLOC_MALLOC)
        free(block);
    else
        bl_pool_free(bl_load_acquire(&pools->pool[type][sizeclass]), block);
    count(memory, type, -1, -(int64_t)bl_table_type_bytes(type, sizeclass));
}

void bl_memory_dispose(struct bl_memory *memory, enum bl_table_type type,
                       unsigned sizeclass, void *block) {
    if (memory->retired == NULL)
        bl_memory_free(memory, type, sizeclass, block);
    else
        bl_retired_add(memory->retired, type, sizeclass, block);
}

void bl_memory_merge(struct bl_memory *to, struct bl_memory *from) {
    for (unsigned type = 0; type < BL_TYPE_COUNT; type++) {
        count(to, type, bl_load_relaxed(&from->blocks[type]),
              bl_load_relaxed(&from->bytes[type]));
        bl_store_relaxed(&from->blocks[type], 0);
        bl_store_relaxed(&from->bytes[type], 0);
    }
}
