// SPDX-License-Identifier: MIT
//
// The evaluable functors and their evaluation. Source: ISO/IEC 13211-1,
// section 9, and its second corrigendum.
//
#include "logic/arith.h"

#include "logic/bigint.h"
#include "logic/error.h"
#include "logic/memory.h"
#include "logic/record.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum arith_kind {
    CONSTANT,  // no operand
    INT_ONE,   // one integer
    INT_TWO,   // two integers
    FLOAT_ONE, // one number, as a double
    FLOAT_TWO,
    ANY // looks for itself
};

#define OPERATIONS(X)                                                          \
    X(plus, 2, ANY)                                                            \
    X(minus, 2, ANY)                                                           \
    X(star, 2, ANY)                                                            \
    X(slash, 2, ANY)                                                           \
    X(intdiv, 2, INT_TWO)                                                      \
    X(mod, 2, INT_TWO)                                                         \
    X(rem, 2, INT_TWO)                                                         \
    X(div, 2, INT_TWO)                                                         \
    X(shift_left, 2, INT_TWO)                                                  \
    X(shift_right, 2, INT_TWO)                                                 \
    X(bit_and, 2, INT_TWO)                                                     \
    X(bit_or, 2, INT_TWO)                                                      \
    X(xor, 2, INT_TWO)                                                         \
    X(gcd, 2, INT_TWO)                                                         \
    X(lcm, 2, INT_TWO)                                                         \
    X(getbit, 2, INT_TWO)                                                      \
    X(pow, 2, ANY)                                                             \
    X(caret, 2, ANY)                                                           \
    X(min, 2, ANY)                                                             \
    X(max, 2, ANY)                                                             \
    X(atan2, 2, FLOAT_TWO)                                                     \
    X(atan, 2, FLOAT_TWO)                                                      \
    X(log, 2, FLOAT_TWO)                                                       \
    X(copysign, 2, FLOAT_TWO)                                                  \
    X(nexttoward, 2, FLOAT_TWO)                                                \
    X(truediv, 2, FLOAT_TWO)                                                   \
    X(minus, 1, ANY)                                                           \
    X(plus, 1, ANY)                                                            \
    X(eval, 1, ANY)                                                            \
    X(abs, 1, ANY)                                                             \
    X(sign, 1, ANY)                                                            \
    X(bit_not, 1, INT_ONE)                                                     \
    X(msb, 1, INT_ONE)                                                         \
    X(lsb, 1, INT_ONE)                                                         \
    X(popcount, 1, INT_ONE)                                                    \
    X(succ, 1, INT_ONE)                                                        \
    X(random, 1, INT_ONE)                                                      \
    X(sqrt, 1, FLOAT_ONE)                                                      \
    X(sin, 1, FLOAT_ONE)                                                       \
    X(cos, 1, FLOAT_ONE)                                                       \
    X(tan, 1, FLOAT_ONE)                                                       \
    X(asin, 1, FLOAT_ONE)                                                      \
    X(acos, 1, FLOAT_ONE)                                                      \
    X(atan, 1, FLOAT_ONE)                                                      \
    X(sinh, 1, FLOAT_ONE)                                                      \
    X(cosh, 1, FLOAT_ONE)                                                      \
    X(tanh, 1, FLOAT_ONE)                                                      \
    X(asinh, 1, FLOAT_ONE)                                                     \
    X(acosh, 1, FLOAT_ONE)                                                     \
    X(atanh, 1, FLOAT_ONE)                                                     \
    X(cot, 1, FLOAT_ONE)                                                       \
    X(acot, 1, FLOAT_ONE)                                                      \
    X(exp, 1, FLOAT_ONE)                                                       \
    X(log, 1, FLOAT_ONE)                                                       \
    X(log2, 1, FLOAT_ONE)                                                      \
    X(log10, 1, FLOAT_ONE)                                                     \
    X(erf, 1, FLOAT_ONE)                                                       \
    X(erfc, 1, FLOAT_ONE)                                                      \
    X(lgamma, 1, FLOAT_ONE)                                                    \
    X(float, 1, FLOAT_ONE)                                                     \
    X(float_integer_part, 1, ANY)                                              \
    X(float_fractional_part, 1, ANY)                                           \
    X(integer, 1, ANY)                                                         \
    X(truncate, 1, ANY)                                                        \
    X(round, 1, ANY)                                                           \
    X(ceiling, 1, ANY)                                                         \
    X(floor, 1, ANY)                                                           \
    X(pi, 0, CONSTANT)                                                         \
    X(e, 0, CONSTANT)                                                          \
    X(inf, 0, CONSTANT)                                                        \
    X(nan, 0, CONSTANT)                                                        \
    X(epsilon, 0, CONSTANT)                                                    \
    X(max_tagged_integer, 0, CONSTANT)                                         \
    X(min_tagged_integer, 0, CONSTANT)                                         \
    X(random, 0, CONSTANT)                                                     \
    X(random_float, 0, CONSTANT)                                               \
    X(cputime, 0, CONSTANT)                                                    \
    X(realtime, 0, CONSTANT)

