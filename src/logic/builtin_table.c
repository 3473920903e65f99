// SPDX-License-Identifier: MIT
//
// Tables as a program sees them: declaring, dropping, looking at them.
//
#include "logic/builtin.h"
#include "logic/engine.h"
#include "logic/kept.h"
#include "logic/moded.h"
#include "logic/record.h"
#include "logic/statistics.h"
#include "logic/tabling.h"

#include <string.h>

// Subsumptive tables have the answers of variant ones; which tables depend on
// what is not kept, so that all are incremental.
static bool changes_nothing(bl_word t) {
    static const char *const names[] = {"variant", "subsumptive", "incremental",
                                        "opaque",  "monotonic",   "lazy"};
    for (size_t i = 0; bl_is_atom(t) && i < BL_ARRAY_LEN(names); i++) {
        if (strcmp(bl_atom_text(t), names[i]) == 0)
            return true;
    }
    return false;
}

// What stands behind `as`.
struct properties {
    int design; // -1: the default one
    uint32_t depth;
};

static bool is_abstract(bl_word t) {
    return bl_tag(t) == BL_STR &&
           *bl_ptr(t) == bl_functor(bl_atom_str("subgoal_abstract"), 1);
}

// subgoal_abstract(N)
static int abstract_depth(struct bl_machine *m, bl_word t, uint32_t *depth) {
    int64_t n;
    if (bl_take_size(m, bl_ptr(t)[1], &n) != BL_TRUE)
        return BL_THROW;
    if (n > BL_DEPTH_MAX)
        return bl_throw_domain(m, "table_mode", t);
    *depth = (uint32_t)n;
    return BL_TRUE;
}

static int one_property(struct bl_machine *m, bl_word t, struct properties *p) {
    if (t == BL_ATOM(shared))
        p->design = BL_TABLE_FS;
    else if (t == BL_ATOM(subgoal_shared))
        p->design = BL_TABLE_SS;
    else if (t == BL_ATOM(private))
        p->design = BL_TABLE_NS;
    else if (is_abstract(t))
        return abstract_depth(m, t, &p->depth);
    else if (!changes_nothing(t))
        return bl_throw_domain(m, "table_mode", t);
    return BL_TRUE;
}

// One property, or several as in (subsumptive, shared).
static int properties_of(struct bl_machine *m, bl_word t,
                         struct properties *p) {
    t = bl_deref(t);
    while (bl_tag(t) == BL_STR && *bl_ptr(t) == BL_FN(comma_2)) {
        if (one_property(m, bl_deref(bl_ptr(t)[1]), p) != BL_TRUE ||
            !bl_scratch_ensure(m, 0)) // there may be no end
            return BL_THROW;
        t = bl_deref(bl_ptr(t)[2]);
    }
    return one_property(m, t, p);
}

// p//1, a grammar's nonterminal, is p/3.
static bool is_nonterminal(bl_word t, bl_word *functor) {
    if (bl_tag(t) != BL_STR || *bl_ptr(t) != bl_functor(BL_ATOM(intdiv), 2))
        return false;
    const bl_word name = bl_deref(bl_ptr(t)[1]);
    const bl_word n = bl_deref(bl_ptr(t)[2]);
    if (!bl_is_atom(name) || !bl_is_int(n) || bl_int_value(n) < 0 ||
        bl_int_value(n) > BL_MAX_ARITY - 2)
        return false;
    *functor = bl_functor(name, (uint32_t)bl_int_value(n) + 2);
    return true;
}

// p/2, or p(_, _) with a mode for some arguments.
static int take_tabled(struct bl_machine *m, bl_word t, uint32_t depth,
                       bl_word *functor, struct bl_modes **modes) {
    bool indicator = true;
    while (bl_tag(t) == BL_STR && *bl_ptr(t) == BL_FN(colon_2))
        t = bl_deref(bl_ptr(t)[2]);
    if (!is_nonterminal(t, functor)) {
        indicator = bl_tag(t) != BL_STR || *bl_ptr(t) == BL_FN(slash_2);
        if (!indicator)
            *functor = *bl_ptr(t);
        else if (bl_take_indicator(m, t, functor) != BL_TRUE)
            return BL_THROW;
    }
    return indicator
               ? bl_modes_of_depth(m, bl_functor_arity(*functor), depth, modes)
               : bl_modes_read(m, t, depth, modes);
}

