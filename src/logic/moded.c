// SPDX-License-Identifier: MIT
//
// Modes: their declaration, calls, and what becomes of an answer.
//
// While a goal is being evaluated, a map leads from the node of each key to
// the place of its current answer on the list. An answer that changes nothing
// is a repeated one; any other revises the table (`revise.c`), so consumers
// meet it as a new answer. lattice/1 and po/1 run their predicate as a query of
// its own, which cannot wait for goals that are being evaluated.
//
#include "logic/moded.h"

#include "logic/arith.h"
#include "logic/bigint.h"
#include "logic/builtin.h"
#include "logic/compare.h"
#include "logic/engine.h"
#include "logic/error.h"
#include "logic/memory.h"

#include <stdlib.h>
#include <string.h>

// ---- declaration

static const struct {
    const char *name;
    enum bl_mode_kind kind;
} plain_modes[] = {
    {"index", BL_MODE_KEY}, {"+", BL_MODE_KEY},     {"all", BL_MODE_KEY},
    {"min", BL_MODE_MIN},   {"max", BL_MODE_MAX},   {"first", BL_MODE_FIRST},
    {"-", BL_MODE_FIRST},   {"last", BL_MODE_LAST}, {"sum", BL_MODE_SUM},
};

// lattice(PI) and po(PI): PI is Name, Name/Arity or a head.
static bool read_closure(bl_word t, struct bl_mode *out) {
    const char *const name = bl_atom_text(bl_functor_name(*bl_ptr(t)));
    const bool lattice = strcmp(name, "lattice") == 0;
    if (bl_functor_arity(*bl_ptr(t)) != 1 || (!lattice && strcmp(name, "po")))
        return false;
    const uint32_t arity = lattice ? 3 : 2;
    bl_word pi = bl_deref(bl_ptr(t)[1]);
    while (bl_tag(pi) == BL_STR && *bl_ptr(pi) == BL_FN(colon_2))
        pi = bl_deref(bl_ptr(pi)[2]);
    if (bl_tag(pi) == BL_STR && *bl_ptr(pi) == BL_FN(slash_2)) {
        if (bl_deref(bl_ptr(pi)[2]) != bl_int(arity))
            return false;
        pi = bl_deref(bl_ptr(pi)[1]);
    } else if (bl_tag(pi) == BL_STR) {
        if (bl_functor_arity(*bl_ptr(pi)) != arity)
            return false;
        pi = bl_functor_name(*bl_ptr(pi));
    }
    *out = (struct bl_mode){lattice ? BL_MODE_LATTICE : BL_MODE_PO, pi};
    return bl_is_atom(pi);
}

static bool read_mode(bl_word t, struct bl_mode *out) {
    *out = (struct bl_mode){BL_MODE_KEY, 0};
    if (bl_is_var(t))
        return true;
    if (bl_tag(t) == BL_STR)
        return read_closure(t, out);
    for (size_t i = 0; bl_is_atom(t) && i < BL_ARRAY_LEN(plain_modes); i++) {
        if (strcmp(bl_atom_text(t), plain_modes[i].name) == 0) {
            out->kind = plain_modes[i].kind;
            return true;
        }
    }
    return false;
}

static struct bl_modes *new_modes(struct bl_machine *m, uint32_t n,
                                  uint32_t depth) {
    struct bl_modes *const modes =
        calloc(1, sizeof *modes + n * sizeof modes->arg[0]);
    if (modes == NULL)
        bl_throw_resource(m, "memory");
    else
        modes->depth = depth;
    return modes;
}

int bl_modes_of_depth(struct bl_machine *m, uint32_t arity, uint32_t depth,
                      struct bl_modes **out) {
    *out = NULL;
    if (depth == BL_DEPTH_ANY)
        return BL_TRUE;
    *out = new_modes(m, arity, depth);
    if (*out == NULL)
        return BL_THROW;
    (*out)->keys = arity; // BL_MODE_KEY is 0
    return BL_TRUE;
}

int bl_modes_read(struct bl_machine *m, bl_word pattern, uint32_t depth,
                  struct bl_modes **out) {
    const uint32_t n = bl_functor_arity(*bl_ptr(pattern));
    struct bl_modes *const modes = new_modes(m, n, depth);
    *out = NULL;
    if (modes == NULL)
        return BL_THROW;
    for (uint32_t i = 0; i < n; i++) {
        const bl_word t = bl_deref(bl_ptr(pattern)[1 + i]);
        if (!read_mode(t, &modes->arg[i])) {
            free(modes);
            return bl_throw_domain(m, "table_mode", t);
        }
        if (modes->arg[i].kind == BL_MODE_KEY)
            modes->keys++;
        else
            modes->moded++;
    }
    if (modes->moded > 0 || depth != BL_DEPTH_ANY)
        *out = modes;
    else
        free(modes);
    return BL_TRUE;
}

