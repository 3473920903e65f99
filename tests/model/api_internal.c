// SPDX-License-Identifier: MIT
//
// The heap under its own names, beside the libc's: for sanitizers, for the
// simulated kernel and for the fuzzer.
//
#include "model.h"

#include "heap/heap.h"

static void *aligned(size_t align, size_t size) {
    return bl_memalign(align, size);
}

static size_t usable_size(void *p) { return bl_usable_size(p); }

static int trim(size_t pad) {
    (void)pad;
    return bl_heap_trim() > 0;
}

struct model_api model_api(void) {
    return (struct model_api){.malloc = bl_malloc,
                              .calloc = bl_calloc,
                              .aligned = aligned,
                              .realloc = bl_realloc,
                              .free = bl_free,
                              .usable_size = usable_size,
                              .trim = trim,
                              .pool_new = bl_pool_new,
                              .pool_alloc = bl_pool_alloc,
                              .pool_free = bl_pool_free,
                              .pool_read_stats = bl_pool_read_stats,
                              .pool_delete = bl_pool_delete,
                              .walk = bl_heap_check};
}
