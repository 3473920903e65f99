// SPDX-License-Identifier: MIT
//
// What the keeper makes of a single call. A program sees no difference but
// addresses: lengths, contents and errors are those it would have had.
//
// The break. `asked` is what the program was told last, `real` what the kernel
// has; asked <= real, and what lies between was never handed out, so it is
// zero. Growth up to `real` needs no kernel at all. A break that moves down is
// handed on exactly: then the kernel gives zeros again later.
//
// Small mappings are pieces of one area that is taken ahead in large steps.
//
// Large mappings. Each gets a slot of addresses several times its size, far
// from where the kernel puts things, and is mapped in whole units; what lies
// behind what was asked for was never handed out either, and goes where the
// mapping goes. A slot is only a hint: where something is there already the
// kernel chooses. A mapping that the program takes apart in ways that are not
// seen here leaves at most the rest of its last unit behind.
//
#if defined(__x86_64__)

#include "cli/inject.h"

#include "image/maps.h"
#include "os/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Slots. Nothing else is placed here: the runtime's territory ends below, the
// program, its break, libraries and stacks lie above or below by themselves.
#define SLOTS_LOW BL_TRACE_SLOTS_LOW
#define SLOTS_HIGH BL_TRACE_SLOTS_HIGH
#define SLOTS_SPREAD ((uint64_t)0x040000000000) // of the random beginning
#define LEAST_SLOT (64 * BL_MIB)
#define SLOT_TIMES 4
#define MOST_AREAS 4096

void bl_inject_space_begin(struct bl_inject_space *s, bool idle) {
    const uint64_t start = bl_os_random() % SLOTS_SPREAD;
    *s = (struct bl_inject_space){.small_step = BL_HUGE_SIZE,
                                  .users = 1,
                                  .idle = idle,
                                  .next = SLOTS_LOW +
                                          bl_align_down(start, LEAST_SLOT)};
}

static void *copy_of(const void *from, size_t bytes) {
    void *copy = bl_xrealloc(NULL, bytes);
    if (bytes)
        memcpy(copy, from, bytes);
    return copy;
}

void bl_inject_space_copy(struct bl_inject_space *to,
                          const struct bl_inject_space *from) {
    *to = *from;
    to->users = 1;
    to->areas = copy_of(from->areas, from->area_count * sizeof *from->areas);
    to->gaps = copy_of(from->gaps, from->gap_count * sizeof *from->gaps);
}

void bl_inject_space_end(struct bl_inject_space *s) {
    free(s->areas);
    free(s->gaps);
}

uint64_t bl_inject_slot(struct bl_inject_space *s, uint64_t bytes) {
    const uint64_t most = (SLOTS_HIGH - SLOTS_LOW) / SLOT_TIMES;
    const uint64_t slot =
        bytes < most ? bl_align_up(SLOT_TIMES * bytes, LEAST_SLOT) : 0;
    if (slot == 0)
        return 0;
    if (slot > SLOTS_HIGH - s->next)
        s->next = SLOTS_LOW;
    const uint64_t at = s->next;
    s->next += slot;
    return at;
}

static bool is_slot(uint64_t at) { return at >= SLOTS_LOW && at < SLOTS_HIGH; }

// Small or not: it may grow, and keeps what was advised.
static void advise(struct bl_trap_call *c, uint64_t at, uint64_t bytes) {
    bl_trap_advise(c, at, bl_align_up(bytes, BL_BASE_SIZE));
}

static long grow_break(struct bl_inject_space *s, struct bl_trap_call *c,
                       uint64_t to) {
    const uint64_t before = s->real;
    const uint64_t ahead = bl_align_up(to, BL_HUGE_SIZE);
    long got = bl_trap_brk(c, ahead);
    if ((uint64_t)got != ahead) // a limit, or something in the way
        got = bl_trap_brk(c, to);
    if ((uint64_t)got != ahead && (uint64_t)got != to)
        return c->away ? got : (long)s->asked;
    s->real = (uint64_t)got;
    s->asked = to;
    // Begins where huge pages may begin, so that the area stays one.
    const uint64_t from = bl_align_up(before, BL_BASE_SIZE);
    if (!c->away && s->real > from)
        bl_trap_advise(c, from, bl_align_up(s->real - from, BL_BASE_SIZE));
    return (long)to;
}

