// SPDX-License-Identifier: MIT
//
// A copying collector for the newest segment of the heap, that between the
// newest choice point and the top. A deterministic computation, which never
// backtracks, leaves all its garbage there. What lies below is older than the
// choice point and stays: backtracking may return to it.
//
// Roots are the arguments of the call at hand, the slots that live in the
// environments it will return to (the compiler noted them in front of each
// place of return), and the older cells that were bound since the choice
// point, all of which the trail names. Records and tables are not on the heap.
//
// Objects are copied to a buffer in Cheney's way and back at the end. A
// reference may point into an object: a variable that is met before its object
// moves alone, and the object's cell then refers to it.
//
#include "logic/collect.h"

#include "logic/opcode.h"

#include <stdlib.h>
#include <string.h>

// In an old place: where its cell went; with OBJECT, the object that begins
// there went as a whole.
#define MOVED ((bl_word)1 << 63)
#define OBJECT ((bl_word)1 << 62)

struct collector {
    bl_word *from, *end; // the segment
    bl_word *to;         // the buffer: word i will be at from + i
    size_t used;
    bl_word *value; // what cells that were assigned hold; NULL: there are none
};

static bl_word mark(size_t offset, bl_word flags) {
    return ((bl_word)offset << BL_TAG_BITS) | BL_LVL | MOVED | flags;
}

static bool is_mark(bl_word w) {
    return bl_tag(w) == BL_LVL && (w & MOVED) != 0;
}

static size_t mark_offset(bl_word w) {
    return (size_t)((w & ~(MOVED | OBJECT)) >> BL_TAG_BITS);
}

static bool is_inside(const struct collector *c, const bl_word *p) {
    return p >= c->from && p < c->end;
}

// Copies n words and leaves marks for each of them.
static size_t move_object(struct collector *c, bl_word *p, size_t n) {
    const size_t at = c->used;
    memcpy(c->to + at, p, n * sizeof(bl_word));
    for (size_t i = 0; i < n; i++)
        p[i] = mark(at + i, i == 0 ? OBJECT : 0);
    c->used += n;
    return at;
}

static bl_word new_place(const struct collector *c, size_t offset,
                         enum bl_tag tag) {
    return bl_make(c->from + offset, tag);
}

static bl_word forward_object(struct collector *c, bl_word w) {
    bl_word *const p = bl_ptr(w);
    const bool is_box = bl_is_box(w);
    bl_word *const first = is_box ? p - 1 : p; // a box's header
    if (!is_inside(c, first))
        return w;
    size_t at;
    if (is_mark(*first) && (*first & OBJECT) != 0) {
        at = mark_offset(*first);
    } else {
        const bool is_str = bl_tag(w) == BL_STR;
        const size_t n = is_str   ? bl_functor_arity(*first) + 1u
                         : is_box ? bl_box_words(*first) + 1
                                  : 2;
        at = move_object(c, first, n);
    }
    return new_place(c, is_box ? at + 1 : at, bl_tag(w));
}

// The word that stands for `w` afterwards.
static bl_word forward(struct collector *c, bl_word w) {
    while (bl_tag(w) == BL_REF) {
        bl_word *const p = bl_ptr(w);
        if (!is_inside(c, p))
            return w;
        if (is_mark(*p))
            return new_place(c, mark_offset(*p), BL_REF);
        if (*p == w) { // a variable nobody has moved
            *p = mark(c->used, 0);
            c->to[c->used] = *p; // itself, wherever its object goes later
            return new_place(c, c->used++, BL_REF);
        }
        w = *p;
    }
    if (is_mark(w))
        return new_place(c, mark_offset(w), BL_REF);
    if (bl_is_compound(w) || bl_is_box(w))
        return forward_object(c, w);
    return w;
}

static void scan(struct collector *c) {
    for (size_t i = 0; i < c->used; i++) {
        if (bl_tag(c->to[i]) == BL_FUN)
            i += bl_box_words(c->to[i]);
        else
            c->to[i] = forward(c, c->to[i]);
    }
}

static void forward_environments(struct collector *c, struct bl_machine *m) {
    const bl_word *cp = m->cp;
    for (struct bl_env *e = m->e; e != NULL; e = e->parent) {
        // what lies outside the query is older than its choice point
        if (cp == bl_code_query_true)
            return;
        // a generator's environment: the goal, then the template
        const bool base = cp == bl_code_new_answer;
        for (uint64_t i = base ? 1 : 0; i < e->n; i++) {
            if (base || bl_is_live(cp[-1], i))
                e->y[i] = forward(c, e->y[i]);
        }
        cp = e->cp;
    }
}

// Calls `f` for each older cell that the trail names since the choice point;
// `old` is the value it had before an assignment, or NULL. From the top, where
// a marked cell tells that the word below is its old value. Names of cells
// above `from` are left from before a cut; resetting them when all above is
// dropped does no harm.
static void each_trailed(struct collector *c, struct bl_machine *m,
                         void (*f)(struct collector *c, bl_word *cell,
                                   bl_word *old, size_t i)) {
    for (bl_word *tr = m->tr; tr > m->b->tr;) {
        bl_word *const cell = bl_ptr(*--tr);
        const bool assigned = bl_tag(*tr) != BL_REF;
        tr -= assigned;
        if (cell < c->from)
            f(c, cell, assigned ? tr : NULL, (size_t)(tr - m->b->tr));
    }
}

