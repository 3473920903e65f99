// SPDX-License-Identifier: MIT
//
// Rent or buy [KarlinManasseRudolphSleator-1988]: huge pages that are dear.
//
// A machine that gives its free memory back to a hypervisor must be given it
// anew: 6 to 9 ms for a fresh huge page, where base pages, made of fragments
// that it has kept, cost 1 ms for as much memory. A huge page brings half a
// millisecond to two a second, so that short runs lose by it and long ones win.
// Nobody knows how long a run will be. So huge pages may take a part of the CPU
// time of the process, whatever they cost beyond base pages; by default about
// what those of a whole heap save. No run is slower by more than that, and one
// that is long has all of them in the end.
//
// A heap of few units would not save that part, so the budget is a fifth of a
// percent for each unit, two milliseconds a second, if that is less: a small
// heap that runs for a second buys nothing.
//
// What one costs is measured by the CPU time of its first touch. Where the
// kernel reports its free pages, a price is assumed until that much has been
// earned, or the heap is small no more: right after others have ended huge
// pages are cheap there too, and not to know it would cost a long run more than
// one of them. Elsewhere one is touched at once.
//
// While it costs no more than base pages do, units are huge at once, and one of
// eight is measured, more of them while that is news. Where it costs more, a
// unit for which there is no budget is *deferred*: base pages are advised for
// it. The heap *buys* it, by MADV_COLLAPSE, when the budget has grown enough,
// in the order of addresses, so that of a stretch of units there are two
// mappings and no more. A purchase is a copy too, so it is no measure, but
// better than none: it tells what the next will take, and where it was cheap,
// that a first touch is worth its measurement.
//
// Invariant: `left_ns` is what was earned less what was paid beyond base pages,
// since the clock of the process began (a fork sets it to zero).
//
#include "reservoir/internal.h"

#define NS_PER_US 1000
// 512 base pages cost .7 to 1.2 ms on such a machine.
#define CHEAP_NS (1000 * NS_PER_US)
// A touch that takes less was of a base page: there was no huge one.
#define NO_HUGE_NS (20 * NS_PER_US)
// While huge pages are cheap one of so many is measured in the end.
#define MOST_UNMEASURED 8
#define WHOLE 100 // percent: no limit
// After so many refusals none is asked for until so much CPU time has passed.
#define MOST_TRIES 16
// Or looks at what may be shared, 23 us each.
#define MOST_LOOKS 64
#define PAUSE_NS ((uint64_t)500000 * NS_PER_US)
// What one costs where free pages are reported, until it has been measured.
#define ASSUMED_NS (8000 * NS_PER_US)
// What is earned for each unit of the heap, in thousandths of the time.
#define PER_UNIT 2
#define PER_PERCENT 10

static uint64_t touch_ns; // of a first touch, the last measured, or assumed
static uint64_t price_ns; // what the last one took, touched or bought
static int64_t left_ns;   // earned and not spent; may be less than nothing
static uint64_t clock_ns; // of the process, when last looked at
static uint64_t pause_until_ns;
static size_t unmeasured; // fresh units since the last that was
static size_t interval;   // one of so many is; doubled while they are cheap
static char *cursor;      // deferred units are bought from here on

static bool is_limited(void) {
    return bl_policy.backing == BL_BACKING_AUTO &&
           bl_policy.huge_percent < WHOLE;
}

static void assume_price(void) {
    static bool assumed;
    if (!assumed && bl_os.reports_free_pages())
        touch_ns = price_ns = ASSUMED_NS;
    assumed = true;
}

static bool is_dear(void) {
    if (touch_ns == 0)
        assume_price();
    return touch_ns > CHEAP_NS;
}

bool bl_budget_defers(void) { return is_limited() && is_dear(); }

static uint64_t rate(void) {
    const uint64_t heap = PER_UNIT * bl_load_relaxed(&bl_stats.units_now);
    const uint64_t most = PER_PERCENT * bl_policy.huge_percent;
    return heap < most ? heap : most;
}

static void earn(void) {
    const uint64_t now = bl_os.process_ns();
    if (now < clock_ns) // the clock of a child begins at zero
        left_ns = 0, clock_ns = 0, pause_until_ns = 0;
    left_ns += (int64_t)((now - clock_ns) / 1000 * rate());
    clock_ns = now;
}

static bool can_pay(uint64_t ns) {
    earn();
    return left_ns >= (int64_t)ns;
}

static uint64_t beyond_base(uint64_t ns) {
    return ns > CHEAP_NS ? ns - CHEAP_NS : 0;
}

