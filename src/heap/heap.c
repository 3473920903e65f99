// SPDX-License-Identifier: MIT
//
// Where the fast paths (fast.h) lead when they are not enough.
//
#include "heap/heap.h"

#include "heap/fast.h"
#include "heap/internal.h"

#include <errno.h>

struct bl_pool bl_class_pools[BL_CLASSES];
_Static_assert(BL_CLASSES <= BL_POOLS_RESERVED, "class c is pool c");
__attribute__((weak)) void (*bl_heap_start_hook)(void);

static _Atomic(bool) ready;
_Atomic(const struct bl_libc_heap *) bl_heap_off_to;
static _Atomic(const struct bl_front *) front;

void bl_heap_switch_off(const struct bl_libc_heap *libc) {
    bl_store_release(&bl_heap_off_to, libc);
    bl_local_detach(); // its fast path would go on serving
}

void bl_heap_stand_behind(const struct bl_front *other) {
    bl_operators_mask = 0;
    bl_store_release(&front, other);
    bl_thread.new_served = bl_thread.delete_seen = 0;
}

const struct bl_front *bl_heap_front(void) {
    (void)bl_heap_ready(); // who starts it finds out
    return bl_load_acquire(&front);
}

// The hook may switch the heap off, and may allocate: then the heap serves
// already.
static void start(void) {
    static _Atomic(bool) begun;
    bl_lock_acquire(&bl_lock_start);
    const bool mine = !bl_load_relaxed(&begun);
    if (mine) {
        bl_store_relaxed(&begun, true);
        for (uint32_t c = 0; c < BL_CLASSES; c++) {
            const size_t bytes = bl_class_bytes(c);
            bl_pool_init(&bl_class_pools[c], "malloc", bytes, c);
            bl_locals_serve(c, c > 0 ? bl_class_bytes(c - 1) : 0, bytes);
        }
        bl_store_release(&ready, true);
    }
    bl_lock_release(&bl_lock_start);
    if (mine && bl_heap_start_hook)
        bl_heap_start_hook();
}

bool bl_heap_ready(void) {
    if (BL_UNLIKELY(!bl_load_acquire(&ready)))
        start();
    return bl_libc() == NULL;
}

void *bl_out_of_memory(void) {
    errno = ENOMEM;
    return NULL;
}

// ---------------------------------------------------------------------------
// malloc

static void *class_alloc(uint32_t c) {
    struct bl_local *local = bl_local_self();
    void *p = local ? bl_class_alloc(local, &bl_class_pools[c]) : NULL;
    bl_local_leave();
    return p;
}

// For requests that need no more than the alignment of any block.
static void *any_alloc(uint32_t c) {
    struct bl_local *local = bl_local_self();
    return local ? class_alloc(bl_class_lender(local, bl_class_pools, c))
                 : NULL;
}

// A small heap has no fragments that would fill the holes which objects of
// megabytes leave, so they become runs, which leave none; a large heap packs
// them as spans, so that all of their last unit is huge too. An object of one
// unit is a run: as a span it would lie across two.
#define SMALL_HEAP_SPAN (BL_HUGE_SIZE - 1)

static size_t longest_span(void) {
    return bl_heap_is_small() ? SMALL_HEAP_SPAN : BL_SPAN_MAX;
}

// Without memory, what threads keep of what was freed is given back first; not
// for more than there ever was of that.
static struct bl_run *run_at_any_price(struct bl_local *local, size_t bytes,
                                       size_t align) {
    struct bl_run *run = bl_run_acquire(bytes, align);
    const size_t units = bl_load_relaxed(&bl_stats.units_max);
    if (run != NULL || bytes > units << BL_HUGE_SHIFT)
        return run;
    bl_local_empty(local);
    return bl_run_acquire(bytes, align);
}

// *dirty: so many bytes from its start may be other than zero.
static void *span_or_run(size_t bytes, size_t align, size_t *dirty) {
    const bool short_span =
        bytes <= BL_HUGE_SIZE / 2 && align <= BL_HUGE_SIZE / 2;
    if (short_span || (bytes <= longest_span() && align <= BL_SLICE_BYTES)) {
        void *p = bl_span_alloc(bytes, align, dirty);
        if (p != NULL)
            return p;
    }
    struct bl_local *local = bl_local_attach();
    if (local == NULL)
        return NULL;
    bl_local_trim(local);
    struct bl_run *run = run_at_any_price(local, bytes, align);
    if (run == NULL)
        return NULL;
    *dirty = run->dirty;
    return bl_run_start(run);
}

static void *large_alloc(size_t bytes, size_t align, size_t *dirty) {
    if (bytes > PTRDIFF_MAX)
        return NULL;
    void *p = span_or_run(bytes, align, dirty);
    bl_local_leave();
    return p;
}

// Not inlined, so that the way to the libc's heap needs no frame.
BL_NOINLINE static void *own_malloc(size_t bytes) {
    if (!bl_heap_ready())
        return bl_libc()->malloc(bytes);
    void *p = NULL;
    if (bytes <= BL_CLASS_MAX) {
        p = any_alloc(bl_class_of(bytes));
    } else {
        size_t dirty = 0;
        p = large_alloc(bytes, 1, &dirty);
    }
    return p ? p : bl_out_of_memory();
}

// True for sizes of a class that the fast path does not know.
static bool is_middling(size_t bytes) {
    return bytes - BL_DIRECT_MAX - 1 < BL_CLASS_MAX - BL_DIRECT_MAX;
}

