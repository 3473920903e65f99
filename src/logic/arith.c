// SPDX-License-Identifier: MIT
//
// The evaluable functors and their evaluation. Source: ISO/IEC 13211-1,
// section 9, and its second corrigendum.
//
#include "logic/arith.h"

#include "logic/error.h"
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
    X(float_integer_part, 1, FLOAT_ONE)                                        \
    X(float_fractional_part, 1, FLOAT_ONE)                                     \
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

static int set_int(struct bl_machine *m, int64_t i, struct bl_num *out) {
    if (!bl_fits_int(i))
        return bl_throw_evaluation(m, BL_ATOM_int_overflow);
    *out = (struct bl_num){.is_float = false, .i = i};
    return BL_TRUE;
}

static int set_float(struct bl_machine *m, double d, struct bl_num *out) {
    if (isnan(d))
        return bl_throw_evaluation(m, BL_ATOM_undefined);
    if (isinf(d))
        return bl_throw_evaluation(m, BL_ATOM_float_overflow);
    *out = (struct bl_num){.is_float = true, .d = d};
    return BL_TRUE;
}

static double as_float(struct bl_num n) {
    return n.is_float ? n.d : (double)n.i;
}

bl_word bl_arith_word(struct bl_machine *m, struct bl_num n) {
    return n.is_float ? bl_float(m, n.d) : bl_int(n.i);
}

int bl_arith_compare(struct bl_num a, struct bl_num b) {
    if (!a.is_float && !b.is_float)
        return (a.i > b.i) - (a.i < b.i);
    if (a.is_float && b.is_float)
        return isnan(a.d) || isnan(b.d) ? 2 : (a.d > b.d) - (a.d < b.d);
    if (!a.is_float) {
        const int r = bl_arith_compare(b, a);
        return r == 2 ? 2 : -r;
    }
    if (isnan(a.d))
        return 2;
    if (a.d >= 0x1p61)
        return 1;
    if (a.d <= -0x1p61)
        return -1;
    const int64_t whole = (int64_t)a.d;
    if (whole != b.i)
        return whole > b.i ? 1 : -1;
    const double rest = a.d - (double)whole;
    return (rest > 0) - (rest < 0);
}

// ---- integers

