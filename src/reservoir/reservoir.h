// SPDX-License-Identifier: MIT
//
// The reservoir: 2 MiB units of address space, backed by huge pages where the
// kernel grants them.
//
// Territory. All memory of the runtime lies in one range of addresses, claimed
// piece by piece and never as a whole, since RLIMIT_AS counts what is mapped:
//
//     start                 small                     large             end
//     | metadata (64 GiB)   | units for pages (4 TiB) | runs (12 TiB)    |
//
// *Units* of the small part are filled with pages by `page/`. A *run* is a
// large object: whole units and perhaps a tail, with addresses left free
// behind it so that it can grow in place.
//
// Warm units. What is released keeps its memory for the purge delay, though no
// more than is in use or 256 MiB, most recently freed first, and what was given
// back before and soon wanted again; of a heap that was always small next to
// none. A warm unit serves any later demand, wherever that lies: the kernel
// moves its page table entry (mremap), not its bytes. So a huge page, dear to
// get, is asked of the kernel once.
//
// Deferred units. Where a fresh huge page is measured to be dear, units begin
// on base pages under BL_BACKING_AUTO, and become huge as the run earns it.
//
// Backing is asked for here and never inferred: reports read it back from the
// kernel (`os/backing.h`).
//
// Any thread may call; `bl_lock_reservoir` guards the state.
//
#ifndef BL_RESERVOIR_RESERVOIR_H
#define BL_RESERVOIR_RESERVOIR_H

#include "base/base.h"
#include "os/os.h"
#include "os/territory.h"

#ifdef __SANITIZE_THREAD__ // which leaves a program this range and no other
#define BL_FIRST_TERRITORY ((uintptr_t)0x7ea000000000)
#define BL_SMALL_BYTES (64 * BL_GIB)
#define BL_LARGE_BYTES (256 * BL_GIB)
#define BL_TERRITORY_BYTES (512 * BL_GIB)
#define BL_TERRITORIES 4
#elif defined BL_OWN_POOLS // of libbigleaf-table.a: many copies in a process
#define BL_FIRST_TERRITORY BL_POOLS_FIRST
#define BL_SMALL_BYTES BL_POOLS_SMALL_BYTES
#define BL_TERRITORY_BYTES BL_POOLS_BYTES
#define BL_LARGE_BYTES (BL_TERRITORY_BYTES - BL_SMALL_BYTES - BL_METADATA_BYTES)
#define BL_TERRITORIES BL_POOLS_PLACES
#else
#define BL_FIRST_TERRITORY BL_RUNTIME_FIRST
#define BL_SMALL_BYTES BL_RUNTIME_SMALL_BYTES
#define BL_TERRITORY_BYTES BL_RUNTIME_BYTES
#define BL_LARGE_BYTES (BL_TERRITORY_BYTES - BL_SMALL_BYTES - BL_METADATA_BYTES)
#define BL_TERRITORIES BL_RUNTIME_PLACES
#endif

// A heap of fewer units saves memory where a larger one saves time.
#define BL_SMALL_HEAP_UNITS 24

BL_INLINE bool bl_heap_is_small(void) {
    return bl_load_relaxed(&bl_stats.units_now) < BL_SMALL_HEAP_UNITS;
}

// In the order of the choices of BIGLEAF_PAGES.
enum bl_backing {
    BL_BACKING_AUTO,
    BL_BACKING_THP,
    BL_BACKING_HUGETLB,
    BL_BACKING_BASE
};

struct bl_territory {
    uintptr_t start;     // const after start
    uintptr_t small;     // const: first address of the small part
    uintptr_t large;     // const: first address of the large part
    uintptr_t slices;    // const: table of the page layer, grown with `small`
    uintptr_t unit_info; // const: likewise, `BL_UNIT_INFO_BYTES` per unit
    // atomic: bytes of the small part that were ever handed out; grows only.
    // The tables reach as far.
    _Atomic(uintptr_t) small_bytes;
    _Atomic(uintptr_t) large_bytes; // atomic: likewise, of the large part
};
extern struct bl_territory bl_territory BL_HIDDEN;

// What the page layer keeps for each unit of the small part, besides its slices
// (BL_SLICE_INFO_BYTES).
#define BL_UNIT_INFO_BYTES ((size_t)64)

