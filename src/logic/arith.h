// SPDX-License-Identifier: MIT
//
// Arithmetic: integers and doubles. An integer that leaves the 61 bits of a
// word becomes a large one (see `bigint.h`); nothing wraps round.
//
#ifndef BL_LOGIC_ARITH_H
#define BL_LOGIC_ARITH_H

#include "logic/machine.h"

enum bl_num_kind { BL_NUM_INT, BL_NUM_FLOAT, BL_NUM_BIG };

struct bl_num {
    enum bl_num_kind kind;
    union {
        int64_t i; // fits a word
        double d;
        bl_word big; // does not
    };
};

BL_INLINE struct bl_num bl_num_of(bl_word number) {
    if (bl_is_int(number))
        return (struct bl_num){.kind = BL_NUM_INT, .i = bl_int_value(number)};
    if (bl_is_big(number))
        return (struct bl_num){.kind = BL_NUM_BIG, .big = number};
    return (struct bl_num){.kind = BL_NUM_FLOAT, .d = bl_float_value(number)};
}

BL_INLINE bool bl_are_ints(struct bl_num a, struct bl_num b) {
    return a.kind == BL_NUM_INT && b.kind == BL_NUM_INT;
}

// -1, 0, 1, of an integer.
BL_INLINE int bl_num_sign(struct bl_num n) {
    if (n.kind == BL_NUM_BIG)
        return bl_big_is_negative(n.big) ? -1 : 1;
    return (n.i > 0) - (n.i < 0);
}

enum { BL_ARITH_DEPTH = 64 }; // operands that compiled code keeps at once

// The number of an evaluable functor (arity 0, 1 or 2), or -1.
int bl_arith_operation(bl_word functor);
// *out := operation(a, b); BL_TRUE or BL_THROW.
int bl_arith_apply(struct bl_machine *m, int operation, struct bl_num a,
                   struct bl_num b, struct bl_num *out);
// Plus, minus or star.
int bl_arith_combine(struct bl_machine *m, enum bl_known_atom op,
                     struct bl_num a, struct bl_num b, struct bl_num *out);
// Evaluates a term. Deep ones too: no recursion.
int bl_arith_eval(struct bl_machine *m, bl_word t, struct bl_num *out);
// -1, 0, 1; exact between integers and doubles. 2: not comparable (NaN).
int bl_arith_compare(struct bl_num a, struct bl_num b);
// The number as a double; BL_THROW where it is larger than they are.
int bl_arith_double(struct bl_machine *m, struct bl_num n, double *out);

BL_INLINE bl_word bl_arith_word(struct bl_machine *m, struct bl_num n) {
    if (BL_LIKELY(n.kind == BL_NUM_INT))
        return bl_int(n.i);
    return n.kind == BL_NUM_FLOAT ? bl_float(m, n.d) : n.big;
}

#endif
