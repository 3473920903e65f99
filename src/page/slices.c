// SPDX-License-Identifier: MIT
//
// Slices of units: 64 to a unit, one bit each, so that a unit's state is one
// word. Units hang in bins by their longest row of free slices, and a demand
// is served from the lowest bin that can: fragments are filled before a whole
// unit is opened. A unit that is free altogether goes back to the reservoir.
//
// Guarded by `bl_lock_pages`.
//
#include "page/internal.h"

struct unit_info {
    uint64_t free;  // bit i: slice i is free
    uint64_t dirty; // bit i: slice i was used since the unit was fresh
    uint32_t next;  // 1 + unit, in the bin; 0: none
    uint32_t prev;
    uint8_t bin;
    uint8_t spare[39];
};
_Static_assert(sizeof(struct unit_info) == BL_UNIT_INFO_BYTES, "unit info");
_Static_assert(sizeof(struct bl_page) * BL_UNIT_SLICES == BL_SLICE_INFO_BYTES,
               "slice table");

// Bin of a longest row of n: 0 for none, else floor(log2 n) + 1.
#define BINS 8
static uint32_t bins[BINS];

static struct unit_info *info(uint32_t unit) {
    return (struct unit_info *)bl_territory.unit_info + unit;
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
    unsigned bin = 0;
    while (bin + 1 < BINS && row_starts(bits, 1u << bin))
        bin++;
    return bin;
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
    const uint64_t ones = count == 64 ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1;
    return ones << first;
}

static uint64_t aligned_bits(unsigned align) {
    uint64_t bits = 0;
    for (unsigned i = 0; i < 64; i += align)
        bits |= (uint64_t)1 << i;
    return bits;
}

static uint32_t take_in(uint32_t unit, uint64_t starts, unsigned count,
                        bool *zeroed) {
    struct unit_info *u = info(unit);
    const unsigned first = bl_lowest_bit(starts);
    const uint64_t mask = mask_of(first, count);
    BL_ASSERT((u->free & mask) == mask);
    *zeroed = (u->dirty & mask) == 0;
    u->free &= ~mask;
    u->dirty |= mask;
    rebin(unit);
    return unit * (uint32_t)BL_UNIT_SLICES + first;
}

static uint32_t take_fresh_unit(uint64_t allowed, unsigned count,
                                bool *zeroed) {
    bool dirty = false;
    char *at = bl_unit_acquire(&dirty);
    if (at == NULL)
        return BL_NO_SLICE;
    const uint32_t unit = (uint32_t)(bl_small_offset(at) >> BL_HUGE_SHIFT);
    *info(unit) = (struct unit_info){.free = ~(uint64_t)0,
                                     .dirty = dirty ? ~(uint64_t)0 : 0};
    bin_insert(unit, BINS - 1);
    return take_in(unit, allowed, count, zeroed);
}

uint32_t bl_slices_take(unsigned count, unsigned align, bool *zeroed) {
    BL_ASSERT(count >= 1 && count <= BL_PAGE_SLICES_MAX);
    const uint64_t allowed = align > 1 ? aligned_bits(align) : ~(uint64_t)0;
    for (unsigned bin = bl_log2_floor(count) + 1; bin < BINS; bin++) {
        unsigned look = 32;
        for (uint32_t i = bins[bin]; i && look; i = info(i - 1)->next, look--) {
            const uint64_t starts =
                row_starts(info(i - 1)->free, count) & allowed;
            if (starts)
                return take_in(i - 1, starts, count, zeroed);
        }
    }
    return take_fresh_unit(allowed, count, zeroed);
}

void bl_slices_give(uint32_t first, unsigned count) {
    const uint32_t unit = first / BL_UNIT_SLICES;
    struct unit_info *u = info(unit);
    const uint64_t mask = mask_of(first % BL_UNIT_SLICES, count);
    BL_CHECK((u->free & mask) == 0);
    u->free |= mask;
    if (u->free != ~(uint64_t)0) {
        rebin(unit);
        return;
    }
    bin_remove(unit);
    bl_unit_release((char *)bl_territory.small + ((size_t)unit << BL_HUGE_SHIFT));
}

bool bl_slices_extend(uint32_t first, unsigned count, unsigned more) {
    const unsigned at = first % BL_UNIT_SLICES;
    if (at + count + more > BL_UNIT_SLICES)
        return false;
    const uint32_t unit = first / BL_UNIT_SLICES;
    struct unit_info *u = info(unit);
    const uint64_t mask = mask_of(at + count, more);
    if ((u->free & mask) != mask)
        return false;
    u->free &= ~mask;
    u->dirty |= mask;
    rebin(unit);
    return true;
}

void bl_page_link_slices(struct bl_page *page, unsigned slices) {
    for (unsigned i = 1; i < slices; i++)
        page[i].back = (uint16_t)i;
}