struct operation {
    enum bl_known_atom name;
    uint32_t arity;
    enum arith_kind kind;
};

static const struct operation operations[] = {
#define X(name, arity, kind) {BL_ATOM_##name, arity, kind},
    OPERATIONS(X)
#undef X
};

int bl_arith_operation(bl_word functor) {
    const bl_word name = bl_functor_name(functor);
    const uint32_t arity = bl_functor_arity(functor);
    if (bl_index_of(name) >= BL_KNOWN_ATOMS)
        return -1;
    for (size_t i = 0; i < BL_ARRAY_LEN(operations); i++) {
        if (bl_atom_word(operations[i].name) == name &&
            operations[i].arity == arity)
            return (int)i;
    }
    return -1;
}

static struct bl_num small(int64_t i) {
    return (struct bl_num){.kind = BL_NUM_INT, .i = i};
}

static int set_int(struct bl_machine *m, int64_t i, struct bl_num *out) {
    if (BL_UNLIKELY(!bl_fits_int(i)))
        return bl_big_of_int(m, i, out);
    *out = (struct bl_num){.kind = BL_NUM_INT, .i = i};
    return BL_TRUE;
}

static int set_float(struct bl_machine *m, double d, struct bl_num *out) {
    if (isnan(d))
        return bl_throw_evaluation(m, BL_ATOM_undefined);
    if (isinf(d))
        return bl_throw_evaluation(m, BL_ATOM_float_overflow);
    *out = (struct bl_num){.kind = BL_NUM_FLOAT, .d = d};
    return BL_TRUE;
}

int bl_arith_double(struct bl_machine *m, struct bl_num n, double *out) {
    if (n.kind == BL_NUM_BIG) {
        *out = bl_big_double(n.big);
        if (isinf(*out))
            return bl_throw_evaluation(m, BL_ATOM_float_overflow);
    } else {
        *out = n.kind == BL_NUM_FLOAT ? n.d : (double)n.i;
    }
    return BL_TRUE;
}

// Two numbers as doubles.
static int doubles(struct bl_machine *m, struct bl_num a, struct bl_num b,
                   double *x, double *y) {
    const int r = bl_arith_double(m, a, x);
    return r == BL_TRUE ? bl_arith_double(m, b, y) : r;
}

static bool is_zero(struct bl_num n) {
    return n.kind == BL_NUM_FLOAT ? n.d == 0 : bl_num_sign(n) == 0;
}

static bool is_negative(struct bl_num n) {
    return n.kind == BL_NUM_FLOAT ? n.d < 0 : bl_num_sign(n) < 0;
}

static int compare_float_int(double d, int64_t i) {
    if (d >= 0x1p61)
        return 1;
    if (d <= -0x1p61)
        return -1;
    const int64_t whole = (int64_t)d;
    if (whole != i)
        return whole > i ? 1 : -1;
    const double rest = d - (double)whole;
    return (rest > 0) - (rest < 0);
}

int bl_arith_compare(struct bl_num a, struct bl_num b) {
    if (bl_are_ints(a, b))
        return (a.i > b.i) - (a.i < b.i);
    const bool fa = a.kind == BL_NUM_FLOAT;
    const bool fb = b.kind == BL_NUM_FLOAT;
    if ((fa && isnan(a.d)) || (fb && isnan(b.d)))
        return 2;
    if (fa && fb)
        return (a.d > b.d) - (a.d < b.d);
    if (fb)
        return -bl_arith_compare(b, a);
    if (!fa)
        return bl_big_compare(a, b);
    return b.kind == BL_NUM_BIG ? -bl_big_compare_double(b.big, a.d)
                                : compare_float_int(a.d, b.i);
}

// ---- integers