// What the fast path knows and comes here finds an empty cache, or no local.
void *bl_malloc_slow(size_t bytes) {
    struct bl_local *local = bl_self;
    if (BL_LIKELY(local != NULL && is_middling(bytes))) {
        const uint32_t c = local->lender[bl_upper_class_of(bytes)];
        if (BL_LIKELY(bl_cache_has_block(&local->caches[c])))
            return bl_cache_pop(&local->caches[c]);
    }
    const struct bl_libc_heap *libc = bl_libc();
    return libc ? libc->malloc(bytes) : own_malloc(bytes);
}

void *bl_malloc(size_t bytes) { return bl_malloc_fast(bytes); }

void *bl_run_alloc(size_t bytes) {
    struct bl_run *run = bl_run_acquire(bytes, 1);
    return run ? bl_run_start(run) : bl_out_of_memory();
}

void *bl_calloc(size_t count, size_t each) {
    size_t bytes = 0;
    if (BL_UNLIKELY(bl_mul_overflows(count, each, &bytes)))
        return bl_out_of_memory();
    if (BL_LIKELY(bytes <= BL_CLASS_MAX)) {
        void *p = bl_malloc(bytes);
        return p ? __builtin_memset(p, 0, bytes) : NULL;
    }
    if (!bl_heap_ready())
        return bl_libc()->calloc(count, each);
    size_t dirty = 0;
    void *p = large_alloc(bytes, 1, &dirty);
    if (p == NULL)
        return bl_out_of_memory();
    return __builtin_memset(p, 0, dirty < bytes ? dirty : bytes);
}

// ---------------------------------------------------------------------------
// free

BL_NOINLINE static void free_run(void *p) {
    if (p == NULL)
        return;
    struct bl_run *run = bl_run_at(p);
    if (run == NULL)
        bl_misuse("free", NULL, p);
    if (run->pool != NULL)
        bl_misuse_as("free", p, BL_POOLS_BLOCK);
    bl_run_release(run);
}

// The thread has seen less of the small part than there is, or has no local,
// and is to get none where the heap is switched off: it would allocate here.
static void free_small(void *p) {
    if (bl_libc() != NULL || !bl_local_for_free()) {
        bl_page_free_slow(bl_page_at(bl_small_offset(p)), p, NULL);
        return;
    }
    bl_small_see();
    bl_free(p);
}

void bl_free_elsewhere(void *p) {
    if (bl_offset_is_small(bl_small_offset(p))) {
        free_small(p);
        return;
    }
    const struct bl_libc_heap *libc = bl_libc_of(p);
    if (libc != NULL)
        libc->free(p);
    else
        free_run(p);
}

void bl_free(void *p) { bl_free_fast(p); }

// ---------------------------------------------------------------------------
// memalign

// A class whose blocks, all multiples of their size from the page's start,
// are aligned; 64 KiB is one.
static uint32_t aligned_class(size_t align, size_t bytes) {
    uint32_t c = bl_class_of(bytes < align ? align : bytes);
    while (bl_class_bytes(c) % align != 0)
        c++;
    return c;
}

void *bl_memalign(size_t align, size_t bytes) {
    if (BL_UNLIKELY(!bl_is_pow2(align))) {
        errno = EINVAL;
        return NULL;
    }
    if (align <= 16)
        return bl_malloc(bytes);
    if (!bl_heap_ready())
        return bl_libc()->memalign(align, bytes);
    void *p = NULL;
    size_t dirty = 0;
    if (align <= BL_SLICE_BYTES && bytes <= BL_CLASS_MAX) {
        const uint32_t c = aligned_class(align, bytes);
        p = class_alloc(c);
    } else {
        p = large_alloc(bytes ? bytes : 1, align, &dirty);
    }
    return p ? p : bl_out_of_memory();
}

// ---------------------------------------------------------------------------

size_t bl_usable_size(const void *p) {
    if (p == NULL)
        return 0;
    const uintptr_t offset = bl_small_offset(p);
    if (bl_offset_is_small(offset)) {
        const struct bl_page *page = bl_page_at(offset);
        const bool span = bl_page_state(page) == BL_PAGE_SPAN;
        if (span ? (const char *)p != page->start
                 : page->pool == NULL || !bl_block_is_in_use(page, p))
            bl_misuse("malloc_usable_size", page, p);
        return page->block_bytes;
    }
    const struct bl_run *run = bl_run_at(p);
    if (run != NULL)
        return run->mapped;
    if (bl_libc() != NULL)
        return bl_libc()->usable_size((void *)(uintptr_t)p);
    bl_misuse("malloc_usable_size", NULL, p);
}

// Also a thread that never allocates may take back what others left.
size_t bl_heap_trim(void) {
    struct bl_local *local = bl_heap_ready() ? bl_local_self() : NULL;
    if (local != NULL)
        bl_local_empty(local);
    bl_local_leave();
    return bl_reservoir_purge(true);
}

void bl_heap_info(struct mallinfo2 *out) {
    *out = (struct mallinfo2){0};
    if (bl_libc() != NULL) {
        if (bl_libc()->mallinfo2 != NULL)
            *out = bl_libc()->mallinfo2();
        return;
    }
    struct bl_page_totals totals;
    bl_page_totals(&totals);
    const size_t units = bl_load_relaxed(&bl_stats.units_now);
    const size_t warm = bl_load_relaxed(&bl_stats.units_warm_now);
    out->arena = units << BL_HUGE_SHIFT;
    out->ordblks = totals.pages;
    out->hblks = totals.blocks;
    out->uordblks =
        totals.block_bytes + bl_load_relaxed(&bl_stats.run_bytes_now);
    out->fordblks = out->arena > out->uordblks ? out->arena - out->uordblks : 0;
    out->keepcost = warm << BL_HUGE_SHIFT;
}

void bl_heap_check(void) {
    bl_reservoir_check();
    bl_spans_check();
    if (bl_self != NULL)
        bl_local_check(bl_self);
}
