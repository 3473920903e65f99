// SPDX-License-Identifier: MIT
//
// Most consumers of Datalog programs have one of two continuations: the end of
// their clause, as in the right-recursive path/2, or one call of a predicate
// of plain facts, as in the left-recursive one. Both are loops over tokens: no
// variable is bound, nothing is built, nothing is undone. The machine is what
// defines their meaning; this is the same in a tenth of the steps.
//
// A join is found once per consumer, from the code of the continuation and the
// record that stands for its variables: two words of the record are the same
// variable when they are the same word.
//
#include "logic/join.h"

#include "logic/record.h"

#include <stdlib.h>

enum { CHECK_EVERY = 4096 }; // answers between looks for an interrupt

static bool is_constant(bl_word w) { return bl_is_int(w) || bl_is_atom(w); }

// The record's word for a word that the continuation holds: variables of the
// call come from the answer.
static bool source_of(const struct bl_consumer *c, bl_word w,
                      struct bl_join_source *out) {
    if (is_constant(w)) {
        *out = (struct bl_join_source){BL_FROM_CONSTANT, 0, w};
        return true;
    }
    if (bl_tag(w) != BL_REF)
        return false;
    for (uint32_t i = 0; i < c->vars; i++) {
        if (c->record->word[i] == w) {
            *out = (struct bl_join_source){BL_FROM_ANSWER, i, w};
            return true;
        }
    }
    *out = (struct bl_join_source){BL_FROM_FACT, UINT32_MAX, w};
    return true;
}

// The record's word for an environment slot, 0 if it does not live.
static bl_word slot_word(const struct bl_consumer *c, uint64_t slot) {
    const bl_word live = c->frame[0].cp[-1];
    if (live & BL_LIVE_ALL)
        return c->record->word[c->vars + slot];
    if (!(live >> slot & 1))
        return 0;
    const bl_word below = live & (((bl_word)1 << slot) - 1);
    return c->record->word[c->vars + (uint32_t)__builtin_popcountll(below)];
}

// Reads `PUT..., DEALLOCATE, EXECUTE p`.
static bool decode_call(const struct bl_consumer *c, struct bl_join *j) {
    const bl_word *pc = c->frame[0].cp;
    bool set[BL_JOIN_ARGS] = {false};
    for (; *pc == BL_OP_PUT_VAL_Y || *pc == BL_OP_PUT_CONST; pc += 3) {
        const bl_word w = *pc == BL_OP_PUT_CONST ? pc[1] : slot_word(c, pc[1]);
        if (pc[2] >= BL_JOIN_ARGS || w == 0 || !source_of(c, w, &j->arg[pc[2]]))
            return false;
        set[pc[2]] = true;
    }
    if (pc[0] != BL_OP_DEALLOCATE || pc[1] != BL_OP_EXECUTE)
        return false;
    j->p = (struct bl_pred *)(void *)bl_ptr(pc[2]);
    j->args = j->p->arity;
    if (j->args > BL_JOIN_ARGS)
        return false;
    for (uint32_t i = 0; i < j->args; i++) {
        if (!set[i])
            return false;
    }
    return true;
}

// Variables that are neither in the answer nor constant are the fact's: the
// first argument that is one gives its value.
static bool resolve_facts(struct bl_join *j) {
    for (uint32_t i = 0; i < j->args; i++) {
        struct bl_join_source *const a = &j->arg[i];
        for (uint32_t k = 0; a->from == BL_FROM_FACT && k <= i; k++) {
            if (j->arg[k].from == BL_FROM_FACT && j->arg[k].word == a->word) {
                a->i = k;
                break;
            }
        }
    }
    for (uint32_t i = 0; i < j->outs; i++) {
        struct bl_join_source *const o = &j->out[i];
        for (uint32_t k = 0; o->from == BL_FROM_FACT && k < j->args; k++) {
            if (j->arg[k].from == BL_FROM_FACT && j->arg[k].word == o->word) {
                o->i = k;
                break;
            }
        }
        if (o->from == BL_FROM_FACT && o->i == UINT32_MAX)
            return false; // a variable stays in the answer
    }
    return true;
}

