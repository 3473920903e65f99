// SPDX-License-Identifier: MIT
//
// Clauses as data: assert, retract, clause, and what a program says of its
// predicates. A running clause/2 or retract/1 goes through the clauses that
// were there when it began (the logical update view).
//
#include "logic/builtin.h"
#include "logic/engine.h"
#include "logic/record.h"

#include <stdlib.h>
#include <string.h>

// ---- adding

static int may_change(struct bl_machine *m, struct bl_pred *p,
                      enum bl_known_atom action) {
    const bool fixed = (p->flags & BL_PRED_SYSTEM) != 0 ||
                       ((p->flags & BL_PRED_DEFINED) != 0 &&
                        (p->flags & (BL_PRED_DYNAMIC | BL_PRED_TABLED)) == 0);
    if (!fixed)
        return BL_TRUE;
    return bl_throw_permission(m, action, BL_ATOM_static_procedure,
                               bl_indicator(m, p->functor));
}

// Whether its clauses may change now: not where its tables cannot follow.
static int may_go(struct bl_machine *m, const struct bl_pred *p) {
    return p->flags & BL_PRED_INCREMENTAL ? bl_may_abolish_tables(m) : BL_TRUE;
}

static int changed(struct bl_machine *m, const struct bl_pred *p) {
    return p->flags & BL_PRED_INCREMENTAL ? bl_abolish_tables(m) : BL_TRUE;
}

// Makes the predicate one that clauses are added to, for the sake of `t`, which
// must be a clause: an error leaves the predicate as it was.
static int open_up(struct bl_machine *m, struct bl_pred *p, bl_word t) {
    const bool ours = (p->flags & BL_PRED_LIBRARY) != 0;
    if (!ours && may_change(m, p, BL_ATOM_modify) != BL_TRUE)
        return BL_THROW;
    struct bl_clause *const trial = bl_clause_compile(m, t);
    if (trial == NULL)
        return BL_THROW;
    bl_clause_free(trial);
    if (ours)
        bl_pred_take_over(m, p);
    if (may_change(m, p, BL_ATOM_modify) != BL_TRUE)
        return BL_THROW;
    bl_pred_make_dynamic(p);
    return BL_TRUE;
}

static int add(struct bl_machine *m, bl_word t, bool at_end) {
    t = bl_deref(t);
    while (bl_tag(t) == BL_STR && *bl_ptr(t) == BL_FN(colon_2))
        t = bl_deref(bl_ptr(t)[2]);
    bl_word head = t;
    if (bl_tag(t) == BL_STR && *bl_ptr(t) == BL_FN(neck_2))
        head = bl_deref(bl_ptr(t)[1]);
    if (bl_take_callable(m, head, &head) != BL_TRUE)
        return BL_THROW;
    struct bl_pred *const p = bl_pred_ensure(bl_term_functor(head));
    if (may_go(m, p) != BL_TRUE)
        return BL_THROW;
    if ((p->flags & (BL_PRED_DYNAMIC | BL_PRED_LIBRARY)) != BL_PRED_DYNAMIC &&
        open_up(m, p, t) != BL_TRUE)
        return BL_THROW;
    struct bl_clause *const c = bl_clause_compile(m, t);
    if (c == NULL)
        return BL_THROW;
    bl_clause_add(c, at_end);
    return changed(m, p);
}

static int assertz_1(struct bl_machine *m, bl_word *a) {
    return add(m, a[0], true);
}

static int asserta_1(struct bl_machine *m, bl_word *a) {
    return add(m, a[0], false);
}

// ---- going through clauses

// The head and body of a clause as terms; false: ball set.
static bool clause_terms(struct bl_machine *m, const struct bl_clause *c,
                         bl_word *head_body) {
    if (c->kind == BL_CLAUSE_FACT) {
        head_body[0] = bl_struct(m, c->pred->functor, c->key);
        head_body[1] = BL_ATOM(true);
        return true;
    }
    if (c->source == NULL) { // loaded before it was declared dynamic
        bl_throw_permission(m, BL_ATOM_access, BL_ATOM_private_procedure,
                            bl_indicator(m, c->pred->functor));
        return false;
    }
    return bl_record_load(m, c->source, head_body);
}

// A walk: the clauses that were there when it began, and where it stands.
struct walk {
    struct bl_clause_run run;
    uint64_t generation;
};

