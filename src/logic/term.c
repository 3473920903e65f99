// SPDX-License-Identifier: MIT
//
// Building terms, and unification: a loop over an explicit stack of pairs, in
// which the last argument is followed without pushing, so that lists cost no
// stack whatever their length.
//
#include "logic/machine.h"
#include "logic/record.h"

#include <string.h>

bl_word bl_list_cell(struct bl_machine *m, bl_word head, bl_word tail) {
    bl_word *const p = m->h;
    p[0] = head;
    p[1] = tail;
    m->h += 2;
    return bl_make(p, BL_LST);
}

bl_word bl_struct(struct bl_machine *m, bl_word functor, const bl_word *args) {
    const uint32_t n = bl_functor_arity(functor);
    if (n == 0)
        return bl_functor_name(functor);
    if (n == 2 && bl_functor_name(functor) == BL_ATOM(dot))
        return bl_list_cell(m, args[0], args[1]);
    bl_word *const p = m->h;
    p[0] = functor;
    for (uint32_t i = 0; i < n; i++)
        p[i + 1] = args[i];
    m->h += n + 1;
    return bl_make(p, BL_STR);
}

bl_word bl_struct1(struct bl_machine *m, bl_word name, bl_word a) {
    return bl_struct(m, bl_functor(name, 1), &a);
}

bl_word bl_struct2(struct bl_machine *m, bl_word name, bl_word a, bl_word b) {
    const bl_word args[2] = {a, b};
    return bl_struct(m, bl_functor(name, 2), args);
}

bl_word bl_float(struct bl_machine *m, double d) {
    m->h[0] = BL_FLOAT_HEADER;
    __builtin_memcpy(&m->h[1], &d, sizeof d);
    m->h += 2;
    return bl_make(m->h - 1, BL_BOX);
}

bl_word bl_term_functor(bl_word t) {
    if (bl_tag(t) == BL_STR)
        return *bl_ptr(t);
    if (bl_tag(t) == BL_LST)
        return BL_FN(dot_2);
    return bl_functor(t, 0);
}

bl_word *bl_term_args(bl_word t) {
    return bl_tag(t) == BL_LST ? bl_ptr(t) : bl_ptr(t) + 1;
}

int64_t bl_list_length(bl_word *list) {
    bl_word t = *list;
    bl_word seen = 0;
    int64_t n = 0;
    for (int64_t next = 64; bl_tag(t) == BL_LST; n++) {
        if (t == seen)
            return -1;
        if (n == next) { // a cell to meet again, in a cycle of up to so many
            seen = t;
            next *= 2;
        }
        t = bl_deref(bl_ptr(t)[1]);
    }
    *list = t;
    return n;
}

bool bl_same_box(bl_word a, bl_word b) {
    if (!bl_is_big(a) || !bl_is_big(b))
        return !bl_is_big(a) && !bl_is_big(b) && *bl_ptr(a) == *bl_ptr(b);
    return bl_header(a) == bl_header(b) &&
           memcmp(bl_ptr(a), bl_ptr(b), bl_big_limbs(a) * sizeof(bl_word)) == 0;
}

// Unifies what takes no further look inside: 1 yes, 0 no, -1 two compound
// terms of one shape are left.
static int unify_outside(struct bl_machine *m, bl_word a, bl_word b) {
    if (a == b)
        return 1;
    if (bl_is_var(a)) {
        if (bl_is_var(b))
            bl_bind_vars(m, a, b);
        else
            bl_bind(m, a, b);
        return 1;
    }
    if (bl_is_var(b)) {
        bl_bind(m, b, a);
        return 1;
    }
    if (bl_tag(a) != bl_tag(b))
        return 0;
    if (bl_is_box(a))
        return bl_same_box(a, b);
    if (bl_tag(a) == BL_STR)
        return *bl_ptr(a) == *bl_ptr(b) ? -1 : 0;
    return bl_tag(a) == BL_LST ? -1 : 0;
}

static bool unify_inside(struct bl_machine *m, bl_word a, bl_word b) {
    size_t depth = 0;
    for (;;) {
        const size_t n = bl_tag(a) == BL_LST ? 2 : bl_functor_arity(*bl_ptr(a));
        const bl_word *const p = bl_term_args(a);
        const bl_word *const q = bl_term_args(b);
        if (!bl_scratch_ensure(m, depth + 2 * n))
            return false;
        bl_word *const stack = bl_scratch(m);
        for (size_t i = n; i-- > 0;) {
            stack[depth++] = p[i];
            stack[depth++] = q[i];
        }
        // what was left of terms further out may be bound before the next look
        const size_t pairs = depth / 2;
        if (m->tr + pairs >= m->trail_end && !bl_trail_ensure_many(m, pairs))
            return false;
        for (;;) {
            if (depth == 0)
                return true;
            b = bl_deref(stack[--depth]);
            a = bl_deref(stack[--depth]);
            const int r = unify_outside(m, a, b);
            if (r == 0)
                return false;
            if (r < 0)
                break;
        }
    }
}

bool bl_unify(struct bl_machine *m, bl_word a, bl_word b) {
    a = bl_deref(a);
    b = bl_deref(b);
    const int r = unify_outside(m, a, b);
    return r < 0 ? unify_inside(m, a, b) : r == 1;
}
