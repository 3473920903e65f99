// SPDX-License-Identifier: MIT
//
// Looking at terms, taking them apart and putting them together.
//
#include "logic/acyclic.h"
#include "logic/builtin.h"
#include "logic/compare.h"
#include "logic/memory.h"

#include <stdlib.h>

#define TYPE_TEST(name, test)                                                  \
    static int name(struct bl_machine *m, bl_word *a) {                        \
        const bl_word t = bl_deref(a[0]);                                      \
        (void)m;                                                               \
        return (test) ? BL_TRUE : BL_FAIL;                                     \
    }

TYPE_TEST(var_1, bl_is_var(t))
TYPE_TEST(nonvar_1, !bl_is_var(t))
TYPE_TEST(atom_1, bl_is_atom(t))
TYPE_TEST(integer_1, bl_is_integer(t))
TYPE_TEST(float_1, bl_is_float(t))
TYPE_TEST(number_1, bl_is_number(t))
TYPE_TEST(atomic_1, bl_is_atomic(t))
TYPE_TEST(compound_1, bl_is_compound(t))
TYPE_TEST(callable_1, bl_is_callable(t))

static int is_list_1(struct bl_machine *m, bl_word *a) {
    bl_word t = bl_deref(a[0]);
    (void)m;
    return bl_list_length(&t) >= 0 && t == BL_ATOM(nil) ? BL_TRUE : BL_FAIL;
}

// What a test of terms answers: its walk may have been stopped.
static int verdict(const struct bl_machine *m, bool holds) {
    return m->ball != NULL ? BL_THROW : holds ? BL_TRUE : BL_FAIL;
}

static int unify_2(struct bl_machine *m, bl_word *a) {
    return bl_answer(m, a[0], a[1]);
}

static int not_unify_2(struct bl_machine *m, bl_word *a) {
    bl_word *const mark = m->tr;
    bl_word *const hb = m->hb;
    m->hb = m->h; // every binding goes on the trail
    const bool same = bl_unify(m, a[0], a[1]);
    m->hb = hb;
    bl_untrail(m, mark);
    if (m->ball != NULL)
        return BL_THROW;
    return same ? BL_FAIL : BL_TRUE;
}

// Whether a variable's value contains it, so that it would be cyclic.
static bool occurs_in(struct bl_machine *m, bl_word t) {
    size_t depth = 0;
    const bl_word v = t;
    t = *bl_ptr(v);
    for (;;) {
        t = bl_deref(t);
        if (bl_is_compound(t)) {
            const uint32_t n = bl_functor_arity(bl_term_functor(t));
            if (!bl_scratch_ensure(m, depth + n))
                return true;
            for (uint32_t i = n; i-- > 0;)
                bl_scratch(m)[depth++] = bl_term_args(t)[i];
        }
        if (depth == 0)
            return false;
        t = bl_scratch(m)[--depth];
        bl_word w = t;
        while (bl_tag(w) == BL_REF && *bl_ptr(w) != w) {
            if (w == v)
                return true;
            w = *bl_ptr(w);
        }
    }
}

static int unify_with_occurs_check_2(struct bl_machine *m, bl_word *a) {
    bl_word *const mark = m->tr;
    bl_word *const hb = m->hb;
    m->hb = m->h;
    const bool same = bl_unify(m, a[0], a[1]);
    m->hb = hb;
    if (!same) {
        bl_untrail(m, mark);
        return m->ball != NULL ? BL_THROW : BL_FAIL;
    }
    if (m->tr == mark)
        return BL_TRUE;
    // Of one variable, that it is in its value is the only way to a cycle; of
    // several, one may lead into the cycle of another.
    const bool one = m->tr - mark == 1;
    const int r = one ? (occurs_in(m, *mark) ? BL_FAIL : BL_TRUE)
                      : bl_is_acyclic(m, a[0]);
    if (r != BL_TRUE)
        bl_untrail(m, mark);
    return m->ball != NULL ? BL_THROW : r;
}

static int identical_2(struct bl_machine *m, bl_word *a) {
    return verdict(m, bl_identical(m, a[0], a[1]));
}

static int not_identical_2(struct bl_machine *m, bl_word *a) {
    return verdict(m, !bl_identical(m, a[0], a[1]));
}

static int variant_2(struct bl_machine *m, bl_word *a) {
    return verdict(m, bl_is_variant(m, a[0], a[1]));
}

static int not_variant_2(struct bl_machine *m, bl_word *a) {
    return verdict(m, !bl_is_variant(m, a[0], a[1]));
}

