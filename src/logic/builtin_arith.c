// SPDX-License-Identifier: MIT
//
// Arithmetic as goals, for where it is not compiled in line.
//
#include "logic/arith.h"
#include "logic/builtin.h"

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

static int succ_2(struct bl_machine *m, bl_word *a) {
    int64_t i;
    if (!bl_is_var(bl_deref(a[0]))) {
        if (bl_take_size(m, a[0], &i) != BL_TRUE)
            return BL_THROW;
        if (i == BL_INT_MAX)
            return bl_throw_evaluation(m, BL_ATOM_int_overflow);
        return bl_answer(m, a[1], bl_int(i + 1));
    }
    if (bl_take_size(m, a[1], &i) != BL_TRUE)
        return BL_THROW;
    return i == 0 ? BL_FAIL : bl_answer(m, a[0], bl_int(i - 1));
}

static int plus_3(struct bl_machine *m, bl_word *a) {
    int64_t x = 0;
    int64_t y = 0;
    int unknown = -1;
    for (int i = 0; i < 3 && unknown < 0; i++)
        unknown = bl_is_var(bl_deref(a[i])) ? i : -1;
    const int first = unknown == 0 ? 1 : 0;
    const int second = unknown == 1 || unknown == 0 ? 2 : 1;
    if (bl_take_int(m, a[first], &x) != BL_TRUE ||
        bl_take_int(m, a[second], &y) != BL_TRUE)
        return BL_THROW;
    const int64_t r = second == 2 ? y - x : x + y;
    if (!bl_fits_int(r))
        return bl_throw_evaluation(m, BL_ATOM_int_overflow);
    return bl_answer(m, a[unknown < 0 ? 2 : unknown], bl_int(r));
}

// The state of between/3 is the next number to give, as an integer word.
static int between_3(struct bl_machine *m, bl_word *a) {
    int64_t low;
    int64_t high = BL_INT_MAX;
    if (bl_take_int(m, a[0], &low) != BL_TRUE)
        return BL_THROW;
    const bl_word h = bl_deref(a[1]);
    if (h != BL_ATOM(inf) && bl_take_int(m, h, &high) != BL_TRUE)
        return BL_THROW;
    const bl_word x = bl_deref(a[2]);
    if (!bl_is_var(x)) {
        if (!bl_is_int(x))
            return bl_throw_type(m, BL_ATOM_integer, x);
        const int64_t i = bl_int_value(x);
        return i >= low && i <= high ? BL_TRUE : BL_FAIL;
    }
    bl_word *const state = bl_state(m);
    const int64_t i = *state == 0 ? low : bl_int_value(*state);
    if (i > high)
        return BL_FAIL;
    *state = bl_int(i + 1);
    bl_bind(m, x, bl_int(i));
    return i == high ? BL_TRUE : BL_MORE;
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