static int not_now(struct bl_machine *m) {
    return bl_throw_permission(m, BL_ATOM_modify, BL_ATOM_table,
                               bl_atom_str("being_evaluated"));
}

static bool is_as(bl_word t) {
    return bl_tag(t) == BL_STR && *bl_ptr(t) == BL_FN(as_2);
}

// In `p/1 as variant, opaque, q/1` the second property belongs to p/1 too.
static int more_properties(struct bl_machine *m, bl_word *rest,
                           struct properties *p) {
    for (;;) {
        const bool pair =
            bl_tag(*rest) == BL_STR && *bl_ptr(*rest) == BL_FN(comma_2);
        const bl_word t = pair ? bl_deref(bl_ptr(*rest)[1]) : *rest;
        if (!is_abstract(t) && (!bl_is_atom(t) || t == BL_ATOM(nil)))
            return BL_TRUE;
        if (one_property(m, t, p) != BL_TRUE || !bl_scratch_ensure(m, 0))
            return BL_THROW;
        *rest = pair ? bl_deref(bl_ptr(*rest)[2]) : BL_ATOM(nil);
    }
}

static int declare(struct bl_machine *m, bl_word t, struct properties its) {
    bl_word f;
    if (is_as(t)) {
        if (properties_of(m, bl_ptr(t)[2], &its) != BL_TRUE)
            return BL_THROW;
        t = bl_deref(bl_ptr(t)[1]);
    }
    struct bl_modes *modes;
    if (take_tabled(m, t, its.depth, &f, &modes) != BL_TRUE)
        return BL_THROW;
    struct bl_pred *const p = bl_pred_ensure(f);
    if (!bl_pred_take_over(m, p))
        return bl_throw_permission(m, BL_ATOM_modify, BL_ATOM_static_procedure,
                                   bl_indicator(m, f));
    if (bl_pred_changes_table(p, its.design, modes) && m->tabler != NULL &&
        m->tabler->top != NULL)
        return not_now(m);
    bl_pred_make_tabled(p, its.design, modes);
    return BL_TRUE;
}

// (a/1, b/2), [a/1, b/2], (a/1, b/2) as shared.
static int table_1(struct bl_machine *m, bl_word *a) {
    bl_word t = bl_deref(a[0]);
    struct properties all = {-1, BL_DEPTH_ANY};
    if (is_as(t)) {
        if (properties_of(m, bl_ptr(t)[2], &all) != BL_TRUE)
            return BL_THROW;
        t = bl_deref(bl_ptr(t)[1]);
    }
    while (t != BL_ATOM(nil)) {
        const bool pair = bl_tag(t) == BL_STR && *bl_ptr(t) == BL_FN(comma_2);
        const bool list = bl_tag(t) == BL_LST;
        const bl_word first = bl_deref(pair   ? bl_ptr(t)[1]
                                       : list ? bl_ptr(t)[0]
                                              : t);
        struct properties its = all;
        t = pair || list ? bl_deref(bl_ptr(t)[pair ? 2 : 1]) : BL_ATOM(nil);
        if (is_as(first) && more_properties(m, &t, &its) != BL_TRUE)
            return BL_THROW;
        if (declare(m, first, its) != BL_TRUE || !bl_scratch_ensure(m, 0))
            return BL_THROW;
    }
    return BL_TRUE;
}

int bl_abolish_tables(struct bl_machine *m) {
    m->tabler->abolish_soon = true;
    return bl_abolish_if_idle(m) ? BL_TRUE : BL_THROW;
}

int bl_may_abolish_tables(struct bl_machine *m) {
    return m->tabler->top == NULL ? BL_TRUE : not_now(m);
}

static int abolish_all_tables_0(struct bl_machine *m, bl_word *a) {
    (void)a;
    return bl_abolish_tables(m);
}

// The tabled predicate that an indicator names.
static int take_table(struct bl_machine *m, bl_word indicator,
                      const struct bl_pred **p) {
    bl_word f;
    if (bl_take_indicator(m, indicator, &f) != BL_TRUE)
        return BL_THROW;
    *p = bl_functor_pred(f);
    if (*p == NULL || ((*p)->flags & BL_PRED_TABLED) == 0)
        return bl_throw_existence(m, BL_ATOM_table, bl_deref(indicator));
    return BL_TRUE;
}