static bool walk_start(struct bl_pred *p, bl_word head, struct walk *w) {
    bl_word key[BL_INDEXED_ARGS] = {0};
    const uint32_t n = p->arity < BL_INDEXED_ARGS ? p->arity : BL_INDEXED_ARGS;
    for (uint32_t i = 0; i < n; i++)
        key[i] = bl_key_of(bl_deref(bl_term_args(head)[i]));
    w->generation = bl_load_acquire(&bl_generation);
    w->run =
        bl_pred_match_keys(p, key, p->arity > 0 ? bl_term_args(head) : NULL);
    return w->run.at < w->run.end;
}

static bool keys_match(const struct bl_clause *c, bl_word head) {
    for (uint32_t i = 0; i < c->pred->arity; i++) {
        const bl_word k = bl_key_of(bl_deref(bl_term_args(head)[i]));
        if (k != 0 && c->key[i] != 0 && k != c->key[i])
            return false;
    }
    return true;
}

static struct bl_clause **next_clause(struct walk *w, bl_word head) {
    for (; w->run.at < w->run.end; w->run.at++) {
        if (bl_clause_is_visible(*w->run.at, w->generation) &&
            keys_match(*w->run.at, head))
            return w->run.at++;
    }
    return NULL;
}

// Between solutions a walk lies on the heap, as three integers, and the state
// is where.
static bl_word save_walk(struct bl_machine *m, const struct walk *w) {
    const bl_word words[3] = {bl_int((int64_t)((uintptr_t)w->run.at >> 3)),
                              bl_int((int64_t)((uintptr_t)w->run.end >> 3)),
                              bl_int((int64_t)w->generation)};
    bl_word *const p = m->h;
    memcpy(p, words, sizeof words);
    m->h += 3;
    // The choice point must keep these cells: its heap mark moves above them.
    m->b->h = m->h;
    m->hb = m->h;
    return bl_int((int64_t)((uintptr_t)p >> 3));
}

static void load_walk(bl_word state, struct walk *w) {
    const bl_word *const p =
        (const bl_word *)((uintptr_t)bl_int_value(state) << 3);
    w->run.at = (struct bl_clause **)((uintptr_t)bl_int_value(p[0]) << 3);
    w->run.end = (struct bl_clause **)((uintptr_t)bl_int_value(p[1]) << 3);
    w->generation = (uint64_t)bl_int_value(p[2]);
}

static void update_walk(bl_word state, const struct walk *w) {
    bl_word *const p = (bl_word *)((uintptr_t)bl_int_value(state) << 3);
    p[0] = bl_int((int64_t)((uintptr_t)w->run.at >> 3));
}

static int first_walk(struct bl_machine *m, bl_word head, struct walk *w,
                      bool change) {
    struct bl_pred *const p = bl_functor_pred(bl_term_functor(head));
    if (p == NULL || !(p->flags & BL_PRED_DEFINED))
        return BL_FAIL;
    if (!(p->flags & BL_PRED_DYNAMIC))
        return bl_throw_permission(m, change ? BL_ATOM_modify : BL_ATOM_access,
                                   change ? BL_ATOM_static_procedure
                                          : BL_ATOM_private_procedure,
                                   bl_indicator(m, p->functor));
    return walk_start(p, head, w) ? BL_TRUE : BL_FAIL;
}

// False where somebody erased it before, or with the ball set.
static bool erase_one(struct bl_machine *m, struct bl_clause *c) {
    return may_go(m, c->pred) == BL_TRUE && bl_clause_erase(c);
}

static int walk_clauses(struct bl_machine *m, bl_word head, bl_word body,
                        bool erase) {
    bl_word *const state = bl_state(m);
    struct walk w;
    if (*state == 0) {
        const int r = first_walk(m, head, &w, erase);
        if (r != BL_TRUE)
            return r;
        *state = save_walk(m, &w);
    } else {
        load_walk(*state, &w);
    }
    struct bl_clause **at = next_clause(&w, head);
    while (at != NULL) {
        bl_word t[2];
        bl_word *const mark = m->tr;
        bl_word *const h = m->h;
        // while the head is as it was called
        struct bl_clause **const next = next_clause(&w, head);
        if (!clause_terms(m, *at, t))
            return BL_THROW;
        if (bl_unify(m, head, t[0]) && bl_unify(m, body, t[1]) &&
            (!erase || erase_one(m, *at))) {
            w.run.at = next;
            update_walk(*state, &w);
            if (erase && changed(m, (*at)->pred) != BL_TRUE)
                return BL_THROW;
            return next == NULL ? BL_TRUE : BL_MORE;
        }
        if (m->ball != NULL)
            return BL_THROW;
        bl_untrail(m, mark);
        m->h = h;
        at = next;
    }
    return BL_FAIL;
}

