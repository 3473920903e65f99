// SPDX-License-Identifier: MIT
//
// hugetlb pages and fork. After a fork a write to a shared pool page takes a
// further page of the pool; where there is none, the child is killed by SIGBUS,
// even when it is the parent that writes. So no child ever shares one:
//
//  * A process of one thread turns its pool pages into ordinary ones before it
//    forks, for good.
//  * Where other threads run, that would pull pages from under them. There each
//    unit is copied before the fork and left out of the child's memory
//    (MADV_DONTFORK); the child moves the copy into its place, the parent drops
//    it. What other threads write while the copy is made may be torn, as it may
//    be by the fork itself.
//
#include "reservoir/internal.h"

static char *unit_at(size_t number) {
    return (char *)bl_territory.start + (number << BL_HUGE_SHIFT);
}

// Calls `visit` for each unit from the pool.
static void each_pool_unit(void (*visit)(char *unit)) {
    const uint64_t *bits = bl_hugetlb_bits();
    const uintptr_t parts[2] = {bl_territory.small, bl_territory.large};
    const size_t bytes[2] = {bl_load_relaxed(&bl_territory.small_bytes),
                             bl_load_relaxed(&bl_territory.large_bytes)};
    for (int part = 0; part < 2; part++) {
        const size_t first =
            (parts[part] - bl_territory.start) >> BL_HUGE_SHIFT;
        const size_t end = first + (bytes[part] >> BL_HUGE_SHIFT);
        for (size_t n = first; n < end; n++)
            if (bits[n / 64] >> (n % 64) & 1)
                visit(unit_at(n));
    }
}

// Ordinary memory with the bytes of `unit`, or NULL without memory.
static char *copy_of(const char *unit) {
    char *copy = bl_unit_address_take();
    if (copy == NULL)
        return NULL;
    if (bl_os.map(copy, BL_HUGE_SIZE, BL_OS_BASE_PAGES) < 0) {
        bl_unit_address_free(copy, 1);
        return NULL;
    }
    bl_os.advise_huge(copy, BL_HUGE_SIZE);
    __builtin_memcpy(copy, unit, BL_HUGE_SIZE);
    return copy;
}

// Where there is no memory for a copy the unit stays as it is.
static void exchange(char *unit) {
    char *copy = copy_of(unit);
    if (copy == NULL)
        return;
    bl_unback(unit, BL_HUGE_SIZE);
    BL_CHECK(bl_os.move(copy, BL_HUGE_SIZE, unit) == 0);
    bl_unit_address_free(copy, 1);
}

bool bl_reservoir_has_hugetlb(void) {
    return bl_load_relaxed(&bl_stats.units_hugetlb) > 0;
}

void bl_reservoir_leave_hugetlb(void) {
    bl_policy.leave_hugetlb = true;
    bl_warm_purge(UINT64_MAX);
    each_pool_unit(exchange);
}

// ---------------------------------------------------------------------------
// Copies for the child, from before the fork until after it.

struct copy {
    char *unit;
    char *copy;
};
static struct copy *copies; // room for `copy_room`; kept for the next fork
static size_t copy_room;
static size_t copy_count;
static size_t pool_units;

static void count_one(char *unit) {
    (void)unit;
    pool_units++;
}

static bool make_room(void) {
    pool_units = 0;
    each_pool_unit(count_one);
    if (pool_units <= copy_room)
        return true;
    copies = bl_metadata_alloc(pool_units * sizeof *copies);
    copy_room = copies ? pool_units : 0;
    return copies != NULL;
}

static void copy_one(char *unit) {
    char *copy = copy_of(unit);
    if (copy == NULL)
        return;
    if (bl_os.advise_fork(unit, BL_HUGE_SIZE, false) < 0) {
        bl_os.unmap(copy, BL_HUGE_SIZE);
        bl_unit_address_free(copy, 1);
        return;
    }
    copies[copy_count++] = (struct copy){unit, copy};
}

void bl_reservoir_copy_for_child(void) {
    copy_count = 0;
    bl_warm_purge(UINT64_MAX);
    if (make_room())
        each_pool_unit(copy_one);
}

void bl_reservoir_drop_copies(void) {
    for (size_t i = 0; i < copy_count; i++) {
        bl_os.unmap(copies[i].copy, BL_HUGE_SIZE);
        bl_unit_address_free(copies[i].copy, 1);
        bl_os.advise_fork(copies[i].unit, BL_HUGE_SIZE, true);
    }
    copy_count = 0;
}

void bl_reservoir_take_copies(void) {
    for (size_t i = 0; i < copy_count; i++) {
        const struct copy c = copies[i];
        bl_unback(c.unit, BL_HUGE_SIZE); // nothing is there; clears the mark
        BL_CHECK(bl_os.move(c.copy, BL_HUGE_SIZE, c.unit) == 0);
        bl_unit_address_free(c.copy, 1);
    }
    copy_count = 0;
}
