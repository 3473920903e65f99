// SPDX-License-Identifier: MIT
//
// Runs: large objects of whole units, room behind them in the address space.
//
// The tail. An object rarely ends on a unit's boundary. Where the rest of its
// last unit is at most an eighth of the object, and not more than seven eighths
// of the unit, that is taken whole and huge; else the last part gets base
// pages, and becomes huge when the object has grown over it. An object that
// realloc grows is likely to grow again: its last unit is taken whole where it
// covers half of it. Where units are warm one of them is the last: it costs
// nothing, and a tail would become a unit more each time that such an object is
// made, grows and goes. And no more than 1/25 of a large heap is tails. A tail
// that an object has grown over is copied to a warm unit, or one of the pool,
// which takes its place.
//
// Invariant of a run in use: mapped >= bytes, mapped <= 2^order units, and
// [start, start + mapped) is mapped; of a warm one: `warm_units` of its units
// lie in warm stretches, the rest of its block is unmapped. `tails_now` is the
// sum of what runs in use have mapped beyond whole units.
//
#include "reservoir/internal.h"

#include <errno.h>

#define SLACK_SHIFT 3                 // slack up to 1/8 of the object
#define LEAST_USED (BL_HUGE_SIZE / 8) // of a last unit that is taken whole
#define GROWER_WHOLE_FROM (2 * BL_HUGE_SIZE)
#define GROWER_SLACK (BL_HUGE_SIZE / 2)
// Places to look for where somebody else's mappings are in the way.
#define MOST_TRIES 16
// Tails are up to such a part of the heap.
#define TAILS_SHARE 25
#define TAILS_SHARE_SMALL 8 // while it is small

static size_t tails_now; // bytes: `mapped` beyond whole units, of all runs

static struct bl_run *run_at_index(size_t index) {
    return &bl_run_records()[index];
}

static size_t index_of(const struct bl_run *run) {
    return (size_t)(run - bl_run_records());
}

static char *start_of(const struct bl_run *run) {
    return bl_large_at(index_of(run));
}

void *bl_run_start(const struct bl_run *run) { return start_of(run); }

static size_t block_bytes(const struct bl_run *run) {
    return BL_HUGE_SIZE << run->order;
}

static void set_bytes(struct bl_run *run, size_t bytes) {
    BL_COUNT_BY(run_bytes_now, bytes - run->bytes);
    run->bytes = bytes;
}

static size_t tail_of(size_t mapped) { return mapped & (BL_HUGE_SIZE - 1); }

static void set_mapped(struct bl_run *run, size_t mapped) {
    tails_now += tail_of(mapped) - tail_of(run->mapped);
    run->mapped = mapped;
}

static bool has_many_tails(size_t more) {
    const size_t units = bl_load_relaxed(&bl_stats.units_now);
    const size_t share =
        units < BL_SMALL_HEAP_UNITS ? TAILS_SHARE_SMALL : TAILS_SHARE;
    return tails_now + more > (units << BL_HUGE_SHIFT) / share;
}

static size_t mapped_for(size_t bytes, bool grown) {
    const size_t whole = bl_align_up(bytes, BL_HUGE_SIZE);
    const size_t slack = whole - bytes;
    const bool little =
        slack <= bytes >> SLACK_SHIFT && slack <= BL_HUGE_SIZE - LEAST_USED;
    if (little || bl_warm_units() > 0 ||
        (grown && bytes >= GROWER_WHOLE_FROM && slack <= GROWER_SLACK) ||
        has_many_tails(tail_of(bytes)))
        return whole;
    return bl_align_up(bytes, BL_BASE_SIZE);
}

static size_t units_of(size_t bytes) {
    return (bytes + BL_HUGE_SIZE - 1) >> BL_HUGE_SHIFT;
}

// Memory for [at, at + bytes), `at` on a unit's boundary: units, then perhaps
// a tail. 0 or -errno, and then nothing is mapped.
static int fill(char *at, size_t bytes, size_t *warm) {
    const size_t units = bytes >> BL_HUGE_SHIFT;
    const size_t tail = tail_of(bytes);
    size_t warm_units = 0;
    int result = bl_fill_units(at, units, &warm_units);
    *warm = warm_units << BL_HUGE_SHIFT;
    if (result < 0 || tail == 0)
        return result;
    result = bl_back_base(at + bytes - tail, tail);
    if (result == 0)
        bl_count_units(0, 1);
    else if (units > 0) {
        bl_unback(at, units << BL_HUGE_SHIFT);
        bl_count_units(units, 0);
    }
    return result;
}

