// SPDX-License-Identifier: MIT
//
// Slices of units: 64 to a unit, one bit each, so that a unit's state is one
// word. Units hang in bins by their longest row of free slices, and a demand
// is served from the lowest bin that can: fragments are filled before a whole
// unit is opened. A unit that is free altogether goes back to the reservoir.
// A long row may start and end anywhere and reach over several units, so that
// large objects lie side by side without loss: one of more than half a unit,
// and in a large heap any of three slices and more for which no unit has room.
//
// Guarded by `bl_lock_pages`.
//
#include "page/internal.h"

struct unit_info {
    uint64_t free;  // bit i: slice i is free
    uint64_t dirty; // bit i: slice i was used since the unit was fresh
    uint64_t edges; // of each 64th: bit i: the first or the last slice of unit
                    // i of these 64 is free
    uint32_t next;  // 1 + unit, in the bin; 0: none
    uint32_t prev;
    uint8_t bin;
    uint8_t spare[31];
};
_Static_assert(sizeof(struct unit_info) == BL_UNIT_INFO_BYTES, "unit info");
_Static_assert(sizeof(struct bl_page) * BL_UNIT_SLICES == BL_SLICE_INFO_BYTES,
               "slice table");

#define ALL (~(uint64_t)0)
#define EDGES ((uint64_t)1 << 63 | 1)

// Bin of a longest row of n: 0 for none, else floor(log2 n) + 1.
#define BINS 8
static uint32_t bins[BINS];

static struct unit_info *info(uint32_t unit) {
    return (struct unit_info *)bl_territory.unit_info + unit;
}

static void set_free(uint32_t unit, uint64_t free) {
    const uint64_t bit = (uint64_t)1 << (unit % 64);
    uint64_t *const edges = &info(unit & ~(uint32_t)63)->edges;
    info(unit)->free = free;
    *edges = free & EDGES ? *edges | bit : *edges & ~bit;
}

// Bits at which a row of at least `count` ones starts.
static uint64_t row_starts(uint64_t bits, unsigned count) {
    unsigned have = 1;
    while (have < count && bits) {
        const unsigned step = count - have < have ? count - have : have;
        bits &= bits >> step;
        have += step;
    }
    return bits;
}

static unsigned bin_of(uint64_t bits) {
    unsigned bin = 0; // at `bits` rows of 2^bin start
    for (; bin + 2 < BINS && bits; bin++)
        bits &= bits >> (1u << bin);
    return bin + (bits != 0);
}

static void bin_remove(uint32_t unit) {
    struct unit_info *u = info(unit);
    if (u->prev)
        info(u->prev - 1)->next = u->next;
    else
        bins[u->bin] = u->next;
    if (u->next)
        info(u->next - 1)->prev = u->prev;
}

static void bin_insert(uint32_t unit, unsigned bin) {
    struct unit_info *u = info(unit);
    u->bin = (uint8_t)bin;
    u->prev = 0;
    u->next = bins[bin];
    if (u->next)
        info(u->next - 1)->prev = unit + 1;
    bins[bin] = unit + 1;
}

static void rebin(uint32_t unit) {
    const unsigned bin = bin_of(info(unit)->free);
    if (bin == info(unit)->bin)
        return;
    bin_remove(unit);
    bin_insert(unit, bin);
}

static uint64_t mask_of(unsigned first, unsigned count) {
    const uint64_t ones = count == 64 ? ALL : ((uint64_t)1 << count) - 1;
    return ones << first;
}

static uint64_t aligned_bits(unsigned align) {
    uint64_t bits = 0;
    for (unsigned i = 0; i < 64; i += align)
        bits |= (uint64_t)1 << i;
    return bits;
}

static void take_mask(uint32_t unit, uint64_t mask) {
    struct unit_info *u = info(unit);
    set_free(unit, u->free & ~mask);
    u->dirty |= mask;
    rebin(unit);
}

static uint32_t take_in(uint32_t unit, uint64_t starts, unsigned count,
                        bool *zeroed) {
    struct unit_info *u = info(unit);
    const unsigned first = bl_lowest_bit(starts);
    const uint64_t mask = mask_of(first, count);
    BL_ASSERT((u->free & mask) == mask);
    *zeroed = (u->dirty & mask) == 0;
    take_mask(unit, mask);
    return unit * (uint32_t)BL_UNIT_SLICES + first;
}

