// SPDX-License-Identifier: MIT
//
// Pools: the public interface (bigleaf/pool.h), and what size classes are
// made from. A shared pool has a number, which indexes its entry in every
// local; a private pool carries its one entry itself and is its own owner.
// Blocks above half a unit are runs of their own, chained for deletion.
//
#include "page/internal.h"

#define PAGE_BLOCK_MAX (BL_HUGE_SIZE / 2)
#define RUN_ALIGN_FROM (2 * BL_SLICE_BYTES)

// Blocks below this size share a line of the processor's caches with others:
// handed out by two threads they would be written by both in turn (passive
// false sharing, [Berger-2000, section 2.2]).
#define LINE 64

static struct bl_pool *free_records; // lock:bl_lock_pools
static _Atomic(uint32_t) next_number = BL_POOLS_RESERVED;

// The smallest page that wastes at most an eighth of itself: many classes have
// few blocks in use, and a page holds what others could use.
static unsigned slices_for_block(size_t block) {
    unsigned slices = (unsigned)((block + BL_SLICE_BYTES - 1) / BL_SLICE_BYTES);
    while (slices * BL_SLICE_BYTES % block > slices * BL_SLICE_BYTES / 8 &&
           slices < BL_PAGE_SLICES_MAX)
        slices++;
    return slices;
}

static void set_geometry(struct bl_pool *pool, size_t block_bytes) {
    const unsigned slices = slices_for_block(block_bytes);
    pool->block_bytes = (uint32_t)block_bytes;
    pool->slices = (uint8_t)slices;
    pool->capacity = (uint32_t)(slices * BL_SLICE_BYTES / block_bytes);
    pool->reciprocal = UINT64_MAX / block_bytes + 1;
    if (bl_is_pow2(block_bytes)) // it divides 2^64, not 2^64 - 1
        pool->reciprocal++;
    pool->cache = (uint16_t)offsetof(struct bl_local, caches[BL_NO_CACHE]);
    BL_ASSERT(slices <= BL_PAGE_SLICES_MAX && pool->capacity > 0);
    BL_ASSERT(pool->capacity >> (64 - BL_REMOTE_COUNT_SHIFT) == 0);
}

void bl_pool_init(struct bl_pool *pool, const char *name, size_t block_bytes,
                  uint32_t index) {
    *pool = (struct bl_pool){.name = name, .index = index};
    set_geometry(pool, block_bytes);
    pool->cache = (uint16_t)(offsetof(struct bl_local, caches) +
                             index * sizeof(struct bl_cache));
    pool->owner_only = block_bytes < LINE ? UINT32_MAX : 0;
    bl_entry_init(&pool->own);
    bl_entry_init(&pool->global);
}

static struct bl_pool *take_record(void) {
    bl_lock_acquire(&bl_lock_pools);
    struct bl_pool *pool = free_records;
    if (pool)
        free_records = pool->next_free;
    bl_lock_release(&bl_lock_pools);
    return pool ? pool : bl_metadata_alloc(sizeof *pool);
}

static void give_record(struct bl_pool *pool) {
    bl_lock_acquire(&bl_lock_pools);
    pool->deleted = true;
    pool->next_free = free_records;
    free_records = pool;
    bl_lock_release(&bl_lock_pools);
}

static size_t block_bytes_of(const struct bl_pool_spec *spec, size_t align) {
    size_t bytes = 0;
    if (spec->block_bytes == 0 ||
        bl_add_overflows(spec->block_bytes, align - 1, &bytes) ||
        bytes > BL_LARGE_BYTES / 2)
        return 0;
    bytes = bl_align_down(bytes, align);
    if (bytes < sizeof(struct bl_block))
        bytes = sizeof(struct bl_block);
    return bl_align_up(bytes, 8);
}

static struct bl_pool *new_pool(const struct bl_pool_spec *spec) {
    const size_t align = spec->align ? spec->align : 16;
    if (!bl_is_pow2(align) || align > BL_HUGE_SIZE ||
        (spec->sharing != BL_POOL_SHARED && spec->sharing != BL_POOL_PRIVATE))
        return NULL;
    const size_t bytes = block_bytes_of(spec, align);
    if (bytes == 0 || bl_local_attach() == NULL)
        return NULL;
    struct bl_pool *pool = take_record();
    if (pool == NULL)
        return NULL;
    *pool = (struct bl_pool){.name = spec->name,
                             .index = pool->index,
                             .is_private = spec->sharing == BL_POOL_PRIVATE};
    bl_entry_init(&pool->own);
    bl_entry_init(&pool->global);
    if (bytes > PAGE_BLOCK_MAX || align >= RUN_ALIGN_FROM)
        pool->run_bytes = bytes;
    else
        set_geometry(pool, bytes);
    // A record keeps its number, and so it is used again with the record.
    if (!pool->is_private && !pool->run_bytes && pool->index == 0)
        pool->index = bl_add_relaxed(&next_number, 1);
    return pool;
}