#define ORDER(name, test)                                                      \
    static int name(struct bl_machine *m, bl_word *a) {                        \
        const int r = bl_compare(m, a[0], a[1]);                               \
        return verdict(m, test);                                               \
    }

ORDER(before_2, r < 0)
ORDER(not_after_2, r <= 0)
ORDER(after_2, r > 0)
ORDER(not_before_2, r >= 0)

static int compare_3(struct bl_machine *m, bl_word *a) {
    const bl_word o = bl_deref(a[0]);
    if (!bl_is_var(o) && o != BL_ATOM(less) && o != BL_ATOM(greater) &&
        o != BL_ATOM(equals)) {
        return bl_is_atom(o) ? bl_throw_domain(m, "order", o)
                             : bl_throw_type(m, BL_ATOM_atom, o);
    }
    const int r = bl_compare(m, a[1], a[2]);
    if (m->ball != NULL)
        return BL_THROW;
    return bl_answer(m, o,
                     r < 0   ? BL_ATOM(less)
                     : r > 0 ? BL_ATOM(greater)
                             : BL_ATOM(equals));
}

// ---- construction

static int functor_make(struct bl_machine *m, const bl_word *a) {
    int64_t n;
    const bl_word name = bl_deref(a[1]);
    if (bl_is_var(name))
        return bl_throw_instantiation(m);
    if (bl_take_size(m, a[2], &n) != BL_TRUE)
        return BL_THROW;
    if (n == 0)
        return bl_is_compound(name) ? bl_throw_type(m, BL_ATOM_atomic, name)
                                    : bl_answer(m, a[0], name);
    if (!bl_is_atom(name))
        return bl_throw_type(
            m, bl_is_compound(name) ? BL_ATOM_atomic : BL_ATOM_atom, name);
    if (n > BL_MAX_ARGS)
        return bl_throw_representation(m, "max_arity");
    if (!bl_heap_ensure(m, (size_t)n + 1))
        return BL_THROW;
    bl_word *const p = m->h;
    const bool list = n == 2 && name == BL_ATOM(dot);
    if (!list)
        *m->h++ = bl_functor(name, (uint32_t)n);
    for (int64_t i = 0; i < n; i++)
        (void)bl_new_var(m);
    return bl_answer(m, a[0], bl_make(p, list ? BL_LST : BL_STR));
}

static int functor_3(struct bl_machine *m, bl_word *a) {
    const bl_word t = bl_deref(a[0]);
    if (bl_is_var(t))
        return functor_make(m, a);
    bl_word name = t;
    uint32_t n = 0;
    if (bl_is_compound(t)) {
        name = bl_functor_name(bl_term_functor(t));
        n = bl_functor_arity(bl_term_functor(t));
    }
    const int r = bl_answer(m, a[1], name);
    return r == BL_TRUE ? bl_answer(m, a[2], bl_int(n)) : r;
}

// The state is the next argument's number.
static int arg_3(struct bl_machine *m, bl_word *a) {
    const bl_word t = bl_deref(a[1]);
    if (!bl_is_compound(t))
        return bl_throw_type(m, BL_ATOM_compound, t);
    const int64_t arity = bl_functor_arity(bl_term_functor(t));
    const bl_word n = bl_deref(a[0]);
    if (!bl_is_var(n)) {
        int64_t i;
        if (bl_is_big(n) && !bl_big_is_negative(n))
            return BL_FAIL;
        if (bl_take_size(m, n, &i) != BL_TRUE)
            return BL_THROW;
        if (i < 1 || i > arity)
            return BL_FAIL;
        return bl_answer(m, a[2], bl_term_args(t)[i - 1]);
    }
    bl_word *const state = bl_state(m);
    for (int64_t i = *state == 0 ? 1 : bl_int_value(*state); i <= arity; i++) {
        bl_word *const mark = m->tr;
        // what the argument is unified with may have the number in it
        if (bl_unify(m, a[2], bl_term_args(t)[i - 1]) &&
            bl_unify(m, n, bl_int(i))) {
            *state = bl_int(i + 1);
            return i == arity ? BL_TRUE : BL_MORE;
        }
        if (m->ball != NULL)
            return BL_THROW;
        bl_untrail(m, mark);
    }
    return BL_FAIL;
}

