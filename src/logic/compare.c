// SPDX-License-Identifier: MIT
//
// Comparing terms with an explicit stack of pairs. Two identical words are
// equal whatever they are, which makes shared terms cheap.
//
#include "logic/compare.h"

#include "logic/arith.h"
#include "logic/record.h"

#include <math.h>
#include <string.h>

static int rank(bl_word w) {
    switch (bl_tag(w)) {
    case BL_REF:
        return 0;
    case BL_BOX:
    case BL_INT:
        return 1;
    case BL_ATM:
        return 3;
    case BL_STR:
    case BL_LST:
        return 4;
    case BL_FUN:
    case BL_LVL:
        return 5;
    }
    return 5;
}

static int compare_atoms(bl_word a, bl_word b) {
    const size_t n = bl_atom_bytes(a);
    const size_t k = bl_atom_bytes(b);
    const int r = memcmp(bl_atom_text(a), bl_atom_text(b), n < k ? n : k);
    if (r != 0)
        return r < 0 ? -1 : 1;
    return (n > k) - (n < k);
}

// Doubles that are equal by value, or not numbers (these come first): equal are
// those that unify, which have the same bits. So -0.0 comes before 0.0.
static int compare_doubles(bl_word a, bl_word b) {
    const bool no_number_a = isnan(bl_float_value(a));
    const bool no_number_b = isnan(bl_float_value(b));
    if (no_number_a != no_number_b)
        return no_number_a ? -1 : 1;
    const int64_t x = (int64_t)*bl_ptr(a);
    const int64_t y = (int64_t)*bl_ptr(b);
    return (x > y) - (x < y);
}

static int compare_numbers(bl_word a, bl_word b) {
    const int r = bl_arith_compare(bl_num_of(a), bl_num_of(b));
    if (r == 1 || r == -1)
        return r;
    if (bl_is_float(a) && bl_is_float(b))
        return compare_doubles(a, b);
    // equal by value: the double comes first
    return (bl_is_integer(a) ? 1 : 0) - (bl_is_integer(b) ? 1 : 0);
}

static int compare_functors(bl_word a, bl_word b) {
    const bl_word f = bl_term_functor(a);
    const bl_word g = bl_term_functor(b);
    const uint32_t n = bl_functor_arity(f);
    const uint32_t k = bl_functor_arity(g);
    if (n != k)
        return n < k ? -1 : 1;
    return compare_atoms(bl_functor_name(f), bl_functor_name(g));
}

// 2: two compound terms of one functor; look inside.
static int compare_outside(bl_word a, bl_word b) {
    if (a == b)
        return 0;
    const int r = rank(a);
    const int s = rank(b);
    if (r != s)
        return r < s ? -1 : 1;
    if (r == 0 || r == 5)
        return a < b ? -1 : 1;
    if (r == 1)
        return compare_numbers(a, b);
    if (r == 3)
        return compare_atoms(a, b);
    const int f = compare_functors(a, b);
    return f != 0 ? f : 2;
}

int bl_compare(struct bl_machine *m, bl_word a, bl_word b) {
    size_t depth = 0;
    a = bl_deref(a);
    b = bl_deref(b);
    for (;;) {
        const int r = compare_outside(a, b);
        if (r == 2) {
            const uint32_t n = bl_functor_arity(bl_term_functor(a));
            if (m->ball != NULL || !bl_scratch_ensure(m, depth + 2 * n))
                return 0;
            bl_word *const stack = bl_scratch(m);
            for (uint32_t i = n; i-- > 0;) {
                stack[depth++] = bl_term_args(a)[i];
                stack[depth++] = bl_term_args(b)[i];
            }
        } else if (r != 0) {
            return r;
        }
        if (depth == 0)
            return 0;
        b = bl_deref(bl_scratch(m)[--depth]);
        a = bl_deref(bl_scratch(m)[--depth]);
    }
}

bool bl_identical(struct bl_machine *m, bl_word a, bl_word b) {
    a = bl_deref(a);
    b = bl_deref(b);
    if (a == b)
        return true;
    if (bl_tag(a) != bl_tag(b) || bl_is_var(a) || bl_is_atom(a) || bl_is_int(a))
        return false;
    return bl_compare(m, a, b) == 0 && m->ball == NULL;
}

// Variables of both sides are bound to the same fresh level on the way, and
// freed at the end by the trail.
static bool same_variable(struct bl_machine *m, bl_word a, bl_word b,
                          uint64_t *count) {
    const bool va = bl_is_var(a);
    if (va != bl_is_var(b))
        return false;
    if (!va)
        return a == b;
    const bl_word mark_a = bl_level(*count * 2);
    const bl_word mark_b = bl_level(*count * 2);
    (*count)++;
    bl_bind(m, a, mark_a);
    if (a != b)
        bl_bind(m, b, mark_b);
    return true;
}

static bool variant(struct bl_machine *m, bl_word a, bl_word b) {
    size_t depth = 0;
    uint64_t count = 0;
    for (;;) {
        a = bl_deref(a);
        b = bl_deref(b);
        if (bl_is_compound(a) && bl_is_compound(b)) {
            const bl_word f = bl_term_functor(a);
            if (f != bl_term_functor(b))
                return false;
            const uint32_t n = bl_functor_arity(f);
            if (!bl_scratch_ensure(m, depth + 2 * n))
                return false;
            for (uint32_t i = n; i-- > 0;) {
                bl_scratch(m)[depth++] = bl_term_args(a)[i];
                bl_scratch(m)[depth++] = bl_term_args(b)[i];
            }
        } else if (bl_is_box(a) && bl_is_box(b)) {
            if (!bl_same_box(a, b))
                return false;
        } else if (!same_variable(m, a, b, &count)) {
            return false;
        }
        if (m->tr + 2 >= m->trail_end && !bl_trail_grow(m))
            return false;
        if (depth == 0)
            return true;
        b = bl_scratch(m)[--depth];
        a = bl_scratch(m)[--depth];
    }
}

bool bl_is_variant(struct bl_machine *m, bl_word a, bl_word b) {
    // Two copies, so that a variable that occurs on both sides counts as two.
    bl_word x;
    bl_word y;
    bl_word *const h = m->h;
    if (!bl_copy_term(m, a, &x) || !bl_copy_term(m, b, &y))
        return false;
    bl_word *const mark = m->tr;
    bl_word *const hb = m->hb;
    m->hb = m->h;
    const bool same = variant(m, x, y);
    m->hb = hb;
    bl_untrail(m, mark);
    m->h = h;
    return same;
}