// ---- calls

static bool is_among(const bl_word *var, size_t n, bl_word w) {
    for (size_t i = 0; i < n; i++) {
        if (var[i] == w)
            return true;
    }
    return false;
}

// True, too, where the walk is stopped, with the ball set: it visits each time
// what a term shares, and may take long.
static bool is_deeper(struct bl_machine *m, bl_word t, uint32_t depth) {
    t = bl_deref(t);
    if (!bl_is_compound(t) || depth == 0)
        return bl_is_compound(t);
    if (!bl_scratch_ensure(m, 0))
        return true;
    const uint32_t n = bl_functor_arity(bl_term_functor(t));
    for (uint32_t i = 0; i < n; i++) {
        if (is_deeper(m, bl_term_args(t)[i], depth - 1))
            return true;
    }
    return false;
}

uint32_t bl_call_depth(const struct bl_modes *modes) {
    const uint32_t own = modes != NULL ? modes->depth : BL_DEPTH_ANY;
    // relaxed: a flag set by another thread counts sooner or later
    const uint32_t all = bl_load_relaxed(&bl_engine.call_depth);
    return all == 0 || own < all ? own : all;
}

long bl_moded_call(struct bl_machine *m, const struct bl_pred *p,
                   const struct bl_modes *modes) {
    struct bl_tabler *const t = m->tabler;
    const uint32_t depth = bl_call_depth(modes);
    bl_word key[BL_MAX_ARITY];
    uint32_t keys = 0;
    for (uint32_t i = 0; i < p->arity; i++) {
        if (!bl_is_key(modes, i))
            continue;
        if (depth != BL_DEPTH_ANY && is_deeper(m, m->x[i], depth))
            return m->ball != NULL ? -1 : BL_MODED_BOUND;
        key[keys++] = m->x[i];
    }
    const long n = bl_encode(m, key, keys, true);
    for (uint32_t i = 0; n >= 0 && i < p->arity; i++) {
        const bl_word w = bl_deref(m->x[i]);
        if (bl_is_key(modes, i))
            continue;
        if (!bl_is_var(w) || is_among(t->var, t->vars, w))
            return BL_MODED_BOUND;
        if (!bl_tabler_add_var(m, w))
            return -1;
    }
    return n;
}

struct bl_pred *bl_moded_wrap(struct bl_machine *m, const struct bl_pred *p) {
    m->x[0] = bl_struct(m, p->functor, m->x);
    return bl_pred_ensure(BL_FN(moded_1));
}

void bl_moded_spread(struct bl_machine *m, const struct bl_pred *p,
                     const struct bl_modes *modes, const bl_word *key,
                     bl_word *args) {
    for (uint32_t i = 0; i < p->arity; i++)
        args[i] = bl_is_key(modes, i) ? *key++ : bl_new_var(m);
}

// ---- the current answers

struct bl_best {
    size_t count, mask;
    struct best_slot {
        const struct bl_trie_node *key;
        struct bl_answer_place place;
    } slot[];
};

void bl_best_free(struct bl_best *best) { free(best); }

static struct best_slot *find_slot(struct bl_best *best,
                                   const struct bl_trie_node *key) {
    const uint64_t mixed =
        ((uint64_t)(uintptr_t)key >> 5) * UINT64_C(0x9E3779B97F4A7C15);
    size_t i = (size_t)(mixed >> 32) & best->mask;
    while (best->slot[i].key != NULL && best->slot[i].key != key)
        i = (i + 1) & best->mask;
    return &best->slot[i];
}

static bool grow(struct bl_goal *g) {
    struct bl_best *const old = g->best;
    const size_t size = old == NULL ? 8 : 2 * (old->mask + 1);
    struct bl_best *const new =
        calloc(1, sizeof *new + size * sizeof new->slot[0]);
    if (new == NULL)
        return false;
    new->mask = size - 1;
    for (size_t i = 0; old != NULL && i <= old->mask; i++) {
        if (old->slot[i].key != NULL)
            *find_slot(new, old->slot[i].key) = old->slot[i];
    }
    new->count = old == NULL ? 0 : old->count;
    free(old);
    g->best = new;
    return true;
}