static int univ_make(struct bl_machine *m, const bl_word *a) {
    bl_word *items;
    size_t n;
    if (bl_take_list(m, a[1], &items, &n) != BL_TRUE)
        return BL_THROW;
    int r;
    const bl_word name = n > 0 ? bl_deref(items[0]) : 0;
    if (n == 0)
        r = bl_throw_domain(m, "non_empty_list", BL_ATOM(nil));
    else if (bl_is_var(name))
        r = bl_throw_instantiation(m);
    else if (n == 1)
        r = bl_is_compound(name) ? bl_throw_type(m, BL_ATOM_atomic, name)
                                 : bl_answer(m, a[0], name);
    else if (!bl_is_atom(name))
        r = bl_throw_type(
            m, bl_is_compound(name) ? BL_ATOM_atomic : BL_ATOM_atom, name);
    else if (n - 1 > BL_MAX_ARGS)
        r = bl_throw_representation(m, "max_arity");
    else if (!bl_heap_ensure(m, n))
        r = BL_THROW;
    else
        r = bl_answer(
            m, a[0],
            bl_struct(m, bl_functor(name, (uint32_t)(n - 1)), items + 1));
    free(items);
    return r;
}

// What the list is unified with; where it is none, that is an error.
static int univ_answer(struct bl_machine *m, bl_word list, bl_word parts) {
    bl_word tail = bl_deref(list);
    if (bl_list_length(&tail) >= 0 && !bl_is_var(tail) && tail != BL_ATOM(nil))
        return bl_throw_type(m, BL_ATOM_list, bl_deref(list));
    return bl_answer(m, list, parts);
}

static int univ_2(struct bl_machine *m, bl_word *a) {
    const bl_word t = bl_deref(a[0]);
    if (bl_is_var(t))
        return univ_make(m, a);
    if (!bl_is_compound(t))
        return univ_answer(m, a[1], bl_list_cell(m, t, BL_ATOM(nil)));
    const bl_word f = bl_term_functor(t);
    if (!bl_heap_ensure(m, 2 * (size_t)bl_functor_arity(f) + 4))
        return BL_THROW;
    const bl_word args =
        bl_make_list(m, bl_term_args(t), bl_functor_arity(f), BL_ATOM(nil));
    return univ_answer(m, a[1], bl_list_cell(m, bl_functor_name(f), args));
}

static int copy_term_2(struct bl_machine *m, bl_word *a) {
    bl_word copy;
    if (!bl_copy_term(m, a[0], &copy))
        return BL_THROW;
    return bl_answer(m, a[1], copy);
}

// ---- variables

// Calls `visit` for each variable of the term, until it answers false; false
// then, or with the ball set.
static bool each_variable(struct bl_machine *m, bl_word t,
                          bool (*visit)(struct bl_machine *m, bl_word v,
                                        void *arg),
                          void *arg) {
    size_t depth = 0;
    for (;;) {
        t = bl_deref(t);
        if (bl_is_var(t)) {
            if (!visit(m, t, arg))
                return false;
        } else if (bl_is_compound(t)) {
            const uint32_t n = bl_functor_arity(bl_term_functor(t));
            if (!bl_scratch_ensure(m, depth + n))
                return false;
            for (uint32_t i = n; i-- > 0;)
                bl_scratch(m)[depth++] = bl_term_args(t)[i];
        }
        if (depth == 0)
            return true;
        t = bl_scratch(m)[--depth];
    }
}

static bool none(struct bl_machine *m, bl_word v, void *arg) {
    (void)m;
    (void)v;
    (void)arg;
    return false;
}

static int ground_1(struct bl_machine *m, bl_word *a) {
    return verdict(m, each_variable(m, a[0], none, NULL));
}

struct collected {
    bl_word *var;
    size_t n, capacity;
};

// A variable that was collected is bound until the end, so it comes once.
static bool collect(struct bl_machine *m, bl_word v, void *arg) {
    struct collected *const c = arg;
    (void)m;
    if (c->n == c->capacity) {
        c->capacity = c->capacity * 2 + 16;
        c->var = realloc(c->var, c->capacity * sizeof *c->var);
        bl_must_have(c->var);
    }
    c->var[c->n++] = v;
    *bl_ptr(v) = bl_level(0);
    return true;
}

bool bl_term_variables(struct bl_machine *m, bl_word t, bl_word *list) {
    struct collected c = {0};
    const bool all = each_variable(m, t, collect, &c);
    for (size_t i = 0; i < c.n; i++)
        *bl_ptr(c.var[i]) = c.var[i];
    const bool fits = all && bl_heap_ensure(m, 2 * c.n);
    if (fits)
        *list = bl_make_list(m, c.var, c.n, BL_ATOM(nil));
    free(c.var);
    return fits;
}

static int term_variables_2(struct bl_machine *m, bl_word *a) {
    bl_word list;
    if (bl_take_partial_list(m, a[1]) != BL_TRUE ||
        !bl_term_variables(m, a[0], &list))
        return BL_THROW;
    return bl_answer(m, a[1], list);
}

