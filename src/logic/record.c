// SPDX-License-Identifier: MIT
//
// Copying terms out and back in. Out: breadth first, as Cheney's collector
// does; the copy under construction is its own queue, so nothing recurses. A
// copied variable holds its new place until the end, when it is made a
// variable again. Back in: one pass that turns offsets into addresses.
//
#include "logic/record.h"

#include "logic/error.h"
#include "logic/memory.h"

#include <stdlib.h>
#include <string.h>

// Marks a copied variable and, in the copy, a cell that is final already.
#define MOVED_BIT ((bl_word)1 << 63)

struct copier {
    struct bl_machine *m;
    bl_word *out;    // the copy, in scratch memory
    size_t used;     // words of the copy
    bl_word *marked; // variables to restore: a stack that grows downwards
    size_t capacity; // scratch words
    size_t n_marked;
};

// Whoever walks through a term asks here at every step inside, so this is
// where a walk without end stops; not one on behalf of an error under way.
bool bl_scratch_ensure(struct bl_machine *m, size_t words) {
    // relaxed: bl_machine_poll looks again
    if (BL_UNLIKELY(bl_load_relaxed(&m->interrupt) != 0) && m->ball == NULL &&
        !bl_machine_poll(m))
        return false;
    if (m->scratch_words >= words)
        return true;
    size_t size = m->scratch_words ? m->scratch_words : 4096;
    while (size < words)
        size *= 2;
    void *const p = size * sizeof(bl_word) > m->memory_limit
                        ? NULL
                        : realloc(m->scratch, size * sizeof(bl_word));
    if (p == NULL) {
        bl_throw_resource(m, "memory");
        return false;
    }
    m->scratch = p;
    m->scratch_words = size;
    return true;
}

static bl_word moved(size_t offset) {
    return ((bl_word)offset << BL_TAG_BITS) | BL_LVL | MOVED_BIT;
}

static bool is_moved(bl_word w) {
    return bl_tag(w) == BL_LVL && (w & MOVED_BIT) != 0;
}

static size_t moved_offset(bl_word w) {
    return (size_t)((w & ~MOVED_BIT) >> BL_TAG_BITS);
}

static bl_word at_offset(size_t offset, enum bl_tag tag) {
    return ((bl_word)offset << BL_TAG_BITS) | (bl_word)tag;
}

static bool grow(struct copier *c, size_t words) {
    if (c->used + c->n_marked + words <= c->capacity)
        return true;
    const size_t old = c->capacity;
    const size_t need = c->used + c->n_marked + words;
    if (!bl_scratch_ensure(c->m, need < 2 * old ? 2 * old : need))
        return false;
    c->out = bl_scratch(c->m);
    c->capacity = c->m->scratch_words;
    memmove(c->out + c->capacity - c->n_marked, c->out + old - c->n_marked,
            c->n_marked * sizeof(bl_word));
    return true;
}

static void mark_variable(struct copier *c, bl_word *cell, size_t offset) {
    c->n_marked++;
    c->out[c->capacity - c->n_marked] = bl_ref(cell);
    *cell = moved(offset);
}

static void restore_variables(struct copier *c) {
    for (size_t i = 1; i <= c->n_marked; i++) {
        const bl_word v = c->out[c->capacity - i];
        *bl_ptr(v) = v;
    }
}

static bl_word copy_block(struct copier *c, const bl_word *from, size_t n,
                          enum bl_tag tag) {
    const size_t at = c->used;
    memcpy(c->out + at, from, n * sizeof(bl_word));
    c->used += n;
    return at_offset(at, tag);
}

static bl_word copy_box(struct copier *c, bl_word w) {
    const size_t at = c->used;
    const size_t n = bl_boxed_words(w);
    c->out[at] = bl_box_header(w);
    memcpy(c->out + at + 1, bl_ptr(w), n * sizeof(bl_word));
    c->used += n + 1;
    return at_offset(at + 1, BL_BOX);
}

// A variable's new home: the cell that is being filled, or for a root, which
// is no cell, a new one.
static bl_word copy_variable(struct copier *c, bl_word v, size_t i,
                             bool is_root) {
    size_t home = i;
    if (is_root) {
        home = c->used++;
        c->out[home] = moved(home);
    }
    mark_variable(c, bl_ptr(v), home);
    return at_offset(home, BL_REF);
}