struct bl_pool *bl_pool_new(const struct bl_pool_spec *spec) {
    struct bl_pool *pool = new_pool(spec);
    bl_local_leave();
    return pool;
}

// ---------------------------------------------------------------------------
// Blocks that are runs: chained by their records' links, which are free while
// the run is in use.

static uint32_t run_number(const struct bl_run *run) {
    return (uint32_t)(((uintptr_t)bl_run_start(run) - bl_territory.large) >>
                      BL_HUGE_SHIFT);
}

static struct bl_run *numbered_run(uint32_t number) {
    return bl_run_at((char *)bl_territory.large +
                     ((size_t)number << BL_HUGE_SHIFT));
}

BL_NOINLINE static void *run_block_alloc(struct bl_pool *pool) {
    struct bl_run *run = bl_run_acquire(pool->run_bytes, BL_HUGE_SIZE);
    if (run == NULL)
        return NULL;
    bl_lock_acquire(&bl_lock_pages);
    run->pool = pool;
    run->prev = 0;
    run->next = pool->runs;
    if (run->next)
        numbered_run(run->next - 1)->prev = run_number(run) + 1;
    pool->runs = run_number(run) + 1;
    pool->run_count++;
    bl_lock_release(&bl_lock_pages);
    return bl_run_start(run);
}

static void run_block_free(struct bl_pool *pool, void *block) {
    struct bl_run *run = bl_run_at(block);
    const uintptr_t offset = bl_small_offset(block);
    if (run == NULL)
        bl_misuse("bl_pool_free",
                  bl_offset_is_small(offset) ? bl_page_at(offset) : NULL,
                  block);
    if (run->pool != pool)
        bl_misuse_as("bl_pool_free", block, BL_ANOTHER_POOLS_BLOCK);
    bl_lock_acquire(&bl_lock_pages);
    run->pool = NULL;
    if (run->prev)
        numbered_run(run->prev - 1)->next = run->next;
    else
        pool->runs = run->next;
    if (run->next)
        numbered_run(run->next - 1)->prev = run->prev;
    pool->run_count--;
    bl_lock_release(&bl_lock_pages);
    bl_run_release(run);
}

// ---------------------------------------------------------------------------

static struct bl_entry *own_entry(struct bl_pool *pool) {
    struct bl_local *self = bl_self;
    return BL_LIKELY(self != NULL) ? bl_local_entry(self, pool->index) : NULL;
}

// Of a shared pool, by a thread that has no entry of it.
BL_NOINLINE static void *first_alloc(struct bl_pool *pool) {
    struct bl_local *self = bl_local_attach();
    struct bl_entry *entry =
        self ? bl_local_make_entry(self, pool->index) : NULL;
    void *block = entry ? bl_entry_alloc(entry, pool, (uintptr_t)self) : NULL;
    bl_local_leave();
    return block;
}

void *bl_pool_alloc(struct bl_pool *pool) {
    if (BL_UNLIKELY(pool->run_bytes != 0))
        return run_block_alloc(pool);
    struct bl_entry *entry = pool->is_private ? &pool->own : own_entry(pool);
    if (BL_UNLIKELY(entry == NULL))
        return first_alloc(pool);
    struct bl_page *page = entry->first;
    if (BL_LIKELY(bl_page_has_block(page)))
        return bl_page_pop(page);
    return bl_entry_alloc(
        entry, pool, pool->is_private ? (uintptr_t)pool : (uintptr_t)bl_self);
}

static BL_NORETURN void not_small(const void *block) {
    if (bl_run_at(block) != NULL)
        bl_misuse_as("bl_pool_free", block, BL_ANOTHER_POOLS_BLOCK);
    bl_misuse("bl_pool_free", NULL, block);
}

void bl_pool_free(struct bl_pool *pool, void *block) {
    if (block == NULL)
        return;
    if (BL_UNLIKELY(pool->run_bytes != 0)) {
        run_block_free(pool, block);
        return;
    }
    const uintptr_t offset = bl_small_offset(block);
    if (BL_UNLIKELY(!bl_offset_is_small(offset)))
        not_small(block);
    struct bl_page *page = bl_page_at(offset);
    if (BL_UNLIKELY(page->pool != pool))
        bl_misuse("bl_pool_free", page, block);
    const uintptr_t owner = bl_load_relaxed(&page->owner);
    const uintptr_t me =
        pool->is_private ? (uintptr_t)pool : (uintptr_t)bl_self;
    if (BL_LIKELY(owner == me && bl_page_state(page) == BL_PAGE_AVAILABLE))
        bl_private_free(page, block, "bl_pool_free");
    else
        bl_page_free_slow(page, block, pool);
}

