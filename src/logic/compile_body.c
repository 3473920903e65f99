// SPDX-License-Identifier: MIT
//
// Goals and control constructs. Conjunctions are followed in a loop;
// disjunctions, if-then-else and negation become choice points inside the
// clause, or jumps where the condition is a test that binds nothing.
//
// Both passes go through the same functions in the same order, so that the
// goals have the same numbers in both.
//
#include "logic/compile.h"

#include "logic/goal.h"
#include "logic/memory.h"
#include "logic/record.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 2000 };

struct context {
    bool tail;      // nothing of the clause follows
    bool condition; // inside a condition or a negation
    int cut_slot;   // level that `!` cuts to; -1: the clause's
    int depth;
};

struct branches {
    bl_word condition; // 0: none, a plain disjunction
    bl_word then;
    bl_word otherwise;
    bool soft;
};

static void body(struct bl_compiler *c, bl_word t, struct context x);

static bool is_term(bl_word t, enum bl_known_atom name, uint32_t arity) {
    return bl_tag(t) == BL_STR && bl_functor_arity(*bl_ptr(t)) == arity &&
           bl_functor_name(*bl_ptr(t)) == bl_atom_word(name);
}

// ---- counting occurrences

static void count_var(struct bl_compiler *c, struct bl_cvar *v) {
    if (v->occurrences == 0)
        v->chunk = v->head_arg >= 0 ? 0 : c->chunk;
    v->occurrences++;
    v->permanent = v->permanent || v->chunk != c->chunk;
    v->last_goal = c->goal;
}

void bl_count_vars(struct bl_compiler *c, bl_word t) {
    size_t depth = 0;
    for (;;) {
        t = bl_deref(t);
        struct bl_cvar *const v = bl_cvar_of(c, t);
        if (v != NULL)
            count_var(c, v);
        else
            depth = bl_push_args(c, t, depth);
        if (depth == 0)
            return;
        t = bl_scratch(c->m)[--depth];
    }
}

// Sets `bit` in the mark of each variable of the term.
static void mark_vars(struct bl_compiler *c, bl_word t, uint8_t *marks,
                      uint8_t bit) {
    size_t depth = 0;
    for (;;) {
        t = bl_deref(t);
        if (bl_tag(t) == BL_LVL)
            marks[t >> BL_TAG_BITS] |= bit;
        else
            depth = bl_push_args(c, t, depth);
        if (depth == 0)
            return;
        t = bl_scratch(c->m)[--depth];
    }
}

static bool occurs(struct bl_compiler *c, const struct bl_cvar *v, bl_word t) {
    size_t depth = 0;
    for (;;) {
        t = bl_deref(t);
        if (bl_cvar_of(c, t) == v)
            return true;
        depth = bl_push_args(c, t, depth);
        if (depth == 0)
            return false;
        t = bl_scratch(c->m)[--depth];
    }
}

// ---- calls

static void finish(struct bl_compiler *c, struct context x) {
    if (!x.tail)
        return;
    if (c->environment)
        bl_emit(c, BL_OP_DEALLOCATE);
    bl_emit(c, BL_OP_PROCEED);
}

static bl_word live_slots(const struct bl_compiler *c, struct context x) {
    bl_word live = c->levels_live;
    for (int i = 0; i < c->slots && i < (int)BL_LIVE_SLOTS; i++) {
        const struct bl_cvar *const v = c->in_slot[i];
        if (v != NULL && v->seen && v->last_goal > c->goal)
            live |= (bl_word)1 << i;
    }
    if (c->first >= 0)
        live = BL_LIVE_FIRST | (bl_word)c->first;
    if (x.condition || c->barrier)
        live |= BL_LIVE_BARRIER;
    return live;
}

static void count_call(struct bl_compiler *c, bl_word functor,
                       const bl_word *args) {
    const uint32_t n = bl_functor_arity(functor);
    for (uint32_t i = 0; i < n; i++) {
        struct bl_cvar *const v = bl_cvar_of(c, bl_deref(args[i]));
        // the argument that a variable of the head may stay in
        if (v != NULL && c->calls == 0 &&
            (v->goal_arg < 0 || v->head_arg == (int)i))
            v->goal_arg = (int)i;
        bl_count_vars(c, args[i]);
    }
    if (n > c->max_arity)
        c->max_arity = n;
}

