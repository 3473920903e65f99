// SPDX-License-Identifier: MIT
//
// Warm units: freed, still backed. A ring of stretches in the order of their
// freeing; demand takes from the new end (hot in the caches), the purge from
// the old end. A full ring drops its oldest stretch, and a heap that has shrunk
// what it would not soon ask for again: nobody may wake it up to purge.
//
// A heap that has always been small keeps none of it: a unit or two are much of
// its peak. What that costs, a first touch for each unit, comes from a budget
// that grows with time, lest a program that makes and frees its objects in turn
// pays it each time.
//
// What was given back as more than is in use and is opened anew soon after was
// given back too early: so much more is kept from then on, until some of it
// stays idle for the whole delay (a rent paid twice buys, as in budget.c).
//
// Invariant: `warm_units` is the sum of the units of all stretches; each has
// at least one, and one of the small part just one, whose `warm` bit is set.
//
#include "reservoir/internal.h"

#define RING 1024 // 24 KiB, untouched where nothing is freed
// So many units are kept warm, or as many as are in use where that is more.
#define KEPT_UNITS 128 // 256 MiB
// And at most so many more, given back too early once.
#define MISSED_UNITS 512 // 1 GiB
// What a small heap may give back early: so many units, and one more for each
// time that so much has passed.
#define EARLY_UNITS 8
#define EARLY_MS 64

void (*bl_reservoir_peak_hook)(void);

static struct bl_warm ring[RING];
static size_t oldest; // index of the oldest stretch
static size_t count;
static size_t warm_units;
static size_t exceeding_units; // given back as such, and not opened since
static uint64_t exceeding_ms;  // when the last of them was
static size_t missed_units;    // of these, those that were opened soon after
static uint64_t early_units;   // given back early so far
static uint64_t early_from_ms; // when it was first asked to

static struct bl_warm *nth(size_t i) { return &ring[(oldest + i) % RING]; }

size_t bl_warm_units(void) { return warm_units; }

static bool is_marked(const struct bl_warm *w) {
    const size_t unit = bl_small_index(w->at);
    return bl_unit_bits()[unit / 64].warm >> (unit % 64) & 1;
}

static void mark(const struct bl_warm *w, bool warm) {
    if (w->run != 0)
        return;
    const size_t unit = bl_small_index(w->at);
    BL_ASSERT(is_marked(w) != warm);
    bl_unit_bits()[unit / 64].warm ^= (uint64_t)1 << (unit % 64);
}

static void note_taken(const struct bl_warm *w) {
    mark(w, false);
    warm_units -= w->units;
    BL_DISCOUNT_BY(units_warm_now, w->units);
}

static void free_addresses_of(const struct bl_warm *w) {
    if (w->run == 0)
        bl_unit_address_free(w->at, w->units);
    else
        bl_run_address_free(w->run - 1, w->units);
}

static uint64_t told; // units_max when the hook was called last

void bl_warm_forget_peak(void) { told = 0; }

static void tell_peak(void) {
    const uint64_t most = bl_load_relaxed(&bl_stats.units_max);
    if (bl_reservoir_peak_hook && most > told) {
        told = most;
        bl_reservoir_peak_hook();
    }
}

size_t bl_warm_drop(const struct bl_warm *w) {
    const size_t bytes = (size_t)w->units << BL_HUGE_SHIFT;
    bl_unback(w->at, bytes);
    free_addresses_of(w);
    BL_COUNT_BY(units_purged, w->units);
    bl_count_units(w->units, 0);
    return bytes;
}

// At most `units` of the oldest stretch: its end, so that it begins where it
// did.
static size_t drop_oldest(size_t units) {
    struct bl_warm *const rest = nth(0);
    struct bl_warm w = *rest;
    if (w.units > units) {
        rest->units -= (uint32_t)units;
        w.units = (uint32_t)units;
        w.at += (size_t)rest->units << BL_HUGE_SHIFT;
    } else {
        oldest = (oldest + 1) % RING;
        count--;
    }
    tell_peak();
    note_taken(&w);
    return bl_warm_drop(&w);
}

static bool may_drop_early(uint64_t now) {
    if (early_from_ms == 0)
        early_from_ms = now;
    return bl_load_relaxed(&bl_stats.units_max) < BL_SMALL_HEAP_UNITS &&
           early_units < EARLY_UNITS + (now - early_from_ms) / EARLY_MS;
}

// The last unit of all stays: a program may free what it has and go on.
static void drop_early(size_t used, uint64_t now) {
    const size_t most = used == 0;
    while (warm_units > most && may_drop_early(now)) {
        drop_oldest(1);
        early_units++;
    }
}

static size_t used_units(void) {
    return bl_load_relaxed(&bl_stats.units_now) - warm_units;
}

