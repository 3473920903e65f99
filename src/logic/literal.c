// SPDX-License-Identifier: MIT
//
// Large ground terms of clauses. Such a term is not built each time the clause
// runs: one copy stands with the clause, and code refers to it. Small ones are
// built, so that setarg/3 finds a copy of its own.
//
#include "logic/compile.h"

#include "logic/memory.h"
#include "logic/record.h"

#include <stdlib.h>

enum { LITERAL_FROM = 64 }; // words

// The words of a ground term; 0 where it has variables or is small.
static size_t literal_words(struct bl_compiler *c, bl_word t) {
    size_t depth = 0;
    size_t words = 0;
    for (;;) {
        t = bl_deref(t);
        c->literal_visits++;
        if (bl_is_var(t) || bl_tag(t) == BL_LVL)
            return 0;
        if (bl_is_box(t))
            words += bl_boxed_words(t) + 1;
        if (bl_is_compound(t)) {
            const size_t n = bl_functor_arity(bl_term_functor(t));
            if (!bl_scratch_ensure(c->m, depth + n))
                return 0;
            for (size_t i = n; i-- > 0;)
                bl_scratch(c->m)[depth++] = bl_term_args(t)[i];
            words += n + (bl_tag(t) == BL_STR);
        }
        if (depth == 0)
            return words >= LITERAL_FROM ? words : 0;
        t = bl_scratch(c->m)[--depth];
    }
}

static bl_word copy_compound(bl_word t, bl_word **top) {
    bl_word *const to = *top;
    const bl_word *const from = bl_ptr(t);
    const size_t n = bl_tag(t) == BL_LST ? 2 : bl_functor_arity(*from) + 1u;
    __builtin_memcpy(to, from, n * sizeof(bl_word));
    *top += n;
    return bl_make(to, bl_tag(t));
}

static bl_word copy_box(bl_word t, bl_word **top) {
    bl_word *const to = *top;
    const size_t n = bl_boxed_words(t);
    to[0] = bl_box_header(t);
    __builtin_memcpy(to + 1, bl_ptr(t), n * sizeof(bl_word));
    *top += n + 1;
    return bl_make(to + 1, BL_BOX);
}

// Breadth first: the copy is the queue of what is still to be copied.
static bl_word copy(bl_word t, bl_word *block) {
    bl_word *top = block;
    const bl_word result = copy_compound(t, &top);
    for (bl_word *p = block; p < top; p++) {
        if (bl_tag(*p) == BL_FUN) {
            p += bl_box_words(*p);
            continue;
        }
        const bl_word w = bl_deref(*p);
        if (bl_is_compound(w)) {
            *p = copy_compound(w, &top);
        } else if (bl_is_box(w)) {
            *p = copy_box(w, &top);
        } else {
            *p = w;
        }
    }
    return result;
}

static struct bl_literal *new_literal(struct bl_compiler *c, size_t words) {
    struct bl_literal *const l = malloc(sizeof *l + words * sizeof(bl_word));
    if (l != NULL) {
        l->next = c->literals;
        c->literals = l;
    }
    return l;
}

bl_word bl_compile_literal(struct bl_compiler *c, bl_word t) {
    // Looking into every part of a term that is not ground would take time
    // quadratic in its size.
    if (c->analysing || c->term_words < LITERAL_FROM ||
        c->literal_visits > 16 * c->term_words)
        return 0;
    const size_t words = literal_words(c, t);
    if (words == 0)
        return 0;
    struct bl_literal *const l = new_literal(c, words);
    return l != NULL ? copy(t, l->word) : 0;
}

bl_word bl_compile_big(struct bl_compiler *c, bl_word t) {
    if (c->analysing)
        return t;
    struct bl_literal *const l = new_literal(c, bl_boxed_words(t) + 1);
    bl_must_have(l);
    bl_word *top = l->word;
    return copy_box(t, &top);
}
