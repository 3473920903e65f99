// SPDX-License-Identifier: MIT
//
// Small mappings as pieces of one area, which is mapped ahead and advised in
// large steps. A piece costs no call of the kernel.
//
// What the program unmaps of it stays mapped as a *gap* and serves the next
// piece, written with zeros: unmapping it would break a huge page, and memory
// that a malloc returns in groups of some blocks would end in base pages. A
// gap that holds whole units gives their pages back at once. Gaps lie apart
// from each other: what touches or overlaps is one; what touches the end of the
// area is none, but handed out next. A gap in which zeros cannot be written has
// been mapped or protected otherwise, and is dropped; where the program maps
// anything over memory it was given, gaps are not used any more.
//
#if defined(__x86_64__)

#include "cli/inject.h"

#include <stdlib.h>
#include <string.h>

#define AREA_SHARE (16 * BL_GIB) // a slot has room for several of these
#define MOST_ROOM (32 * BL_MIB)  // taken ahead at once
#define MOST_GAPS 8192

// Behind the last room, so that one area is made of all.
static bool add_room(struct bl_inject_space *s, struct bl_trap_call *c) {
    const uint64_t hint =
        s->small_end ? s->small_end : bl_inject_slot(s, AREA_SHARE);
    const uint64_t more = s->small_step;
    const long got = bl_trap_map_new(c, hint, more);
    if (bl_inject_failed(got))
        return false;
    if ((uint64_t)got != s->small_end) {
        s->small_low = s->small_at = s->small_used = (uint64_t)got;
        s->gap_count = 0;
    }
    s->small_end = (uint64_t)got + more;
    if (s->small_step < MOST_ROOM)
        s->small_step *= 2;
    bl_trap_advise(c, (uint64_t)got, more);
    return true;
}

static void drop_gap(struct bl_inject_space *s, size_t i) {
    memmove(s->gaps + i, s->gaps + i + 1,
            (--s->gap_count - i) * sizeof *s->gaps);
}

// The first gap that is large enough and can be written; 0: none.
static uint64_t take_gap(struct bl_inject_space *s, struct bl_trap_call *c,
                         uint64_t bytes) {
    for (size_t i = 0; i < s->gap_count && !s->tainted; i++) {
        struct bl_inject_gap *g = &s->gaps[i];
        const uint64_t at = g->at;
        if (g->end - at < bytes)
            continue;
        const bool good = bl_trap_zero(c, at, bytes) == 0;
        g->at += bytes;
        if (!good || g->at == g->end)
            drop_gap(s, i);
        if (good)
            return at;
        i--;
    }
    return 0;
}

uint64_t bl_inject_take(struct bl_inject_space *s, struct bl_trap_call *c,
                        uint64_t bytes) {
    const uint64_t whole = bl_align_up(bytes, BL_BASE_SIZE);
    const uint64_t gap = take_gap(s, c, whole);
    if (gap)
        return gap;
    const uint64_t used = s->small_used - s->small_at;
    if (used && (s->tainted || bl_trap_zero(c, s->small_at,
                                            used < whole ? used : whole) != 0))
        s->small_at = s->small_used; // mapped or protected otherwise
    if (whole > s->small_end - s->small_at && !add_room(s, c))
        return 0;
    const uint64_t at = s->small_at;
    s->small_at += whole;
    if (s->small_used < s->small_at)
        s->small_used = s->small_at;
    return at;
}

bool bl_inject_extend(struct bl_inject_space *s, uint64_t end, uint64_t more) {
    if (end != s->small_at || s->small_used != end || more > s->small_end - end)
        return false;
    s->small_at = s->small_used = end + more;
    return true;
}

// Makes one gap of [at, end) and all that it meets; its index.
static size_t merge(struct bl_inject_space *s, uint64_t at, uint64_t end) {
    size_t first = 0;
    while (first < s->gap_count && s->gaps[first].end < at)
        first++;
    while (first < s->gap_count && s->gaps[first].at <= end) {
        if (s->gaps[first].at < at)
            at = s->gaps[first].at;
        if (s->gaps[first].end > end)
            end = s->gaps[first].end;
        drop_gap(s, first);
    }
    s->gaps = bl_xrealloc(s->gaps, (s->gap_count + 1) * sizeof *s->gaps);
    memmove(s->gaps + first + 1, s->gaps + first,
            (s->gap_count - first) * sizeof *s->gaps);
    s->gaps[first] = (struct bl_inject_gap){at, end};
    s->gap_count++;
    return first;
}

// The end of what was handed out: it is handed out next. So a program that cuts
// its pieces to fit leaves no gap behind each.
static void take_back(struct bl_inject_space *s, struct bl_trap_call *c,
                      uint64_t at) {
    const uint64_t high = bl_align_up(s->small_at, BL_HUGE_SIZE);
    while (s->gap_count && s->gaps[s->gap_count - 1].end >= at) {
        const size_t last = s->gap_count - 1;
        if (s->gaps[last].at < at)
            at = s->gaps[last].at;
        drop_gap(s, last);
    }
    s->small_at = at;
    const uint64_t low = bl_align_up(at, BL_HUGE_SIZE);
    if (low < high)
        bl_trap_empty(c, low, high - low);
}

bool bl_inject_give(struct bl_inject_space *s, struct bl_trap_call *c,
                    uint64_t at, uint64_t bytes) {
    const uint64_t end = at + bl_align_up(bytes, BL_BASE_SIZE);
    if (s->tainted || at % BL_BASE_SIZE || bytes == 0 || end <= at ||
        at < s->small_low || end > s->small_at || s->gap_count >= MOST_GAPS)
        return false;
    if (end == s->small_at) {
        take_back(s, c, at);
        return true;
    }
    const size_t i = merge(s, at, end);
    const struct bl_inject_gap gap = s->gaps[i];
    // Units that this piece has completed.
    uint64_t low = bl_align_down(at, BL_HUGE_SIZE);
    uint64_t high = bl_align_up(end, BL_HUGE_SIZE);
    if (low < gap.at)
        low = bl_align_up(gap.at, BL_HUGE_SIZE);
    if (high > gap.end)
        high = bl_align_down(gap.end, BL_HUGE_SIZE);
    if (low < high)
        bl_trap_empty(c, low, high - low);
    return true;
}

#endif