static void call(struct bl_compiler *c, bl_word functor, const bl_word *args,
                 struct context x) {
    const uint32_t n = bl_functor_arity(functor);
    if (c->analysing) {
        c->call_after = c->call_after || c->calls > 0 || !x.tail;
        count_call(c, functor, args);
    }
    c->calls++;
    c->chunk++;
    if (c->analysing)
        return;
    for (uint32_t i = 0; i < n; i++)
        bl_compile_put(c, bl_deref(args[i]), (int)i);
    struct bl_pred *const p = bl_pred_ensure(functor);
    if (x.tail) {
        if (c->environment)
            bl_emit(c, BL_OP_DEALLOCATE);
        bl_emit(c, BL_OP_EXECUTE);
        bl_emit(c, bl_make(p, BL_REF));
        return;
    }
    bl_emit(c, BL_OP_CALL);
    bl_emit(c, bl_make(p, BL_REF));
    bl_emit(c, live_slots(c, x));
}

static void builtin(struct bl_compiler *c, struct bl_pred *p,
                    const bl_word *args, struct context x) {
    if (c->analysing) {
        for (uint32_t i = 0; i < p->arity; i++)
            bl_count_vars(c, args[i]);
        if (p->arity > c->max_arity)
            c->max_arity = p->arity;
        c->uses_args = c->uses_args || c->chunk == 0;
        return;
    }
    for (uint32_t i = 0; i < p->arity; i++)
        bl_compile_put(c, bl_deref(args[i]), (int)i);
    bl_emit(c, BL_OP_BUILTIN);
    bl_emit(c, bl_make(p, BL_REF));
    finish(c, x);
}

// ---- unification and tests in line

// A register that holds the term.
static int operand(struct bl_compiler *c, bl_word t) {
    struct bl_cvar *const v = bl_cvar_of(c, t);
    const int spare = bl_spare_x(c);
    if (v != NULL && v->occurrences > 1)
        return bl_compile_var_in(c, v, spare);
    bl_compile_put(c, t, spare);
    return spare;
}

static void assign(struct bl_compiler *c, struct bl_cvar *v, bl_word t) {
    if (!v->permanent) {
        bl_compile_put(c, t, v->at);
    } else {
        const int spare = bl_spare_x(c);
        bl_compile_put(c, t, spare);
        bl_emit(c, BL_OP_GET_VAR_Y);
        bl_emit(c, (bl_word)v->at);
        bl_emit(c, (bl_word)spare);
    }
    v->seen = true;
}

static void unify(struct bl_compiler *c, bl_word a, bl_word b) {
    struct bl_cvar *v = bl_cvar_of(c, a);
    if (v == NULL || (v->seen && bl_cvar_of(c, b) != NULL)) {
        const bl_word other = a;
        a = b;
        b = other;
        v = bl_cvar_of(c, a);
    }
    if (v != NULL && v->occurrences == 1)
        return;
    if (v != NULL && !v->seen && !occurs(c, v, b))
        assign(c, v, b);
    else
        bl_compile_get(c, b, operand(c, a));
}

struct inline_test {
    const char *name;
    uint32_t arity;
    enum bl_opcode op;
};

static const struct inline_test inline_tests[] = {
    {"var", 1, BL_OP_TEST_VAR},
    {"nonvar", 1, BL_OP_TEST_NONVAR},
    {"atom", 1, BL_OP_TEST_ATOM},
    {"integer", 1, BL_OP_TEST_INTEGER},
    {"number", 1, BL_OP_TEST_NUMBER},
    {"atomic", 1, BL_OP_TEST_ATOMIC},
    {"compound", 1, BL_OP_TEST_COMPOUND},
    {"callable", 1, BL_OP_TEST_CALLABLE},
    {"==", 2, BL_OP_TEST_EQ},
    {"\\==", 2, BL_OP_TEST_NEQ},
    {"<", 2, BL_OP_A_LT},
    {"=<", 2, BL_OP_A_LE},
    {"=:=", 2, BL_OP_A_EQ},
    {"=\\=", 2, BL_OP_A_NE},
    {">=", 2, BL_OP_A_GE},
    {">", 2, BL_OP_A_GT},
};

static const struct inline_test *find_test(bl_word goal) {
    if (!bl_is_compound(goal))
        return NULL;
    const bl_word f = bl_term_functor(goal);
    const char *const name = bl_atom_text(bl_functor_name(f));
    for (size_t i = 0; i < BL_ARRAY_LEN(inline_tests); i++) {
        const struct inline_test *const t = &inline_tests[i];
        if (t->arity == bl_functor_arity(f) && strcmp(t->name, name) == 0)
            return t;
    }
    return NULL;
}