// Takes away what fill() gave.
static void drain(char *at, size_t bytes) {
    if (bytes == 0)
        return;
    bl_unback(at, bytes);
    bl_count_units(units_of(bytes), 0);
}

static struct bl_run *take_block(unsigned order) {
    const uint32_t index = bl_addresses_take(order);
    if (index == BL_NO_INDEX)
        return NULL;
    struct bl_run *run = run_at_index(index);
    *run = (struct bl_run){.order = (uint8_t)order, .state = BL_RUN_USED};
    return run;
}

static void give_block(struct bl_run *run) {
    const unsigned order = run->order;
    run->state = BL_RUN_NOWHERE;
    bl_addresses_give((uint32_t)index_of(run), order);
}

// Somebody else's mapping lies in the block: its addresses are lost to us.
static void lose_block(struct bl_run *run) { run->state = BL_RUN_NOWHERE; }

// A block of 2^order units whose memory from `offset` on is filled. What is in
// the way may be long: the next block is twice as large.
static struct bl_run *take_filled(unsigned order, size_t offset, size_t bytes) {
    for (unsigned tries = 0; tries < MOST_TRIES; tries++) {
        struct bl_run *run = take_block(order + tries);
        if (run == NULL)
            return NULL;
        const int result = fill(start_of(run) + offset, bytes, &run->dirty);
        if (result == 0)
            return run;
        if (result != -EEXIST) {
            give_block(run);
            return NULL;
        }
        lose_block(run);
    }
    return NULL;
}

// Blocks of addresses are aligned within the large part, and it only so far.
#define ALIGN_MAX BL_METADATA_BYTES
_Static_assert(BL_FIRST_TERRITORY % ALIGN_MAX == 0 &&
                   BL_TERRITORY_BYTES % ALIGN_MAX == 0 &&
                   BL_SMALL_BYTES % ALIGN_MAX == 0,
               "the large part starts at a multiple of it");

// Room for twice the size, and for the alignment; false: no such addresses.
static bool order_for(size_t bytes, size_t align, unsigned *order) {
    if (bytes > BL_LARGE_BYTES / 2 || align > ALIGN_MAX)
        return false;
    *order = bl_log2_ceil(units_of(bytes)) + 1;
    if (align > BL_HUGE_SIZE << *order)
        *order = bl_log2_ceil(align) - BL_HUGE_SHIFT;
    return true;
}

static bool has_addresses(size_t bytes, size_t align) {
    unsigned order = 0;
    return order_for(bytes, align, &order);
}

// A stretch freed as it is, of about the right size, needs no move at all.
static struct bl_run *reuse_whole(size_t mapped, size_t align) {
    const size_t units = mapped >> BL_HUGE_SHIFT;
    if (units == 0 || mapped & (BL_HUGE_SIZE - 1))
        return NULL;
    const struct bl_warm w = bl_warm_take_run(units, units + units / 8);
    if (w.units == 0)
        return NULL;
    struct bl_run *run = run_at_index(w.run - 1);
    if (run->warm_units != w.units || start_of(run) != w.at ||
        ((uintptr_t)w.at & (align - 1)) != 0) {
        bl_warm_put_back(&w);
        return NULL;
    }
    run->state = BL_RUN_USED;
    set_mapped(run, (size_t)w.units << BL_HUGE_SHIFT);
    run->dirty = run->mapped;
    BL_COUNT_BY(units_reused, w.units);
    return run;
}

static struct bl_run *acquire_locked(size_t bytes, size_t align) {
    const size_t mapped = mapped_for(bytes, false);
    struct bl_run *run = reuse_whole(mapped, align);
    if (run != NULL)
        return run;
    unsigned order = 0;
    if (!order_for(mapped, align, &order))
        return NULL;
    run = take_filled(order, 0, mapped);
    if (run != NULL)
        set_mapped(run, mapped);
    return run;
}

