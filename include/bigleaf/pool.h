// SPDX-License-Identifier: MIT
//
// Typed pools: blocks of one type on pages of their own, on huge pages.
//
// A pool hands out blocks of one size. Its blocks lie on pages that hold
// nothing else; a page is local to one thread, which allocates and frees on it
// without a lock, or global. Threads may free each other's blocks. A page
// whose blocks are all free may serve any other pool afterwards.
// Source: [AreiasRocha-2012], section III; see docs/REFERENCES.md.
//
// Sizes are bytes. No function sets errno. Nothing here throws.
//
#ifndef BIGLEAF_POOL_H
#define BIGLEAF_POOL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct bl_pool;

// Who may use a pool.
enum bl_pool_sharing {
    BL_POOL_SHARED, // any thread allocates and frees, at any time
    BL_POOL_PRIVATE // one thread at a time; the caller sees to that. No
                    // atomics, and deleting it costs O(pages)
};

struct bl_pool_spec {
    const char *name;   // shown in statistics; must outlive the pool
    size_t block_bytes; // at least 1; rounded up to a multiple of `align`.
                        // Any size that addresses can be had for, whether or
                        // not the machine has as much memory
    size_t align;       // a power of two up to 2 MiB; 0 means 16
    enum bl_pool_sharing sharing;
};

// A reading, exact for a private pool, and for a shared one exact when no
// other thread is using it.
struct bl_pool_stats {
    const char *name;
    size_t block_bytes;   // what one block takes, rounding included
    size_t blocks_in_use; // handed out and not yet freed
    size_t pages_in_use;  // pages that hold or held these blocks
    size_t bytes_mapped;  // of those pages
};

// A new pool, or NULL without memory or where the specification is not one.
// Any thread. The pool is the caller's until `bl_pool_delete`.
struct bl_pool *bl_pool_new(const struct bl_pool_spec *spec);

// One block, not zeroed, or NULL without memory.
void *bl_pool_alloc(struct bl_pool *pool);

// Takes back a block of this very pool; NULL is allowed. A block that is free
// already, or is not one of a pool's, ends the program with one line.
void bl_pool_free(struct bl_pool *pool, void *block);

// Of a shared pool any thread may ask, while others use it; of a private one
// the thread that may use it then.
void bl_pool_read_stats(const struct bl_pool *pool, struct bl_pool_stats *out);

// Gives back the pool and all its blocks at once, in time linear in its pages
// and not in its blocks. No other thread may be using the pool or a block.
// Deleting it once more, while no other pool has taken its place, ends the
// program with one line. NULL is allowed.
void bl_pool_delete(struct bl_pool *pool);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
