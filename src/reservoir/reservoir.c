// SPDX-License-Identifier: MIT
//
// The reservoir as a whole: policy, purge, fork, check.
//
#include "reservoir/internal.h"

void bl_reservoir_configure(enum bl_backing backing, uint64_t purge_delay_ms) {
    bl_lock_acquire(&bl_lock_reservoir);
    bl_policy.backing = backing;
    bl_policy.purge_delay_ms = purge_delay_ms;
    bl_lock_release(&bl_lock_reservoir);
}

size_t bl_reservoir_purge(bool all) {
    if (bl_load_relaxed(&bl_stats.units_warm_now) == 0)
        return 0;
    bl_lock_acquire(&bl_lock_reservoir);
    uint64_t deadline = UINT64_MAX;
    if (!all) {
        const uint64_t now = bl_os.now_ms();
        const uint64_t delay = bl_policy.purge_delay_ms;
        deadline = now > delay ? now - delay : 0;
    }
    const size_t bytes = bl_warm_purge(deadline);
    bl_lock_release(&bl_lock_reservoir);
    return bytes;
}

// The same bytes at the same address on ordinary pages; where there is no
// memory for that the unit stays as it is.
static void leave_hugetlb(char *unit) {
    char *scratch = bl_unit_address_take();
    if (scratch == NULL)
        return;
    if (bl_os.map(scratch, BL_HUGE_SIZE, BL_OS_BASE_PAGES) == 0) {
        bl_os.advise_huge(scratch, BL_HUGE_SIZE);
        __builtin_memcpy(scratch, unit, BL_HUGE_SIZE);
        bl_unback(unit, BL_HUGE_SIZE);
        BL_CHECK(bl_os.move(scratch, BL_HUGE_SIZE, unit) == 0);
    }
    bl_unit_address_free(scratch, 1);
}

bool bl_reservoir_has_hugetlb(void) {
    return bl_load_relaxed(&bl_stats.units_hugetlb) > 0;
}

void bl_reservoir_leave_hugetlb(void) {
    bl_policy.leave_hugetlb = true;
    bl_warm_purge(UINT64_MAX);
    uint64_t *bits = bl_hugetlb_bits();
    const size_t small = bl_load_relaxed(&bl_territory.small_bytes);
    const size_t large = bl_load_relaxed(&bl_territory.large_bytes);
    const uintptr_t ends[2] = {bl_territory.small + small,
                               bl_territory.large + large};
    const uintptr_t starts[2] = {bl_territory.small, bl_territory.large};
    for (int part = 0; part < 2; part++) {
        for (uintptr_t at = starts[part]; at < ends[part]; at += BL_HUGE_SIZE) {
            const size_t n = (at - bl_territory.start) >> BL_HUGE_SHIFT;
            if (bits[n / 64] >> (n % 64) & 1)
                leave_hugetlb((char *)at);
        }
    }
}

void bl_reservoir_check(void) {
    bl_lock_acquire(&bl_lock_reservoir);
    bl_warm_check();
    bl_addresses_check();
    bl_lock_release(&bl_lock_reservoir);
}