static long serve_break(struct bl_inject_space *s, struct bl_trap_call *c,
                        struct bl_inject_count *count) {
    const uint64_t to = c->arguments[0];
    if (s->asked == 0) {
        // The first one: the kernel says where the break is.
        s->real = s->asked = (uint64_t)bl_trap_brk(c, 0);
        if (to == 0 || to <= s->asked)
            return (long)s->asked;
    }
    if (to > s->asked && to <= s->real) {
        count->answered++;
        s->asked = to;
        return (long)to;
    }
    if (to > s->real)
        return grow_break(s, c, to);
    if (to == 0) {
        count->answered++;
        return (long)s->asked;
    }
    const long got = bl_trap_brk(c, to);
    if ((uint64_t)got == to)
        s->real = s->asked = to;
    return (long)s->asked;
}

static long serve_small(struct bl_inject_space *s, struct bl_trap_call *c,
                        struct bl_inject_count *count) {
    const uint64_t at = bl_inject_take(s, c, c->arguments[1]);
    if (!at)
        return bl_trap_map(c, 0);
    count->answered += !c->made;
    return (long)at;
}

static struct bl_inject_area *find_area(struct bl_inject_space *s, uint64_t at,
                                        uint64_t bytes) {
    for (size_t i = 0; i < s->area_count; i++) {
        struct bl_inject_area *a = &s->areas[i];
        if (a->at == at && a->asked == bl_align_up(bytes, BL_BASE_SIZE))
            return a;
    }
    return NULL;
}

static void forget_area(struct bl_inject_space *s, struct bl_inject_area *a) {
    *a = s->areas[--s->area_count];
}

static void note_area(struct bl_inject_space *s, uint64_t at, uint64_t asked,
                      uint64_t real) {
    for (size_t i = 0; i < s->area_count; i++) {
        if (s->areas[i].at == at) {
            forget_area(s, &s->areas[i]);
            break;
        }
    }
    s->areas = bl_xrealloc(s->areas, (s->area_count + 1) * sizeof *s->areas);
    s->areas[s->area_count++] =
        (struct bl_inject_area){at, bl_align_up(asked, BL_BASE_SIZE), real};
}

// Whole units, of which the program knows what it asked for.
static long map_units(struct bl_inject_space *s, struct bl_trap_call *c,
                      uint64_t bytes) {
    const uint64_t real = bl_align_up(bytes, BL_HUGE_SIZE);
    const uint64_t slot =
        s->area_count < MOST_AREAS ? bl_inject_slot(s, bytes) : 0;
    const long got = slot ? bl_trap_map_new(c, slot, real) : -ENOMEM;
    if (bl_inject_failed(got))
        return got;
    note_area(s, (uint64_t)got, bytes, real);
    advise(c, (uint64_t)got, real);
    return got;
}

// glibc opens an arena by a few base pages at a time (mprotect), which then are
// touched as base pages. Nobody can tell an arena that is open from the start:
// what is not used is not touched.
static long map_arena(struct bl_inject_space *s, struct bl_trap_call *c) {
    const uint64_t bytes = c->arguments[1];
    const long got = bl_trap_map_open(c, bl_inject_slot(s, bytes));
    if (!bl_inject_failed(got))
        advise(c, (uint64_t)got, bytes);
    return got;
}

// An address among the slots that is only a hint comes from a program that
// wants its next mapping beside its last one (Zig's): it gets that anyway.
static long serve_map(struct bl_inject_space *s, struct bl_trap_call *c,
                      struct bl_inject_count *count) {
    const uint64_t at = c->arguments[0];
    const uint64_t bytes = c->arguments[1];
    const bool fixed = bl_trap_is_fixed(c);
    if (fixed && is_slot(at)) {
        s->tainted = true;
        return bl_trap_map(c, at);
    }
    const bool free = !fixed && (at == 0 || is_slot(at));
    const bool plain = free && bl_trap_is_plain(c) && bytes;
    if (plain && bytes <= BL_MIB)
        return serve_small(s, c, count);
    if (free && bytes <= BL_MIB)
        return bl_trap_map(c, at);
    long got = plain                         ? map_units(s, c, bytes)
               : free && bl_trap_is_arena(c) ? map_arena(s, c)
                                             : -ENOMEM;
    if (!bl_inject_failed(got) || c->away)
        return got;
    got = bl_trap_map(c, free ? bl_inject_slot(s, bytes) : at);
    if (!bl_inject_failed(got))
        advise(c, (uint64_t)got, bytes);
    return got;
}

