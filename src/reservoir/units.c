// SPDX-License-Identifier: MIT
//
// Units for pages: single, at the lowest free addresses of the small part, so
// that the tables that describe them stay dense.
//
// A unit comes from, in this order: warm units (backed already), units mapped
// ahead but never touched, the kernel. The small part grows by several units
// at a time as the heap grows, so that neighbours share one mapping.
//
#include "reservoir/internal.h"

#include <errno.h>

#define MOST_AHEAD 16 // units mapped by one call at most: 32 MiB
// Units passed over at once where somebody else's mapping is in the way, and in
// all less than twice as many: 256 GiB.
#define MOST_PASSED_SHIFT 17

static char *ahead; // mapped, never handed out: `ahead_units` from here
static size_t ahead_units;
static size_t small_units;    // the small part was handed out so far
static size_t free_addresses; // bits set in the bitmap
static size_t lowest_word;    // of the bitmap: none set below
static uint32_t seeds;        // bit i: unit i was mapped as a seed
static bool seeds_promoted;

static char *small_at(size_t index) {
    return (char *)bl_territory.small + (index << BL_HUGE_SHIFT);
}

static size_t units_now(void) { return bl_load_relaxed(&bl_stats.units_now); }

bool bl_unit_is_seed(const void *at) {
    const size_t i = bl_small_index(at);
    return i < BL_SEED_UNITS && (seeds >> i & 1) && !seeds_promoted;
}

void bl_unit_address_free(void *at, size_t units) {
    struct bl_unit_bits *bits = bl_unit_bits();
    for (size_t i = bl_small_index(at), end = i + units; i < end; i++) {
        if (i < BL_SEED_UNITS)
            seeds &= ~(1u << i);
        BL_ASSERT(!(bits[i / 64].free >> (i % 64) & 1));
        bits[i / 64].free |= (uint64_t)1 << (i % 64);
        if (i / 64 < lowest_word)
            lowest_word = i / 64;
    }
    free_addresses += units;
}

static char *take_free_address(void) {
    struct bl_unit_bits *bits = bl_unit_bits();
    while (bits[lowest_word].free == 0)
        lowest_word++;
    const unsigned bit = bl_lowest_bit(bits[lowest_word].free);
    bits[lowest_word].free &= bits[lowest_word].free - 1;
    free_addresses--;
    return small_at(lowest_word * 64 + bit);
}

// Extends the small part by `units`; their addresses, nothing mapped yet.
static char *extend(size_t units) {
    const size_t end = small_units + units;
    if (end > BL_SMALL_BYTES >> BL_HUGE_SHIFT || !bl_territory_reach_small(end))
        return NULL;
    char *at = small_at(small_units);
    small_units = end;
    bl_store_release(&bl_territory.small_bytes, end << BL_HUGE_SHIFT);
    return at;
}

void *bl_unit_address_take(void) {
    return free_addresses > 0 ? take_free_address() : extend(1);
}

// Pool pages are touched when they are mapped, so none are mapped ahead; and at
// a limit on memory the program may want it for something else.
static size_t units_ahead(void) {
    if (bl_reservoir_has_hugetlb())
        return 1;
    size_t units = units_now() / 8;
    if (units > MOST_AHEAD)
        units = MOST_AHEAD;
    return units == 0 || bl_os_memory_is_limited() ? 1 : units;
}

// Where the addresses behind the last ones are somebody else's, what he has
// there may be long: of further ones more are passed over each time.
static void pass_over(unsigned tries) { (void)extend((size_t)1 << tries); }

static int map_at(char *at, size_t units, bool seed) {
    return seed ? bl_back_base(at, units << BL_HUGE_SHIFT)
                : bl_back_units(at, units);
}

