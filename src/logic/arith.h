// SPDX-License-Identifier: MIT
//
// Arithmetic: integers of 61 bits and doubles. What does not fit an integer is
// evaluation_error(int_overflow); nothing wraps round.
//
#ifndef BL_LOGIC_ARITH_H
#define BL_LOGIC_ARITH_H

#include "logic/machine.h"

struct bl_num {
    bool is_float;
    union {
        int64_t i;
        double d;
    };
};

enum { BL_ARITH_DEPTH = 64 }; // operands that compiled code keeps at once

// The number of an evaluable functor (arity 0, 1 or 2), or -1.
int bl_arith_operation(bl_word functor);
// *out := operation(a, b); BL_TRUE or BL_THROW.
int bl_arith_apply(struct bl_machine *m, int operation, struct bl_num a,
                   struct bl_num b, struct bl_num *out);
// Evaluates a term. Deep ones too: no recursion.
int bl_arith_eval(struct bl_machine *m, bl_word t, struct bl_num *out);
// -1, 0, 1; exact between integers and doubles. 2: not comparable (NaN).
int bl_arith_compare(struct bl_num a, struct bl_num b);
bl_word bl_arith_word(struct bl_machine *m, struct bl_num n);

#endif