static size_t trim(size_t more) {
    const size_t used = used_units();
    const size_t most = (used > KEPT_UNITS ? used : KEPT_UNITS) + more;
    size_t bytes = 0;
    while (warm_units > most)
        bytes += drop_oldest(warm_units - most);
    return bytes;
}

size_t bl_warm_trim(void) { return trim(0); }

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

void bl_warm_miss(size_t units) {
    if (exceeding_units == 0)
        return;
    if (bl_os.now_ms() - exceeding_ms > bl_policy.purge_delay_ms)
        exceeding_units = 0; // idle for so long they would have gone anyway
    const size_t missed = least(units, exceeding_units);
    exceeding_units -= missed;
    missed_units = least(missed_units + missed, MISSED_UNITS);
}

// Who asks for a longer delay wants to keep it all.
static void drop_what_exceeds_use(uint64_t now) {
    if (bl_policy.purge_delay_ms > BL_PURGE_DELAY_MS)
        return;
    drop_early(used_units(), now);
    const size_t bytes = trim(missed_units);
    if (bytes == 0)
        return;
    exceeding_units += bytes >> BL_HUGE_SHIFT;
    exceeding_ms = now;
}

void bl_warm_push(void *at, size_t units, uint32_t run) {
    BL_ASSERT(units > 0 && (run != 0 || units == 1));
    if (count == RING)
        drop_oldest(SIZE_MAX);
    struct bl_warm *const w = nth(count);
    const uint64_t now = bl_os.now_ms();
    *w = (struct bl_warm){at, (uint32_t)units, run, now};
    mark(w, true);
    count++;
    warm_units += units;
    BL_COUNT_BY(units_warm_now, units);
    drop_what_exceeds_use(now);
}

void bl_warm_put_back(const struct bl_warm *w) {
    bl_warm_push(w->at, w->units, w->run);
}

bool bl_warm_move(const struct bl_warm *w, void *to) {
    if (bl_move_units(w->at, w->units, to) < 0) {
        bl_warm_put_back(w);
        return false;
    }
    free_addresses_of(w);
    BL_COUNT_BY(units_reused, w->units);
    BL_COUNT_BY(units_moved, w->units);
    return true;
}

struct bl_warm bl_warm_take(size_t units) {
    if (count == 0)
        return (struct bl_warm){0};
    struct bl_warm *last = nth(count - 1);
    struct bl_warm got = *last;
    if (got.units > units) {
        last->units -= (uint32_t)units;
        got.at += (size_t)last->units << BL_HUGE_SHIFT;
        got.units = (uint32_t)units;
    } else {
        count--;
    }
    note_taken(&got);
    return got;
}

// The stretch at `i`, closing the gap.
static struct bl_warm take_nth(size_t i) {
    const struct bl_warm got = *nth(i);
    for (; i + 1 < count; i++)
        *nth(i) = *nth(i + 1);
    count--;
    note_taken(&got);
    return got;
}

void bl_warm_take_at(const char *at) {
    size_t i = count;
    do {
        BL_REQUIRE(i > 0);
        i--;
    } while (nth(i)->at != at);
    (void)take_nth(i);
    BL_COUNT(units_reused);
}

struct bl_warm bl_warm_take_run(size_t least, size_t most) {
    const size_t look = count < 16 ? count : 16;
    for (size_t i = 1; i <= look; i++) {
        const struct bl_warm got = *nth(count - i);
        if (got.run == 0 || got.units < least || got.units > most)
            continue;
        return take_nth(count - i);
    }
    return (struct bl_warm){0};
}

size_t bl_warm_purge(uint64_t deadline_ms) {
    size_t bytes = 0;
    while (count > 0 && nth(0)->since_ms <= deadline_ms)
        bytes += drop_oldest(SIZE_MAX);
    return bytes;
}

size_t bl_warm_purge_due(void) {
    const uint64_t now = bl_os.now_ms();
    const uint64_t delay = bl_policy.purge_delay_ms;
    const size_t bytes = now > delay ? bl_warm_purge(now - delay) : 0;
    missed_units -= least(missed_units, bytes >> BL_HUGE_SHIFT);
    return bytes;
}

bool bl_warm_holds(const char *unit) {
    for (size_t i = 0; i < count; i++) {
        const struct bl_warm *const w = nth(i);
        if (unit >= w->at && unit < w->at + ((size_t)w->units << BL_HUGE_SHIFT))
            return true;
    }
    return false;
}

void bl_warm_check(void) {
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        BL_CHECK(nth(i)->units > 0);
        BL_CHECK(nth(i)->run != 0 || (nth(i)->units == 1 && is_marked(nth(i))));
        BL_CHECK(i == 0 || nth(i - 1)->since_ms <= nth(i)->since_ms);
        sum += nth(i)->units;
    }
    BL_CHECK_EQ(sum, warm_units);
}