// Writes the test; where it does not hold, control goes to `label` (SIZE_MAX:
// it fails). False where arithmetic cannot be compiled: nothing was written.
static bool test(struct bl_compiler *c, const struct inline_test *t,
                 bl_word goal, size_t label) {
    const bl_word *const args = bl_term_args(goal);
    if (t->op >= BL_OP_A_LT && t->op <= BL_OP_A_GT)
        return bl_compile_compare(c, t->op, args, label);
    if (c->analysing) {
        for (uint32_t i = 0; i < t->arity; i++)
            bl_count_vars(c, args[i]);
        return true;
    }
    const int mark = c->next_x;
    const int a = operand(c, bl_deref(args[0]));
    const int b = t->arity == 2 ? operand(c, bl_deref(args[1])) : 0;
    bl_emit(c, t->op);
    bl_emit(c, (bl_word)a);
    if (t->arity == 2)
        bl_emit(c, (bl_word)b);
    if (label == SIZE_MAX)
        bl_emit(c, 0);
    else
        bl_emit_label(c, label);
    c->next_x = mark;
    return true;
}

// ---- control

static uint8_t *save_seen(const struct bl_compiler *c) {
    uint8_t *const seen = malloc(c->vars + 1);
    bl_must_have(seen);
    for (size_t i = 0; i < c->vars; i++)
        seen[i] = c->var[i].seen;
    return seen;
}

static void restore_seen(struct bl_compiler *c, const uint8_t *seen) {
    for (size_t i = 0; i < c->vars; i++)
        c->var[i].seen = seen[i] != 0;
}

// Variables that are first met in one branch and met again outside it are made
// before the branches part.
static void init_shared(struct bl_compiler *c, const struct branches *b,
                        size_t end_goal) {
    uint8_t *const marks = calloc(c->vars + 1, 1);
    bl_must_have(marks);
    if (b->condition != 0)
        mark_vars(c, b->condition, marks, 1);
    mark_vars(c, b->then, marks, 1);
    mark_vars(c, b->otherwise, marks, 2);
    for (size_t i = 0; i < c->vars; i++) {
        struct bl_cvar *const v = &c->var[i];
        if (v->seen || marks[i] == 0 || v->occurrences < 2)
            continue;
        if (marks[i] == 3 || v->last_goal > end_goal) {
            bl_emit(c, BL_OP_INIT_Y);
            bl_emit(c, (bl_word)v->at);
            v->seen = true;
        }
    }
    free(marks);
}

static int new_slot(struct bl_compiler *c) {
    return c->analysing ? 0 : c->slots++;
}

static void set_level(struct bl_compiler *c, int slot, bool live) {
    if (slot >= (int)BL_LIVE_SLOTS)
        return;
    const uint64_t bit = (uint64_t)1 << slot;
    c->levels_live = live ? c->levels_live | bit : c->levels_live & ~bit;
}

static void emit_jump(struct bl_compiler *c, enum bl_opcode op, size_t label) {
    if (c->analysing)
        return;
    bl_emit(c, op);
    bl_emit_label(c, label);
}

static void emit_slot(struct bl_compiler *c, enum bl_opcode op, int slot) {
    bl_emit(c, op);
    bl_emit(c, (bl_word)slot);
}

static void place(struct bl_compiler *c, size_t label) {
    if (!c->analysing)
        bl_place_label(c, label);
}

static bool is_disjunction(bl_word t) {
    return is_term(t, BL_ATOM_semicolon, 2) || is_term(t, BL_ATOM_bar, 2);
}

static bool is_condition(bl_word t) {
    return is_term(t, BL_ATOM_arrow, 2) || is_term(t, BL_ATOM_softarrow, 2);
}

// Whether a condition has a cut of its own: outside of the conditions in it.
static bool has_cut(struct bl_compiler *c, bl_word t) {
    size_t depth = 0;
    for (;;) {
        t = bl_goal_plain(t);
        if (t == BL_ATOM(cut))
            return true;
        if (is_term(t, BL_ATOM_comma, 2) || is_disjunction(t))
            depth = bl_push_args(c, t, depth);
        else if (is_condition(t))
            bl_scratch(c->m)[depth++] = bl_ptr(t)[2];
        if (depth == 0)
            return false;
        t = bl_scratch(c->m)[--depth];
    }
}