// The place of that key's answer, none yet if the key is new; NULL without
// memory. Good until the next call.
static struct bl_answer_place *place_of(struct bl_goal *g,
                                        const struct bl_trie_node *key) {
    if ((g->best == NULL || 4 * g->best->count > 3 * g->best->mask) && !grow(g))
        return NULL;
    struct best_slot *const s = find_slot(g->best, key);
    if (s->key == NULL) {
        s->key = key;
        g->best->count++;
    }
    return &s->place;
}

// ---- which answer is kept

// Queries within queries: each runs on the C stack.
enum { DEEPEST = 100 };

// Runs the goal; BL_TRUE, BL_FAIL or BL_THROW. Its bindings are undone unless
// *out is set to the last of its `n` arguments.
static int run(struct bl_machine *m, bl_word goal, uint32_t n,
               struct bl_record **out) {
    struct bl_query q;
    const int status = bl_query_open(m, &q, goal);
    int r = status == BL_RUN_TRUE   ? BL_TRUE
            : status == BL_RUN_FAIL ? BL_FAIL
                                    : BL_THROW;
    if (status == BL_RUN_HALT)
        return BL_THROW;
    if (r == BL_TRUE && out != NULL) {
        *out = bl_record_make(m, &bl_ptr(goal)[n], 1);
        if (*out == NULL)
            r = BL_THROW;
    }
    bl_query_close(m, &q);
    return r;
}

// The same of name(args...).
static int ask(struct bl_machine *m, bl_word name, const bl_word *args,
               uint32_t n, struct bl_record **out) {
    struct bl_tabler *const t = m->tabler;
    if (t->asking == DEEPEST)
        return bl_throw_resource(m, "lattices");
    t->asking++;
    const int r = run(m, bl_struct(m, bl_functor(name, n), args), n, out);
    t->asking--;
    return r;
}

static int join_in_lattice(struct bl_machine *m, bl_word name, bl_word old,
                           bl_word new, bl_word *out) {
    if (!bl_heap_ensure(m, 8))
        return BL_THROW;
    bl_word args[] = {old, new, bl_new_var(m)};
    struct bl_record *r = NULL;
    const int status = ask(m, name, args, 3, &r);
    if (status != BL_TRUE)
        return status;
    const bool ok = bl_record_load(m, r, out);
    bl_record_free(r);
    return ok ? BL_TRUE : BL_THROW;
}

static int add(struct bl_machine *m, bl_word old, bl_word new, bl_word *out) {
    struct bl_num n;
    if (!bl_heap_ensure(m, 8))
        return BL_THROW;
    if (bl_arith_eval(m, bl_struct2(m, BL_ATOM(plus), old, new), &n) != BL_TRUE)
        return BL_THROW;
    *out = bl_arith_word(m, n);
    return BL_TRUE;
}

static int better(const struct bl_machine *m, int order) {
    return m->ball != NULL ? BL_THROW : order > 0 ? BL_TRUE : BL_FAIL;
}

// *out: what is kept of the two. BL_FAIL: nothing changes.
static int combine(struct bl_machine *m, const struct bl_mode *mode,
                   bl_word old, bl_word new, bl_word *out) {
    *out = new;
    switch (mode->kind) {
    case BL_MODE_MIN:
        return better(m, bl_compare(m, old, new));
    case BL_MODE_MAX:
        return better(m, bl_compare(m, new, old));
    case BL_MODE_LAST:
        return BL_TRUE;
    case BL_MODE_SUM:
        return add(m, old, new, out);
    case BL_MODE_LATTICE:
        return join_in_lattice(m, mode->name, old, new, out);
    case BL_MODE_PO:
        return ask(m, mode->name, (bl_word[]){old, new}, 2, NULL);
    case BL_MODE_KEY:
    case BL_MODE_FIRST:
        break;
    }
    return BL_FAIL;
}

// Changes the `moded` words at `value` to what is kept; BL_FAIL: all is as in
// `old`.
static int combine_all(struct bl_machine *m, const struct bl_goal *g,
                       const bl_word *old, bl_word *value) {
    bool changed = false;
    for (uint32_t i = 0, k = 0; i < g->pred->arity; i++) {
        const struct bl_mode *const mode = &g->modes->arg[i];
        if (mode->kind == BL_MODE_KEY)
            continue;
        bl_word kept = old[k];
        const int r = combine(m, mode, old[k], value[k], &kept);
        if (r == BL_THROW)
            return r;
        const bool same = r == BL_FAIL || bl_is_variant(m, kept, old[k]);
        if (m->ball != NULL)
            return BL_THROW;
        value[k] = same ? old[k] : kept;
        changed = changed || !same;
        k++;
    }
    return changed ? BL_TRUE : BL_FAIL;
}

// ---- answers