// Fills `ahead`, with one unit where there is no memory for several. A foreign
// mapping in the way makes its addresses lost to us, and the next are tried.
static bool map_ahead(void) {
    for (unsigned tries = 0; tries < MOST_PASSED_SHIFT;) {
        const bool reuse = free_addresses > 0;
        const bool first = small_units < bl_policy.seeds;
        const size_t units = reuse || first ? 1 : units_ahead();
        char *at = reuse ? take_free_address() : extend(units);
        if (at == NULL)
            return false;
        const bool seed =
            bl_small_index(at) < bl_policy.seeds && !seeds_promoted;
        const int result = map_at(at, units, seed);
        if (result == 0) {
            if (seed)
                seeds |= 1u << bl_small_index(at);
            ahead = at;
            ahead_units = units;
            return true;
        }
        if (result != -EEXIST) {
            bl_unit_address_free(at, units);
            if (units == 1)
                return false;
        } else if (!reuse) {
            pass_over(tries++);
        }
    }
    return false;
}

static char *take_ahead(void) {
    if (ahead_units == 0 && !map_ahead())
        return NULL;
    char *at = ahead;
    ahead += BL_HUGE_SIZE;
    ahead_units--;
    return at;
}

// What was taken, at an address of the small part; NULL: it is warm again.
static char *place(const struct bl_warm *w) {
    if (w->run == 0) {
        BL_COUNT(units_reused);
        return w->at;
    }
    char *at = bl_unit_address_take();
    if (at == NULL) {
        bl_warm_put_back(w);
        return NULL;
    }
    if (bl_warm_move(w, at))
        return at;
    bl_unit_address_free(at, 1);
    return NULL;
}

static char *take_warm(void) {
    const struct bl_warm w = bl_warm_take(1);
    return w.units > 0 ? place(&w) : NULL;
}

static char *take_from_pool(void) {
    char *at = bl_reservoir_has_hugetlb() ? bl_unit_address_take() : NULL;
    if (at == NULL)
        return NULL;
    if (bl_back_unit_from_pool(at)) {
        BL_COUNT(units_fresh);
        bl_count_units(0, 1);
        return at;
    }
    bl_unit_address_free(at, 1);
    return NULL;
}

void *bl_unit_take_ready(void) {
    const struct bl_warm w = bl_warm_take(1);
    if (w.units > 0 &&
        (bl_unit_is_seed(w.at) || bl_is_marked(w.at, BL_MARK_DEFERRED))) {
        bl_warm_put_back(&w);
        return NULL;
    }
    char *const at = w.units > 0 ? place(&w) : NULL;
    return at != NULL ? at : take_from_pool();
}

static bool bit_is_set(size_t unit) {
    return bl_unit_bits()[unit / 64].free >> (unit % 64) & 1;
}

static bool is_ahead(size_t unit) {
    const char *at = small_at(unit);
    return at >= ahead && at < ahead + (ahead_units << BL_HUGE_SHIFT);
}

static bool address_is_free(size_t unit) {
    return unit >= small_units || bit_is_set(unit) || is_ahead(unit);
}

// Its base pages are not what a large object wants.
static bool is_warm_here(size_t unit) {
    return unit < small_units &&
           (bl_unit_bits()[unit / 64].warm >> (unit % 64) & 1) &&
           !bl_unit_is_seed(small_at(unit));
}

bool bl_unit_is_free(size_t unit) {
    return address_is_free(unit) || is_warm_here(unit);
}

// None of the 64 units from `unit` on is nobody's: one look for all of them.
static bool are_taken(size_t unit) {
    const struct bl_unit_bits *bits = &bl_unit_bits()[unit / 64];
    const char *const end = small_at(unit + 64);
    const bool none_ahead =
        ahead_units == 0 || ahead >= end ||
        ahead + (ahead_units << BL_HUGE_SHIFT) <= small_at(unit);
    return (bits->free | bits->warm) == 0 && none_ahead;
}

size_t bl_unit_next_free(size_t unit) {
    while (unit < small_units && !bl_unit_is_free(unit)) {
        const bool all = unit % 64 == 0 && are_taken(unit);
        const size_t next = unit + (all ? 64 : 1);
        unit = next < small_units ? next : small_units;
    }
    return unit;
}

// A heap of this size is no small process any more.
static void promote_seeds(void) {
    if (seeds_promoted || units_now() < bl_policy.promote_at ||
        bl_policy.backing == BL_BACKING_BASE)
        return;
    seeds_promoted = true;
    for (size_t i = 0; i < BL_SEED_UNITS; i++)
        if (seeds >> i & 1 && !address_is_free(i))
            bl_promote(small_at(i));
}