static int to_negative_power(struct bl_machine *m, struct bl_num a,
                             struct bl_num n, struct bl_num *out) {
    const bool odd =
        n.kind == BL_NUM_BIG ? bl_big_is_odd(n.big) : (n.i & 1) != 0;
    if (a.kind == BL_NUM_INT && (a.i == 1 || a.i == -1))
        return set_int(m, a.i == 1 || !odd ? 1 : -1, out);
    if (is_zero(a))
        return bl_throw_evaluation(m, BL_ATOM_zero_divisor);
    return bl_throw_type(m, BL_ATOM_float, bl_arith_word(m, a));
}

static int int_power(struct bl_machine *m, struct bl_num a, struct bl_num b,
                     struct bl_num *out) {
    if (is_negative(b))
        return to_negative_power(m, a, b, out);
    if (!bl_are_ints(a, b))
        return bl_big_power(m, a, b, out);
    int64_t x = a.i;
    int64_t r = 1;
    for (int64_t n = b.i; n > 0; n >>= 1) {
        if (((n & 1) && __builtin_mul_overflow(r, x, &r)) ||
            (n > 1 && __builtin_mul_overflow(x, x, &x)))
            return bl_big_power(m, a, b, out);
    }
    return set_int(m, r, out);
}

static int64_t floor_div(int64_t a, int64_t b) {
    const int64_t q = a / b;
    return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

static int64_t gcd(int64_t a, int64_t b) {
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b != 0) {
        const int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static int shift(struct bl_machine *m, int64_t a, int64_t by, bool left,
                 struct bl_num *out) {
    const int64_t n = left ? by : -by;
    if (n <= 0)
        return set_int(m, n < -62 ? (a < 0 ? -1 : 0) : a >> -n, out);
    int64_t r;
    if (n <= 60 && !__builtin_mul_overflow(a, (int64_t)1 << n, &r))
        return set_int(m, r, out);
    return bl_big_shift(m, small(a), small(by), left, out);
}

static int lcm(struct bl_machine *m, int64_t a, int64_t b, struct bl_num *out) {
    const int64_t d = gcd(a, b);
    int64_t r = 0;
    if (d != 0 && __builtin_mul_overflow(a / d, b, &r))
        return bl_big_apply(m, BL_ATOM_lcm, small(a), small(b), out);
    return set_int(m, r < 0 ? -r : r, out);
}

static int get_bit(struct bl_machine *m, struct bl_num a, struct bl_num i,
                   struct bl_num *out) {
    if (is_negative(a) || is_negative(i))
        return bl_throw_type(m, BL_ATOM_not_less_than_zero,
                             bl_arith_word(m, is_negative(a) ? a : i));
    if (i.kind == BL_NUM_BIG)
        return set_int(m, 0, out);
    if (a.kind == BL_NUM_INT)
        return set_int(m, i.i > 62 ? 0 : a.i >> i.i & 1, out);
    const uint64_t limb = (uint64_t)i.i / 64;
    const bool set = limb < bl_big_limbs(a.big) &&
                     (bl_ptr(a.big)[limb] >> (i.i % 64) & 1) != 0;
    return set_int(m, set, out);
}

static bool divides(enum bl_known_atom op) {
    return op == BL_ATOM_intdiv || op == BL_ATOM_mod || op == BL_ATOM_rem ||
           op == BL_ATOM_div;
}

static BL_NOINLINE int apply_small(struct bl_machine *m, enum bl_known_atom op,
                                   int64_t a, int64_t b, struct bl_num *out) {
    if (divides(op) && b == 0)
        return bl_throw_evaluation(m, BL_ATOM_zero_divisor);
    if (op == BL_ATOM_intdiv)
        return set_int(m, a / b, out);
    if (op == BL_ATOM_rem)
        return set_int(m, a % b, out);
    if (op == BL_ATOM_div)
        return set_int(m, floor_div(a, b), out);
    if (op == BL_ATOM_mod)
        return set_int(m, a - floor_div(a, b) * b, out);
    if (op == BL_ATOM_shift_left || op == BL_ATOM_shift_right)
        return shift(m, a, b, op == BL_ATOM_shift_left, out);
    if (op == BL_ATOM_bit_and)
        return set_int(m, a & b, out);
    if (op == BL_ATOM_bit_or)
        return set_int(m, a | b, out);
    if (op == BL_ATOM_xor)
        return set_int(m, a ^ b, out);
    if (op == BL_ATOM_lcm)
        return lcm(m, a, b, out);
    if (op == BL_ATOM_getbit)
        return get_bit(m, small(a), small(b), out);
    return set_int(m, gcd(a, b), out);
}

static int apply_large(struct bl_machine *m, enum bl_known_atom op,
                       struct bl_num a, struct bl_num b, struct bl_num *out) {
    if (divides(op) && is_zero(b))
        return bl_throw_evaluation(m, BL_ATOM_zero_divisor);
    if (op == BL_ATOM_shift_left || op == BL_ATOM_shift_right)
        return bl_big_shift(m, a, b, op == BL_ATOM_shift_left, out);
    if (op == BL_ATOM_getbit)
        return get_bit(m, a, b, out);
    return bl_big_apply(m, op, a, b, out);
}

static uint64_t next_random(struct bl_machine *m) {
    uint64_t x = m->random_state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static int apply_big(struct bl_machine *m, enum bl_known_atom op,
                     struct bl_num a, struct bl_num *out) {
    const bool of_any = op == BL_ATOM_bit_not || op == BL_ATOM_succ;
    if (!of_any && is_negative(a))
        return bl_throw_type(m, BL_ATOM_not_less_than_zero, a.big);
    return op == BL_ATOM_random ? bl_big_random(m, a, next_random, out)
                                : bl_big_apply_one(m, op, a, out);
}

static int apply_int(struct bl_machine *m, enum bl_known_atom op, int64_t a,
                     struct bl_num *out) {
    if (op == BL_ATOM_bit_not)
        return set_int(m, ~a, out);
    if (op == BL_ATOM_succ)
        return set_int(m, a + 1, out);
    if (op == BL_ATOM_msb && a > 0)
        return set_int(m, bl_log2_floor((uint64_t)a), out);
    if (op == BL_ATOM_lsb && a > 0)
        return set_int(m, __builtin_ctzll((uint64_t)a), out);
    if (op == BL_ATOM_popcount && a >= 0)
        return set_int(m, __builtin_popcountll((uint64_t)a), out);
    if (op == BL_ATOM_random && a > 0)
        return set_int(m, (int64_t)(next_random(m) % (uint64_t)a), out);
    return bl_throw_type(m, BL_ATOM_not_less_than_zero, bl_int(a));
}

// ---- doubles

// Outside of it the function has no value.
static bool in_domain(enum bl_known_atom op, double d) {
    if (op == BL_ATOM_log || op == BL_ATOM_log2 || op == BL_ATOM_log10)
        return d > 0;
    return (op != BL_ATOM_cot && op != BL_ATOM_acot) || d != 0;
}

static double log_gamma(double d) {
    int sign;
    return lgamma_r(d, &sign); // lgamma keeps the sign for all threads
}

static double function(enum bl_known_atom op, double d) {
    static const struct {
        enum bl_known_atom op;
        double (*f)(double);
    } libm[] = {{BL_ATOM_sqrt, sqrt},   {BL_ATOM_sin, sin},
                {BL_ATOM_cos, cos},     {BL_ATOM_tan, tan},
                {BL_ATOM_asin, asin},   {BL_ATOM_acos, acos},
                {BL_ATOM_atan, atan},   {BL_ATOM_sinh, sinh},
                {BL_ATOM_cosh, cosh},   {BL_ATOM_tanh, tanh},
                {BL_ATOM_asinh, asinh}, {BL_ATOM_acosh, acosh},
                {BL_ATOM_atanh, atanh}, {BL_ATOM_exp, exp},
                {BL_ATOM_log, log},     {BL_ATOM_log2, log2},
                {BL_ATOM_log10, log10}, {BL_ATOM_erf, erf},
                {BL_ATOM_erfc, erfc},   {BL_ATOM_lgamma, log_gamma}};
    for (size_t i = 0; i < BL_ARRAY_LEN(libm); i++) {
        if (libm[i].op == op)
            return libm[i].f(d);
    }
    if (op == BL_ATOM_cot)
        return 1 / tan(d);
    if (op == BL_ATOM_acot)
        return atan(1 / d);
    return d; // float
}

static int apply_float(struct bl_machine *m, enum bl_known_atom op,
                       struct bl_num x, struct bl_num *out) {
    double d;
    if (bl_arith_double(m, x, &d) != BL_TRUE)
        return BL_THROW;
    return in_domain(op, d) ? set_float(m, function(op, d), out)
                            : bl_throw_evaluation(m, BL_ATOM_undefined);
}

static int apply_floats(struct bl_machine *m, enum bl_known_atom op,
                        struct bl_num x, struct bl_num y, struct bl_num *out) {
    double a;
    double b;
    if (doubles(m, x, y, &a, &b) != BL_TRUE)
        return BL_THROW;
    if (op == BL_ATOM_truediv)
        return b == 0 ? bl_throw_evaluation(m, BL_ATOM_zero_divisor)
                      : set_float(m, a / b, out);
    if (op == BL_ATOM_copysign)
        return set_float(m, copysign(a, b), out);
    if (op == BL_ATOM_nexttoward)
        return set_float(m, nexttoward(a, (long double)b), out);
    if (op == BL_ATOM_log)
        return a > 0 && b > 0 && a != 1
                   ? set_float(m, log(b) / log(a), out)
                   : bl_throw_evaluation(m, BL_ATOM_undefined);
    return a == 0 && b == 0 ? bl_throw_evaluation(m, BL_ATOM_undefined)
                            : set_float(m, atan2(a, b), out);
}

static int to_integer(struct bl_machine *m, enum bl_known_atom op, double d,
                      struct bl_num *out) {
    double r = trunc(d);
    if (op == BL_ATOM_round || op == BL_ATOM_integer)
        r = round(d);
    else if (op == BL_ATOM_ceiling)
        r = ceil(d);
    else if (op == BL_ATOM_floor)
        r = floor(d);
    if (!isfinite(r))
        return bl_throw_evaluation(m, BL_ATOM_undefined);
    return r > -0x1p60 && r < 0x1p60 ? set_int(m, (int64_t)r, out)
                                     : bl_big_of_double(m, r, out);
}

static int constant(struct bl_machine *m, enum bl_known_atom op,
                    struct bl_num *out) {
    double d = 0;
    if (op == BL_ATOM_max_tagged_integer)
        return set_int(m, BL_INT_MAX, out);
    if (op == BL_ATOM_min_tagged_integer)
        return set_int(m, BL_INT_MIN, out);
    if (op == BL_ATOM_pi)
        d = 3.14159265358979323846;
    else if (op == BL_ATOM_e)
        d = 2.71828182845904523536;
    else if (op == BL_ATOM_inf)
        d = INFINITY;
    else if (op == BL_ATOM_nan)
        d = NAN;
    else if (op == BL_ATOM_epsilon)
        d = 0x1p-52;
    else if (op == BL_ATOM_random || op == BL_ATOM_random_float)
        d = ((double)(next_random(m) >> 11) + 0.5) * 0x1p-53;
    else if (op == BL_ATOM_cputime)
        d = (double)clock() / CLOCKS_PER_SEC;
    else
        return set_int(m, (int64_t)time(NULL), out);
    *out = (struct bl_num){.kind = BL_NUM_FLOAT, .d = d};
    return BL_TRUE;
}

// ---- both

static int combine_doubles(struct bl_machine *m, enum bl_known_atom op,
                           struct bl_num a, struct bl_num b,
                           struct bl_num *out) {
    double x;
    double y;
    if (doubles(m, a, b, &x, &y) != BL_TRUE)
        return BL_THROW;
    const double r = op == BL_ATOM_plus    ? x + y
                     : op == BL_ATOM_minus ? x - y
                                           : x * y;
    return set_float(m, r, out);
}

int bl_arith_combine(struct bl_machine *m, enum bl_known_atom op,
                     struct bl_num a, struct bl_num b, struct bl_num *out) {
    if (a.kind == BL_NUM_FLOAT || b.kind == BL_NUM_FLOAT)
        return combine_doubles(m, op, a, b, out);
    int64_t r;
    if (bl_are_ints(a, b) &&
        !(op == BL_ATOM_plus    ? __builtin_add_overflow(a.i, b.i, &r)
          : op == BL_ATOM_minus ? __builtin_sub_overflow(a.i, b.i, &r)
                                : __builtin_mul_overflow(a.i, b.i, &r)))
        return set_int(m, r, out);
    return bl_big_apply(m, op, a, b, out);
}

static int divide(struct bl_machine *m, struct bl_num a, struct bl_num b,
                  struct bl_num *out) {
    double x;
    double y;
    const bool integers = a.kind != BL_NUM_FLOAT && b.kind != BL_NUM_FLOAT;
    if (is_zero(b))
        return bl_throw_evaluation(m, integers || !is_zero(a)
                                          ? BL_ATOM_zero_divisor
                                          : BL_ATOM_undefined);
    if (integers && !bl_are_ints(a, b))
        return bl_big_divide(m, a, b, out);
    if (integers && a.i % b.i == 0)
        return set_int(m, a.i / b.i, out);
    if (doubles(m, a, b, &x, &y) != BL_TRUE)
        return BL_THROW;
    return set_float(m, x / y, out);
}

// Of integers, ^ stays among them; ** does unless the exponent is negative.
static int power(struct bl_machine *m, enum bl_known_atom op, struct bl_num a,
                 struct bl_num b, struct bl_num *out) {
    double x;
    double y;
    if (a.kind != BL_NUM_FLOAT && b.kind != BL_NUM_FLOAT &&
        (op == BL_ATOM_caret || !is_negative(b) || is_zero(a)))
        return int_power(m, a, b, out);
    if (is_zero(a) && is_negative(b))
        return bl_throw_evaluation(m, BL_ATOM_zero_divisor);
    if (doubles(m, a, b, &x, &y) != BL_TRUE)
        return BL_THROW;
    return set_float(m, pow(x, y), out);
}

static int negate(struct bl_machine *m, struct bl_num a, struct bl_num *out) {
    if (a.kind == BL_NUM_BIG)
        return bl_big_apply_one(m, BL_ATOM_minus, a, out);
    if (a.kind != BL_NUM_FLOAT)
        return set_int(m, -a.i, out);
    *out = (struct bl_num){.kind = BL_NUM_FLOAT, .d = -a.d}; // -inf is none new
    return BL_TRUE;
}

// What stands in front of the point, or behind it, with the sign.
static int part(struct bl_machine *m, enum bl_known_atom op, struct bl_num a,
                struct bl_num *out) {
    const bool whole = op == BL_ATOM_float_integer_part;
    if (a.kind == BL_NUM_FLOAT)
        return set_float(m, whole ? trunc(a.d) : a.d - trunc(a.d), out);
    *out = whole ? a : small(0);
    return BL_TRUE;
}

static int one_number(struct bl_machine *m, enum bl_known_atom op,
                      struct bl_num a, struct bl_num *out) {
    if (op == BL_ATOM_abs && a.kind == BL_NUM_FLOAT)
        a.d = fabs(a.d); // -0.0 is not less than 0
    if (op == BL_ATOM_minus || (op == BL_ATOM_abs && is_negative(a)))
        return negate(m, a, out);
    if (op == BL_ATOM_sign)
        return a.kind == BL_NUM_FLOAT ? set_float(m, (a.d > 0) - (a.d < 0), out)
                                      : set_int(m, bl_num_sign(a), out);
    if (op == BL_ATOM_float_integer_part || op == BL_ATOM_float_fractional_part)
        return part(m, op, a, out);
    if (a.kind == BL_NUM_FLOAT && op != BL_ATOM_plus && op != BL_ATOM_eval &&
        op != BL_ATOM_abs)
        return to_integer(m, op, a.d, out);
    *out = a;
    return BL_TRUE;
}

static int any(struct bl_machine *m, const struct operation *o, struct bl_num a,
               struct bl_num b, struct bl_num *out) {
    const enum bl_known_atom op = o->name;
    if (o->arity == 1)
        return one_number(m, op, a, out);
    if (op == BL_ATOM_slash)
        return divide(m, a, b, out);
    if (op == BL_ATOM_pow || op == BL_ATOM_caret)
        return power(m, op, a, b, out);
    if (op == BL_ATOM_min || op == BL_ATOM_max) {
        const int r = bl_arith_compare(a, b);
        *out = (op == BL_ATOM_max) == (r > 0) ? a : b;
        return BL_TRUE;
    }
    return bl_arith_combine(m, op, a, b, out);
}

static int wrong_kind(struct bl_machine *m, struct bl_num n) {
    return bl_throw_type(m, BL_ATOM_integer, bl_float(m, n.d));
}

static BL_NOINLINE int apply_other(struct bl_machine *m,
                                   const struct operation *o, struct bl_num a,
                                   struct bl_num b, struct bl_num *out) {
    switch (o->kind) {
    case INT_TWO:
        if (a.kind == BL_NUM_FLOAT || b.kind == BL_NUM_FLOAT)
            return wrong_kind(m, a.kind == BL_NUM_FLOAT ? a : b);
        return apply_large(m, o->name, a, b, out);
    case INT_ONE:
        if (a.kind == BL_NUM_INT)
            return apply_int(m, o->name, a.i, out);
        return a.kind == BL_NUM_FLOAT ? wrong_kind(m, a)
                                      : apply_big(m, o->name, a, out);
    case CONSTANT:
        return constant(m, o->name, out);
    case FLOAT_ONE:
        return apply_float(m, o->name, a, out);
    case FLOAT_TWO:
        return apply_floats(m, o->name, a, b, out);
    case ANY:
        return any(m, o, a, b, out);
    }
    return BL_THROW;
}

int bl_arith_apply(struct bl_machine *m, int operation, struct bl_num a,
                   struct bl_num b, struct bl_num *out) {
    const struct operation *const o = &operations[operation];
    if (o->kind == INT_TWO && bl_are_ints(a, b))
        return apply_small(m, o->name, a.i, b.i, out);
    return apply_other(m, o, a, b, out);
}

// ---- evaluation of terms: a stack of terms and operations, one of numbers

struct numbers {
    struct bl_num small[BL_ARITH_DEPTH];
    struct bl_num *num;
    size_t n, capacity;
};

static void push_number(struct numbers *s, struct bl_num x) {
    if (s->n == s->capacity) {
        struct bl_num *const p =
            malloc(s->capacity * 2 * sizeof(struct bl_num));
        bl_must_have(p);
        __builtin_memcpy(p, s->num, s->n * sizeof(struct bl_num));
        if (s->num != s->small)
            free(s->num);
        s->num = p;
        s->capacity *= 2;
    }
    s->num[s->n++] = x;
}

static int apply_top(struct bl_machine *m, struct numbers *s, int operation) {
    const uint32_t n = operations[operation].arity;
    struct bl_num a = {0};
    struct bl_num b = {0};
    if (n == 2)
        b = s->num[--s->n];
    if (n >= 1)
        a = s->num[--s->n];
    struct bl_num r;
    const int ok = bl_arith_apply(m, operation, a, b, &r);
    if (ok == BL_TRUE)
        push_number(s, r);
    return ok;
}

static int not_evaluable(struct bl_machine *m, bl_word t) {
    if (bl_is_callable(t))
        return bl_throw_type(m, BL_ATOM_evaluable,
                             bl_indicator(m, bl_term_functor(t)));
    return bl_throw_type(m, BL_ATOM_evaluable, t);
}

// [X] evaluates as X.
static bl_word only_element(bl_word t) {
    if (bl_tag(t) == BL_LST && bl_deref(bl_ptr(t)[1]) == BL_ATOM(nil))
        return bl_deref(bl_ptr(t)[0]);
    return t;
}

static int visit(struct bl_machine *m, struct numbers *s, bl_word t,
                 size_t *depth) {
    t = only_element(bl_deref(t));
    if (bl_is_number(t)) {
        push_number(s, bl_num_of(t));
        return BL_TRUE;
    }
    if (bl_is_var(t))
        return bl_throw_instantiation(m);
    const bl_word f = bl_term_functor(t);
    const int op = bl_tag(t) == BL_LST ? -1 : bl_arith_operation(f);
    if (op < 0)
        return not_evaluable(m, t);
    const uint32_t n = bl_functor_arity(f);
    if (!bl_scratch_ensure(m, *depth + n + 1))
        return BL_THROW;
    bl_scratch(m)[(*depth)++] = bl_level((uint64_t)op);
    for (uint32_t i = n; i-- > 0;)
        bl_scratch(m)[(*depth)++] = bl_ptr(t)[1 + i];
    return BL_TRUE;
}

int bl_arith_eval(struct bl_machine *m, bl_word t, struct bl_num *out) {
    struct numbers s = {.n = 0, .capacity = BL_ARITH_DEPTH};
    s.num = s.small;
    size_t depth = 0;
    int ok = visit(m, &s, t, &depth);
    while (ok == BL_TRUE && depth > 0) {
        const bl_word w = bl_scratch(m)[--depth];
        if (bl_tag(w) == BL_LVL)
            ok = apply_top(m, &s, (int)(w >> BL_TAG_BITS));
        else
            ok = visit(m, &s, w, &depth);
    }
    if (ok == BL_TRUE)
        *out = s.num[0];
    if (s.num != s.small)
        free(s.num);
    return ok;
}
