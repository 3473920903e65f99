// SPDX-License-Identifier: MIT
//
// Typed pages [AreiasRocha-2012, section III], made ready for general malloc.
//
// A *page* is one or more consecutive slices of 32 KiB of a unit, cut into
// blocks of one size for one *pool* (the paper's type). A *local* is what one
// thread owns: for every pool an *entry* with the chain of its pages that have
// free blocks, for every size class a *cache* of blocks ahead of them. Only the
// owner takes blocks from a page. A page without owner and with free blocks
// hangs on its pool's global entry.
//
// Where we differ from the paper:
//  * The page header lies out of line, in a table indexed by slice, so that a
//    block's page follows from its address alone, blocks may fill the page
//    exactly, and no overrun of a block reaches a header.
//  * Any thread may free. A block of another thread's page that is not cached
//    goes on its *remote* list by one atomic push; the owner collects it. The
//    first push also *reports* the page to its owner, since a full page is on
//    no chain of available ones. What an owner that sleeps does not collect
//    serves the others (sleepers.c).
//  * Blocks are carved little by little, so memory is touched when needed.
//
// Counting identity of a page, kept by its owner:
//    carved = used + blocks on `free`, and blocks on `remote` or in caches are
//    part of used.
//
#ifndef BL_PAGE_PAGE_H
#define BL_PAGE_PAGE_H

#include "base/base.h"
#include "bigleaf/pool.h"
#include "os/os.h"
#include "reservoir/reservoir.h"

#define BL_SLICE_SHIFT 15
#define BL_SLICE_BYTES ((size_t)1 << BL_SLICE_SHIFT)
#define BL_UNIT_SLICES (BL_HUGE_SIZE >> BL_SLICE_SHIFT)
#define BL_PAGE_SLICES_MAX 32 // a page is at most half a unit

// A free block. `seal` tells a second free of the same block. It is another
// each time that memory becomes a page: what a program copies from memory that
// it was given and never wrote to may be such a block, in use at that address
// once, and must not look like a free one there now.
struct bl_block {
    struct bl_block *next;
    uintptr_t seal;
};

struct bl_page {
    // First line: all that malloc and free touch.
    struct bl_block *free;    // owner: blocks to hand out
    _Atomic(uintptr_t) owner; // local, private pool, or BL_NOBODY. Others
                              // compare it only
    uint32_t used;            // owner: blocks handed out
    uint16_t back;            // const: bytes back to the first slice's header
    uint16_t cache;           // const: place of its cache in a local
    uint32_t owner_only;      // const: all ones where others do not cache its
                              // blocks, else 0
    uint16_t slices;          // const
    _Atomic(uint8_t) state;   // enum bl_page_state; others look for SPAN only
    // Of the slice; lock:bl_lock_pages, see spans.c.
    uint8_t tail : 7;        // granules of the span before that it ends with
    uint8_t headed : 1;      // another span starts behind these
    char *start;             // const: first byte of the page
    uintptr_t seal;          // const: of this life of the page; odd
    uint64_t reciprocal;     // const: see bl_block_starts()
    _Atomic(uint64_t) bound; // owner: likewise, of the blocks cut so far
    // Second line: chains, and what other threads write.
    _Alignas(64) _Atomic(uintptr_t) remote; // blocks, see BL_REMOTE_NOTIFY
    struct bl_pool *pool;                   // const; NULL: no page of blocks
    struct bl_page *next;                   // in the chain of the state
    struct bl_page *prev;
    struct bl_page *report_next;
    uint32_t carved;      // owner: blocks cut so far
    uint32_t capacity;    // const: blocks there can be
    uint32_t block_bytes; // const
    // So many on `remote` and others may have it: its capacity, of a global
    // page the blocks then in use; 0: never.
    _Atomic(uint32_t) whole;
};

_Static_assert(BL_PAGE_SLICES_MAX * sizeof(struct bl_page) <= UINT16_MAX,
               "`back` holds the way from a page's last slice to its first");