static long serve_unmap(struct bl_inject_space *s, struct bl_trap_call *c) {
    struct bl_inject_area *a = find_area(s, c->arguments[0], c->arguments[1]);
    const uint64_t real = a ? a->real : c->arguments[1];
    if (!a && bl_inject_give(s, c, c->arguments[0], real))
        return 0;
    const long got = bl_trap_unmap(c, c->arguments[0], real);
    if (a && got == 0)
        forget_area(s, a);
    return got;
}

// Smaller: exactly, so that it is zero where it grows again.
static long shrink(struct bl_inject_space *s, struct bl_trap_call *c,
                   uint64_t from) {
    const uint64_t at = c->arguments[0];
    const uint64_t to = bl_align_up(c->arguments[2], BL_BASE_SIZE);
    const long got = bl_trap_remap(c, at, from, to, 0);
    if (!bl_inject_failed(got))
        note_area(s, at, to, to);
    return got;
}

// Reserved first, so that nothing can be in the way; or what was reserved when
// a stop broke this call off.
static long reserve(struct bl_inject_space *s, struct bl_trap_call *c,
                    uint64_t bytes) {
    const uint64_t left = s->place;
    if (left && s->place_bytes == bytes) {
        s->place = 0;
        return (long)left;
    }
    const uint64_t slot = bl_inject_slot(s, bytes);
    return slot ? bl_trap_reserve(c, slot, bytes) : -ENOMEM;
}

static void unreserve(struct bl_inject_space *s, struct bl_trap_call *c,
                      uint64_t place, uint64_t bytes) {
    if (!bl_inject_failed(bl_trap_unmap(c, place, bytes)))
        return;
    s->place = place;
    s->place_bytes = bytes;
}

// In place where there is room; else to a new slot.
static long grow(struct bl_inject_space *s, struct bl_trap_call *c,
                 uint64_t from, uint64_t to, struct bl_inject_count *count) {
    const uint64_t at = c->arguments[0];
    long got = bl_trap_remap(c, at, from, to, 0);
    if (got != -ENOMEM || c->away)
        return got;
    const long place = reserve(s, c, to);
    if (bl_inject_failed(place))
        return place;
    got = bl_trap_remap(c, at, from, to, (uint64_t)place);
    if (bl_inject_failed(got))
        unreserve(s, c, (uint64_t)place, to);
    else
        count->moves++;
    return got;
}

static long grow_ours(struct bl_inject_space *s, struct bl_trap_call *c,
                      uint64_t from, struct bl_inject_count *count) {
    const uint64_t asked = c->arguments[2];
    const uint64_t to = bl_align_up(asked, BL_HUGE_SIZE);
    const long got = grow(s, c, from, to, count);
    if (bl_inject_failed(got))
        return got;
    note_area(s, (uint64_t)got, asked, to);
    if (from < BL_MIB)
        advise(c, (uint64_t)got, to); // it was not, when it was small
    return got;
}

// As if it had never been handed out.
static void take_back(struct bl_inject_space *s, struct bl_trap_call *c,
                      uint64_t at, uint64_t bytes) {
    struct bl_inject_area *a = find_area(s, at, bytes);
    const uint64_t real = a ? a->real : bl_align_up(bytes, BL_BASE_SIZE);
    if (a)
        forget_area(s, a);
    if (a || !bl_inject_give(s, c, at, real))
        bl_trap_unmap(c, at, real);
}

// Memory as it was handed out: neither protected nor made executable since.
static bool is_plain(const struct bl_trap_call *c, uint64_t at) {
    struct bl_maps maps;
    struct bl_maps_entry e;
    bool plain = false;
    if (bl_maps_read(c->tid, &maps) < 0)
        return false;
    for (const char *p = maps.text; bl_maps_next(&p, &e) && e.start <= at;)
        plain = at < e.end && e.writable && !e.executable && !e.shared;
    bl_maps_free(&maps);
    return plain;
}

