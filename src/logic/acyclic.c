// SPDX-License-Identifier: MIT
//
// acyclic_term/1: a walk in depth that knows which compound terms it is inside
// of and which it has left. A term that is met while the walk is inside of it
// contains itself. Shared terms are walked once, so the time is in proportion
// to the memory the term takes.
//
#include "logic/acyclic.h"

#include "logic/error.h"
#include "logic/record.h"

#include <stdlib.h>

struct mark {
    const bl_word *term; // its arguments; NULL: a free place
    bool inside;
};

struct walk {
    struct mark *mark; // a hash with places for 1 << bits
    unsigned bits;
    size_t marks;
    size_t depth; // pairs on the scratch stack: a term, its next argument
};

static struct mark *place_of(const struct walk *w, const bl_word *term) {
    const size_t mask = ((size_t)1 << w->bits) - 1;
    size_t i =
        (size_t)(((uintptr_t)term * 0x9e3779b97f4a7c15u) >> (64 - w->bits));
    while (w->mark[i].term != NULL && w->mark[i].term != term)
        i = (i + 1) & mask;
    return &w->mark[i];
}

static bool grow(struct walk *w) {
    const struct walk old = *w;
    w->bits = old.mark == NULL ? 6 : old.bits + 1;
    w->mark = calloc((size_t)1 << w->bits, sizeof *w->mark);
    if (w->mark == NULL) {
        *w = old;
        return false;
    }
    for (size_t i = 0; old.mark != NULL && i < (size_t)1 << old.bits; i++) {
        if (old.mark[i].term != NULL)
            *place_of(w, old.mark[i].term) = old.mark[i];
    }
    free(old.mark);
    return true;
}

// BL_TRUE: goes on; BL_FAIL: the term contains itself.
static int enter(struct bl_machine *m, struct walk *w, bl_word t) {
    t = bl_deref(t);
    if (!bl_is_compound(t))
        return BL_TRUE;
    const bl_word *const args = bl_term_args(t);
    struct mark *const at = place_of(w, args);
    if (at->term != NULL)
        return at->inside ? BL_FAIL : BL_TRUE;
    *at = (struct mark){args, true};
    if (++w->marks * 2 > (size_t)1 << w->bits && !grow(w))
        return bl_throw_resource(m, "memory");
    if (!bl_scratch_ensure(m, w->depth + 2))
        return BL_THROW;
    bl_scratch(m)[w->depth++] = t;
    bl_scratch(m)[w->depth++] = 0;
    return BL_TRUE;
}

static int walk(struct bl_machine *m, struct walk *w, bl_word t) {
    int r = enter(m, w, t);
    for (size_t n = 1; r == BL_TRUE && w->depth > 0; n++) {
        bl_word *const top = &bl_scratch(m)[w->depth - 2];
        const bl_word *const args = bl_term_args(top[0]);
        if (top[1] == bl_functor_arity(bl_term_functor(top[0]))) {
            place_of(w, args)->inside = false;
            w->depth -= 2;
        } else {
            r = enter(m, w, args[top[1]++]);
        }
        if (n % 65536 == 0 && bl_load_acquire(&m->interrupt) != 0 &&
            !bl_machine_poll(m))
            return BL_THROW;
    }
    return r;
}

int bl_is_acyclic(struct bl_machine *m, bl_word t) {
    struct walk w = {0};
    if (!grow(&w))
        return bl_throw_resource(m, "memory");
    const int r = walk(m, &w, t);
    free(w.mark);
    return r;
}