static int clause_2(struct bl_machine *m, bl_word *a) {
    bl_word head;
    if (bl_take_callable(m, a[0], &head) != BL_TRUE)
        return BL_THROW;
    const bl_word body = bl_deref(a[1]);
    if (!bl_is_var(body) && !bl_is_callable(body))
        return bl_throw_type(m, BL_ATOM_callable, body);
    return walk_clauses(m, head, body, false);
}

static int retract_1(struct bl_machine *m, bl_word *a) {
    bl_word head;
    bl_word body = BL_ATOM(true);
    bl_word t;
    if (bl_take_callable(m, a[0], &t) != BL_TRUE)
        return BL_THROW;
    head = t;
    if (bl_tag(t) == BL_STR && *bl_ptr(t) == BL_FN(neck_2)) {
        if (bl_take_callable(m, bl_ptr(t)[1], &head) != BL_TRUE)
            return BL_THROW;
        body = bl_ptr(t)[2];
    }
    return walk_clauses(m, head, body, true);
}

// Erases what unifies with the head; BL_TRUE, or BL_THROW in the middle.
static int erase_all(struct bl_machine *m, struct walk *w, bl_word head,
                     bool *erased) {
    struct bl_clause **at;
    bl_word *const h = m->h;
    while ((at = next_clause(w, head)) != NULL) {
        bl_word t[2];
        bl_word *const mark = m->tr;
        if (!clause_terms(m, *at, t))
            return BL_THROW;
        if (bl_unify(m, head, t[0]) && erase_one(m, *at))
            *erased = true;
        if (m->ball != NULL)
            return BL_THROW;
        bl_untrail(m, mark);
        m->h = h;
    }
    return BL_TRUE;
}

// As `changed`, where an error may be under way, which stays.
static int changed_in_part(struct bl_machine *m, const struct bl_pred *p) {
    struct bl_record *const ball = m->ball;
    m->ball = NULL;
    int r = changed(m, p);
    if (ball == NULL)
        return r;
    if (r == BL_THROW)
        bl_record_free(m->ball);
    m->ball = ball;
    return BL_THROW;
}

static int retractall_1(struct bl_machine *m, bl_word *a) {
    bl_word head;
    if (bl_take_callable(m, a[0], &head) != BL_TRUE)
        return BL_THROW;
    struct bl_pred *const p = bl_pred_ensure(bl_term_functor(head));
    if (may_change(m, p, BL_ATOM_modify) != BL_TRUE)
        return BL_THROW;
    if (!(p->flags & BL_PRED_DYNAMIC))
        bl_pred_make_dynamic(p);
    struct walk w;
    if (!walk_start(p, head, &w))
        return BL_TRUE;
    bool erased = false;
    bl_word *const hb = m->hb;
    m->hb = m->h;
    const int r = erase_all(m, &w, head, &erased);
    m->hb = hb;
    return erased ? changed_in_part(m, p) : r;
}

static int abolish_1(struct bl_machine *m, bl_word *a) {
    bl_word f;
    if (bl_take_indicator(m, a[0], &f) != BL_TRUE)
        return BL_THROW;
    struct bl_pred *const p = bl_functor_pred(f);
    if (p == NULL)
        return BL_TRUE;
    if (may_change(m, p, BL_ATOM_modify) != BL_TRUE || may_go(m, p) != BL_TRUE)
        return BL_THROW;
    bl_pred_wipe(p);
    return changed(m, p);
}

// ---- declarations

// p/2, or as XSB allows, p(_, _).
static int take_predicate(struct bl_machine *m, bl_word t, bl_word *functor) {
    bool open = bl_tag(t) == BL_STR;
    for (uint32_t i = 0; open && i < bl_functor_arity(*bl_ptr(t)); i++)
        open = bl_is_var(bl_deref(bl_ptr(t)[1 + i]));
    if (!open || *bl_ptr(t) == BL_FN(slash_2))
        return bl_take_indicator(m, t, functor);
    *functor = *bl_ptr(t);
    return BL_TRUE;
}