static int int_power(struct bl_machine *m, int64_t a, int64_t n,
                     struct bl_num *out) {
    if (n < 0) {
        if (a == 1)
            return set_int(m, 1, out);
        if (a == -1)
            return set_int(m, n % 2 == 0 ? 1 : -1, out);
        if (a == 0)
            return bl_throw_evaluation(m, BL_ATOM_zero_divisor);
        return bl_throw_type(m, BL_ATOM_float, bl_int(a));
    }
    int64_t r = 1;
    for (; n > 0; n >>= 1) {
        if ((n & 1) && __builtin_mul_overflow(r, a, &r))
            return bl_throw_evaluation(m, BL_ATOM_int_overflow);
        if (n > 1 && __builtin_mul_overflow(a, a, &a))
            return bl_throw_evaluation(m, BL_ATOM_int_overflow);
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

static int shift(struct bl_machine *m, int64_t a, int64_t by,
                 struct bl_num *out) {
    if (by < 0)
        return set_int(m, by < -62 ? (a < 0 ? -1 : 0) : a >> -by, out);
    if (a == 0 || by == 0)
        return set_int(m, a, out);
    int64_t r;
    if (by > 60 || __builtin_mul_overflow(a, (int64_t)1 << by, &r))
        return bl_throw_evaluation(m, BL_ATOM_int_overflow);
    return set_int(m, r, out);
}

static int lcm(struct bl_machine *m, int64_t a, int64_t b, struct bl_num *out) {
    const int64_t d = gcd(a, b);
    int64_t r = 0;
    if (d != 0 && __builtin_mul_overflow(a / d, b, &r))
        return bl_throw_evaluation(m, BL_ATOM_int_overflow);
    return set_int(m, r < 0 ? -r : r, out);
}

static int get_bit(struct bl_machine *m, int64_t a, int64_t i,
                   struct bl_num *out) {
    if (a < 0 || i < 0)
        return bl_throw_type(m, BL_ATOM_not_less_than_zero,
                             bl_int(a < 0 ? a : i));
    return set_int(m, i > 62 ? 0 : a >> i & 1, out);
}

static int apply_ints(struct bl_machine *m, enum bl_known_atom op, int64_t a,
                      int64_t b, struct bl_num *out) {
    const bool divides = op == BL_ATOM_intdiv || op == BL_ATOM_mod ||
                         op == BL_ATOM_rem || op == BL_ATOM_div;
    if (divides && b == 0)
        return bl_throw_evaluation(m, BL_ATOM_zero_divisor);
    if (op == BL_ATOM_intdiv)
        return set_int(m, a / b, out);
    if (op == BL_ATOM_rem)
        return set_int(m, a % b, out);
    if (op == BL_ATOM_div)
        return set_int(m, floor_div(a, b), out);
    if (op == BL_ATOM_mod)
        return set_int(m, a - floor_div(a, b) * b, out);
    if (op == BL_ATOM_shift_left)
        return shift(m, a, b, out);
    if (op == BL_ATOM_shift_right)
        return shift(m, a, -b, out);
    if (op == BL_ATOM_bit_and)
        return set_int(m, a & b, out);
    if (op == BL_ATOM_bit_or)
        return set_int(m, a | b, out);
    if (op == BL_ATOM_xor)
        return set_int(m, a ^ b, out);
    if (op == BL_ATOM_lcm)
        return lcm(m, a, b, out);
    if (op == BL_ATOM_getbit)
        return get_bit(m, a, b, out);
    return set_int(m, gcd(a, b), out);
}

static uint64_t next_random(struct bl_machine *m) {
    uint64_t x = m->random_state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
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
    } libm[] = {{BL_ATOM_sqrt, sqrt},
                {BL_ATOM_sin, sin},
                {BL_ATOM_cos, cos},
                {BL_ATOM_tan, tan},
                {BL_ATOM_asin, asin},
                {BL_ATOM_acos, acos},
                {BL_ATOM_atan, atan},
                {BL_ATOM_sinh, sinh},
                {BL_ATOM_cosh, cosh},
                {BL_ATOM_tanh, tanh},
                {BL_ATOM_asinh, asinh},
                {BL_ATOM_acosh, acosh},
                {BL_ATOM_atanh, atanh},
                {BL_ATOM_exp, exp},
                {BL_ATOM_log, log},
                {BL_ATOM_log2, log2},
                {BL_ATOM_log10, log10},
                {BL_ATOM_erf, erf},
                {BL_ATOM_erfc, erfc},
                {BL_ATOM_lgamma, log_gamma},
                {BL_ATOM_float_integer_part, trunc}};
    for (size_t i = 0; i < BL_ARRAY_LEN(libm); i++) {
        if (libm[i].op == op)
            return libm[i].f(d);
    }
    if (op == BL_ATOM_cot)
        return 1 / tan(d);
    if (op == BL_ATOM_acot)
        return atan(1 / d);
    return op == BL_ATOM_float_fractional_part ? d - trunc(d) : d;
}

static int apply_float(struct bl_machine *m, enum bl_known_atom op, double d,
                       struct bl_num *out) {
    return in_domain(op, d) ? set_float(m, function(op, d), out)
                            : bl_throw_evaluation(m, BL_ATOM_undefined);
}

static int apply_floats(struct bl_machine *m, enum bl_known_atom op, double a,
                        double b, struct bl_num *out) {
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
    if (!(r > -0x1p60 && r < 0x1p60))
        return bl_throw_evaluation(m, BL_ATOM_int_overflow);
    return set_int(m, (int64_t)r, out);
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
    *out = (struct bl_num){.is_float = true, .d = d};
    return BL_TRUE;
}

// ---- both

static int add_or_multiply(struct bl_machine *m, enum bl_known_atom op,
                           struct bl_num a, struct bl_num b,
                           struct bl_num *out) {
    if (a.is_float || b.is_float) {
        const double x = as_float(a);
        const double y = as_float(b);
        const double r = op == BL_ATOM_plus    ? x + y
                         : op == BL_ATOM_minus ? x - y
                                               : x * y;
        return set_float(m, r, out);
    }
    int64_t r;
    const bool over = op == BL_ATOM_plus ? __builtin_add_overflow(a.i, b.i, &r)
                      : op == BL_ATOM_minus
                          ? __builtin_sub_overflow(a.i, b.i, &r)
                          : __builtin_mul_overflow(a.i, b.i, &r);
    if (over)
        return bl_throw_evaluation(m, BL_ATOM_int_overflow);
    return set_int(m, r, out);
}

static int divide(struct bl_machine *m, struct bl_num a, struct bl_num b,
                  struct bl_num *out) {
    if (as_float(b) == 0)
        return bl_throw_evaluation(m, BL_ATOM_zero_divisor);
    if (!a.is_float && !b.is_float && a.i % b.i == 0)
        return set_int(m, a.i / b.i, out);
    return set_float(m, as_float(a) / as_float(b), out);
}

// Of integers, ^ stays among them; ** does unless the exponent is negative.
static int power(struct bl_machine *m, enum bl_known_atom op, struct bl_num a,
                 struct bl_num b, struct bl_num *out) {
    if (!a.is_float && !b.is_float &&
        (op == BL_ATOM_caret || b.i >= 0 || a.i == 0))
        return int_power(m, a.i, b.i, out);
    if (as_float(a) == 0 && as_float(b) < 0)
        return bl_throw_evaluation(m, BL_ATOM_zero_divisor);
    return set_float(m, pow(as_float(a), as_float(b)), out);
}

static int one_number(struct bl_machine *m, enum bl_known_atom op,
                      struct bl_num a, struct bl_num *out) {
    if (op == BL_ATOM_plus || op == BL_ATOM_eval) {
        *out = a;
        return BL_TRUE;
    }
    if (op == BL_ATOM_minus || (op == BL_ATOM_abs && as_float(a) < 0))
        return a.is_float ? set_float(m, -a.d, out) : set_int(m, -a.i, out);
    if (op == BL_ATOM_abs) {
        *out = a;
        return BL_TRUE;
    }
    if (op == BL_ATOM_sign)
        return a.is_float ? set_float(m, (a.d > 0) - (a.d < 0), out)
                          : set_int(m, (a.i > 0) - (a.i < 0), out);
    if (!a.is_float) {
        *out = a;
        return BL_TRUE;
    }
    return to_integer(m, op, a.d, out);
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
    return add_or_multiply(m, op, a, b, out);
}

int bl_arith_apply(struct bl_machine *m, int operation, struct bl_num a,
                   struct bl_num b, struct bl_num *out) {
    const struct operation *const o = &operations[operation];
    const bool ints = o->kind == INT_ONE || o->kind == INT_TWO;
    if (ints && a.is_float)
        return bl_throw_type(m, BL_ATOM_integer, bl_float(m, a.d));
    if (o->kind == INT_TWO && b.is_float)
        return bl_throw_type(m, BL_ATOM_integer, bl_float(m, b.d));
    switch (o->kind) {
    case CONSTANT:
        return constant(m, o->name, out);
    case INT_ONE:
        return apply_int(m, o->name, a.i, out);
    case INT_TWO:
        return apply_ints(m, o->name, a.i, b.i, out);
    case FLOAT_ONE:
        return apply_float(m, o->name, as_float(a), out);
    case FLOAT_TWO:
        return apply_floats(m, o->name, as_float(a), as_float(b), out);
    case ANY:
        return any(m, o, a, b, out);
    }
    return BL_THROW;
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
        BL_CHECK(p != NULL);
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
    if (bl_is_int(t)) {
        push_number(s,
                    (struct bl_num){.is_float = false, .i = bl_int_value(t)});
        return BL_TRUE;
    }
    if (bl_is_float(t)) {
        push_number(s,
                    (struct bl_num){.is_float = true, .d = bl_float_value(t)});
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