// ---------------------------------------------------------------------------
// Walks over all pages of a pool.

static unsigned remote_count(const struct bl_page *page) {
    return (unsigned)(bl_load_relaxed(&page->remote) >> BL_REMOTE_COUNT_SHIFT);
}

// Its owner may change it meanwhile.
static void add_page(struct bl_pool_stats *out, const struct bl_page *page) {
    const unsigned remote = remote_count(page);
    const unsigned used = page->used;
    out->pages_in_use++;
    out->bytes_mapped += (size_t)page->slices << BL_SLICE_SHIFT;
    out->blocks_in_use += used > remote ? used - remote : 0;
}

static void add_entry(struct bl_pool_stats *out, const struct bl_entry *e) {
    if (e->first != &bl_no_page)
        for (const struct bl_page *p = e->first; p; p = p->next)
            add_page(out, p);
    for (const struct bl_page *p = e->full; p; p = p->next)
        add_page(out, p);
}

static void add_runs(struct bl_pool_stats *out, const struct bl_pool *pool) {
    out->block_bytes = pool->run_bytes;
    bl_lock_acquire(&bl_lock_pages); // a run is unlinked before it is released
    out->blocks_in_use = pool->run_count;
    out->pages_in_use = pool->run_count;
    for (uint32_t i = pool->runs; i; i = numbered_run(i - 1)->next)
        out->bytes_mapped += numbered_run(i - 1)->mapped;
    bl_lock_release(&bl_lock_pages);
}

struct stats_walk {
    const struct bl_pool *pool;
    struct bl_pool_stats *out;
};

static void add_local(struct bl_local *local, void *context) {
    const struct stats_walk *w = context;
    const struct bl_entry *entry = bl_local_entry(local, w->pool->index);
    if (entry != NULL)
        add_entry(w->out, entry);
}

void bl_pool_read_stats(const struct bl_pool *pool, struct bl_pool_stats *out) {
    *out = (struct bl_pool_stats){.name = pool->name,
                                  .block_bytes = pool->block_bytes};
    if (pool->run_bytes) {
        add_runs(out, pool);
        return;
    }
    add_entry(out, &pool->own);
    if (pool->is_private)
        return;
    struct stats_walk walk = {pool, out};
    bl_locals_each(add_local, &walk);
    add_entry(out, &pool->global);
}

// Blocks in use and all: nobody will ask for them again.
static void drop_page(struct bl_page *page) {
    const bool global = bl_load_relaxed(&page->owner) == BL_NOBODY;
    if (!global && bl_page_is_reported(page)) { // retired when taken up
        bl_store_relaxed(&page->state, BL_PAGE_DELETED);
        bl_sleepers_note_deleted(page);
        return;
    }
    bl_page_drop(page);
}

static void drop_entry(struct bl_entry *entry) {
    struct bl_page *page = entry->first == &bl_no_page ? NULL : entry->first;
    while (page) {
        struct bl_page *next = page->next;
        drop_page(page);
        page = next;
    }
    page = entry->full;
    while (page) {
        struct bl_page *next = page->next;
        drop_page(page);
        page = next;
    }
    bl_entry_init(entry);
}

static void drop_local(struct bl_local *local, void *context) {
    const struct bl_pool *pool = context;
    struct bl_entry *entry = bl_local_entry(local, pool->index);
    if (entry != NULL)
        drop_entry(entry);
}

static void drop_runs(struct bl_pool *pool) {
    while (pool->runs)
        run_block_free(pool, bl_run_start(numbered_run(pool->runs - 1)));
}

// Pages of which a report is under way: to this thread; or, where they are
// many, to others, which may sleep.
static void take_up_deleted(struct bl_local *self) {
    if (self == NULL)
        return;
    bl_reports_drain(self, self);
    if (bl_sleepers_have_ripe())
        bl_sleepers_tend(self, false);
}

// Without the lock: who deletes a pool is alone with it.
void bl_pool_delete(struct bl_pool *pool) {
    if (pool == NULL)
        return;
    if (pool->deleted)
        bl_misuse_as("bl_pool_delete", pool, "deleted already");
    if (pool->run_bytes) {
        drop_runs(pool);
    } else if (pool->is_private) {
        drop_entry(&pool->own);
    } else {
        bl_locals_each(drop_local, pool);
        drop_entry(&pool->global);
        take_up_deleted(bl_self);
    }
    give_record(pool);
}
