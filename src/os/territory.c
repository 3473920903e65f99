// SPDX-License-Identifier: MIT
//
// The tables of a territory come before its parts, and reach as far as
// addresses of these were ever handed out. So their sizes bound the parts.
//
#include "os/territory.h"

static const struct {
    uint64_t first;
    uint64_t bytes;
    uint64_t small_bytes;
    unsigned places;
} layouts[] = {
    {BL_RUNTIME_FIRST, BL_RUNTIME_BYTES, BL_RUNTIME_SMALL_BYTES,
     BL_RUNTIME_PLACES},
    {BL_POOLS_FIRST, BL_POOLS_BYTES, BL_POOLS_SMALL_BYTES, BL_POOLS_PLACES},
};

static const uint64_t tables[] = {BL_SLICES_AT,    BL_UNIT_INFO_AT, BL_RUNS_AT,
                                  BL_UNIT_BITS_AT, BL_MARK_BITS_AT, BL_BUMP_AT};

_Static_assert(BL_TERRITORY_LOW + BL_TERRITORY_STARTS * BL_TERRITORY_STEP ==
                       BL_TERRITORY_HIGH &&
                   BL_POOLS_FIRST + BL_POOLS_PLACES * BL_POOLS_BYTES ==
                       BL_TERRITORY_HIGH,
               "the places of both kinds end together");

static uint64_t start_of(size_t place) {
    return BL_TERRITORY_LOW + place * BL_TERRITORY_STEP;
}

static size_t place_of(uint64_t at) {
    return (at - BL_TERRITORY_LOW) / BL_TERRITORY_STEP;
}

static bool starts_layout(uint64_t start, size_t layout) {
    return start >= layouts[layout].first &&
           (start - layouts[layout].first) % layouts[layout].bytes == 0;
}

static bool is_start(uint64_t at) {
    for (size_t i = 0; i < BL_ARRAY_LEN(layouts); i++) {
        if (starts_layout(at, i))
            return true;
    }
    return false;
}

// Others than the first only where there is a first.
static bool starts_table(const struct bl_territories *t, uint64_t at) {
    const uint64_t start = start_of(place_of(at));
    if (at == start)
        return is_start(at);
    for (size_t i = 1; i < BL_ARRAY_LEN(tables); i++) {
        if (at - start == tables[i])
            return t->units[place_of(at)].small > 0;
    }
    return false;
}

static uint32_t described(uint64_t table_bytes, uint64_t each) {
    const uint64_t units = table_bytes / each;
    return units > UINT32_MAX ? UINT32_MAX : (uint32_t)units;
}

// A table lies in one mapping or in several, one behind the other.
static bool take_table(struct bl_territories *t, uint64_t start, uint64_t end) {
    if (starts_table(t, start))
        t->table = start;
    else if (start != t->table_end)
        return false;
    t->table_end = end;
    const size_t place = place_of(t->table);
    const uint64_t at = t->table - start_of(place);
    if (at == BL_SLICES_AT)
        t->units[place].small = described(end - t->table, BL_SLICE_INFO_BYTES);
    if (at == BL_RUNS_AT)
        t->units[place].large = described(end - t->table, BL_RUN_BYTES);
    return true;
}

// The heap may grow between the lines that tell of the tables and those that
// tell of it: each part may be twice as long.
static bool is_within(uint64_t at, uint64_t part, uint64_t part_bytes,
                      uint32_t units) {
    const uint64_t bytes = (uint64_t)units * 2 * BL_HUGE_SIZE;
    return at >= part && at - part < part_bytes && at - part < bytes;
}

static bool is_in_part(const struct bl_territories *t, size_t place,
                       uint64_t at) {
    const uint64_t start = start_of(place);
    const uint64_t small = start + BL_METADATA_BYTES;
    for (size_t i = 0; i < BL_ARRAY_LEN(layouts); i++) {
        const uint64_t large = small + layouts[i].small_bytes;
        const uint64_t end = start + layouts[i].bytes;
        if (starts_layout(start, i) &&
            (is_within(at, small, large - small, t->units[place].small) ||
             is_within(at, large, end - large, t->units[place].large)))
            return true;
    }
    return false;
}

bool bl_territories_take(struct bl_territories *t, uint64_t start, uint64_t end,
                         bool may_be_table) {
    if (start < BL_TERRITORY_LOW || start >= BL_TERRITORY_HIGH)
        return false;
    if (may_be_table && take_table(t, start, end))
        return true;
    for (size_t place = place_of(start) + 1; place-- > 0;) {
        if (t->units[place].large > 0 && is_in_part(t, place, start))
            return true;
    }
    return false;
}

bool bl_territories_any(const struct bl_territories *t) {
    for (size_t place = 0; place < BL_TERRITORY_STARTS; place++) {
        if (t->units[place].large > 0)
            return true;
    }
    return false;
}