static void take_bit(size_t unit) {
    bl_unit_bits()[unit / 64].free &= ~((uint64_t)1 << (unit % 64));
    free_addresses--;
}

size_t bl_ahead_give_up(void) {
    const size_t bytes = ahead_units << BL_HUGE_SHIFT;
    if (bytes == 0)
        return 0;
    bl_unback(ahead, bytes);
    bl_unit_address_free(ahead, ahead_units);
    ahead_units = 0;
    return bytes;
}

// Makes the addresses ours. Bit i of *here: unit `first + i` lies there warm.
static bool claim(size_t first, size_t count, uint64_t *here) {
    const size_t end = first + count;
    for (size_t i = first; i < end; i++)
        if (!bl_unit_is_free(i))
            return false;
    bl_ahead_give_up(); // never touched, it is not worth a special case
    if (end > small_units && extend(end - small_units) == NULL)
        return false;
    *here = 0;
    for (size_t i = first; i < end; i++)
        if (bit_is_set(i)) {
            take_bit(i);
        } else if (is_warm_here(i)) {
            bl_warm_take_at(small_at(i));
            *here |= (uint64_t)1 << (i - first);
        }
    return true;
}

// Units [first, first + count) are ours; the memory of some is there.
static void give_up(size_t first, size_t count, uint64_t there) {
    for (size_t i = 0; i < count; i++)
        if (there >> i & 1)
            bl_warm_push(small_at(first + i), 1, 0);
        else
            bl_unit_address_free(small_at(first + i), 1);
}

// Fills unit `first + i` and those after it whose memory is not there.
// The number of units it took; 0 without memory, all of them given up.
static size_t fill_gap(size_t first, size_t count, size_t i, uint64_t *there,
                       bool *dirty) {
    size_t end = i + 1;
    while (end < count && !(*there >> end & 1))
        end++;
    size_t warm = 0;
    const int result = bl_fill_units(small_at(first + i), end - i, &warm);
    if (result == 0) {
        *dirty |= warm > 0;
        for (size_t k = i; k < end; k++)
            *there |= (uint64_t)1 << k;
        return end - i;
    }
    give_up(first, i, *there);
    if (result != -EEXIST) // else: taken by somebody else
        bl_unit_address_free(small_at(first + i), end - i);
    give_up(first + end, count - end, *there >> end);
    return 0;
}

static bool acquire_at(size_t first, size_t count, bool *dirty) {
    uint64_t there;
    BL_REQUIRE(count < 64);
    if (!claim(first, count, &there))
        return false;
    *dirty = there != 0;
    for (size_t i = 0; i < count;) {
        const size_t took =
            there >> i & 1 ? 1 : fill_gap(first, count, i, &there, dirty);
        if (took == 0)
            return false;
        i += took;
    }
    return true;
}

bool bl_units_acquire_at(size_t first, size_t count, bool *dirty) {
    bl_lock_acquire(&bl_lock_reservoir);
    const bool ok = acquire_at(first, count, dirty);
    if (ok)
        promote_seeds();
    bl_lock_release(&bl_lock_reservoir);
    return ok;
}

// What is warm and cannot be moved, for that needs room too, makes room.
static char *take_fresh(void) {
    char *unit = take_ahead();
    if (unit == NULL && bl_make_room())
        unit = take_ahead();
    if (unit != NULL) {
        bl_count_units(0, 1);
        promote_seeds();
    }
    return unit;
}

void *bl_unit_acquire(bool *dirty) {
    bl_lock_acquire(&bl_lock_reservoir);
    bl_budget_spend();
    char *unit = take_warm();
    *dirty = unit != NULL;
    if (unit == NULL)
        unit = take_fresh();
    bl_lock_release(&bl_lock_reservoir);
    return unit;
}

void bl_unit_release(void *unit) {
    bl_lock_acquire(&bl_lock_reservoir);
    BL_ASSERT((uintptr_t)unit < bl_territory.large);
    bl_warm_push(unit, 1, 0);
    bl_warm_purge_due();
    bl_lock_release(&bl_lock_reservoir);
}
