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

struct bl_policy bl_policy = {BL_BACKING_AUTO, 10000, false};

// Demands to serve without asking the pool again after a refusal.
#define POOL_BACKOFF 32
#define POOL_STEP 8

static unsigned pool_backoff;

static size_t unit_number(const void *at) {
    return ((uintptr_t)at - bl_territory.start) >> BL_HUGE_SHIFT;
}

static bool is_hugetlb(const void *at) {
    const size_t n = unit_number(at);
    return bl_hugetlb_bits()[n / 64] >> (n % 64) & 1;
}

static void mark_hugetlb(const void *at, size_t units, bool yes) {
    for (size_t n = unit_number(at), end = n + units; n < end; n++) {
        if (yes)
            bl_hugetlb_bits()[n / 64] |= (uint64_t)1 << (n % 64);
        else
            bl_hugetlb_bits()[n / 64] &= ~((uint64_t)1 << (n % 64));
    }
}

static void count_refusal(_Atomic(uint64_t) *counter, int result) {
    if (result < 0) {
        bl_add_relaxed(counter, 1);
        bl_store_relaxed(&bl_stats.last_refusal_errno, (uint64_t)-result);
    }
}

bool bl_thrifty(void) { return bl_os_address_space_limit() != SIZE_MAX; }

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
    int result = bl_os.map(at, bytes, BL_OS_HUGETLB_PAGES);
    if (result == 0) {
        result = bl_os.populate(at, bytes);
        if (result == 0) {
            mark_hugetlb(at, units, true);
            BL_COUNT_BY(units_hugetlb, units);
            return true;
        }
        bl_os.unmap(at, bytes);
    }
    count_refusal(&bl_stats.hugetlb_refused, result);
    pool_backoff = POOL_BACKOFF;
    return false;
}

int bl_back_base(void *at, size_t bytes) {
    const int result = bl_os.map(at, bytes, BL_OS_BASE_PAGES);
    if (result < 0) {
        count_refusal(&bl_stats.map_refused, result);
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

int bl_back_units(void *at, size_t units) {
    BL_COUNT_BY(units_fresh, units);
    if (bl_policy.backing == BL_BACKING_BASE)
        return bl_back_base(at, units << BL_HUGE_SHIFT);
    const size_t pool = back_some_from_pool(at, units);
    if (pool == units)
        return 0;
    char *rest = (char *)at + (pool << BL_HUGE_SHIFT);
    const size_t bytes = (units - pool) << BL_HUGE_SHIFT;
    const int result = bl_os.map(rest, bytes, BL_OS_BASE_PAGES);
    if (result < 0) {
        count_refusal(&bl_stats.map_refused, result);
        if (pool > 0)
            bl_unback(at, pool << BL_HUGE_SHIFT);
        return result;
    }
    count_refusal(&bl_stats.advice_refused, bl_os.advise_huge(rest, bytes));
    return 0;
}

void bl_unback(void *at, size_t bytes) {
    bl_os.unmap(at, bytes);
    mark_hugetlb(at, (bytes + BL_HUGE_SIZE - 1) >> BL_HUGE_SHIFT, false);
}

// Stretches may be of both kinds, and of several mappings; an older kernel
// moves one mapping at a time.
int bl_move_units(void *from, size_t units, void *to) {
    const size_t bytes = units << BL_HUGE_SHIFT;
    int result = bl_os.move(from, bytes, to);
    if (result < 0 && units > 1) {
        const size_t half = units / 2;
        const size_t first = half << BL_HUGE_SHIFT;
        result = bl_move_units(from, half, to);
        if (result < 0)
            return result;
        result = bl_move_units((char *)from + first, units - half,
                               (char *)to + first);
        if (result < 0)
            bl_move_units(to, half, from);
        return result;
    }
    if (result < 0)
        return result;
    for (size_t i = 0; i < units; i++) {
        const size_t offset = i << BL_HUGE_SHIFT;
        const bool pool = is_hugetlb((char *)from + offset);
        mark_hugetlb((char *)to + offset, 1, pool);
        mark_hugetlb((char *)from + offset, 1, false);
    }
    return 0;
}