static void open_unit(uint32_t unit, bool dirty) {
    info(unit)->dirty = dirty ? ALL : 0;
    set_free(unit, ALL);
    bin_insert(unit, BINS - 1);
}

static uint32_t take_fresh_unit(uint64_t allowed, unsigned count,
                                bool *zeroed) {
    bool dirty = false;
    char *at = bl_unit_acquire(&dirty);
    if (at == NULL)
        return BL_NO_SLICE;
    const uint32_t unit = (uint32_t)(bl_small_offset(at) >> BL_HUGE_SHIFT);
    open_unit(unit, dirty);
    return take_in(unit, allowed, count, zeroed);
}

uint32_t bl_slices_take(unsigned count, unsigned align, bool open,
                        bool *zeroed) {
    BL_ASSERT(count >= 1 && count <= BL_PAGE_SLICES_MAX);
    const uint64_t allowed = align > 1 ? aligned_bits(align) : ALL;
    for (unsigned bin = bl_log2_floor(count) + 1; bin < BINS; bin++) {
        unsigned look = 32;
        for (uint32_t i = bins[bin]; i && look; i = info(i - 1)->next, look--) {
            const uint64_t starts =
                row_starts(info(i - 1)->free, count) & allowed;
            if (starts)
                return take_in(i - 1, starts, count, zeroed);
        }
    }
    return open ? take_fresh_unit(allowed, count, zeroed) : BL_NO_SLICE;
}

static void give_in(uint32_t unit, uint64_t mask) {
    struct unit_info *u = info(unit);
    BL_CHECK((u->free & mask) == 0);
    set_free(unit, u->free | mask);
    if (u->free != ALL) {
        rebin(unit);
        return;
    }
    bin_remove(unit);
    set_free(unit, 0); // the unit is not ours any more
    bl_unit_release((char *)bl_territory.small +
                    ((size_t)unit << BL_HUGE_SHIFT));
}

void bl_slices_give(uint32_t first, unsigned count) {
    while (count > 0) {
        const unsigned at = first % BL_UNIT_SLICES;
        const unsigned rest = (unsigned)BL_UNIT_SLICES - at;
        const unsigned here = count < rest ? count : rest;
        give_in(first / (uint32_t)BL_UNIT_SLICES, mask_of(at, here));
        first += here;
        count -= here;
    }
}

// ---------------------------------------------------------------------------
// Rows that reach over several units.

struct row {
    uint32_t start;  // slice
    uint32_t length; // slices
};

// What unit `unit` offers: its free slices, or, where `fresh` units count,
// all of a unit that is nobody's.
static uint64_t offered(uint32_t unit, uint32_t units, bool fresh) {
    const uint64_t free = unit < units ? info(unit)->free : 0;
    return free == 0 && fresh && bl_unit_is_free(unit) ? ALL : free;
}

#define NO_UNIT UINT32_MAX

// The first unit at `unit` or behind that may begin or go on with a row.
static uint32_t next_with_edge(uint32_t unit, uint32_t units) {
    for (; unit < units; unit = (unit | 63) + 1) {
        const uint64_t edges = info(unit & ~(uint32_t)63)->edges;
        if (edges >> (unit % 64) != 0)
            return unit + bl_lowest_bit(edges >> (unit % 64));
    }
    return NO_UNIT;
}

// The next units that offer something, passing over those that are full.
struct offers {
    uint32_t units;
    bool fresh;
    uint32_t ours;    // with a free slice at its start or end
    uint32_t nobodys; // where these count
};

static uint32_t next_offer(struct offers *o, uint32_t unit) {
    if (o->ours < unit || unit == 0)
        o->ours = next_with_edge(unit, o->units);
    if (o->fresh && (o->nobodys < unit || unit == 0))
        o->nobodys = (uint32_t)bl_unit_next_free(unit);
    return o->ours < o->nobodys ? o->ours : o->nobodys;
}

