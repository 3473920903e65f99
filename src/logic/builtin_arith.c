// SPDX-License-Identifier: MIT
//
// Arithmetic as goals, for where it is not compiled in line.
//
#include "logic/arith.h"
#include "logic/builtin.h"

#include <math.h>

static int is_2(struct bl_machine *m, bl_word *a) {
    struct bl_num n;
    if (bl_arith_eval(m, a[1], &n) != BL_TRUE)
        return BL_THROW;
    return bl_answer(m, a[0], bl_arith_word(m, n));
}

static int compare(struct bl_machine *m, const bl_word *a, int *order) {
    struct bl_num x;
    struct bl_num y;
    if (bl_arith_eval(m, a[0], &x) != BL_TRUE ||
        bl_arith_eval(m, a[1], &y) != BL_TRUE)
        return BL_THROW;
    *order = bl_arith_compare(x, y);
    return BL_TRUE;
}

#define COMPARISON(name, test)                                                 \
    static int name(struct bl_machine *m, bl_word *a) {                        \
        int r;                                                                 \
        if (compare(m, a, &r) != BL_TRUE)                                      \
            return BL_THROW;                                                   \
        return (test) ? BL_TRUE : BL_FAIL;                                     \
    }

COMPARISON(lt_2, r == -1)
COMPARISON(le_2, r == -1 || r == 0)
COMPARISON(eq_2, r == 0)
COMPARISON(ne_2, r != 0)
COMPARISON(ge_2, r == 1 || r == 0)
COMPARISON(gt_2, r == 1)

static int take_integer(struct bl_machine *m, bl_word a, struct bl_num *out) {
    a = bl_deref(a);
    if (!bl_is_integer(a))
        return bl_throw_type(m, BL_ATOM_integer, a);
    *out = bl_num_of(a);
    return BL_TRUE;
}

// a := x + y, or x - y.
static int give(struct bl_machine *m, bl_word a, enum bl_known_atom op,
                struct bl_num x, struct bl_num y) {
    struct bl_num r;
    if (bl_arith_combine(m, op, x, y, &r) != BL_TRUE)
        return BL_THROW;
    return bl_answer(m, a, bl_arith_word(m, r));
}

static int take_natural(struct bl_machine *m, bl_word a, struct bl_num *out) {
    if (take_integer(m, a, out) != BL_TRUE)
        return BL_THROW;
    return bl_num_sign(*out) < 0
               ? bl_throw_domain(m, "not_less_than_zero", bl_deref(a))
               : BL_TRUE;
}

static int succ_2(struct bl_machine *m, bl_word *a) {
    const struct bl_num one = {.kind = BL_NUM_INT, .i = 1};
    const int known = bl_is_var(bl_deref(a[0])) ? 1 : 0;
    struct bl_num n;
    if (!bl_is_var(bl_deref(a[1 - known])) &&
        take_natural(m, a[1 - known], &n) != BL_TRUE)
        return BL_THROW;
    if (take_natural(m, a[known], &n) != BL_TRUE)
        return BL_THROW;
    if (known == 1 && bl_num_sign(n) == 0)
        return BL_FAIL;
    return give(m, a[1 - known], known == 0 ? BL_ATOM_plus : BL_ATOM_minus, n,
                one);
}

static int plus_3(struct bl_machine *m, bl_word *a) {
    struct bl_num x;
    struct bl_num y;
    int unknown = -1;
    for (int i = 0; i < 3 && unknown < 0; i++)
        unknown = bl_is_var(bl_deref(a[i])) ? i : -1;
    const int first = unknown == 0 ? 1 : 0;
    const int second = unknown == 1 || unknown == 0 ? 2 : 1;
    if (take_integer(m, a[first], &x) != BL_TRUE ||
        take_integer(m, a[second], &y) != BL_TRUE)
        return BL_THROW;
    if (second == 2)
        return give(m, a[unknown], BL_ATOM_minus, y, x);
    return give(m, a[2], BL_ATOM_plus, x, y);
}

// With a bound that is large or may be passed by: the state counts.
static int between_large(struct bl_machine *m, const bl_word *a,
                         struct bl_num low, struct bl_num high) {
    const bool endless = high.kind == BL_NUM_FLOAT;
    bl_word *const state = bl_state(m);
    struct bl_num n = {.kind = BL_NUM_INT,
                       .i = *state == 0 ? 0 : bl_int_value(*state)};
    *state = bl_int(n.i + 1);
    if (bl_arith_combine(m, BL_ATOM_plus, low, n, &n) != BL_TRUE)
        return BL_THROW;
    const int r = endless ? -1 : bl_arith_compare(n, high);
    if (r > 0)
        return BL_FAIL;
    bl_bind(m, bl_deref(a[2]), bl_arith_word(m, n));
    return r == 0 ? BL_TRUE : BL_MORE;
}

// The state of between/3 is the next number to give, as an integer word.
static int between_small(struct bl_machine *m, const bl_word *a, int64_t low,
                         int64_t high) {
    bl_word *const state = bl_state(m);
    const int64_t i = *state == 0 ? low : bl_int_value(*state);
    if (i > high)
        return BL_FAIL;
    *state = bl_int(i + 1);
    bl_bind(m, bl_deref(a[2]), bl_int(i));
    return i == high ? BL_TRUE : BL_MORE;
}

static bool is_infinite(bl_word t) {
    return t == BL_ATOM(inf) || t == bl_atom_str("infinite");
}

static int between_3(struct bl_machine *m, bl_word *a) {
    struct bl_num low;
    struct bl_num high = {.kind = BL_NUM_FLOAT, .d = INFINITY};
    if (take_integer(m, a[0], &low) != BL_TRUE)
        return BL_THROW;
    const bl_word h = bl_deref(a[1]);
    if (!is_infinite(h) && take_integer(m, h, &high) != BL_TRUE)
        return BL_THROW;
    struct bl_num x;
    if (bl_is_var(bl_deref(a[2])))
        return bl_are_ints(low, high) ? between_small(m, a, low.i, high.i)
                                      : between_large(m, a, low, high);
    if (take_integer(m, a[2], &x) != BL_TRUE)
        return BL_THROW;
    return bl_arith_compare(x, low) >= 0 && bl_arith_compare(x, high) <= 0
               ? BL_TRUE
               : BL_FAIL;
}

void bl_builtins_arith(void) {
    static const struct bl_builtin_row iso[] = {
        {"is", 2, is_2},   {"<", 2, lt_2},  {"=<", 2, le_2}, {"=:=", 2, eq_2},
        {"=\\=", 2, ne_2}, {">=", 2, ge_2}, {">", 2, gt_2},
    };
    static const struct bl_builtin_row rows[] = {
        {"succ", 2, succ_2},
        {"plus", 3, plus_3},
    };
    static const struct bl_builtin_row more[] = {
        {"between", 3, between_3},
    };
    BL_DEFINE_ISO(iso);
    BL_DEFINE(rows);
    BL_DEFINE_MORE(more);
}
