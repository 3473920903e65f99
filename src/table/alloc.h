// SPDX-License-Identifier: MIT
//
// Where the blocks of the table space come from: typed pools, or malloc for
// the comparison. One type of block and one class of size make one pool, made
// when first asked for. A `bl_memory` is one thread's access to one set of
// pools and counts what went through it: the pools may be private to the
// thread (no locks, dropped as a whole) or the space's. Only the thread that
// owns it uses a `bl_memory`; others may read its counts, so these are atomic,
// but never added to atomically.
//
// Shared blocks that a reader without a lock may hold are not freed but
// retired (`retire.h`).
//
#ifndef BL_TABLE_ALLOC_H
#define BL_TABLE_ALLOC_H

#include "base/base.h"
#include "bigleaf/pool.h"
#include "bigleaf/table.h"

#include <pthread.h>

// What fits in a set's word; the last class is of 128 GiB.
#define BL_TABLE_CLASSES 64

struct bl_retired;

struct bl_pools {
    enum bl_table_alloc kind;     // const
    enum bl_pool_sharing sharing; // const
    pthread_mutex_t making;       // for shared pools: one thread makes one
    // Release by the maker, acquire by the users.
    _Atomic(struct bl_pool *) pool[BL_TYPE_COUNT][BL_TABLE_CLASSES];
};

struct bl_memory {
    struct bl_pools *pools;     // const
    struct bl_retired *retired; // const: NULL for private memory
    bool one_by_one;            // const: chunks of one answer
    // owner; may be negative where others freed what this thread allocated
    // and the reverse: only the sum over threads is a count.
    _Atomic int64_t blocks[BL_TYPE_COUNT];
    _Atomic int64_t bytes[BL_TYPE_COUNT];
};

void bl_pools_init(struct bl_pools *pools, enum bl_table_alloc kind,
                   enum bl_pool_sharing sharing);

// Deletes the pools of one type, or with BL_TYPE_COUNT all of them. With
// malloc it does nothing: whoever drops must have freed every block.
void bl_pools_drop(struct bl_pools *pools, enum bl_table_type type);

void bl_pools_add_stats(struct bl_pools *pools, enum bl_table_type type,
                        struct bl_table_memory_stats *out);

void bl_memory_init(struct bl_memory *memory, struct bl_pools *pools,
                    struct bl_retired *retired, bool one_by_one);

// A block of the type, of the class given; types of one size have class 0
// only. Not zeroed. NULL without memory.
void *bl_memory_alloc(struct bl_memory *memory, enum bl_table_type type,
                      unsigned sizeclass);
void bl_memory_free(struct bl_memory *memory, enum bl_table_type type,
                    unsigned sizeclass, void *block);

// Frees a block that is no longer reachable: at once if the memory is private,
// and once no thread can be reading it if it is shared.
void bl_memory_dispose(struct bl_memory *memory, enum bl_table_type type,
                       unsigned sizeclass, void *block);

// Moves `from`'s counts to `to`.
void bl_memory_merge(struct bl_memory *to, struct bl_memory *from);

const char *bl_table_type_name(enum bl_table_type type);
size_t bl_table_type_bytes(enum bl_table_type type, unsigned sizeclass);

#endif