struct bl_run *bl_run_acquire(size_t bytes, size_t align) {
    BL_REQUIRE(bytes > 0 && bl_is_pow2(align));
    bl_lock_acquire(&bl_lock_reservoir);
    struct bl_run *run = acquire_locked(bytes, align);
    if (run == NULL && has_addresses(bytes, align) && bl_make_room())
        run = acquire_locked(bytes, align);
    if (run != NULL)
        set_bytes(run, bytes);
    bl_lock_release(&bl_lock_reservoir);
    return run;
}

// The run's memory: whole units stay warm, the tail goes.
static void let_go(struct bl_run *run) {
    char *start = start_of(run);
    const size_t units = run->mapped >> BL_HUGE_SHIFT;
    const size_t whole = units << BL_HUGE_SHIFT;
    drain(start + whole, run->mapped - whole);
    set_mapped(run, 0);
    run->state = BL_RUN_WARM;
    run->warm_units = (uint32_t)units;
    if (units > 0)
        bl_warm_push(start, units, (uint32_t)index_of(run) + 1);
    else
        give_block(run);
}

void bl_run_address_free(uint32_t index, size_t units) {
    struct bl_run *run = run_at_index(index);
    BL_ASSERT(run->state == BL_RUN_WARM && run->warm_units >= units);
    run->warm_units -= (uint32_t)units;
    if (run->warm_units == 0)
        give_block(run);
}

void bl_run_release(struct bl_run *run) {
    bl_lock_acquire(&bl_lock_reservoir);
    BL_CHECK(run->state == BL_RUN_USED);
    set_bytes(run, 0);
    let_go(run);
    bl_warm_purge_due();
    bl_lock_release(&bl_lock_reservoir);
}

// False where the unit cannot be unmapped, for which a mapping more may be
// needed than there may be: then it stays as it is.
static bool replace(char *unit, size_t tail, char *ready) {
    __builtin_memcpy(ready, unit, tail);
    if (bl_os.unmap(unit, BL_HUGE_SIZE) < 0) {
        bl_warm_push(ready, 1, 0);
        return false;
    }
    bl_count_units(1, 0);
    bl_move_or_copy_units(ready, 1, unit);
    bl_unit_address_free(ready, 1);
    BL_COUNT(tails_replaced);
    return true;
}

// The unit of which `tail` bytes are base pages, as large as a whole one now.
// Only the caller of realloc may look at it meanwhile. So a warm unit, or one
// of the pool, takes its place; else a fresh huge page does, which is dear.
static int complete_tail(char *unit, size_t tail) {
    const int result = bl_back_base(unit + tail, BL_HUGE_SIZE - tail);
    if (result < 0)
        return result;
    char *ready = bl_unit_take_ready();
    if (ready == NULL || !replace(unit, tail, ready))
        bl_promote(unit);
    return 0;
}

static int grow_tail(char *start, size_t old, size_t mapped) {
    const size_t unit = bl_align_down(old, BL_HUGE_SIZE);
    if (mapped >= unit + BL_HUGE_SIZE)
        return complete_tail(start + unit, old - unit);
    return bl_back_base(start + old, mapped - old);
}

// Units behind the last one first, since those can be undone. 0 or -errno.
static int grow_to(struct bl_run *run, size_t mapped) {
    char *start = start_of(run);
    const size_t old = run->mapped;
    const size_t next = bl_align_up(old, BL_HUGE_SIZE);
    const size_t more = mapped > next ? mapped - next : 0;
    size_t warm = 0;
    int result = more > 0 ? fill(start + next, more, &warm) : 0;
    if (result < 0)
        return result;
    result = next > old ? grow_tail(start, old, mapped) : 0;
    if (result < 0) {
        drain(start + next, more);
        return result;
    }
    set_mapped(run, mapped);
    BL_COUNT(runs_grown);
    return 0;
}

static bool grow_locked(struct bl_run *run, size_t bytes) {
    const size_t mapped = mapped_for(bytes, true);
    if (mapped > block_bytes(run))
        return false;
    const int result = grow_to(run, mapped);
    if (result == 0 || result == -EEXIST || !bl_make_room())
        return result == 0;
    return grow_to(run, mapped_for(bytes, true)) == 0;
}

