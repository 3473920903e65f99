// SPDX-License-Identifier: MIT
//
// How units come to their memory: the hugetlb pool, THP, or base pages.
//
// Pool pages are touched here, before anyone gets them, by a call that fails
// where a touch by the program would be a SIGBUS. A refusal by the pool is
// remembered for a while, so that an empty pool costs one call in many.
//
#include "reservoir/internal.h"

#include <errno.h>

struct bl_policy bl_policy = {.backing = BL_BACKING_AUTO,
                              .purge_delay_ms = BL_PURGE_DELAY_MS,
                              .seeds = BL_SEED_UNITS,
                              .promote_at = BL_SEED_PROMOTE_AT,
                              .huge_percent = 100};

// Demands to serve without asking the pool again after a refusal.
#define POOL_BACKOFF 32
#define POOL_STEP 8

static unsigned pool_backoff;

bool bl_reservoir_has_hugetlb(void) { return bl_marked(BL_MARK_POOL) > 0; }

void bl_count_refusal(_Atomic(uint64_t) *counter, int result) {
    if (result < 0 && result != -EEXIST) {
        bl_add_relaxed(counter, 1);
        bl_store_relaxed(&bl_stats.last_refusal_errno, (uint64_t)-result);
    }
}

static void advise_huge(void *at, size_t bytes) {
    bl_count_refusal(&bl_stats.advice_refused, bl_os.advise_huge(at, bytes));
}

// A process leaves as many pages in the pool as it holds, for the moment after
// a fork in which a child shares them (fork.c).
static bool leaves_enough(size_t units) {
    return bl_os.pool_free() >= bl_marked(BL_MARK_POOL) + 2 * units;
}

static bool wants_pool(void) {
    if (bl_policy.leave_hugetlb || (bl_policy.backing != BL_BACKING_HUGETLB &&
                                    bl_policy.backing != BL_BACKING_AUTO))
        return false;
    if (pool_backoff == 0)
        return true;
    pool_backoff--;
    return false;
}

static bool back_from_pool(void *at, size_t units) {
    const size_t bytes = units << BL_HUGE_SHIFT;
    int result = leaves_enough(units)
                     ? bl_os.map(at, bytes, BL_OS_HUGETLB_PAGES)
                     : -ENOMEM;
    if (result == 0) {
        result = bl_os.populate(at, bytes);
        if (result == 0) {
            bl_mark(at, units, BL_MARK_POOL);
            BL_COUNT_BY(units_hugetlb, units);
            return true;
        }
        bl_os.unmap(at, bytes);
    }
    bl_count_refusal(&bl_stats.hugetlb_refused, result);
    pool_backoff = POOL_BACKOFF;
    return false;
}

bool bl_back_unit_from_pool(void *at) {
    return wants_pool() && back_from_pool(at, 1);
}

int bl_back_base(void *at, size_t bytes) {
    const int result = bl_os.map(at, bytes, BL_OS_BASE_PAGES);
    if (result < 0) {
        bl_count_refusal(&bl_stats.map_refused, result);
        return result;
    }
    bl_os.advise_base(at, bytes);
    return 0;
}

// As many of the first units as the pool gives, in steps that a pool nearly
// empty can still serve.
static size_t back_some_from_pool(char *at, size_t units) {
    size_t done = 0;
    while (done < units && wants_pool()) {
        const size_t left = units - done;
        const size_t step = left < POOL_STEP ? left : POOL_STEP;
        char *here = at + (done << BL_HUGE_SHIFT);
        if (back_from_pool(here, step))
            done += step;
        else if (step > 1 && back_from_pool(here, 1))
            done += 1;
    }
    return done;
}

// Fresh memory of THP, as far as there is a budget for it.
static int back_by_thp(char *at, size_t units) {
    const size_t bytes = units << BL_HUGE_SHIFT;
    const int result = bl_os.map(at, bytes, BL_OS_BASE_PAGES);
    if (result < 0) {
        bl_count_refusal(&bl_stats.map_refused, result);
        return result;
    }
    advise_huge(at, bytes);
    size_t huge = bl_budget_sample(at, units);
    huge += bl_budget_grant(units - huge);
    bl_defer(at + (huge << BL_HUGE_SHIFT), units - huge);
    return 0;
}

static int back_fresh(void *at, size_t units) {
    if (bl_policy.backing == BL_BACKING_BASE)
        return bl_back_base(at, units << BL_HUGE_SHIFT);
    const size_t pool = back_some_from_pool(at, units);
    if (pool == units)
        return 0;
    const int result =
        back_by_thp((char *)at + (pool << BL_HUGE_SHIFT), units - pool);
    if (result < 0 && pool > 0)
        bl_unback(at, pool << BL_HUGE_SHIFT);
    return result;
}

int bl_back_units(void *at, size_t units) {
    const int result = back_fresh(at, units);
    if (result == 0) {
        BL_COUNT_BY(units_fresh, units);
        bl_warm_miss(units);
    }
    return result;
}

bool bl_collapse_unit(void *unit) {
    advise_huge(unit, BL_HUGE_SIZE);
    const int result = bl_os.collapse(unit, BL_HUGE_SIZE);
    bl_count_refusal(&bl_stats.collapse_refused, result);
    return result == 0;
}

void bl_promote(void *unit) {
    if (bl_policy.backing == BL_BACKING_BASE)
        return;
    if (bl_budget_defers())
        bl_defer(unit, 1);
    else
        bl_collapse_unit(unit);
}

// Unmapping may take a mapping more than there may be. What stays mapped is as
// somebody else's from then on: its addresses are lost.
void bl_unmap(void *at, size_t bytes) {
    if (bl_os.unmap(at, bytes) < 0)
        bl_os.discard(at, bytes);
}

void bl_unback(void *at, size_t bytes) {
    bl_unmap(at, bytes);
    bl_marks_clear(at, (bytes + BL_HUGE_SIZE - 1) >> BL_HUGE_SHIFT);
}

void bl_count_units(size_t before, size_t after) {
    BL_COUNT_BY(units_now, after - before);
    const uint64_t now = bl_load_relaxed(&bl_stats.units_now);
    if (now > bl_load_relaxed(&bl_stats.units_max))
        bl_store_relaxed(&bl_stats.units_max, now);
}

int bl_fill_units(void *at, size_t units, size_t *warm) {
    char *to = at;
    size_t moved = 0;
    while (moved < units) {
        const struct bl_warm w = bl_warm_take(units - moved);
        if (w.units > 0 && bl_unit_is_seed(w.at)) {
            bl_warm_drop(&w); // its base pages are not what is wanted here
            continue;
        }
        if (w.units == 0 || !bl_warm_move(&w, to + (moved << BL_HUGE_SHIFT)))
            break;
        moved += w.units;
    }
    *warm = moved;
    const size_t fresh = units - moved;
    if (fresh > 0) {
        const int result = bl_back_units(to + (moved << BL_HUGE_SHIFT), fresh);
        if (result < 0) {
            if (moved > 0)
                bl_unback(at, moved << BL_HUGE_SHIFT);
            bl_count_units(moved, 0);
            return result;
        }
    }
    bl_count_units(moved, units);
    return 0;
}
