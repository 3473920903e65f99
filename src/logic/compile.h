// SPDX-License-Identifier: MIT
//
// The state of compiling one clause, shared by the files that do it:
// `compile.c` (order of work, variables), `compile_term.c` (unification),
// `compile_body.c` (goals and control), `compile_arith.c`.
//
// While a clause is compiled its variables on the heap hold their number (a
// LVL word); `bl_clause_compile` makes them variables again.
//
#ifndef BL_LOGIC_COMPILE_H
#define BL_LOGIC_COMPILE_H

#include "logic/clause.h"
#include "logic/error.h"
#include "logic/record.h"

struct bl_cvar {
    bl_word *cell;
    uint32_t occurrences;
    uint32_t chunk;     // of its first occurrence
    uint32_t last_goal; // number of the goal of its last occurrence
    int head_arg;       // argument of the head it is, or -1
    int goal_arg;       // first argument of the first call it is, or -1
    int at;             // register, or environment slot
    bool permanent;
    bool seen; // has its value on the path being compiled
};

struct bl_compiler {
    struct bl_machine *m;
    struct bl_pred *pred;
    bl_word *code;
    size_t used, capacity;
    struct bl_cvar *var;
    size_t vars, var_capacity;
    size_t *label; // position of each label
    size_t labels, label_capacity;
    size_t *fixup; // where a label's number stands
    size_t fixups, fixup_capacity;
    size_t *note; // of each control construct, the last goal in it
    size_t notes, note_capacity;
    struct bl_pending {
        int x; // register; below 0: environment slot ~x
        bl_word term;
    } * pending; // structures to be matched after the one at hand
    size_t pendings, pending_capacity;
    // the variables in the first environment slots, or NULL
    const struct bl_cvar *in_slot[BL_LIVE_SLOTS];
    struct bl_literal *literals;
    size_t literal_visits;
    uint64_t levels_live; // environment slots with levels that are needed
    uint32_t goal;        // number of the goal at hand
    uint32_t chunk;
    uint32_t calls;
    uint32_t max_arity;
    size_t term_words;
    int slots;    // environment slots given out
    int first;    // those that are always live; -1: each call names its own
    int next_x;   // next free register
    int first_x;  // registers from here on are for structures
    int cut_slot; // holds the level of the clause, or -1
    bool analysing;
    bool control;   // some goal is a control construct
    bool uses_args; // a goal of the first chunk uses argument registers
    bool neck_only; // cuts only in the first chunk
    bool has_cut;
    bool environment;
    bool call_after; // some goal follows the first call
    bool barrier;
    bool open;   // runs builtins that may be defined anew
    bool failed; // ball set
};

void bl_emit(struct bl_compiler *c, bl_word w);
size_t bl_new_label(struct bl_compiler *c);
void bl_emit_label(struct bl_compiler *c, size_t label); // as an operand
void bl_place_label(struct bl_compiler *c, size_t label);

size_t bl_note_construct(struct bl_compiler *c); // its place in `note`

// compile_term.c
BL_INLINE struct bl_cvar *bl_cvar_of(struct bl_compiler *c, bl_word w) {
    return bl_tag(w) == BL_LVL ? &c->var[w >> BL_TAG_BITS] : NULL;
}
void bl_compile_head(struct bl_compiler *c, bl_word head);
void bl_compile_get(struct bl_compiler *c, bl_word t, int x);
void bl_compile_put(struct bl_compiler *c, bl_word t, int x);
// A large ground term as the clause keeps it; 0 where it is not one.
bl_word bl_compile_literal(struct bl_compiler *c, bl_word t);
// A large integer, which code refers to whatever its size.
bl_word bl_compile_big(struct bl_compiler *c, bl_word t);
// A register that holds the variable: its own, or `spare` loaded with it.
int bl_compile_var_in(struct bl_compiler *c, struct bl_cvar *v, int spare);
int bl_spare_x(struct bl_compiler *c);

// The arguments of a compound term of the clause, on top of `depth` words of
// the scratch, which has room for them since the variables were numbered; the
// first on top. Returns the new depth.
BL_INLINE size_t bl_push_args(struct bl_compiler *c, bl_word t, size_t depth) {
    if (!bl_is_compound(t))
        return depth;
    const size_t n = bl_tag(t) == BL_LST ? 2 : bl_functor_arity(*bl_ptr(t));
    for (size_t i = n; i-- > 0;)
        bl_scratch(c->m)[depth++] = bl_term_args(t)[i];
    return depth;
}

// compile_body.c
// Counts the variables of a term as occurrences in the goal at hand.
void bl_count_vars(struct bl_compiler *c, bl_word t);
void bl_compile_body(struct bl_compiler *c, bl_word body);

// compile_arith.c
bool bl_compile_is(struct bl_compiler *c, const bl_word *args);
// `label` SIZE_MAX: fail where it does not hold.
bool bl_compile_compare(struct bl_compiler *c, enum bl_opcode op,
                        const bl_word *args, size_t label);

// The number of an evaluable functor, or -1; see arith.c.
int bl_arith_operation(bl_word functor);

#endif