static int each_indicator(struct bl_machine *m, bl_word t,
                          int (*f)(struct bl_machine *m, bl_word functor)) {
    t = bl_deref(t);
    for (;;) {
        const bool pair = bl_tag(t) == BL_STR && *bl_ptr(t) == BL_FN(comma_2);
        const bool list = bl_tag(t) == BL_LST;
        if (t == BL_ATOM(nil))
            return BL_TRUE;
        if (!bl_scratch_ensure(m, 0)) // the list may have no end
            return BL_THROW;
        const bl_word first = bl_deref(pair   ? bl_ptr(t)[1]
                                       : list ? bl_ptr(t)[0]
                                              : t);
        bl_word functor;
        if (take_predicate(m, first, &functor) != BL_TRUE ||
            f(m, functor) != BL_TRUE)
            return BL_THROW;
        if (!pair && !list)
            return BL_TRUE;
        t = bl_deref(pair ? bl_ptr(t)[2] : bl_ptr(t)[1]);
    }
}

static int make_dynamic(struct bl_machine *m, bl_word functor) {
    struct bl_pred *const p = bl_pred_ensure(functor);
    if (!bl_pred_take_over(m, p))
        return bl_throw_permission(m, BL_ATOM_modify, BL_ATOM_static_procedure,
                                   bl_indicator(m, functor));
    bl_pred_make_dynamic(p);
    return BL_TRUE;
}

static int make_opaque(struct bl_machine *m, bl_word functor) {
    if (make_dynamic(m, functor) != BL_TRUE)
        return BL_THROW;
    bl_pred_ensure(functor)->flags &= ~(uint32_t)BL_PRED_INCREMENTAL;
    return BL_TRUE;
}

static int make_incremental(struct bl_machine *m, bl_word functor) {
    if (make_dynamic(m, functor) != BL_TRUE)
        return BL_THROW;
    bl_pred_ensure(functor)->flags |= BL_PRED_INCREMENTAL;
    return BL_TRUE;
}

// Monotonic ones are incremental too: what depends on them is up to date.
static bool is_incremental(bl_word t) {
    return t == BL_ATOM(incremental) ||
           (bl_is_atom(t) && strcmp(bl_atom_text(t), "monotonic") == 0);
}

static bool names_incremental(bl_word t) {
    t = bl_deref(t);
    for (; bl_tag(t) == BL_STR && *bl_ptr(t) == BL_FN(comma_2);
         t = bl_deref(bl_ptr(t)[2])) {
        if (is_incremental(bl_deref(bl_ptr(t)[1])))
            return true;
    }
    return is_incremental(t);
}

// Predicates, also `as incremental`, all of them or the last one.
static int dynamic_1(struct bl_machine *m, bl_word *a) {
    bl_word t = bl_deref(a[0]);
    while (bl_tag(t) == BL_STR && *bl_ptr(t) == BL_FN(comma_2)) {
        if (dynamic_1(m, &bl_ptr(t)[1]) != BL_TRUE)
            return BL_THROW;
        t = bl_deref(bl_ptr(t)[2]);
    }
    if (bl_tag(t) != BL_STR || *bl_ptr(t) != BL_FN(as_2))
        return each_indicator(m, t, make_dynamic);
    return each_indicator(m, bl_ptr(t)[1],
                          names_incremental(bl_ptr(t)[2]) ? make_incremental
                                                          : make_opaque);
}

static int make_discontiguous(struct bl_machine *m, bl_word functor) {
    (void)m;
    bl_pred_ensure(functor)->flags |= BL_PRED_DISCONTIGUOUS;
    return BL_TRUE;
}

static int discontiguous_1(struct bl_machine *m, bl_word *a) {
    return each_indicator(m, a[0], make_discontiguous);
}

static int make_multifile(struct bl_machine *m, bl_word functor) {
    (void)m;
    bl_pred_ensure(functor)->flags |= BL_PRED_MULTIFILE;
    return BL_TRUE;
}

static int multifile_1(struct bl_machine *m, bl_word *a) {
    return each_indicator(m, a[0], make_multifile);
}

