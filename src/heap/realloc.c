// SPDX-License-Identifier: MIT
//
// realloc: reasoners grow clause arenas and watch lists for as long as they
// run, so growth is the case to be good at. In place where the block, the
// slices behind a span, or the addresses behind a run allow it; a run that
// must move takes its page table entries along and leaves its bytes where they
// are; only what is small is copied.
//
#include "heap/internal.h"

#define WORTH_MOVING 64 // bytes: below, the smaller block saves nothing

// A block that would be less than half used moves to a smaller one.
static bool fits_well(size_t usable, size_t bytes) {
    return bytes <= usable && (bytes >= usable / 2 || usable <= WORTH_MOVING);
}

// What has grown to this size is likely to go on: it gets room to grow into,
// and leaves no hole for each size that it had.
#define GROWER_RUN_FROM (1 * BL_MIB)

// What cannot move to a smaller block stays: to ask for less never fails. Where
// there is no memory for a run, free slices may serve.
static void *move_by_copy(void *p, size_t usable, size_t bytes) {
    const bool grower = bytes > usable && bytes >= GROWER_RUN_FROM;
    void *q = grower && bl_heap_ready() ? bl_run_alloc(bytes) : NULL;
    if (q == NULL)
        q = bl_malloc(bytes);
    if (q == NULL)
        return bytes <= usable ? p : NULL;
    __builtin_memcpy(q, p, usable < bytes ? usable : bytes);
    bl_free(p);
    return q;
}

// Frees, or fails; not `realloc`'s work, nor what it is good at.
static void *resize_to_none(void *p, size_t bytes) {
    if (bytes > PTRDIFF_MAX)
        return bl_out_of_memory();
    bl_free(p);
    return NULL;
}

static void *resize_run(struct bl_run *run, size_t bytes) {
    void *p = bl_run_start(run);
    if (bytes < GROWER_RUN_FROM / 2)
        return move_by_copy(p, run->mapped, bytes);
    if (bl_run_resize(run, bytes))
        return p;
    struct bl_run *moved = bl_run_move(run, bytes);
    if (moved != NULL)
        return bl_run_start(moved);
    void *copy = move_by_copy(p, run->mapped, bytes);
    if (copy != NULL)
        BL_COUNT(runs_copied);
    return copy;
}

static bool is_size(size_t bytes) { return bytes - 1 < PTRDIFF_MAX; }

// Not inlined, nor the next: what they save on the stack costs `bl_realloc`
// nothing where the libc's heap serves.
BL_NOINLINE static void *resize_small(struct bl_page *page, void *p,
                                      size_t bytes) {
    if (BL_UNLIKELY(!is_size(bytes)))
        return resize_to_none(p, bytes);
    const bool span = bl_page_state(page) == BL_PAGE_SPAN;
    if (span ? (char *)p != page->start
             : page->pool == NULL || !bl_block_is_in_use(page, p))
        bl_misuse("realloc", page, p);
    const size_t usable = page->block_bytes;
    if (fits_well(usable, bytes))
        return p;
    if (span && bytes > BL_CLASS_MAX && bl_span_resize(page, bytes))
        return p;
    if (!span && !bl_page_is_of_class(page))
        bl_misuse_as("realloc", p, BL_POOLS_BLOCK);
    return move_by_copy(p, usable, bytes);
}

BL_NOINLINE static void *resize_elsewhere(void *p, size_t bytes) {
    if (p == NULL)
        return bl_malloc(bytes);
    if (!is_size(bytes))
        return resize_to_none(p, bytes);
    struct bl_run *run = bl_run_at(p);
    if (run != NULL && run->pool != NULL)
        bl_misuse_as("realloc", p, BL_POOLS_BLOCK);
    if (run != NULL)
        return resize_run(run, bytes);
    if (!bl_heap_ready())
        return bl_libc()->realloc(p, bytes);
    bl_misuse("realloc", NULL, p);
}

void *bl_realloc(void *p, size_t bytes) {
    const uintptr_t offset = bl_small_offset(p);
    if (BL_LIKELY(bl_offset_is_small(offset)))
        return resize_small(bl_page_at(offset), p, bytes);
    const struct bl_libc_heap *libc = bl_libc_of(p);
    return libc ? libc->realloc(p, bytes) : resize_elsewhere(p, bytes);
}