static bool copy_word(struct copier *c, size_t i, bool is_root) {
    bl_word w = c->out[i];
    while (bl_tag(w) == BL_REF) {
        const bl_word v = *bl_ptr(w);
        if (v == w)
            break;
        w = v;
    }
    if (is_moved(w)) {
        c->out[i] = at_offset(moved_offset(w), BL_REF);
        return true;
    }
    const bool is_str = bl_tag(w) == BL_STR;
    const size_t args = is_str         ? bl_functor_arity(*bl_ptr(w)) + 1u
                        : bl_is_box(w) ? bl_boxed_words(w)
                                       : 2;
    if (!grow(c, args + 2))
        return false;
    if (is_str)
        c->out[i] = copy_block(c, bl_ptr(w), args, BL_STR);
    else if (bl_tag(w) == BL_LST)
        c->out[i] = copy_block(c, bl_ptr(w), 2, BL_LST);
    else if (bl_tag(w) == BL_BOX)
        c->out[i] = copy_box(c, w);
    else if (bl_tag(w) == BL_REF)
        c->out[i] = copy_variable(c, w, i, is_root);
    else
        c->out[i] = w;
    return true;
}

static bool copy_all(struct copier *c, size_t roots) {
    for (size_t i = 0; i < c->used; i++) {
        const bl_word w = c->out[i];
        if (bl_tag(w) == BL_FUN) {
            i += bl_box_words(w);
            continue;
        }
        if (!copy_word(c, i, i < roots))
            return false;
    }
    return true;
}

static bool copy_out(struct copier *c, const bl_word *terms, size_t n) {
    if (!bl_scratch_ensure(c->m, 4096))
        return false;
    c->out = bl_scratch(c->m);
    c->capacity = c->m->scratch_words;
    if (!grow(c, n))
        return false;
    if (n > 0) // no terms: the vector may be NULL
        memcpy(c->out, terms, n * sizeof(bl_word));
    c->used = n;
    const bool ok = copy_all(c, n);
    restore_variables(c);
    return ok;
}

struct bl_record *bl_record_make(struct bl_machine *m, const bl_word *terms,
                                 size_t n) {
    struct copier c = {.m = m};
    if (!copy_out(&c, terms, n))
        return NULL;
    struct bl_record *const r = malloc(sizeof *r + c.used * sizeof(bl_word));
    if (r == NULL || c.used > UINT32_MAX) {
        free(r);
        bl_throw_resource(m, "memory");
        return NULL;
    }
    r->next = NULL;
    r->words = (uint32_t)c.used;
    r->roots = (uint32_t)n;
    r->flat = c.used == n;
    memcpy(r->word, c.out, c.used * sizeof(bl_word));
    return r;
}

static bl_word relocate(bl_word w, bl_word *base) {
    switch (bl_tag(w)) {
    case BL_REF:
    case BL_STR:
    case BL_LST:
    case BL_BOX:
        return bl_make(base + (w >> BL_TAG_BITS), bl_tag(w));
    case BL_INT:
    case BL_ATM:
    case BL_FUN:
    case BL_LVL:
        return w;
    }
    return w;
}

static bool load(struct bl_machine *m, const bl_word *from, size_t words,
                 size_t roots, bl_word *terms) {
    if (words - roots > BL_HEAP_MARGIN / 4 && !bl_heap_ensure(m, words - roots))
        return false;
    bl_word *const base = m->h - roots;
    for (size_t i = 0; i < roots; i++)
        terms[i] = relocate(from[i], base);
    for (size_t i = roots; i < words; i++) {
        base[i] = relocate(from[i], base);
        if (bl_tag(from[i]) != BL_FUN)
            continue;
        for (size_t n = bl_box_words(from[i]); n > 0; n--, i++)
            base[i + 1] = from[i + 1];
    }
    m->h = base + words;
    return true;
}

bool bl_record_load(struct bl_machine *m, const struct bl_record *r,
                    bl_word *terms) {
    if (r->flat) {
        if (r->roots > 0) // as above
            memcpy(terms, r->word, r->roots * sizeof(bl_word));
        return true;
    }
    return load(m, r->word, r->words, r->roots, terms);
}

struct bl_record *bl_record_make_atom(bl_word atom) {
    struct bl_record *const r = calloc(1, sizeof *r + sizeof atom);
    bl_must_have(r);
    r->words = r->roots = 1;
    r->flat = true;
    r->word[0] = atom;
    return r;
}

void bl_record_free(struct bl_record *r) { free(r); }

bool bl_copy_term(struct bl_machine *m, bl_word t, bl_word *out) {
    struct copier c = {.m = m};
    if (!copy_out(&c, &t, 1))
        return false;
    if (!bl_heap_ensure(m, c.used))
        return false;
    return load(m, c.out, c.used, 1, out);
}
