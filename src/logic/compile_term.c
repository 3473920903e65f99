// SPDX-License-Identifier: MIT
//
// Unification of the terms in a clause, for heads (GET) and bodies (PUT). A
// structure inside another becomes a register that is matched afterwards, but
// the last argument goes on in place: a list of any length needs no register.
//
#include "logic/compile.h"

#include "logic/memory.h"

#include <stdlib.h>

int bl_spare_x(struct bl_compiler *c) {
    if (c->next_x >= BL_REGISTERS) {
        if (!c->failed)
            bl_throw_representation(c->m, "registers_of_one_clause");
        c->failed = true;
        return BL_REGISTERS - 1;
    }
    return c->next_x++;
}

static bl_word float_bits(bl_word w) { return *bl_ptr(w); }

static void push_pending(struct bl_compiler *c, int x, bl_word term) {
    if (c->pendings == c->pending_capacity) {
        c->pending_capacity = c->pending_capacity * 2 + 16;
        c->pending =
            realloc(c->pending, c->pending_capacity * sizeof c->pending[0]);
        bl_must_have(c->pending);
    }
    c->pending[c->pendings++] = (struct bl_pending){x, term};
}

static void emit2(struct bl_compiler *c, enum bl_opcode op, bl_word a) {
    bl_emit(c, op);
    bl_emit(c, a);
}

static void emit3(struct bl_compiler *c, enum bl_opcode op, bl_word a, int i) {
    bl_emit(c, op);
    bl_emit(c, a);
    bl_emit(c, (bl_word)i);
}

static void unify_var(struct bl_compiler *c, struct bl_cvar *v) {
    if (v->occurrences == 1) {
        emit2(c, BL_OP_UNIFY_VOID, 1);
        return;
    }
    const enum bl_opcode op =
        v->seen ? (v->permanent ? BL_OP_UNIFY_VAL_Y : BL_OP_UNIFY_VAL_X)
                : (v->permanent ? BL_OP_UNIFY_VAR_Y : BL_OP_UNIFY_VAR_X);
    emit2(c, op, (bl_word)v->at);
    v->seen = true;
}

// A structure to be matched later, from a register or, where none is left,
// from the environment.
static void postpone(struct bl_compiler *c, bl_word t) {
    if (c->next_x >= BL_REGISTERS - 2 && c->environment) {
        const int slot = c->slots++;
        emit2(c, BL_OP_UNIFY_VAR_Y, (bl_word)slot);
        push_pending(c, ~slot, t);
        return;
    }
    const int x = bl_spare_x(c);
    emit2(c, BL_OP_UNIFY_VAR_X, (bl_word)x);
    push_pending(c, x, t);
}

// One argument that is not a compound term in last place.
static void unify_arg(struct bl_compiler *c, bl_word t) {
    struct bl_cvar *const v = bl_cvar_of(c, t);
    if (v != NULL) {
        unify_var(c, v);
    } else if (bl_is_compound(t)) {
        const bl_word literal = bl_compile_literal(c, t);
        if (literal != 0)
            emit2(c, BL_OP_UNIFY_TERM, literal);
        else
            postpone(c, t);
    } else if (bl_is_float(t)) {
        emit2(c, BL_OP_UNIFY_FLOAT, float_bits(t));
    } else if (bl_is_big(t)) {
        emit2(c, BL_OP_UNIFY_TERM, bl_compile_big(c, t));
    } else {
        emit2(c, BL_OP_UNIFY_CONST, t);
    }
}

static uint32_t arity_of(bl_word t) {
    return bl_tag(t) == BL_LST ? 2 : bl_functor_arity(*bl_ptr(t));
}

static void unify_args(struct bl_compiler *c, bl_word t) {
    for (;;) {
        const uint32_t n = arity_of(t);
        const bl_word *const args = bl_term_args(t);
        for (uint32_t i = 0; i + 1 < n; i++)
            unify_arg(c, bl_deref(args[i]));
        const bl_word last = bl_deref(args[n - 1]);
        const bl_word literal =
            bl_is_compound(last) ? bl_compile_literal(c, last) : 0;
        if (literal != 0) {
            emit2(c, BL_OP_UNIFY_TERM, literal);
            return;
        }
        if (!bl_is_compound(last)) {
            unify_arg(c, last);
            return;
        }
        if (bl_tag(last) == BL_LST)
            bl_emit(c, BL_OP_UNIFY_TAIL_LIST);
        else
            emit2(c, BL_OP_UNIFY_TAIL_STR, *bl_ptr(last));
        t = last;
    }
}