// '$predicates'(List): name/arity of what the program defined.
static int predicates_1(struct bl_machine *m, bl_word *a) {
    bl_word list = BL_ATOM(nil);
    for (struct bl_pred *p = bl_pred_first(); p != NULL; p = p->next) {
        if ((p->flags & (BL_PRED_SYSTEM | BL_PRED_LIBRARY)) != 0 ||
            !(p->flags & BL_PRED_DEFINED) ||
            (p->count == 0 && !(p->flags & BL_PRED_DYNAMIC)) ||
            bl_atom_text(bl_functor_name(p->functor))[0] == '$')
            continue;
        if (!bl_heap_ensure(m, 8))
            return BL_THROW;
        list = bl_list_cell(m, bl_indicator(m, p->functor), list);
    }
    return bl_answer(m, a[0], list);
}

static int properties_2(struct bl_machine *m, bl_word *a) {
    bl_word head;
    if (bl_take_callable(m, a[0], &head) != BL_TRUE)
        return BL_THROW;
    const struct bl_pred *const p = bl_functor_pred(bl_term_functor(head));
    if (p == NULL || !(p->flags & BL_PRED_DEFINED))
        return BL_FAIL;
    static const struct {
        uint32_t flag;
        const char *name;
    } names[] = {{BL_PRED_DYNAMIC, "dynamic"},
                 {BL_PRED_TABLED, "tabled"},
                 {BL_PRED_SYSTEM, "built_in"},
                 {BL_PRED_DEFINED, "defined"},
                 {BL_PRED_DISCONTIGUOUS, "discontiguous"},
                 {BL_PRED_MULTIFILE, "multifile"}};
    bl_word list = BL_ATOM(nil);
    for (size_t i = 0; i < BL_ARRAY_LEN(names); i++) {
        if (p->flags & names[i].flag)
            list = bl_list_cell(m, bl_atom_str(names[i].name), list);
    }
    if (!(p->flags & BL_PRED_DYNAMIC))
        list = bl_list_cell(m, bl_atom_str("static"), list);
    const bl_word count =
        bl_struct1(m, bl_atom_str("number_of_clauses"), bl_int(p->count));
    list = bl_list_cell(m, count, list);
    return bl_answer(m, a[1], list);
}

// '$barrier'(PI): no tabled goal may be suspended below calls of its clauses.
static int set_barrier(struct bl_machine *m, bl_word functor) {
    (void)m;
    bl_pred_ensure(functor)->flags |= BL_PRED_BARRIER;
    return BL_TRUE;
}

static int barrier_1(struct bl_machine *m, bl_word *a) {
    return each_indicator(m, a[0], set_barrier);
}

static int load_csv_4(struct bl_machine *m, bl_word *a) {
    bl_word file;
    bl_word name;
    bl_word separator;
    if (bl_take_atom(m, a[0], &file) != BL_TRUE ||
        bl_take_atom(m, a[1], &name) != BL_TRUE ||
        bl_take_atom(m, a[2], &separator) != BL_TRUE)
        return BL_THROW;
    int64_t rows;
    const int r = bl_load_csv(m, bl_atom_text(file), name,
                              bl_atom_text(separator)[0], &rows);
    return r == BL_TRUE ? bl_answer(m, a[3], bl_int(rows)) : r;
}

void bl_builtins_database(void) {
    static const struct bl_builtin_row iso[] = {
        {"assert", 1, assertz_1},
        {"assertz", 1, assertz_1},
        {"asserta", 1, asserta_1},
        {"retractall", 1, retractall_1},
        {"abolish", 1, abolish_1},
        {"dynamic", 1, dynamic_1},
        {"discontiguous", 1, discontiguous_1},
        {"multifile", 1, multifile_1},
    };
    static const struct bl_builtin_row rows[] = {
        {"$predicates", 1, predicates_1},
        {"$properties", 2, properties_2},
        {"$barrier", 1, barrier_1},
        {"$load_csv", 4, load_csv_4},
    };
    static const struct bl_builtin_row iso_more[] = {
        {"clause", 2, clause_2},
        {"retract", 1, retract_1},
    };
    // (a :- b) is a clause, and no head of one
    bl_pred_ensure(BL_FN(neck_2))->flags |= BL_PRED_SYSTEM;
    BL_DEFINE_ISO(iso);
    BL_DEFINE(rows);
    BL_DEFINE_ISO_MORE(iso_more);
}