static bool number_variable(struct bl_machine *m, bl_word v, void *arg) {
    int64_t *const n = arg;
    if (!bl_heap_ensure(m, 2) || (m->tr >= m->trail_end && !bl_trail_grow(m)))
        return false;
    bl_bind(m, v, bl_struct1(m, BL_ATOM(var_functor), bl_int((*n)++)));
    return true;
}

static int numbervars_3(struct bl_machine *m, bl_word *a) {
    int64_t n;
    if (bl_take_int(m, a[1], &n) != BL_TRUE)
        return BL_THROW;
    if (!each_variable(m, a[0], number_variable, &n))
        return BL_THROW;
    return bl_answer(m, a[2], bl_int(n));
}

static int acyclic_1(struct bl_machine *m, bl_word *a) {
    return bl_is_acyclic(m, a[0]);
}

// ---- assignment

static bl_word *argument(struct bl_machine *m, const bl_word *a, int *r) {
    int64_t i;
    const bl_word t = bl_deref(a[1]);
    *r = bl_take_int(m, a[0], &i);
    if (*r != BL_TRUE)
        return NULL;
    if (!bl_is_compound(t)) {
        *r = bl_throw_type(m, BL_ATOM_compound, t);
        return NULL;
    }
    if (i < 1 || i > (int64_t)bl_functor_arity(bl_term_functor(t))) {
        *r = BL_FAIL;
        return NULL;
    }
    bl_word *const cell = bl_term_args(t) + i - 1;
    if ((char *)cell >= m->heap_area.base && (char *)cell < m->heap_area.end)
        return cell;
    // a large ground term of a clause is no copy
    *r = bl_throw_permission(m, BL_ATOM_modify, BL_ATOM_static_term, t);
    return NULL;
}

static int setarg_3(struct bl_machine *m, bl_word *a) {
    int r;
    bl_word *const cell = argument(m, a, &r);
    if (cell == NULL)
        return r;
    bl_assign(m, cell, bl_deref(a[2]));
    return BL_TRUE;
}

// Backtracking that leaves the cell leaves all that is on the heap now. What
// lies between is there in vain until then.
static void keep_heap_for(struct bl_machine *m, const bl_word *cell) {
    for (struct bl_choice *b = m->b; b->h > cell; b = b->prev)
        b->h = m->h;
    m->hb = m->b->h;
}

// The value outlives backtracking, and what the term was made of does not: it
// is a copy.
static int nb_setarg_3(struct bl_machine *m, bl_word *a) {
    int r;
    bl_word *const cell = argument(m, a, &r);
    if (cell == NULL)
        return r;
    bl_word value = bl_deref(a[2]);
    if (!bl_is_int(value) && !bl_is_atom(value)) {
        if (!bl_copy_term(m, value, &value))
            return BL_THROW;
        keep_heap_for(m, cell);
    }
    *cell = value;
    return BL_TRUE;
}

void bl_builtins_term(void) {
    static const struct bl_builtin_row iso[] = {
        {"var", 1, var_1},
        {"nonvar", 1, nonvar_1},
        {"atom", 1, atom_1},
        {"integer", 1, integer_1},
        {"float", 1, float_1},
        {"number", 1, number_1},
        {"atomic", 1, atomic_1},
        {"compound", 1, compound_1},
        {"callable", 1, callable_1},
        {"ground", 1, ground_1},
        {"=", 2, unify_2},
        {"\\=", 2, not_unify_2},
        {"unify_with_occurs_check", 2, unify_with_occurs_check_2},
        {"==", 2, identical_2},
        {"\\==", 2, not_identical_2},
        {"@<", 2, before_2},
        {"@=<", 2, not_after_2},
        {"@>", 2, after_2},
        {"@>=", 2, not_before_2},
        {"compare", 3, compare_3},
        {"functor", 3, functor_3},
        {"=..", 2, univ_2},
        {"copy_term", 2, copy_term_2},
        {"term_variables", 2, term_variables_2},
    };
    static const struct bl_builtin_row rows[] = {
        {"is_list", 1, is_list_1},      {"=@=", 2, variant_2},
        {"\\=@=", 2, not_variant_2},    {"numbervars", 3, numbervars_3},
        {"acyclic_term", 1, acyclic_1}, {"setarg", 3, setarg_3},
        {"nb_setarg", 3, nb_setarg_3},
    };
    static const struct bl_builtin_row iso_more[] = {
        {"arg", 3, arg_3},
    };
    BL_DEFINE_ISO(iso);
    BL_DEFINE(rows);
    BL_DEFINE_ISO_MORE(iso_more);
}