// Of `owner`. Not NULL: a thread without a local would match it.
#define BL_NOBODY ((uintptr_t)1)
// Of `remote`: the next push is to be reported. The upper bits count blocks.
#define BL_REMOTE_NOTIFY ((uintptr_t)1)
#define BL_REMOTE_COUNT_SHIFT 48 // above every address of a process
#define BL_REMOTE_ADDRESS                                                      \
    (((uintptr_t)1 << BL_REMOTE_COUNT_SHIFT) - 1 - BL_REMOTE_NOTIFY)

enum bl_page_state {
    BL_PAGE_NONE,      // the slice holds no page, or is not a first one
    BL_PAGE_AVAILABLE, // on a chain of pages with free blocks
    BL_PAGE_FULL,      // without free blocks but remote ones
    BL_PAGE_DELETED,   // its pool is gone, a report of it is under way
    BL_PAGE_SPAN       // one block, of no local
};

// `first` is never NULL: an empty chain shows `bl_no_page`.
struct bl_entry {
    struct bl_page *first;
    struct bl_page *last;
    struct bl_page *full; // those of a class are on no list
};

// What a thread hands out next of one class (cache.c): whole - room blocks.
struct bl_cache {
    struct bl_block *first;
    int32_t room;  // so many more may be freed into it
    int32_t whole; // `room` when it is empty
    int32_t limit; // room that it gets when it is refilled; 0: it is none
    int16_t most;  // const: of `limit`, in a small heap
    bool emptied;  // it was, since it last had no room
};

#define BL_POOLS_RESERVED 96 // the first numbers: size classes
// Of shared pools below this number, size classes among them, a local has the
// entries in itself; of others in rows of so many, 1.5 KiB each, where it has
// used a pool of the row.
#define BL_POOLS_NEAR 256
#define BL_POOLS_ROW 64
_Static_assert(BL_POOLS_NEAR % BL_POOLS_ROW == 0, "see bl_local_entry()");
#define BL_VOIDS_MAX 16

// Blocks of up to so many bytes are looked up by their size alone.
#define BL_DIRECT_MAX 1024
#define BL_DIRECT_STEP 16
#define BL_DIRECT_SIZES (BL_DIRECT_MAX / BL_DIRECT_STEP + 1)

#define BL_NO_CACHE (BL_POOLS_RESERVED - 1) // its limit is 0

struct bl_local {
    // [i]: of the smallest class for i steps of bytes.
    struct bl_cache *direct[BL_DIRECT_SIZES];
    struct bl_cache caches[BL_POOLS_RESERVED];
    struct bl_entry entries[BL_POOLS_NEAR]; // see local.c
    struct bl_entry **rows;                 // written under bl_lock_locals; a
                                            // row that it does not have: NULL
    uint32_t row_count;                     // likewise
    uint32_t next_row;                      // to be trimmed
    _Atomic(struct bl_page *) reports;      // by `report_next`
    _Atomic(uint32_t) ripe;       // about so many of them became so, or whole
    _Atomic(uint32_t) ripe_worth; // so many are worth a look
    _Atomic(uint32_t) stranded;   // of its pages; written under bl_lock_pages
    uint32_t voids[BL_VOIDS_MAX]; // slices kept for the next pages
    uint32_t void_count;
    uint32_t pages_taken; // how many pages it has asked for
    uint32_t trimmed_at;  // `pages_taken` when it last gave back empty ones
    uint32_t trims_at;    // `pages_taken` at which it gives them back next
    uint32_t turns;       // of its slow paths
    uint32_t groups;      // bit i: group i of classes has its first page
    // [c]: the class that serves requests for class c (lenders.c).
    uint8_t lender[BL_POOLS_RESERVED];
    uint16_t borrowed[BL_POOLS_RESERVED]; // [c]: how often class c did
    struct bl_local *next; // lock:bl_lock_locals, list of all locals
    _Atomic(bool) parked;  // its thread has ended
};

struct bl_pool {
    const char *name;
    uint32_t index; // of its entry in every local; 0: never was shared
    uint32_t block_bytes;
    uint32_t capacity;
    uint64_t reciprocal; // this and what follows as in its pages
    uint8_t slices;
    bool is_private;
    uint16_t cache;
    uint32_t owner_only;
    struct bl_entry own;            // of a private pool
    struct bl_entry global;         // lock:bl_lock_pages, pages without owner
    _Atomic(uint32_t) global_pages; // of these; written under the lock
    size_t run_bytes;   // blocks too large for pages: a run each; else 0
    uint32_t runs;      // lock:bl_lock_pages, 1 + index of the first run
    uint32_t run_count; // lock:bl_lock_pages
    bool deleted;       // lock:bl_lock_pools, waits to be another pool
    struct bl_pool *next_free;
};