// Once, where the price is only assumed.
static bool is_worth_a_look(void) {
    static bool looked;
    if (looked || bl_load_relaxed(&bl_stats.huge_price_us) != 0 ||
        bl_heap_is_small())
        return false;
    looked = true;
    return true;
}

static bool wants_sample(void) {
    if (!is_limited())
        return false;
    if (is_dear()) // what was bought since may tell that it is cheap
        return is_worth_a_look() || can_pay(beyond_base(price_ns));
    return unmeasured >= interval;
}

static void note_touch(uint64_t ns) {
    touch_ns = ns;
    bl_store_relaxed(&bl_stats.huge_price_us, ns / NS_PER_US);
}

static void note_sample(uint64_t ns) {
    left_ns -= (int64_t)beyond_base(ns);
    price_ns = ns;
    note_touch(ns);
    if (is_dear() || interval == 0)
        interval = 1;
    else if (interval < MOST_UNMEASURED)
        interval *= 2;
}

size_t bl_budget_sample(void *at, size_t units) {
    unmeasured += units;
    if (!wants_sample())
        return 0;
    unmeasured = 0;
    const uint64_t before = bl_os.thread_ns();
    if (bl_os.populate(at, BL_BASE_SIZE) < 0)
        return 0; // a touch by the program finds out what that means
    const uint64_t ns = bl_os.thread_ns() - before;
    if (ns >= NO_HUGE_NS)
        note_sample(ns);
    return 1;
}

size_t bl_budget_grant(size_t units) {
    if (!bl_budget_defers())
        return units;
    earn();
    const uint64_t each = beyond_base(touch_ns);
    const uint64_t most = left_ns > 0 ? (uint64_t)left_ns / each : 0;
    const size_t granted = most < units ? (size_t)most : units;
    left_ns -= (int64_t)(granted * each);
    return granted;
}

void bl_defer(void *at, size_t units) {
    if (units == 0)
        return;
    bl_os.advise_base(at, units << BL_HUGE_SHIFT);
    bl_mark(at, units, BL_MARK_DEFERRED);
    BL_COUNT_BY(units_deferred, units);
}

// True where it is huge now. A unit that nobody has touched yet is none of
// which a huge page could be made: it stays as it is.
static bool buy(char *unit) {
    const uint64_t before = bl_os.thread_ns();
    const bool bought = bl_collapse_unit(unit);
    const uint64_t ns = bl_os.thread_ns() - before;
    left_ns -= (int64_t)ns;
    if (!bought) {
        bl_os.advise_base(unit, BL_HUGE_SIZE);
        return false;
    }
    bl_marks_clear(unit, 1);
    BL_COUNT(units_bought);
    price_ns = ns;
    if (bl_load_relaxed(&bl_stats.huge_price_us) == 0) // better than assumed
        note_touch(ns);
    return true;
}

static char *next_deferred(void) {
    char *unit = bl_marked_next(cursor, BL_MARK_DEFERRED);
    if (unit == NULL)
        unit = bl_marked_next(NULL, BL_MARK_DEFERRED);
    cursor = unit + BL_HUGE_SIZE;
    return unit;
}

// Not a warm one, which may go before anybody asks for it; NULL: all are.
static char *next_in_use(void) {
    for (size_t left = bl_marked(BL_MARK_DEFERRED); left > 0; left--) {
        char *const unit = next_deferred();
        if (!bl_warm_holds(unit))
            return unit;
    }
    return NULL;
}

// A huge page for what another process shares, as after a fork, would be one
// more, and the base pages stay: a child that writes to none of its parent's
// memory would have all of it twice in the end.
static bool is_shared(const char *unit) {
    return bl_policy.has_forked && bl_os.is_shared(unit, BL_HUGE_SIZE);
}

// One at a time: others wait for the lock. Refusals are paid for too.
bool bl_budget_spend(void) {
    if (bl_marked(BL_MARK_DEFERRED) == 0 || !can_pay(price_ns) ||
        clock_ns < pause_until_ns)
        return false;
    for (int looks = 0, tries = 0; looks < MOST_LOOKS && tries < MOST_TRIES;
         looks++) {
        char *const unit = next_in_use();
        if (unit == NULL)
            break;
        if (is_shared(unit))
            continue;
        tries++;
        if (buy(unit))
            return true;
        if (!can_pay(price_ns))
            return false;
    }
    pause_until_ns = clock_ns + PAUSE_NS;
    return false;
}
