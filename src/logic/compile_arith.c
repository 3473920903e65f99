// SPDX-License-Identifier: MIT
//
// Arithmetic in line: expressions become pushes and operations on a small
// stack of numbers, and no term is built. What cannot be compiled (an unknown
// functor, an expression that nests too deeply) is left to the builtin, which
// tells the error.
//
#include "logic/arith.h"
#include "logic/compile.h"

enum { NESTING = 1000 }; // of an expression, that these functions follow

// The stack an expression needs, or more than BL_ARITH_DEPTH where it cannot
// be compiled.
static int depth_of(struct bl_compiler *c, bl_word t, int level, int nesting) {
    t = bl_deref(t);
    if (level > BL_ARITH_DEPTH - 2 || nesting > NESTING)
        return BL_ARITH_DEPTH + 1;
    if (bl_tag(t) == BL_LVL || bl_is_number(t))
        return level + 1;
    if (bl_tag(t) == BL_LST || bl_arith_operation(bl_term_functor(t)) < 0)
        return BL_ARITH_DEPTH + 1;
    if (bl_is_atom(t))
        return level + 1;
    const uint32_t n = bl_functor_arity(*bl_ptr(t));
    int most = level + 1;
    for (uint32_t i = 0; i < n; i++) {
        const int d =
            depth_of(c, bl_ptr(t)[1 + i], level + (int)i, nesting + 1);
        most = d > most ? d : most;
    }
    return most;
}

static bool can_compile(struct bl_compiler *c, bl_word t) {
    return depth_of(c, t, 1, 0) < BL_ARITH_DEPTH;
}

static void emit2(struct bl_compiler *c, enum bl_opcode op, bl_word a) {
    bl_emit(c, op);
    bl_emit(c, a);
}

static void push_var(struct bl_compiler *c, struct bl_cvar *v) {
    if (v->occurrences == 1 || !v->seen) {
        const int mark = c->next_x;
        const int spare = bl_spare_x(c);
        const int x =
            v->occurrences == 1 ? spare : bl_compile_var_in(c, v, spare);
        if (v->occurrences == 1) {
            emit2(c, BL_OP_PUT_VAR_X, (bl_word)x);
            bl_emit(c, (bl_word)x);
        }
        emit2(c, BL_OP_A_PUSH_X, (bl_word)x);
        c->next_x = mark;
        return;
    }
    emit2(c, v->permanent ? BL_OP_A_PUSH_Y : BL_OP_A_PUSH_X, (bl_word)v->at);
}

static void expression(struct bl_compiler *c, bl_word t) {
    t = bl_deref(t);
    struct bl_cvar *const v = bl_cvar_of(c, t);
    if (v != NULL) {
        push_var(c, v);
        return;
    }
    if (bl_is_int(t)) {
        emit2(c, BL_OP_A_PUSH_INT, (bl_word)bl_int_value(t));
        return;
    }
    if (bl_is_float(t)) {
        emit2(c, BL_OP_A_PUSH_FLOAT, *bl_ptr(t));
        return;
    }
    if (bl_is_big(t)) {
        const int mark = c->next_x;
        const int spare = bl_spare_x(c);
        bl_compile_put(c, t, spare);
        emit2(c, BL_OP_A_PUSH_X, (bl_word)spare);
        c->next_x = mark;
        return;
    }
    const bl_word functor = bl_term_functor(t);
    const uint32_t n = bl_functor_arity(functor);
    for (uint32_t i = 0; i < n; i++)
        expression(c, bl_ptr(t)[1 + i]);
    const bl_word name = bl_functor_name(functor);
    if (n == 2 && name == BL_ATOM(plus)) {
        bl_emit(c, BL_OP_A_ADD);
    } else if (n == 2 && name == BL_ATOM(minus)) {
        bl_emit(c, BL_OP_A_SUB);
    } else if (n == 2 && name == BL_ATOM(star)) {
        bl_emit(c, BL_OP_A_MUL);
    } else {
        emit2(c, BL_OP_A_CALL, (bl_word)bl_arith_operation(functor));
        bl_emit(c, n);
    }
}

bool bl_compile_is(struct bl_compiler *c, const bl_word *args) {
    if (!can_compile(c, args[1]))
        return false;
    if (c->analysing) {
        bl_count_vars(c, args[1]);
        bl_count_vars(c, args[0]);
        return true;
    }
    expression(c, args[1]);
    const bl_word left = bl_deref(args[0]);
    struct bl_cvar *const v = bl_cvar_of(c, left);
    if (v != NULL && v->occurrences > 1) {
        const enum bl_opcode op =
            v->seen ? (v->permanent ? BL_OP_A_UNIFY_Y : BL_OP_A_UNIFY_X)
                    : (v->permanent ? BL_OP_A_POP_Y : BL_OP_A_POP_X);
        emit2(c, op, (bl_word)v->at);
        v->seen = true;
        return true;
    }
    const int mark = c->next_x;
    const int spare = bl_spare_x(c);
    bl_compile_put(c, left, spare);
    emit2(c, BL_OP_A_UNIFY_X, (bl_word)spare);
    c->next_x = mark;
    return true;
}

bool bl_compile_compare(struct bl_compiler *c, enum bl_opcode op,
                        const bl_word *args, size_t label) {
    if (!can_compile(c, args[0]) || !can_compile(c, args[1]))
        return false;
    if (c->analysing) {
        bl_count_vars(c, args[0]);
        bl_count_vars(c, args[1]);
        return true;
    }
    expression(c, args[0]);
    expression(c, args[1]);
    bl_emit(c, op);
    if (label == SIZE_MAX)
        bl_emit(c, 0);
    else
        bl_emit_label(c, label);
    return true;
}