extern struct bl_page bl_no_page;

// What malloc and free ask first. All zero until the thread's first allocation:
// an early caller may run before thread-local data have their initial values.
struct bl_thread {
    struct bl_local *local;
    size_t served;        // sizes below this one are in `direct`
    uintptr_t small_seen; // what it last saw of `bl_territory.small_bytes`
    // The same for operator new and delete; 0 where these are to call somebody
    // else's malloc and free.
    size_t new_served;
    uintptr_t delete_seen;
};
extern _Thread_local struct bl_thread bl_thread
    __attribute__((tls_model("initial-exec")));
#define bl_self (bl_thread.local)
// All bits are set, or none: see `new_served`. Changed by the first allocation
// at the latest.
extern uintptr_t bl_operators_mask BL_HIDDEN;

BL_INLINE enum bl_page_state bl_page_state(const struct bl_page *page) {
    return (enum bl_page_state)bl_load_relaxed(&page->state);
}

// ---------------------------------------------------------------------------
// From an address to its page.

BL_INLINE uintptr_t bl_small_offset(const void *p) {
    return (uintptr_t)p - bl_territory.small;
}

// Pairs with the release store in reservoir/units.c: an offset below the limit
// has a table behind it.
BL_INLINE bool bl_offset_is_small(uintptr_t offset) {
    return offset < bl_load_relaxed(&bl_territory.small_bytes);
}

// A slice's header; that of a page's first slice is the page's, the others have
// what bl_page_link_slices() copies.
BL_INLINE struct bl_page *bl_slice_at(uintptr_t offset) {
    return (struct bl_page *)bl_territory.slices + (offset >> BL_SLICE_SHIFT);
}

BL_INLINE struct bl_page *bl_page_of(struct bl_page *slice) {
    return (struct bl_page *)((char *)slice - slice->back);
}

BL_INLINE struct bl_page *bl_page_at(uintptr_t offset) {
    return bl_page_of(bl_slice_at(offset));
}

// Not of a pool that may be deleted. Its pool need not be asked.
BL_INLINE bool bl_page_is_of_class(const struct bl_page *page) {
    return page->cache != offsetof(struct bl_local, caches[BL_NO_CACHE]);
}

// True where a block starts at `p`, which lies in the page. With the block
// size d, the reciprocal M = floor(2^64 / d) + 1 and e = M * d - 2^64, the
// product of block k's offset and M is k * e modulo 2^64, less than the bound,
// e times the number of blocks cut so far; that of any other offset is at least
// M, which is more
// [LemireKaserKurz-2019, section 3.2].
BL_INLINE bool bl_block_starts(const struct bl_page *page, const void *p) {
    const uint64_t offset = (uint64_t)((const char *)p - page->start);
    return offset * page->reciprocal < bl_load_relaxed(&page->bound);
}

BL_INLINE uintptr_t bl_seal_of(const struct bl_page *page, const void *block) {
    return page->seal ^ (uintptr_t)block;
}

// ---------------------------------------------------------------------------
// Fast paths.

// True where a list of free blocks may go on at `block`: aligned to 2^`shift`,
// and within the first `bytes` of the small part or not far behind. The links
// lie in the blocks, so a write past the end of a block, or into a free one,
// changes them. Rotated, what must be zero is on top, and one comparison finds
// NULL too.
BL_INLINE bool bl_link_is_sound(const struct bl_block *block, unsigned shift,
                                uintptr_t bytes) {
    const uintptr_t offset = bl_small_offset(block);
    return (offset >> shift | offset << (64 - shift)) < bytes;
}

// Ends the program with one line on a list that goes on at `block`.
BL_NORETURN BL_COLD void bl_overwritten(const struct bl_block *block);

// For slow paths, of a block that is not the end of a list. A pool's blocks may
// be aligned to 8 bytes.
BL_INLINE void bl_link_check(const struct bl_block *block) {
    const uintptr_t bytes = bl_load_relaxed(&bl_territory.small_bytes);
    if (BL_UNLIKELY(!bl_link_is_sound(block, 3, bytes)))
        bl_overwritten(block);
}