static void structure(struct bl_compiler *c, bl_word t, int x,
                      enum bl_opcode str, enum bl_opcode list) {
    const int mark = c->next_x;
    if (bl_tag(t) == BL_LST)
        emit2(c, list, (bl_word)x);
    else
        emit3(c, str, *bl_ptr(t), x);
    unify_args(c, t);
    while (c->pendings > 0) {
        struct bl_pending p = c->pending[--c->pendings];
        if (p.x < 0) {
            emit3(c, BL_OP_PUT_VAL_Y, (bl_word)~p.x, BL_REGISTERS - 1);
            p.x = BL_REGISTERS - 1;
        }
        if (bl_tag(p.term) == BL_LST)
            emit2(c, BL_OP_GET_LIST, (bl_word)p.x);
        else
            emit3(c, BL_OP_GET_STR, *bl_ptr(p.term), p.x);
        unify_args(c, p.term);
    }
    c->next_x = mark;
}

static void get_var(struct bl_compiler *c, struct bl_cvar *v, int x) {
    if (v->occurrences == 1)
        return;
    if (!v->seen && !v->permanent && v->at == x) {
        v->seen = true;
        return;
    }
    const enum bl_opcode op =
        v->seen ? (v->permanent ? BL_OP_GET_VAL_Y : BL_OP_GET_VAL_X)
                : (v->permanent ? BL_OP_GET_VAR_Y : BL_OP_GET_VAR_X);
    emit3(c, op, (bl_word)v->at, x);
    v->seen = true;
}

void bl_compile_get(struct bl_compiler *c, bl_word t, int x) {
    bl_word literal;
    struct bl_cvar *const v = bl_cvar_of(c, t);
    if (v != NULL)
        get_var(c, v, x);
    else if (bl_is_compound(t) && (literal = bl_compile_literal(c, t)) != 0)
        emit3(c, BL_OP_GET_TERM, literal, x);
    else if (bl_is_compound(t))
        structure(c, t, x, BL_OP_GET_STR, BL_OP_GET_LIST);
    else if (bl_is_float(t))
        emit3(c, BL_OP_GET_FLOAT, float_bits(t), x);
    else if (bl_is_big(t))
        emit3(c, BL_OP_GET_TERM, bl_compile_big(c, t), x);
    else
        emit3(c, BL_OP_GET_CONST, t, x);
}

static void put_var(struct bl_compiler *c, struct bl_cvar *v, int x) {
    if (v->occurrences == 1) {
        emit3(c, BL_OP_PUT_VAR_X, (bl_word)x, x);
        return;
    }
    if (v->seen && !v->permanent && v->at == x)
        return;
    const enum bl_opcode op =
        v->seen ? (v->permanent ? BL_OP_PUT_VAL_Y : BL_OP_PUT_VAL_X)
                : (v->permanent ? BL_OP_PUT_VAR_Y : BL_OP_PUT_VAR_X);
    emit3(c, op, (bl_word)v->at, x);
    v->seen = true;
}

void bl_compile_put(struct bl_compiler *c, bl_word t, int x) {
    bl_word literal;
    struct bl_cvar *const v = bl_cvar_of(c, t);
    if (v != NULL)
        put_var(c, v, x);
    else if (bl_is_compound(t) && (literal = bl_compile_literal(c, t)) != 0)
        emit3(c, BL_OP_PUT_CONST, literal, x);
    else if (bl_is_compound(t))
        structure(c, t, x, BL_OP_PUT_STR, BL_OP_PUT_LIST);
    else if (bl_is_float(t))
        emit3(c, BL_OP_PUT_FLOAT, float_bits(t), x);
    else if (bl_is_big(t))
        emit3(c, BL_OP_PUT_CONST, bl_compile_big(c, t), x);
    else
        emit3(c, BL_OP_PUT_CONST, t, x);
}

int bl_compile_var_in(struct bl_compiler *c, struct bl_cvar *v, int spare) {
    if (v->permanent) {
        put_var(c, v, spare);
        return spare;
    }
    if (!v->seen) {
        emit3(c, BL_OP_PUT_VAR_X, (bl_word)v->at, v->at);
        v->seen = true;
    }
    return v->at;
}

void bl_compile_head(struct bl_compiler *c, bl_word head) {
    if (!bl_is_compound(head))
        return;
    const uint32_t n = arity_of(head);
    const bl_word *const args = bl_term_args(head);
    // Atomic arguments first: they fail at the least cost. Then variables, so
    // that one which stays in its register is there before a structure that
    // contains it is matched.
    for (int pass = 0; pass < 3; pass++) {
        for (uint32_t i = 0; i < n; i++) {
            const bl_word t = bl_deref(args[i]);
            const int when = bl_tag(t) == BL_LVL ? 1
                             : bl_is_compound(t) ? 2
                                                 : 0;
            if (when == pass)
                bl_compile_get(c, t, (int)i);
        }
    }
}
