// SPDX-License-Identifier: MIT
//
// What is to be remembered of how a unit is backed: a bit each, by its address,
// moved with its memory and cleared when that goes.
//
#include "reservoir/internal.h"

static size_t counts[BL_MARKS]; // bits set

static size_t unit_number(const void *at) {
    return ((uintptr_t)at - bl_territory.start) >> BL_HUGE_SHIFT;
}

static char *unit_at(size_t number) {
    return (char *)bl_territory.start + (number << BL_HUGE_SHIFT);
}

static uint64_t *word_of(size_t number, enum bl_mark mark) {
    return &bl_mark_bits()[number / 64].bits[mark];
}

static uint64_t bit_of(size_t number) { return (uint64_t)1 << (number % 64); }

static void set(size_t number, enum bl_mark mark, bool yes) {
    uint64_t *const word = word_of(number, mark);
    if (yes == ((*word & bit_of(number)) != 0))
        return;
    *word ^= bit_of(number);
    const size_t change = yes ? 1 : (size_t)-1;
    counts[mark] += change;
    if (mark == BL_MARK_DEFERRED)
        BL_COUNT_BY(units_deferred_now, change);
}

size_t bl_marked(enum bl_mark mark) { return counts[mark]; }

bool bl_is_marked(const void *unit, enum bl_mark mark) {
    const size_t n = unit_number(unit);
    return *word_of(n, mark) & bit_of(n);
}

void bl_mark(const void *at, size_t units, enum bl_mark mark) {
    const size_t first = unit_number(at);
    for (size_t n = first; n < first + units; n++)
        set(n, mark, true);
}

void bl_marks_clear(const void *at, size_t units) {
    const size_t first = unit_number(at);
    for (size_t n = first; n < first + units; n++)
        for (int mark = 0; mark < BL_MARKS; mark++)
            set(n, (enum bl_mark)mark, false);
}

void bl_marks_move(const void *from, size_t units, const void *to) {
    const size_t source = unit_number(from);
    const size_t target = unit_number(to);
    for (size_t i = 0; i < units; i++)
        for (int m = 0; m < BL_MARKS; m++) {
            const enum bl_mark mark = (enum bl_mark)m;
            set(target + i, mark,
                *word_of(source + i, mark) & bit_of(source + i));
            set(source + i, mark, false);
        }
}

// The first one marked from number `n` on, before `end`; or `end`.
static size_t next_before(size_t n, size_t end, enum bl_mark mark) {
    while (n < end) {
        const uint64_t rest = *word_of(n, mark) >> (n % 64);
        if (rest != 0)
            return n + bl_lowest_bit(rest) < end ? n + bl_lowest_bit(rest)
                                                 : end;
        n = (n | 63) + 1;
    }
    return end;
}

static char *next_in(uintptr_t part, uintptr_t bytes, const char *from,
                     enum bl_mark mark) {
    const char *const start = (const char *)part;
    const size_t first = unit_number(from > start ? from : start);
    const size_t end = unit_number(start + bytes);
    const size_t n = next_before(first, end, mark);
    return n < end ? unit_at(n) : NULL;
}

char *bl_marked_next(const char *from, enum bl_mark mark) {
    if (counts[mark] == 0)
        return NULL;
    char *const unit =
        next_in(bl_territory.small, bl_load_relaxed(&bl_territory.small_bytes),
                from, mark);
    return unit ? unit
                : next_in(bl_territory.large,
                          bl_load_relaxed(&bl_territory.large_bytes), from,
                          mark);
}

static size_t count_marked(enum bl_mark mark) {
    size_t found = 0;
    const char *unit = bl_marked_next(NULL, mark);
    for (; unit != NULL; unit = bl_marked_next(unit + BL_HUGE_SIZE, mark))
        found++;
    return found;
}

void bl_marks_check(void) {
    for (int mark = 0; mark < BL_MARKS; mark++)
        BL_CHECK_EQ(count_marked((enum bl_mark)mark), counts[mark]);
}