BL_INLINE bool bl_page_has_block(const struct bl_page *page) {
    return bl_link_is_sound(page->free, 3,
                            bl_load_relaxed(&bl_territory.small_bytes));
}

// From and to the head of a list of free blocks.
BL_INLINE void *bl_block_pop(struct bl_block **list) {
    struct bl_block *block = *list;
    *list = block->next;
    block->seal = 0;
    return block;
}

BL_INLINE void bl_block_push(struct bl_block **list, const struct bl_page *page,
                             void *p) {
    struct bl_block *block = p;
    block->next = *list;
    block->seal = bl_seal_of(page, p);
    *list = block;
}

BL_INLINE void *bl_page_pop(struct bl_page *page) {
    page->used++;
    return bl_block_pop(&page->free);
}

BL_INLINE struct bl_cache *bl_cache_for(struct bl_local *local,
                                        const struct bl_page *page) {
    return (struct bl_cache *)((char *)local + page->cache);
}

// Another thread's, and too small to be cached by this one. The lower half of
// the owner will do: where two have the same, a block is cached after all.
BL_INLINE bool bl_is_left_to_owner(const struct bl_page *page,
                                   const struct bl_local *local) {
    const uint32_t other =
        (uint32_t)(bl_load_relaxed(&page->owner) ^ (uintptr_t)local);
    return (other & page->owner_only) != 0;
}

// All that a cache holds lies in what its thread has seen.
BL_INLINE void bl_small_see(void) {
    bl_thread.small_seen = bl_load_relaxed(&bl_territory.small_bytes);
    bl_thread.delete_seen = bl_thread.small_seen & bl_operators_mask;
}

BL_INLINE bool bl_cache_has_block(const struct bl_cache *cache) {
    return bl_link_is_sound(cache->first, 4, bl_thread.small_seen);
}

BL_INLINE void *bl_cache_pop(struct bl_cache *cache) {
    cache->room++;
    return bl_block_pop(&cache->first);
}

// True where `p` may be given back: a block starts there and is in use. Any
// thread that was handed the block may ask.
BL_INLINE bool bl_block_is_in_use(const struct bl_page *page, const void *p) {
    return bl_block_starts(page, p) &&
           ((const struct bl_block *)p)->seal != bl_seal_of(page, p);
}

// The calling thread's local, made or adopted at its first use; NULL without
// memory. Starts the reservoir when it is the first of all.
struct bl_local *bl_local_attach(void);

// Slow paths: `owner` is the caller's local or private pool.
void *bl_entry_alloc(struct bl_entry *entry, struct bl_pool *pool,
                     uintptr_t owner);
// A block of a class, whose cache is empty.
void *bl_cache_refill(struct bl_local *local, struct bl_pool *pool);
// Frees a block in use that would have gone into a cache without room.
void bl_cache_overflow(struct bl_cache *cache, struct bl_page *page, void *p);
void bl_page_emptied(struct bl_page *page);
// `pool`: NULL, one of malloc's.
void bl_page_free_slow(struct bl_page *page, void *p,
                       const struct bl_pool *pool);
// Ends the program with one line on what is wrong with `p`.
BL_NORETURN BL_COLD void bl_misuse(const char *call, const struct bl_page *page,
                                   const void *p);
BL_NORETURN BL_COLD void bl_misuse_as(const char *call, const void *p,
                                      const char *what);
#define BL_POOLS_BLOCK "a pool's block"
#define BL_ANOTHER_POOLS_BLOCK "a block of another pool"

// Asked when a block is freed: whether the thread has a local. One that frees
// and never allocates gets it after a while, to return blocks many at a time.
bool bl_local_for_free(void);

BL_INLINE struct bl_local *bl_local_self(void) {
    return BL_LIKELY(bl_self != NULL) ? bl_self : bl_local_attach();
}

// The class that is to serve a request for class `index`, which is pool
// `pools[index]`: itself, or a larger one. Called when the cache that served
// them last is empty.
uint32_t bl_class_lender(struct bl_local *local, const struct bl_pool *pools,
                         uint32_t index);