static int abolish_table_1(struct bl_machine *m, bl_word *a) {
    const struct bl_pred *p;
    if (take_table(m, a[0], &p) != BL_TRUE)
        return BL_THROW;
    if (m->tabler->top != NULL)
        return not_now(m);
    struct bl_table *const table = bl_pred_table(p);
    if (!bl_keep_answers(m, table))
        return BL_THROW;
    return bl_table_abolish(m->tabler->thread, table) ? BL_TRUE : not_now(m);
}

// '$untable'(PI): its clauses are resolved as any other's from now on.
static int untable_1(struct bl_machine *m, bl_word *a) {
    bl_word f;
    if (bl_take_indicator(m, a[0], &f) != BL_TRUE)
        return BL_THROW;
    struct bl_pred *const p = bl_functor_pred(f);
    if (p == NULL || (p->flags & BL_PRED_TABLED) == 0)
        return BL_TRUE;
    if (abolish_table_1(m, a) != BL_TRUE)
        return BL_THROW;
    bl_pred_untable(p);
    return BL_TRUE;
}

static int tabling_statistics_0(struct bl_machine *m, bl_word *a) {
    (void)a;
    bl_statistics_print(m, NULL);
    return m->ball == NULL ? BL_TRUE : BL_THROW;
}

static int tabling_statistics_1(struct bl_machine *m, bl_word *a) {
    const struct bl_pred *p;
    if (take_table(m, a[0], &p) != BL_TRUE)
        return BL_THROW;
    bl_statistics_print(m, p);
    return m->ball == NULL ? BL_TRUE : BL_THROW;
}

// '$table_counts'(PI, Counts): the figures of Table I as a list of Name-N.
static int table_counts_2(struct bl_machine *m, bl_word *a) {
    struct bl_table *table = NULL;
    if (!bl_is_var(bl_deref(a[0]))) {
        bl_word f;
        if (bl_take_indicator(m, a[0], &f) != BL_TRUE)
            return BL_THROW;
        const struct bl_pred *const p = bl_functor_pred(f);
        table = p != NULL ? bl_pred_table(p) : NULL;
        if (table == NULL)
            return BL_FAIL;
    }
    struct bl_table_counts c;
    bl_table_count(m->tabler->thread, table, &c);
    const struct {
        const char *name;
        uint64_t value;
    } figures[] = {{"calls", c.calls},
                   {"call_nodes", c.call_nodes},
                   {"unique", c.unique},
                   {"repeated", c.repeated},
                   {"answer_nodes", c.answer_nodes}};
    bl_word list = BL_ATOM(nil);
    for (size_t i = BL_ARRAY_LEN(figures); i-- > 0;)
        list = bl_list_cell(m,
                            bl_struct2(m, BL_ATOM(minus),
                                       bl_atom_str(figures[i].name),
                                       bl_int((int64_t)figures[i].value)),
                            list);
    return bl_answer(m, a[1], list);
}

// The call as a term; `known` false: of a table that was declared anew.
static bool current_call(struct bl_machine *m, const struct bl_subgoal *sg,
                         bool *known, bl_word *out) {
    struct bl_table *const table = bl_subgoal_table(sg);
    const struct bl_pred *const p = bl_table_user(table);
    const struct bl_modes *const modes = bl_load_acquire(&p->modes);
    *known = table == bl_modes_table(p, modes);
    return !*known || bl_goal_term(m, sg, modes, out);
}

struct collecting {
    struct bl_machine *m;
    bl_word list;
    bool failed;
};

static void collect_call(struct bl_subgoal *sg, void *arg) {
    struct collecting *const c = arg;
    bl_word goal;
    bool known;
    if (c->failed || sg->state != BL_COMPLETE)
        return;
    c->failed =
        !current_call(c->m, sg, &known, &goal) || !bl_heap_ensure(c->m, 64);
    if (c->failed || !known)
        return;
    const bl_word pair = bl_struct2(c->m, BL_ATOM(minus), goal,
                                    bl_int((int64_t)bl_answer_count(sg)));
    c->list = bl_list_cell(c->m, pair, c->list);
}