// Less than a unit is copied: its base pages would stay base pages where they
// are moved to. Not what the program has protected, nor where it does not let
// us at its memory (PR_SET_DUMPABLE).
static long regrow(struct bl_inject_space *s, struct bl_trap_call *c,
                   struct bl_inject_count *count) {
    const uint64_t old = c->arguments[0];
    const uint64_t from = bl_align_up(c->arguments[1], BL_BASE_SIZE);
    const uint64_t asked = c->arguments[2];
    const uint64_t more = bl_align_up(asked, BL_BASE_SIZE) - from;
    if (!is_plain(c, old))
        return grow(s, c, from, asked, count);
    if (bl_inject_extend(s, old + from, more)) {
        count->answered++;
        return (long)old;
    }
    const long got = asked <= BL_MIB ? (long)bl_inject_take(s, c, asked)
                                     : map_units(s, c, asked);
    if (got == 0 || bl_inject_failed(got))
        return grow(s, c, from, asked, count);
    if (bl_trap_copy(c, (uint64_t)got, old, from) != 0) {
        take_back(s, c, (uint64_t)got, asked);
        return grow(s, c, from, asked, count);
    }
    if (!bl_inject_give(s, c, old, from))
        bl_trap_unmap(c, old, from);
    count->moves++;
    return got;
}

static long serve_remap(struct bl_inject_space *s, struct bl_trap_call *c,
                        struct bl_inject_count *count) {
    const uint64_t old = c->arguments[0];
    const uint64_t before = c->arguments[1];
    const uint64_t after = c->arguments[2];
    struct bl_inject_area *a = find_area(s, old, before);
    if (a && after >= before && after <= a->real) {
        a->asked = bl_align_up(after, BL_BASE_SIZE);
        count->answered++;
        return (long)old;
    }
    // What lies elsewhere may be a file: it gets exactly what was asked for.
    if (!a && !is_slot(old))
        return grow(s, c, before, after, count);
    const uint64_t kept = bl_align_up(after, BL_BASE_SIZE);
    if (!a && after < before && bl_inject_give(s, c, old + kept, before - kept))
        return (long)old;
    if (!a && before < after && before < BL_HUGE_SIZE)
        return regrow(s, c, count);
    const uint64_t from = a ? a->real : bl_align_up(before, BL_BASE_SIZE);
    const long got =
        after < before ? shrink(s, c, from) : grow_ours(s, c, from, count);
    if (a && !bl_inject_failed(got) && (uint64_t)got != old) {
        a = find_area(s, old, before);
        if (a)
            forget_area(s, a);
    }
    return got;
}

// It may end the program for a call of ours. (One that the kernel refuses does
// not: libraries ask so what it knows.)
static void note_filter(struct bl_inject_space *s,
                        struct bl_inject_count *count) {
    count->filtered += !s->idle;
    s->idle = s->filtered = true;
}

bool bl_inject_serve(struct bl_inject_space *s, int tid,
                     struct bl_inject_count *count, struct bl_trap_call *c) {
    long result;
    if (!bl_trap_read(tid, c))
        return true;
    const bool makes = c->number == BL_TRAP_MAKE;
    if (makes || c->number == BL_TRAP_FILTER) {
        const long made = bl_trap_run(c);
        if (!makes && made >= 0)
            note_filter(s, count);
        return false;
    }
    if (s->idle) {
        bl_trap_pass(tid);
        return true;
    }
    count->calls++;
    switch (c->number) {
    case BL_TRAP_BRK:
        result = serve_break(s, c, count);
        break;
    case BL_TRAP_MAP:
        result = serve_map(s, c, count);
        break;
    case BL_TRAP_UNMAP:
        result = serve_unmap(s, c);
        break;
    case BL_TRAP_REMAP:
        if (bl_trap_may_move(c)) {
            result = serve_remap(s, c, count);
            break;
        }
        s->tainted |= bl_trap_is_aimed(c);
        bl_trap_pass(tid);
        return true;
    case BL_TRAP_FILTER:
    case BL_TRAP_MAKE:
    case BL_TRAP_OTHER:
    default:
        bl_trap_pass(tid);
        return true;
    }
    bl_trap_answer(c, result);
    return !c->away;
}

#endif