// A warm stretch needs addresses that are its own: those of the small part.
static void keep_warm_elsewhere(char *unit) {
    char *shelter = bl_unit_address_take();
    if (shelter != NULL && bl_move_units(unit, 1, shelter) == 0) {
        bl_warm_push(shelter, 1, 0);
        return;
    }
    if (shelter != NULL)
        bl_unit_address_free(shelter, 1);
    drain(unit, BL_HUGE_SIZE);
    BL_COUNT(units_purged);
}

static void shrink_locked(struct bl_run *run, size_t bytes) {
    const size_t keep = bl_align_up(bytes, BL_HUGE_SIZE);
    const size_t whole = bl_align_down(run->mapped, BL_HUGE_SIZE);
    char *start = start_of(run);
    if (keep >= run->mapped)
        return;
    drain(start + whole, run->mapped - whole);
    for (size_t at = keep; at < whole; at += BL_HUGE_SIZE)
        keep_warm_elsewhere(start + at);
    set_mapped(run, keep);
}

bool bl_run_resize(struct bl_run *run, size_t bytes) {
    bl_lock_acquire(&bl_lock_reservoir);
    BL_CHECK(run->state == BL_RUN_USED);
    bl_budget_spend();
    bool ok = true;
    if (bytes > run->mapped)
        ok = grow_locked(run, bytes);
    else if (bytes < run->mapped)
        shrink_locked(run, bytes);
    if (ok)
        set_bytes(run, bytes);
    bl_lock_release(&bl_lock_reservoir);
    return ok;
}

static int move_units(char *source, size_t units, char *target) {
    const int result = bl_move_units(source, units, target);
    return result == -ENOMEM && bl_make_room()
               ? bl_move_units(source, units, target)
               : result;
}

// What is new at the new place is made first, since that can be undone; then
// the units move, all or none; the tail, less than a unit, is copied, and lies
// on a huge page from then on.
static struct bl_run *move_locked(struct bl_run *run, size_t bytes) {
    const size_t mapped = mapped_for(bytes, true);
    const size_t units = run->mapped >> BL_HUGE_SHIFT;
    const size_t whole = units << BL_HUGE_SHIFT;
    unsigned order = 0;
    if (!order_for(mapped, 1, &order))
        return NULL;
    struct bl_run *to = take_filled(order, whole, mapped - whole);
    if (to == NULL && bl_make_room())
        to = take_filled(order, whole, mapped - whole);
    if (to == NULL)
        return NULL;
    char *source = start_of(run);
    char *target = start_of(to);
    if (units > 0 && move_units(source, units, target) < 0) {
        drain(target + whole, mapped - whole);
        give_block(to);
        return NULL;
    }
    __builtin_memcpy(target + whole, source + whole, run->mapped - whole);
    drain(source + whole, run->mapped - whole);
    set_mapped(to, mapped);
    set_mapped(run, 0);
    to->dirty = mapped;
    set_bytes(to, bytes);
    set_bytes(run, 0);
    give_block(run);
    return to;
}

struct bl_run *bl_run_move(struct bl_run *run, size_t bytes) {
    BL_REQUIRE(bytes > run->mapped);
    bl_lock_acquire(&bl_lock_reservoir);
    struct bl_run *to = move_locked(run, bytes);
    if (to != NULL)
        BL_COUNT(runs_moved);
    bl_lock_release(&bl_lock_reservoir);
    return to;
}

struct bl_run *bl_run_at(const void *p) {
    const uintptr_t offset = (uintptr_t)p - bl_territory.large;
    if (offset >= bl_load_acquire(&bl_territory.large_bytes) ||
        offset & (BL_HUGE_SIZE - 1))
        return NULL;
    struct bl_run *run = run_at_index(offset >> BL_HUGE_SHIFT);
    return run->state == BL_RUN_USED ? run : NULL;
}

void bl_runs_check(void) {
    const size_t units =
        bl_load_relaxed(&bl_territory.large_bytes) >> BL_HUGE_SHIFT;
    size_t tails = 0;
    for (size_t i = 0; i < units; i++) {
        const struct bl_run *run = run_at_index(i);
        if (run->state != BL_RUN_USED)
            continue;
        BL_CHECK(run->mapped >= run->bytes);
        BL_CHECK(run->mapped <= block_bytes(run));
        tails += tail_of(run->mapped);
    }
    BL_CHECK_EQ(tails, tails_now);
}