// '$tabled_calls'(List): Variant-NumberOfAnswers of this thread's complete
// calls.
static int tabled_calls_1(struct bl_machine *m, bl_word *a) {
    struct collecting c = {m, BL_ATOM(nil), false};
    bl_subgoal_each(m->tabler->thread, NULL, collect_call, &c);
    return c.failed ? BL_THROW : bl_answer(m, a[0], c.list);
}

struct abolishing {
    struct bl_machine *m;
    bl_word goal;
    struct bl_table *whole; // a shared table to be abolished, or NULL
    bool failed;
};

static void abolish_if_instance(struct bl_subgoal *sg, void *arg) {
    struct abolishing *const x = arg;
    struct bl_machine *const m = x->m;
    bl_word call;
    if (x->failed || sg->state != BL_COMPLETE)
        return;
    bl_word *const tr = m->tr;
    bl_word *const hb = m->hb;
    m->hb = m->h;
    bool known;
    x->failed = !current_call(m, sg, &known, &call);
    const bool same = !x->failed && known && bl_unify(m, x->goal, call);
    bl_untrail(m, tr);
    m->hb = hb;
    x->failed = x->failed || m->ball != NULL;
    if (!same || x->failed)
        return;
    if (sg->entry != NULL)
        x->whole = sg->table;
    else
        bl_subgoal_abandon(m->tabler->thread, sg);
}

// '$abolish_call'(Goal): the calls that unify with it; of a shared table, all.
static int abolish_call_1(struct bl_machine *m, bl_word *a) {
    bl_word goal;
    if (bl_take_callable(m, a[0], &goal) != BL_TRUE)
        return BL_THROW;
    const struct bl_pred *const p = bl_functor_pred(bl_term_functor(goal));
    struct bl_table *const table = p != NULL ? bl_pred_table(p) : NULL;
    if (table == NULL)
        return BL_TRUE;
    if (m->tabler->top != NULL)
        return not_now(m);
    struct abolishing x = {m, goal, NULL, false};
    if (!bl_keep_answers(m, table))
        return BL_THROW;
    bl_subgoal_each(m->tabler->thread, table, abolish_if_instance, &x);
    if (x.failed)
        return BL_THROW;
    if (x.whole != NULL && !bl_table_abolish(m->tabler->thread, x.whole))
        return not_now(m);
    return BL_TRUE;
}

// '$moded_open'(Goal, Same-Depth): with new variables for the arguments with
// modes; [] is any depth.
static int moded_open_2(struct bl_machine *m, bl_word *a) {
    const bl_word goal = bl_deref(a[0]);
    const struct bl_pred *const p = bl_functor_pred(bl_term_functor(goal));
    if (p == NULL || !bl_heap_ensure(m, 3 * p->arity + 5))
        return m->ball != NULL ? BL_THROW : BL_FAIL;
    const struct bl_modes *const modes = bl_load_acquire(&p->modes);
    bl_word args[BL_MAX_ARITY];
    for (uint32_t i = 0; i < p->arity; i++)
        args[i] = bl_is_key(modes, i) ? bl_ptr(goal)[1 + i] : bl_new_var(m);
    const uint32_t depth = bl_call_depth(modes);
    const bl_word open = bl_struct(m, p->functor, args);
    const bl_word limit = depth == BL_DEPTH_ANY ? BL_ATOM(nil) : bl_int(depth);
    return bl_answer(m, a[1], bl_struct2(m, BL_ATOM(minus), open, limit));
}

void bl_builtins_table(void) {
    static const struct bl_builtin_row iso[] = {
        {"table", 1, table_1},
    };
    static const struct bl_builtin_row rows[] = {
        {"abolish_all_tables", 0, abolish_all_tables_0},
        {"abolish_table", 1, abolish_table_1},
        {"tabling_statistics", 0, tabling_statistics_0},
        {"tabling_statistics", 1, tabling_statistics_1},
        {"$table_counts", 2, table_counts_2},
        {"$tabled_calls", 1, tabled_calls_1},
        {"$abolish_call", 1, abolish_call_1},
        {"$untable", 1, untable_1},
        {"$moded_open", 2, moded_open_2},
    };
    BL_DEFINE_ISO(iso);
    BL_DEFINE(rows);
}