// A large object. Life: free -> used -> (warm ->) free.
struct bl_run {
    size_t bytes;  // as asked for
    size_t mapped; // readable and writable from the start; >= bytes
    size_t dirty;  // the first so many bytes may be other than zero
    uint32_t next; // of a free block: neighbours in the list of its order
    uint32_t prev;
    uint32_t warm_units; // of a warm run: units that still lie here
    uint8_t order;       // addresses taken: 2^order units
    uint8_t state;       // enum bl_run_state
    const void *pool;    // whose block a run in use is; NULL: malloc's
    uint8_t spare[16];
};

// Chooses backing and purge delay; may be called again at any time.
void bl_reservoir_configure(enum bl_backing backing, uint64_t purge_delay_ms);
// Under BL_BACKING_AUTO: the part of the CPU time, in percent, that huge pages
// may take where they cost more than base pages do (budget.c); 100: no limit,
// the default.
void bl_reservoir_limit_price(uint64_t percent);
// To be called now and then: makes some units huge that began on base pages,
// where that has been earned.
void bl_reservoir_tend(void);
// In a child of fork, alone: counters and the peak are its own from here on.
void bl_reservoir_begin_anew(void);
// Before any memory is taken: a process that needs a second unit will need
// many, so only the first begins on base pages, until there is a second.
void bl_reservoir_expect_growth(void);

// Claims the territory. False without memory. Caller holds `bl_lock_start`.
BL_MUST_USE bool bl_reservoir_start(void);

// One unit of the small part, or NULL without memory. *dirty tells whether it
// may hold other than zeros.
BL_MUST_USE void *bl_unit_acquire(bool *dirty);
void bl_unit_release(void *unit);
// Whether unit number `unit` of the small part is nobody's, with
// `bl_lock_reservoir` held; afterwards a hint, settled by its acquisition.
bool bl_unit_is_free(size_t unit);
// The first such unit at `unit` or behind.
size_t bl_unit_next_free(size_t unit);
// The units `first` to `first + count - 1`, at their own addresses; false
// where one of them is somebody's, or without memory.
BL_MUST_USE bool bl_units_acquire_at(size_t first, size_t count, bool *dirty);

// A run of at least `bytes`, its start a multiple of `align` (a power of two);
// NULL without memory.
BL_MUST_USE struct bl_run *bl_run_acquire(size_t bytes, size_t align);
void bl_run_release(struct bl_run *run);
// Makes it `bytes` long without moving it; false where that cannot be.
BL_MUST_USE bool bl_run_resize(struct bl_run *run, size_t bytes);
// Makes it `bytes` long at a new address with more room, moving page table
// entries and not bytes; NULL, and nothing changed, where that cannot be.
BL_MUST_USE struct bl_run *bl_run_move(struct bl_run *run, size_t bytes);
// The run in use that starts at `p`, or NULL.
struct bl_run *bl_run_at(const void *p);
void *bl_run_start(const struct bl_run *run);

// Zeroed memory for the runtime's own records, never given back; NULL without
// memory. Aligned to 128.
BL_MUST_USE void *bl_metadata_alloc(size_t bytes);

// Returns warm units to the kernel: those past the purge delay, or all.
// The number of bytes returned.
size_t bl_reservoir_purge(bool all);
// As the default policy would at once, for who keeps it all for a while and now
// has nothing to do.
size_t bl_reservoir_trim(void);

// Called just before memory is first returned after growth: the moment of a
// peak. It must not allocate. NULL: nobody.
extern void (*bl_reservoir_peak_hook)(void);

// Before a fork: from then on others may share memory with this process. Caller
// holds the locks of a fork.
void bl_reservoir_before_fork(void);

// Turns hugetlb pages into ordinary ones and uses no more of them: after a
// fork a write to a shared one needs a further page of the pool, and a child
// dies where there is none. Only while no other thread runs (a process of one
// thread before it forks; a child at once). Caller holds the locks of a fork.
void bl_reservoir_leave_hugetlb(void);
bool bl_reservoir_has_hugetlb(void); // under `bl_lock_reservoir`
// The same where other threads run and pages cannot be exchanged under them:
// the child does it, and the parent waits. Caller holds the locks of a fork.
void bl_reservoir_before_sharing(void);
void bl_reservoir_await_child(void); // in the parent
void bl_reservoir_end_sharing(void); // in the child

void bl_reservoir_check(void);

#endif