// The condition and what follows it, up to the else branch. A cut in the
// condition is local to it and keeps the else branch.
static void conditional(struct bl_compiler *c, const struct branches *b,
                        struct context x, size_t otherwise) {
    struct context in = x;
    in.tail = false;
    in.condition = true;
    const int slot = new_slot(c);
    in.cut_slot = slot;
    emit_slot(c, BL_OP_MARK_LEVEL, slot);
    emit_jump(c, BL_OP_TRY_ELSE, otherwise);
    set_level(c, slot, true);
    if (has_cut(c, b->condition)) {
        in.cut_slot = new_slot(c);
        emit_slot(c, BL_OP_MARK_LEVEL, in.cut_slot);
        set_level(c, in.cut_slot, true);
    }
    body(c, b->condition, in);
    set_level(c, in.cut_slot, false);
    set_level(c, slot, false);
    emit_slot(c, b->soft ? BL_OP_SOFT_CUT : BL_OP_CUT_TO, slot);
    body(c, b->then, x);
}

// A condition that is a test in line needs no choice point.
static bool quick_conditional(struct bl_compiler *c, const struct branches *b,
                              struct context x, size_t otherwise) {
    if (b->soft)
        return false;
    const bl_word goal = bl_deref(b->condition);
    const struct inline_test *const t = find_test(goal);
    if (t == NULL)
        return false;
    c->goal++;
    if (!test(c, t, goal, otherwise)) {
        c->goal--;
        return false;
    }
    body(c, b->then, x);
    return true;
}

static void both_branches(struct bl_compiler *c, const struct branches *b,
                          struct context x, const uint8_t *seen) {
    const size_t otherwise = bl_new_label(c);
    const size_t end = bl_new_label(c);
    bool chosen = true; // a choice point was made
    if (b->condition == 0) {
        emit_jump(c, BL_OP_TRY_ELSE, otherwise);
        body(c, b->then, x);
    } else if (quick_conditional(c, b, x, otherwise)) {
        chosen = false;
    } else {
        conditional(c, b, x, otherwise);
    }
    if (!x.tail)
        emit_jump(c, BL_OP_JUMP, end);
    if (!c->analysing)
        restore_seen(c, seen);
    place(c, otherwise);
    if (chosen)
        bl_emit(c, BL_OP_TRUST_ELSE);
    body(c, b->otherwise, x);
    place(c, end);
}

static void control(struct bl_compiler *c, const struct branches *b,
                    struct context x) {
    c->control = true;
    c->goal++;
    // The first pass notes with which goal each construct ends, the second
    // meets the constructs in the same order.
    const size_t note = bl_note_construct(c);
    x.depth++;
    uint8_t *seen = NULL;
    if (!c->analysing) {
        init_shared(c, b, c->note[note]);
        seen = save_seen(c);
    }
    both_branches(c, b, x, seen);
    if (c->analysing)
        c->note[note] = c->goal;
    else
        restore_seen(c, seen);
    free(seen);
    c->goal++;
}

// A negation of a tabled goal: it can wait for the goal to be settled.
static bool is_absence(bl_word t) {
    if (!is_term(t, BL_ATOM_not_provable, 1) && !is_term(t, BL_ATOM_not, 1))
        return false;
    const bl_word goal = bl_goal_plain(bl_ptr(t)[1]);
    if (!bl_is_callable(goal))
        return false;
    const struct bl_pred *const p = bl_functor_pred(bl_term_functor(goal));
    return p != NULL && (p->flags & BL_PRED_TABLED) != 0;
}

// Whether the goal is a control construct; then *b is what it says.
static bool as_branches(bl_word t, struct branches *b) {
    *b = (struct branches){0, 0, BL_ATOM(fail), false};
    if (is_term(t, BL_ATOM_not_provable, 1) || is_term(t, BL_ATOM_not, 1)) {
        b->condition = bl_ptr(t)[1];
        b->then = BL_ATOM(fail);
        b->otherwise = BL_ATOM(true);
        return true;
    }
    bl_word first = t;
    const bool disjunction = is_disjunction(t);
    if (disjunction) {
        first = bl_deref(bl_ptr(t)[1]);
        b->otherwise = bl_ptr(t)[2];
    }
    b->soft = is_term(first, BL_ATOM_softarrow, 2);
    if (b->soft || is_term(first, BL_ATOM_arrow, 2)) {
        b->condition = bl_ptr(first)[1];
        b->then = bl_ptr(first)[2];
        return true;
    }
    b->then = first;
    return disjunction;
}

// ---- goals

static void cut(struct bl_compiler *c, struct context x) {
    if (c->analysing && x.cut_slot < 0) {
        c->has_cut = true;
        if (c->chunk > 0)
            c->neck_only = false;
    }
    if (x.cut_slot >= 0)
        emit_slot(c, BL_OP_CUT_TO, x.cut_slot);
    else if (c->cut_slot >= 0)
        emit_slot(c, BL_OP_CUT_TO, c->cut_slot);
    else
        bl_emit(c, BL_OP_CUT_NECK);
    finish(c, x);
}