// How many tokens `terms` terms take.
static size_t span(const uint64_t *token, size_t terms) {
    size_t n = 0;
    for (; terms > 0; n++, terms--) {
        if (bl_tag(token[n]) == BL_FUN)
            terms += bl_functor_arity(token[n]);
        else if (bl_tag(token[n]) == BL_BOX)
            n += bl_box_tokens(token[n]);
    }
    return n;
}

// Two numbers, and the least or greatest wanted: the common case.
static bool decide_at_once(const struct bl_goal *g,
                           const struct bl_answer_place *place,
                           const struct bl_trie_node *key, bl_word new,
                           bool *better) {
    const struct bl_modes *const modes = g->modes;
    if (modes->moded != 1 || !bl_is_int(new))
        return false;
    const struct bl_answer_end old =
        bl_answer_open(&place->chunk->answers[place->at]);
    if (old.parent != key || !bl_is_int(old.token))
        return false;
    uint32_t i = 0;
    while (modes->arg[i].kind == BL_MODE_KEY)
        i++;
    if (modes->arg[i].kind == BL_MODE_MIN)
        *better = (int64_t) new < (int64_t)old.token;
    else if (modes->arg[i].kind == BL_MODE_MAX)
        *better = (int64_t) new > (int64_t)old.token;
    else
        return false;
    return true;
}

// The answer at `place` as terms, `n` of them; false: ball set.
static bool read_answer(struct bl_machine *m, const struct bl_subgoal *sg,
                        const struct bl_answer_place *place, bl_word *terms,
                        size_t n) {
    const size_t deepest = bl_answer_depth_max(sg);
    uint64_t *const buffer = malloc((deepest + 1) * sizeof *buffer);
    bl_must_have(buffer);
    const uint64_t *const token = bl_answer_read_fast(
        &place->chunk->answers[place->at], buffer + deepest);
    const bool ok =
        bl_decode(m, token, (size_t)(buffer + deepest - token), terms, n);
    free(buffer);
    return ok;
}

static enum bl_tabling_step no_room(struct bl_machine *m) {
    bl_throw_resource(m, "table_space");
    return BL_STEP_THROW;
}

// The keys of two answers are variants. As one, they are what terms of either
// answer share their variables with. False: ball set.
static bool unify_keys(struct bl_machine *m, const bl_word *old,
                       const bl_word *new, size_t keys) {
    for (size_t i = 0; i < keys; i++) {
        if (!bl_unify(m, old[i], new[i]))
            return false;
    }
    return true;
}

// What is kept of the answer at `place` and the new one, encoded.
static int merge(struct bl_machine *m, const struct bl_goal *g,
                 const struct bl_answer_place *place, const bl_word *vars,
                 size_t n) {
    const size_t keys = n - g->modes->moded;
    bl_word old[BL_MAX_ARITY];
    bl_word *const all = malloc(2 * n * sizeof *all);
    bl_must_have(all);
    memcpy(all, vars, n * sizeof *all);
    int r = BL_THROW;
    if (read_answer(m, g->sg, place, all + n, n) &&
        unify_keys(m, all + n, all, keys)) {
        memcpy(old, all + n + keys, (n - keys) * sizeof *old);
        r = combine_all(m, g, old, all + keys);
        if (r == BL_TRUE && bl_encode(m, all, n, false) < 0)
            r = BL_THROW;
    }
    free(all);
    return r;
}

enum bl_tabling_step bl_moded_answer(struct bl_machine *m, struct bl_goal *g,
                                     const bl_word *vars, size_t n) {
    struct bl_tabler *const t = m->tabler;
    const size_t keys = n - g->modes->moded;
    const long tokens = bl_encode(m, vars, n, false);
    if (tokens < 0)
        return BL_STEP_THROW;
    const size_t before = span(t->token, keys);
    struct bl_trie_node *const key =
        bl_answer_key(t->thread, g->sg, t->token, before);
    struct bl_answer_place *place = key != NULL ? place_of(g, key) : NULL;
    if (place == NULL)
        return no_room(m);
    bool better = place->chunk == NULL;
    if (!better && !decide_at_once(g, place, key, t->token[before], &better)) {
        const int r = merge(m, g, place, vars, n);
        if (r == BL_THROW)
            return BL_STEP_THROW;
        better = r == BL_TRUE;
    }
    if (!better) {
        g->sg->repeated++;
        return bl_tabling_passed(m, g, 1, 0);
    }
    if (!bl_answer_revise(t->thread, g->sg, key, t->token + before,
                          span(t->token + before, n - keys), place))
        return no_room(m);
    return bl_tabling_passed(m, g, (size_t)tokens, 1);
}
