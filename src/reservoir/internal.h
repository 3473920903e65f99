// SPDX-License-Identifier: MIT
//
// What the files of the reservoir share. Every function here is called with
// `bl_lock_reservoir` held, but for those of territory.c that start it.
//
#ifndef BL_RESERVOIR_INTERNAL_H
#define BL_RESERVOIR_INTERNAL_H

#include "reservoir/reservoir.h"

// The first units are for small processes: base pages, until the heap is
// large enough for huge ones to pay.
#define BL_SEED_UNITS 4
#define BL_SEED_PROMOTE_AT 12

#define BL_NO_INDEX UINT32_MAX

struct bl_policy {
    enum bl_backing backing;
    uint64_t purge_delay_ms;
    bool leave_hugetlb;    // this process forks: no more of the pool
    bool has_forked;       // or is a child: others may share its memory
    size_t seeds;          // at most BL_SEED_UNITS
    size_t promote_at;     // units
    uint64_t huge_percent; // of CPU time that dear huge pages may take
};
extern struct bl_policy bl_policy;

// --- reservoir.c -------------------------------------------------------------

// Without memory: what is mapped and in nobody's use goes; false where there is
// nothing of it.
bool bl_make_room(void);

// --- territory.c -----------------------------------------------------------

// Makes the tables of the small part cover `units` units, or those of the
// large part; false without memory.
bool bl_territory_reach_small(size_t units);
bool bl_territory_reach_large(size_t units);
struct bl_run *bl_run_records(void);
// 64 units of the small part, a bit each.
struct bl_unit_bits {
    uint64_t free; // the address is free
    uint64_t warm; // its warm memory lies here
};
struct bl_unit_bits *bl_unit_bits(void);

// --- marks.c -----------------------------------------------------------------

enum bl_mark {
    BL_MARK_POOL,     // from the hugetlb pool
    BL_MARK_DEFERRED, // base pages until a huge one is earned
    BL_MARKS
};

// 64 units of the territory.
struct bl_mark_bits {
    uint64_t bits[BL_MARKS];
};
struct bl_mark_bits *bl_mark_bits(void); // territory.c

bool bl_is_marked(const void *unit, enum bl_mark mark);
void bl_mark(const void *at, size_t units, enum bl_mark mark);
void bl_marks_clear(const void *at, size_t units);
void bl_marks_move(const void *from, size_t units, const void *to);
size_t bl_marked(enum bl_mark mark); // how many there are
// The first at `from` or behind; NULL: there is none.
char *bl_marked_next(const char *from, enum bl_mark mark);
void bl_marks_check(void);

// --- budget.c ----------------------------------------------------------------

// Where it is time to learn what a huge page costs, and that can be afforded:
// the first of `units` fresh units, advised to be huge, is touched now; 1.
// Else 0.
size_t bl_budget_sample(void *at, size_t units);
// How many of `units` further ones may be huge at their first touch; paid for.
size_t bl_budget_grant(size_t units);
// Base pages for units, until huge ones are bought.
void bl_defer(void *at, size_t units);
bool bl_budget_defers(void); // huge pages are dear now
// Buys a huge page for a deferred unit where that has been earned; else false.
bool bl_budget_spend(void);

// --- backing.c ---------------------------------------------------------------

// Maps `units` units at `at` as the policy says; 0 or -errno. Advice refused
// is counted and no failure.
int bl_back_units(void *at, size_t units);
// Where the kernel refused; not where somebody else holds the place.
void bl_count_refusal(_Atomic(uint64_t) *counter, int result);
// False where the policy does not want the pool, or the pool has none.
bool bl_back_unit_from_pool(void *at);
// Base pages now and later.
int bl_back_base(void *at, size_t bytes);
void bl_unback(void *at, size_t bytes);
// The same of what has no marks.
void bl_unmap(void *at, size_t bytes);
// Makes a huge page of a unit that has base pages, at once; false: refused.
bool bl_collapse_unit(void *unit);
// Likewise, as the policy says; where huge pages are dear, later.
void bl_promote(void *unit);
// Fills `units` units at `at`: warm ones first (*warm of them), then fresh.
// 0, or -errno and nothing mapped. Counts them.
int bl_fill_units(void *at, size_t units, size_t *warm);
// Counts units that came or went, and keeps the maximum.
void bl_count_units(size_t before, size_t after);

// --- move.c ------------------------------------------------------------------

// All or none; 0 or -errno.
int bl_move_units(void *from, size_t units, void *to);
// To where nothing is mapped; ends the program without memory.
void bl_move_or_copy_units(void *from, size_t units, void *to);

// --- warm.c ------------------------------------------------------------------

// A stretch of warm units at consecutive addresses.
struct bl_warm {
    char *at;
    uint32_t units;
    uint32_t run; // 1 + index of the run whose addresses these are; 0: small
    uint64_t since_ms;
};

void bl_warm_push(void *at, size_t units, uint32_t run);
// Takes up to `units` from the stretch freed last; units 0: none are warm.
struct bl_warm bl_warm_take(size_t units);
// Takes the unit that is warm at `at`, an address of the small part.
void bl_warm_take_at(const char *at);
// Takes a whole stretch of a run, of `least` to `most` units.
struct bl_warm bl_warm_take_run(size_t least, size_t most);
// The memory of what was taken goes, and so do its addresses; the bytes.
size_t bl_warm_drop(const struct bl_warm *w);
// Undoes a take.
void bl_warm_put_back(const struct bl_warm *w);
// Moves what was taken to `to`; false: it is warm again where it was.
bool bl_warm_move(const struct bl_warm *w, void *to);
// Unmaps those idle since before `deadline_ms`; the bytes returned.
size_t bl_warm_purge(uint64_t deadline_ms);
// What has been warm for longer than the policy's delay.
size_t bl_warm_purge_due(void);
// Down to what is in use, or 256 MiB.
size_t bl_warm_trim(void);
// So many units were opened since none was warm.
void bl_warm_miss(size_t units);
size_t bl_warm_units(void);
bool bl_warm_holds(const char *unit);
// The next peak is told of, however low it is.
void bl_warm_forget_peak(void);
void bl_warm_check(void);

// --- addresses.c: binary buddies [Knowlton-1965] over the large part -------

// A block of 2^order units, or BL_NO_INDEX.
uint32_t bl_addresses_take(unsigned order);
void bl_addresses_give(uint32_t index, unsigned order);
void bl_addresses_check(void);

void bl_runs_check(void); // runs.c

// --- units.c, runs.c: the addresses under a warm stretch are free again ------

void bl_unit_address_free(void *at, size_t units);
void bl_run_address_free(uint32_t run, size_t units);

// True where a unit has base pages, as long as the process is small.
bool bl_unit_is_seed(const void *at);
// Unmaps what was mapped ahead of any need; the bytes.
size_t bl_ahead_give_up(void);
// One free address of the small part, or NULL.
void *bl_unit_address_take(void);
// A unit of the small part whose memory costs no first touch, a warm one or one
// of the pool; NULL: there is none. Counted as one in use.
void *bl_unit_take_ready(void);

static inline size_t bl_small_index(const void *at) {
    return ((uintptr_t)at - bl_territory.small) >> BL_HUGE_SHIFT;
}

static inline char *bl_large_at(size_t index) {
    return (char *)bl_territory.large + (index << BL_HUGE_SHIFT);
}

enum bl_run_state {
    BL_RUN_NOWHERE, // inside another block, or never taken
    BL_RUN_FREE,    // heads a free block of addresses
    BL_RUN_USED,
    BL_RUN_WARM
};

#endif