// Goals compiled in line; false where this is none.
static bool inline_goal(struct bl_compiler *c, bl_word t, struct context x) {
    const struct inline_test *const found = find_test(t);
    if (found != NULL && test(c, found, t, SIZE_MAX)) {
        finish(c, x);
        return true;
    }
    if (is_term(t, BL_ATOM_equals, 2)) {
        if (c->analysing) {
            bl_count_vars(c, bl_ptr(t)[1]);
            bl_count_vars(c, bl_ptr(t)[2]);
        } else {
            const int mark = c->next_x;
            unify(c, bl_deref(bl_ptr(t)[1]), bl_deref(bl_ptr(t)[2]));
            c->next_x = mark;
        }
        finish(c, x);
        return true;
    }
    if (is_term(t, BL_ATOM_is, 2) && bl_compile_is(c, bl_ptr(t) + 1)) {
        finish(c, x);
        return true;
    }
    return false;
}

// A builtin that the program may yet define anew is an instruction too, where
// the clause can be compiled again then.
static bool is_instruction(struct bl_compiler *c, const struct bl_pred *p) {
    if (bl_load_relaxed(&p->entry) != BL_OP_E_BUILTIN)
        return false;
    if ((p->flags & BL_PRED_OPEN) == 0 || (c->pred->flags & BL_PRED_LIBRARY))
        return true;
    c->open = true;
    return bl_functor_name(c->pred->functor) != BL_ATOM(query_goal);
}

static void plain_goal(struct bl_compiler *c, bl_word t, struct context x) {
    if (c->analysing && c->calls > 0)
        c->call_after = true;
    if (inline_goal(c, t, x))
        return;
    const bl_word functor = bl_term_functor(t);
    if (bl_functor_arity(functor) > BL_MAX_ARITY) {
        if (!c->failed)
            bl_throw_representation(c->m, "max_arity");
        c->failed = true;
        return;
    }
    struct bl_pred *const p = bl_functor_pred(functor);
    const bl_word *const args = bl_is_atom(t) ? NULL : bl_term_args(t);
    if (p != NULL && is_instruction(c, p))
        builtin(c, p, args, x);
    else
        call(c, functor, args, x);
}

static void goal(struct bl_compiler *c, bl_word t, struct context x) {
    t = bl_goal_plain(t);
    struct branches b;
    c->goal++;
    if (bl_tag(t) == BL_LVL) {
        if (c->analysing && c->calls > 0)
            c->call_after = true;
        call(c, BL_FN(call_1), &t, x);
    } else if (!bl_is_callable(t)) {
        if (!c->failed)
            bl_throw_type(c->m, BL_ATOM_callable, t);
        c->failed = true;
    } else if (t == BL_ATOM(true) || t == BL_ATOM(otherwise)) {
        finish(c, x);
    } else if (t == BL_ATOM(fail) || t == BL_ATOM(false)) {
        bl_emit(c, BL_OP_FAIL);
    } else if (t == BL_ATOM(cut)) {
        if (c->analysing && c->calls > 0)
            c->call_after = true;
        cut(c, x);
    } else if (is_absence(t)) {
        if (c->analysing && c->calls > 0)
            c->call_after = true;
        call(c, BL_FN(tnot_1), bl_ptr(t) + 1, x);
    } else if (as_branches(t, &b)) {
        control(c, &b, x);
    } else {
        plain_goal(c, t, x);
    }
}

static void body(struct bl_compiler *c, bl_word t, struct context x) {
    if (x.depth > MAX_NESTING) {
        if (!c->failed)
            bl_throw_representation(c->m, "nesting_of_goals");
        c->failed = true;
        return;
    }
    struct context inner = x;
    inner.tail = false;
    inner.depth++;
    t = bl_deref(t);
    while (is_term(t, BL_ATOM_comma, 2)) {
        const bl_word left = bl_deref(bl_ptr(t)[1]);
        if (is_term(left, BL_ATOM_comma, 2))
            body(c, left, inner);
        else
            goal(c, left, inner);
        t = bl_deref(bl_ptr(t)[2]);
    }
    goal(c, t, x);
}

void bl_compile_body(struct bl_compiler *c, bl_word t) {
    const struct context x = {.tail = true, .cut_slot = -1};
    c->notes = 0;
    body(c, t, x);
}