static void forward_cell(struct collector *c, bl_word *cell, bl_word *old,
                         size_t i) {
    (void)i;
    (void)old;
    *cell = forward(c, *cell);
}

// A cell that was assigned may be named more than once: meanwhile it holds the
// number of the name that was met first.
static void forward_once(struct collector *c, bl_word *cell, bl_word *old,
                         size_t i) {
    if (!is_mark(*cell)) {
        c->value[i] = forward(c, *cell);
        *cell = mark(i, 0);
    }
    if (old != NULL)
        *old = forward(c, *old);
}

static void put_back(struct collector *c, bl_word *cell, bl_word *old,
                     size_t i) {
    (void)old;
    if (*cell == mark(i, 0))
        *cell = c->value[i];
}

static bool has_assignments(const struct bl_machine *m) {
    for (const bl_word *tr = m->b->tr; tr < m->tr; tr++) {
        if (bl_tag(*tr) != BL_REF)
            return true;
    }
    return false;
}

static void forward_trail(struct collector *c, struct bl_machine *m) {
    if (c->value == NULL) {
        each_trailed(c, m, forward_cell);
        return;
    }
    each_trailed(c, m, forward_once);
    each_trailed(c, m, put_back);
    free(c->value);
}

// Room for the copies, and for what assigned cells hold; false without memory.
static bool get_buffers(struct collector *c, const struct bl_machine *m) {
    const size_t size = (size_t)(c->end - c->from);
    // a variable that moved alone leaves a word in its object as well
    c->to = malloc(2 * size * sizeof(bl_word));
    if (c->to == NULL || !has_assignments(m))
        return c->to != NULL;
    c->value = malloc((size_t)(m->tr - m->b->tr) * sizeof(bl_word));
    if (c->value == NULL)
        free(c->to);
    return c->value != NULL;
}

// What is read from the top, where a marked cell tells that the word below is
// its old value, is written from the top; returns where that ends.
static bl_word *drop_young(struct bl_machine *m) {
    bl_word *to = m->tr;
    for (bl_word *tr = m->tr; tr > m->b->tr;) {
        const bl_word w = *--tr;
        const bool assigned = bl_tag(w) != BL_REF;
        tr -= assigned;
        if (bl_ptr(w) >= m->b->h)
            continue;
        *--to = w;
        if (assigned)
            *--to = *tr;
    }
    return to;
}

// What backtracking does with a cell last: the name of it in the trail, and
// the old value.
struct undoing {
    bl_word name;
    bl_word old;
    bl_word value; // of the cell, which holds a mark meanwhile
};

static size_t read_undoings(struct undoing *u, const bl_word *from,
                            const bl_word *tr) {
    size_t n = 0;
    while (tr > from) {
        const bl_word w = *--tr;
        const bool assigned = bl_tag(w) != BL_REF;
        tr -= assigned;
        u[n++] = (struct undoing){.name = w, .old = assigned ? *tr : 0};
    }
    return n;
}

// Of the names of one cell, the oldest comes last in `u`.
static size_t keep_oldest(struct undoing *u, size_t n) {
    size_t at = n;
    for (size_t i = n; i-- > 0;) {
        bl_word *const cell = bl_ptr(u[i].name);
        if (is_mark(*cell))
            continue;
        u[--at] = u[i];
        u[at].value = *cell;
        *cell = mark(0, 0);
    }
    return at;
}

// Of a cell that was assigned many times backtracking needs its first value.
// Goes through the words from `from` up to the top; returns where they end.
// Without memory they stay.
static bl_word *drop_repeated(const struct bl_machine *m, bl_word *from) {
    const size_t words = (size_t)(m->tr - from);
    struct undoing *const u = malloc((words + 1) * sizeof *u);
    if (u == NULL)
        return from;
    const size_t n = read_undoings(u, from, m->tr);
    bl_word *to = m->tr;
    size_t at = keep_oldest(u, n);
    for (; at < n; at++) {
        *bl_ptr(u[at].name) = u[at].value;
        *--to = u[at].name;
        if (bl_tag(u[at].name) != BL_REF)
            *--to = u[at].old;
    }
    free(u);
    return to;
}

size_t bl_tidy_trail(struct bl_machine *m) {
    const bool assigned = has_assignments(m);
    bl_word *const base = m->b->tr;
    bl_word *to = drop_young(m);
    if (assigned)
        to = drop_repeated(m, to);
    const size_t kept = (size_t)(m->tr - to);
    memmove(base, to, kept * sizeof(bl_word));
    m->tr = base + kept;
    return (size_t)(to - base);
}

size_t bl_collect(struct bl_machine *m, uint32_t arity) {
    struct collector c = {.from = m->b->h, .end = m->h};
    const size_t size = (size_t)(c.end - c.from);
    (void)bl_tidy_trail(m); // what only it refers to goes
    if (size == 0 || !get_buffers(&c, m))
        return 0;
    for (uint32_t i = 0; i < arity; i++)
        m->x[i] = forward(&c, m->x[i]);
    forward_environments(&c, m);
    forward_trail(&c, m);
    scan(&c);
    if (c.used > size) { // variables moved alone; a limit may be passed here
        const size_t limit = m->memory_limit;
        m->memory_limit = SIZE_MAX;
        BL_CHECK(bl_heap_ensure(m, c.used - size));
        m->memory_limit = limit;
    }
    memcpy(c.from, c.to, c.used * sizeof(bl_word));
    m->h = c.from + c.used;
    m->collections++;
    free(c.to);
    return c.used < size ? size - c.used : 0;
}