// First fit by address. `limit`: units to look at; those beyond `units` were
// never used.
static bool find_row(unsigned count, uint32_t units, bool fresh,
                     struct row *row) {
    const uint32_t limit = fresh ? units + count / 64 + 2 : units;
    struct offers offers = {units, fresh, 0, NO_UNIT};
    *row = (struct row){0, 0};
    for (uint32_t unit = next_offer(&offers, 0); unit < limit;
         unit = next_offer(&offers, unit + 1)) {
        const uint64_t bits = offered(unit, units, fresh);
        const uint32_t first = unit * (uint32_t)BL_UNIT_SLICES;
        if (row->start + row->length != first)
            *row = (struct row){first, 0};
        if (bits == ALL) {
            row->length += (uint32_t)BL_UNIT_SLICES;
        } else {
            const unsigned prefix = bl_lowest_bit(~bits);
            if (row->length + prefix >= count)
                return true;
            const unsigned suffix = (unsigned)__builtin_clzll(~bits);
            row->length = suffix;
            row->start = first + (uint32_t)BL_UNIT_SLICES - suffix;
        }
        if (row->length >= count)
            return true;
    }
    return false;
}

// Which units are nobody's is the reservoir's to say.
static bool find_fresh_row(unsigned count, uint32_t units, struct row *row) {
    bl_lock_acquire(&bl_lock_reservoir);
    const bool found = find_row(count, units, true, row);
    bl_lock_release(&bl_lock_reservoir);
    return found;
}

// Brings in the units of the row that are nobody's yet: they are neighbours.
static bool bring_in(const struct row *row, unsigned count, uint32_t units) {
    const uint32_t last = (row->start + count - 1) / (uint32_t)BL_UNIT_SLICES;
    uint32_t from = row->start / (uint32_t)BL_UNIT_SLICES;
    while (from <= last && from < units && info(from)->free != 0)
        from++;
    uint32_t end = last + 1;
    while (end > from && end - 1 < units && info(end - 1)->free != 0)
        end--;
    if (from == end)
        return true;
    bool dirty = false;
    if (!bl_units_acquire_at(from, end - from, &dirty))
        return false;
    for (uint32_t unit = from; unit < end; unit++)
        open_unit(unit, dirty);
    return true;
}

static void take_row(uint32_t first, unsigned count, bool *zeroed) {
    *zeroed = true;
    while (count > 0) {
        const unsigned at = first % BL_UNIT_SLICES;
        const unsigned rest = (unsigned)BL_UNIT_SLICES - at;
        const unsigned here = count < rest ? count : rest;
        bool this_zeroed = false;
        take_in(first / (uint32_t)BL_UNIT_SLICES, (uint64_t)1 << at, here,
                &this_zeroed);
        *zeroed &= this_zeroed;
        first += here;
        count -= here;
    }
}

uint32_t bl_slices_take_long(unsigned count, bool open, bool *zeroed) {
    const uint32_t units =
        (uint32_t)(bl_load_acquire(&bl_territory.small_bytes) >> BL_HUGE_SHIFT);
    struct row row;
    if (!find_row(count, units, false, &row) &&
        !(open && find_fresh_row(count, units, &row)))
        return BL_NO_SLICE;
    if (!bring_in(&row, count, units))
        return BL_NO_SLICE;
    take_row(row.start, count, zeroed);
    return row.start;
}

bool bl_slices_extend(uint32_t first, unsigned count, unsigned more) {
    const uint32_t end = first + count;
    const unsigned at = end % BL_UNIT_SLICES;
    if (at == 0 || at + more > BL_UNIT_SLICES)
        return false;
    const uint32_t unit = end / (uint32_t)BL_UNIT_SLICES;
    const uint64_t mask = mask_of(at, more);
    if ((info(unit)->free & mask) != mask)
        return false;
    take_mask(unit, mask);
    return true;
}

void bl_page_link_slices(struct bl_page *page, unsigned slices) {
    for (unsigned i = 1; i < slices; i++) {
        page[i].back = (uint16_t)(i * sizeof *page);
        page[i].cache = page->cache;
        page[i].owner_only = page->owner_only;
        page[i].start = page->start;
        page[i].seal = page->seal;
        page[i].reciprocal = page->reciprocal;
        bl_store_relaxed(&page[i].bound, bl_load_relaxed(&page->bound));
    }
}