// A block of a class, which is a reserved pool.
BL_INLINE void *bl_class_alloc(struct bl_local *local, struct bl_pool *pool) {
    struct bl_cache *cache = &local->caches[pool->index];
    if (BL_LIKELY(bl_cache_has_block(cache)))
        return bl_cache_pop(cache);
    return bl_cache_refill(local, pool);
}

// The entry of shared pool number `index`; NULL where the local has none yet,
// and so no page of the pool.
BL_INLINE struct bl_entry *bl_local_entry(struct bl_local *local,
                                          uint32_t index) {
    if (BL_LIKELY(index < BL_POOLS_NEAR))
        return &local->entries[index];
    const uint32_t row = (index - BL_POOLS_NEAR) / BL_POOLS_ROW;
    if (row >= local->row_count || local->rows[row] == NULL)
        return NULL;
    return &local->rows[row][index % BL_POOLS_ROW];
}

// `call`: what the caller called, should the block turn out to be none.
BL_INLINE void bl_private_free(struct bl_page *page, void *p,
                               const char *call) {
    if (BL_UNLIKELY(!bl_block_is_in_use(page, p)))
        bl_misuse(call, page, p);
    bl_block_push(&page->free, page, p);
    if (BL_UNLIKELY(--page->used == 0))
        bl_page_emptied(page);
}

// ---------------------------------------------------------------------------
// Spans: single blocks of whole slices, of no local.

#define BL_SPAN_MAX (16 * BL_MIB)

// NULL without memory. *dirty: so many bytes from its start may be other than
// zero. `align` is at most a slice, or half a unit where `bytes` is no more
// than that.
BL_MUST_USE void *bl_span_alloc(size_t bytes, size_t align, size_t *dirty);
void bl_span_free(struct bl_page *page);
// Makes the span `bytes` long in place; false where that cannot be.
BL_MUST_USE bool bl_span_resize(struct bl_page *page, size_t bytes);
// While no other thread has one made or resized.
void bl_spans_check(void);

// ---------------------------------------------------------------------------
// Pools and locals.

// The functions of bigleaf/pool.h by another name, which only the runtime
// shows: libbigleaf-table.a has those names too (table/own_pools.c).
struct bl_pool_functions {
    struct bl_pool *(*make)(const struct bl_pool_spec *);
    void *(*alloc)(struct bl_pool *);
    void (*free)(struct bl_pool *, void *);
    void (*read_stats)(const struct bl_pool *, struct bl_pool_stats *);
    void (*drop)(struct bl_pool *);
};

// Fills a pool record for blocks of `block_bytes` (a multiple of 16, at most
// 64 KiB), and makes it shared pool number `index`.
void bl_pool_init(struct bl_pool *pool, const char *name, size_t block_bytes,
                  uint32_t index);
// Reserved pool number `index` serves requests of more than `above` bytes and
// at most `most`, multiples of BL_DIRECT_STEP: every local has a cache of it,
// and its table shows that where they are small enough. Called before the pool
// is used.
void bl_locals_serve(uint32_t index, size_t above, size_t most);
// Gives up the calling thread's local: pages with free blocks become global.
void bl_local_detach(void);
// The same where the thread is about to end: after each allocation then.
void bl_local_leave(void);

// Returns the cached blocks of the calling thread to their pages, and gives
// back the empty pages that it keeps, one to an entry at most, and those that
// other threads have left or sleep upon.
void bl_local_empty(struct bl_local *local);
// The same, of others only where there are many, where it took pages since or
// there are: before the kernel is asked for memory.
void bl_local_trim(struct bl_local *local);

struct bl_page_totals {
    size_t blocks;      // in use, remote ones among them
    size_t block_bytes; // of these
    size_t pages;
    size_t page_bytes; // of all pages, spans among them
};
// A racy reading while other threads run. Cached blocks are not in use.
void bl_page_totals(struct bl_page_totals *out);
// Around a fork, with signals blocked: fork.c. Nobody else is inside then.
void bl_pages_before_fork(void);
void bl_pages_after_fork(bool in_child);
// False where that is not known.
bool bl_is_single_threaded(void);
// Walks everything the calling thread owns; ends the program where an
// identity does not hold.
void bl_local_check(const struct bl_local *local);

#endif
