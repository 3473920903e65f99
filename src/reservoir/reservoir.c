// SPDX-License-Identifier: MIT
//
// The reservoir as a whole: policy, purge, check.
//
#include "reservoir/internal.h"

void bl_reservoir_configure(enum bl_backing backing, uint64_t purge_delay_ms) {
    bl_lock_acquire(&bl_lock_reservoir);
    bl_policy.backing = backing;
    bl_policy.purge_delay_ms = purge_delay_ms;
    bl_lock_release(&bl_lock_reservoir);
}

void bl_reservoir_limit_price(uint64_t percent) {
    bl_lock_acquire(&bl_lock_reservoir);
    bl_policy.huge_percent = percent;
    bl_lock_release(&bl_lock_reservoir);
}

// A program that enters the heap rarely buys what it has earned meanwhile. The
// lock is free in between.
#define MOST_AT_ONCE 8

void bl_reservoir_tend(void) {
    if (bl_load_relaxed(&bl_stats.units_deferred_now) == 0)
        return;
    bool bought = true;
    for (unsigned i = 0; bought && i < MOST_AT_ONCE; i++) {
        bl_lock_acquire(&bl_lock_reservoir);
        bought = bl_budget_spend();
        bl_lock_release(&bl_lock_reservoir);
    }
}

// Warm units serve where they can be moved, which takes room too.
bool bl_make_room(void) {
    const size_t ahead = bl_ahead_give_up();
    return bl_warm_purge(UINT64_MAX) + ahead > 0;
}

size_t bl_reservoir_purge(bool all) {
    if (bl_load_relaxed(&bl_stats.units_warm_now) == 0)
        return 0;
    bl_lock_acquire(&bl_lock_reservoir);
    const size_t bytes = all ? bl_warm_purge(UINT64_MAX) : bl_warm_purge_due();
    bl_lock_release(&bl_lock_reservoir);
    return bytes;
}

size_t bl_reservoir_trim(void) {
    bl_lock_acquire(&bl_lock_reservoir);
    const size_t bytes = bl_warm_trim();
    bl_lock_release(&bl_lock_reservoir);
    return bytes;
}

void bl_reservoir_check(void) {
    bl_lock_acquire(&bl_lock_reservoir);
    bl_warm_check();
    bl_addresses_check();
    bl_runs_check();
    bl_marks_check();
    bl_lock_release(&bl_lock_reservoir);
}

void bl_reservoir_begin_anew(void) {
#define BL_STAT(name, help) bl_store_relaxed(&bl_stats.name, 0);
#define BL_LEVEL(name, help)
#include "base/stats.def"
#undef BL_STAT
#undef BL_LEVEL
    bl_store_relaxed(&bl_stats.units_max, bl_load_relaxed(&bl_stats.units_now));
    bl_warm_forget_peak();
}

void bl_reservoir_expect_growth(void) {
    bl_policy.seeds = 1;
    bl_policy.promote_at = 2;
}
