// SPDX-License-Identifier: MIT
//
// Where the territory lies and how far its tables reach.
//
// The tables are arrays at fixed places of the metadata part, mapped only as
// far as the addresses they describe were ever handed out. One base page of
// the slice table describes half a unit, so the tables cost 0.4 % of the small
// part, and of the large part nothing worth counting.
//
#include "reservoir/internal.h"

struct bl_territory bl_territory;

// An array at a fixed place, of which the first `mapped` bytes are there.
struct table {
    uintptr_t at;
    size_t mapped;
};

static struct table slices, unit_info, runs, unit_bits, mark_bits, bump;
static size_t bump_used;

// Small tables grow by little, since a small process pays for them; beyond
// 2 MiB by huge pages.
static bool table_reach(struct table *t, size_t bytes, size_t step) {
    if (bytes <= t->mapped)
        return true;
    if (t->mapped >= BL_HUGE_SIZE)
        step = BL_HUGE_SIZE;
    size_t end = bl_align_up(bytes, step);
    if (end > BL_HUGE_SIZE)
        end = bl_align_up(end, BL_HUGE_SIZE);
    void *more = (void *)(t->at + t->mapped);
    const size_t grow = end - t->mapped;
    const int result = bl_os.map(more, grow, BL_OS_BASE_PAGES);
    bl_count_refusal(&bl_stats.map_refused, result);
    if (result < 0)
        return false;
    if (t->mapped >= BL_HUGE_SIZE && bl_policy.backing != BL_BACKING_BASE)
        bl_os.advise_huge(more, grow);
    else
        bl_os.advise_base(more, grow);
    t->mapped = end;
    return true;
}

// For each unit of the territory; what lies between the parts is mapped, not
// touched.
static bool reach_mark_bits(uintptr_t part, size_t units) {
    const size_t before = (part - bl_territory.start) >> BL_HUGE_SHIFT;
    return table_reach(
        &mark_bits, ((before + units) / 64 + 1) * sizeof(struct bl_mark_bits),
        BL_BASE_SIZE);
}

bool bl_territory_reach_small(size_t units) {
    return table_reach(&slices, units * BL_SLICE_INFO_BYTES, 256 * BL_KIB) &&
           table_reach(&unit_info, units * BL_UNIT_INFO_BYTES,
                       4 * BL_BASE_SIZE) &&
           table_reach(&unit_bits,
                       (units / 64 + 1) * sizeof(struct bl_unit_bits),
                       BL_BASE_SIZE) &&
           reach_mark_bits(bl_territory.small, units);
}

bool bl_territory_reach_large(size_t units) {
    return table_reach(&runs, units * sizeof(struct bl_run), 64 * BL_KIB) &&
           reach_mark_bits(bl_territory.large, units);
}

struct bl_run *bl_run_records(void) {
    return (struct bl_run *)runs.at;
}
struct bl_unit_bits *bl_unit_bits(void) {
    return (struct bl_unit_bits *)unit_bits.at;
}
struct bl_mark_bits *bl_mark_bits(void) {
    return (struct bl_mark_bits *)mark_bits.at;
}

static void place_tables(uintptr_t start) {
    slices.at = start + BL_SLICES_AT;
    unit_info.at = start + BL_UNIT_INFO_AT;
    runs.at = start + BL_RUNS_AT;
    unit_bits.at = start + BL_UNIT_BITS_AT;
    mark_bits.at = start + BL_MARK_BITS_AT;
    bump.at = start + BL_BUMP_AT;
}

static void lay_out(uintptr_t start) {
    place_tables(start);
    bl_territory.start = start;
    bl_territory.slices = slices.at;
    bl_territory.unit_info = unit_info.at;
    bl_territory.small = start + BL_METADATA_BYTES;
    bl_territory.large = bl_territory.small + BL_SMALL_BYTES;
}

static void withdraw(void) {
    struct table *const all[] = {&slices,    &unit_info, &runs,
                                 &unit_bits, &mark_bits, &bump};
    for (size_t i = 0; i < BL_ARRAY_LEN(all); i++) {
        if (all[i]->mapped > 0)
            bl_os.unmap((void *)all[i]->at, all[i]->mapped);
        all[i]->mapped = 0;
    }
}

// A place is ours where the beginnings of all tables and of the small part are
// free: another runtime, or a sanitizer's shadow, may hold some of them.
static bool claim(void) {
    void *first_unit = (void *)bl_territory.small;
    if (!table_reach(&bump, 1, 64 * BL_KIB) || !bl_territory_reach_small(1) ||
        !bl_territory_reach_large(1) ||
        bl_os.map(first_unit, BL_BASE_SIZE, BL_OS_BASE_PAGES) < 0)
        return false;
    bl_os.unmap(first_unit, BL_BASE_SIZE);
    return true;
}

// Runtimes come from below, the pools of libbigleaf-table.a from above: where
// territories of both sizes overlap, a beginning of one may look free for long.
static uintptr_t candidate(uintptr_t i) {
#ifdef BL_OWN_POOLS
    i = BL_TERRITORIES - 1 - i;
#endif
    return BL_FIRST_TERRITORY + i * BL_TERRITORY_BYTES;
}

bool bl_reservoir_start(void) {
    _Static_assert(sizeof(struct bl_run) == BL_RUN_BYTES,
                   "run records are one line");
    if (bump.mapped > 0) // what failed at the first call came after this
        return true;
    for (uintptr_t i = 0; i < BL_TERRITORIES; i++) {
        lay_out(candidate(i));
        if (claim())
            return true;
        withdraw();
    }
    return false;
}

void *bl_metadata_alloc(size_t bytes) {
    const size_t need = bl_align_up(bytes, 128);
    bl_lock_acquire(&bl_lock_reservoir);
    void *got = NULL;
    if (table_reach(&bump, bump_used + need, 64 * BL_KIB) ||
        (bl_make_room() && table_reach(&bump, bump_used + need, 64 * BL_KIB))) {
        got = (void *)(bump.at + bump_used);
        bump_used += need;
    }
    bl_lock_release(&bl_lock_reservoir);
    return got;
}