struct bl_join *bl_join_find(const struct bl_consumer *c) {
    if (c->frames > 1 || c->vars > BL_JOIN_ARGS)
        return NULL;
    struct bl_join j = {.p = NULL};
    uint32_t template = c->vars;
    if (c->frames == 1) {
        template += c->frame[0].live;
        if (!decode_call(c, &j))
            return NULL;
    }
    j.outs = c->record->roots - template;
    if (j.outs > BL_JOIN_ARGS)
        return NULL;
    for (uint32_t i = 0; i < j.outs; i++) {
        if (!source_of(c, c->record->word[template + i], &j.out[i]))
            return NULL;
    }
    if (!resolve_facts(&j))
        return NULL;
    struct bl_join *const copy = malloc(sizeof *copy);
    if (copy != NULL)
        *copy = j;
    return copy;
}

static bool only_facts(struct bl_pred *p) {
    return p == NULL || (bl_load_relaxed(&p->entry) == BL_OP_E_CLAUSES &&
                         bl_load_relaxed(&p->rules) == 0);
}

BL_INLINE bool fact_matches(const struct bl_join *j, const bl_word *key,
                            const bl_word *fact) {
    for (uint32_t i = 0; i < j->args; i++) {
        const bl_word want =
            j->arg[i].from == BL_FROM_FACT ? fact[j->arg[i].i] : key[i];
        if (fact[i] != want)
            return false;
    }
    return true;
}

BL_INLINE void make_answer(const struct bl_join *j, const uint64_t *answer,
                           const bl_word *fact, uint64_t *out) {
    for (uint32_t i = 0; i < j->outs; i++) {
        const struct bl_join_source *const o = &j->out[i];
        out[i] = o->from == BL_FROM_ANSWER ? answer[o->i]
                 : o->from == BL_FROM_FACT ? fact[o->i]
                                           : o->word;
    }
}

static enum bl_tabling_step join_one(struct bl_machine *m,
                                     const struct bl_consumer *c,
                                     const struct bl_join *j,
                                     const uint64_t *answer) {
    uint64_t out[BL_JOIN_ARGS];
    if (j->p == NULL) {
        make_answer(j, answer, NULL, out);
        return bl_tabling_insert(m, c->producer, out, j->outs);
    }
    bl_word key[BL_JOIN_ARGS];
    for (uint32_t i = 0; i < j->args; i++) {
        const struct bl_join_source *const a = &j->arg[i];
        key[i] = a->from == BL_FROM_ANSWER     ? answer[a->i]
                 : a->from == BL_FROM_CONSTANT ? a->word
                                               : 0;
    }
    struct bl_clause_run run = bl_pred_match_keys(j->p, key);
    for (; run.at < run.end; run.at++) {
        const bl_word *const fact = (*run.at)->key;
        if (!fact_matches(j, key, fact))
            continue;
        make_answer(j, answer, fact, out);
        const enum bl_tabling_step step =
            bl_tabling_insert(m, c->producer, out, j->outs);
        if (BL_UNLIKELY(step != BL_STEP_FAIL))
            return step;
    }
    return BL_STEP_FAIL;
}

BL_INLINE bool is_simple(const struct bl_consumer *c, const uint64_t *token,
                         const uint64_t *end) {
    if (end - token != (long)c->vars)
        return false;
    for (uint32_t i = 0; i < c->vars; i++) {
        if (!is_constant(token[i]))
            return false;
    }
    return true;
}

bool bl_join_run(struct bl_machine *m, struct bl_consumer *c,
                 enum bl_tabling_step *step) {
    const struct bl_join *const j = c->join;
    const struct bl_subgoal *const sg = c->of->sg;
    *step = BL_STEP_FAIL;
    if (!only_facts(j->p))
        return false;
    uint64_t buffer[2 * BL_JOIN_ARGS];
    uint64_t *const end = buffer + BL_ARRAY_LEN(buffer);
    struct bl_answer_cursor before = c->cursor;
    const struct bl_answer *a;
    uint64_t n = 0;
    while ((a = bl_answer_next_fast(sg, &c->cursor)) != NULL) {
        const uint64_t *const token =
            bl_answer_depth_max(sg) <= BL_ARRAY_LEN(buffer)
                ? bl_answer_read_fast(a, end)
                : end;
        if (BL_UNLIKELY(!is_simple(c, token, end))) {
            c->cursor = before;
            return false;
        }
        *step = join_one(m, c, j, token);
        if (BL_UNLIKELY(*step != BL_STEP_FAIL))
            return true;
        before = c->cursor;
        if (BL_UNLIKELY(++n % CHECK_EVERY == 0) &&
            bl_load_relaxed(&m->heap_soft) == NULL && !bl_machine_event(m)) {
            *step = BL_STEP_THROW;
            return true;
        }
    }
    return true;
}
