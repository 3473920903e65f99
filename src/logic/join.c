// SPDX-License-Identifier: MIT
//
// Most continuations of Datalog programs are one of two: the end of a clause,
// as in the right-recursive path/2, or one call of a predicate of plain facts,
// as in the left-recursive one. Both are loops over tokens: no variable is
// bound, nothing is built, nothing is undone. The machine is what defines
// their meaning; this is the same in a tenth of the steps. It serves consumers
// and callers of complete goals alike.
//
// A join is found from the code of the continuation and the words that it
// holds: two words are the same variable when they are the same word.
//
// An insertion is a cache miss in a large table. So answers are made in
// batches: those of a batch are all on their way into the cache before the
// first is looked up.
//
#include "logic/join.h"

enum {
    CHECK_EVERY = 4096, // answers between looks for an interrupt
    BATCH = 16          // answers made before the first is inserted
};

static bool is_constant(bl_word w) { return bl_is_int(w) || bl_is_atom(w); }

// ---- finding

static bool source_of(const bl_word *var, size_t vars, bl_word w,
                      struct bl_join_source *out) {
    w = bl_deref(w);
    if (is_constant(w)) {
        *out = (struct bl_join_source){BL_FROM_CONSTANT, 0, w};
        return true;
    }
    if (bl_tag(w) != BL_REF)
        return false;
    for (uint32_t i = 0; i < vars; i++) {
        if (var[i] == w) {
            *out = (struct bl_join_source){BL_FROM_ANSWER, i, w};
            return true;
        }
    }
    *out = (struct bl_join_source){BL_FROM_FACT, UINT32_MAX, w};
    return true;
}

// Reads `PUT..., DEALLOCATE, EXECUTE p`.
static bool decode_call(struct bl_join *j, const bl_word *var,
                        const struct bl_env *e, const bl_word *pc) {
    const bl_word live = pc[-1];
    uint32_t set = 0;
    for (; *pc == BL_OP_PUT_VAL_Y || *pc == BL_OP_PUT_CONST; pc += 3) {
        const bool slot = *pc == BL_OP_PUT_VAL_Y;
        if (pc[2] >= BL_JOIN_ARGS ||
            (slot && !(live & BL_LIVE_ALL) && !(live >> pc[1] & 1)) ||
            !source_of(var, j->vars, slot ? e->y[pc[1]] : pc[1],
                       &j->arg[pc[2]]))
            return false;
        set |= 1U << pc[2];
    }
    if (pc[0] != BL_OP_DEALLOCATE || pc[1] != BL_OP_EXECUTE)
        return false;
    j->p = (struct bl_pred *)(void *)bl_ptr(pc[2]);
    j->args = j->p->arity;
    return j->args <= BL_JOIN_ARGS && set == (1U << j->args) - 1;
}

// Gives a variable that is neither in the answer nor constant the place where
// it comes first among the fact's arguments; false where it is in none.
static bool resolve(const struct bl_join *j, struct bl_join_source *s) {
    if (s->from != BL_FROM_FACT)
        return true;
    for (uint32_t k = 0; k < j->args; k++) {
        if (j->arg[k].from == BL_FROM_FACT && j->arg[k].word == s->word) {
            s->i = k;
            return true;
        }
    }
    return false; // a variable stays in the answer
}

// Whether all that changes from answer to answer is the last token, and that
// is the answer read.
static bool passes_on(const struct bl_join *j) {
    if (j->p != NULL || j->vars != 1 ||
        j->out[j->outs - 1].from != BL_FROM_ANSWER)
        return false;
    for (uint32_t i = 0; i + 1 < j->outs; i++) {
        if (j->out[i].from != BL_FROM_CONSTANT)
            return false;
    }
    return true;
}

bool bl_join_find(struct bl_join *j, const bl_word *var, size_t vars,
                  const struct bl_env *e, const bl_word *cp) {
    j->p = NULL;
    j->args = 0;
    j->vars = (uint32_t)vars;
    if (vars == 0 || vars > BL_JOIN_ARGS)
        return false;
    if (cp != bl_code_new_answer) {
        if (cp == bl_code_catch_exit || cp == bl_code_query_true ||
            (cp[-1] & BL_LIVE_BARRIER) || e->cp != bl_code_new_answer ||
            !decode_call(j, var, e, cp))
            return false;
        e = e->parent;
    }
    j->producer = (struct bl_goal *)(void *)bl_ptr(e->y[0]);
    if (j->producer->pred->modes != NULL)
        return false;
    j->outs = (uint32_t)e->n - 1;
    if (j->outs == 0 || j->outs > BL_JOIN_ARGS)
        return false;
    for (uint32_t i = 0; i < j->args; i++)
        (void)resolve(j, &j->arg[i]);
    for (uint32_t i = 0; i < j->outs; i++) {
        if (!source_of(var, vars, e->y[1 + i], &j->out[i]) ||
            !resolve(j, &j->out[i]))
            return false;
    }
    j->passes = passes_on(j);
    return true;
}

// ---- running

// Answers that were made and not inserted.
struct batch {
    size_t n;
    struct bl_trie_node *node[BATCH];
    uint64_t token[BATCH][BL_JOIN_ARGS];
};

static enum bl_tabling_step flush(struct bl_machine *m, const struct bl_join *j,
                                  struct batch *b) {
    enum bl_tabling_step step = BL_STEP_FAIL;
    for (size_t i = 0; i < b->n && step == BL_STEP_FAIL; i++)
        step = bl_tabling_insert_at(m, j->producer, b->node[i], b->token[i],
                                    j->outs);
    b->n = 0;
    return step;
}

// The node of the batch's newest answer, which often is that of the one before.
BL_INLINE struct bl_trie_node *node_of(const struct bl_join *j,
                                       const struct batch *b) {
    const uint64_t *const out = b->token[b->n];
    bool same = b->n > 0;
    for (uint32_t i = 0; same && i + 1 < j->outs; i++)
        same = out[i] == b->token[b->n - 1][i];
    return same ? b->node[b->n - 1]
                : bl_answer_node(j->producer->sg, out, j->outs);
}

BL_INLINE enum bl_tabling_step
make_answer(struct bl_machine *m, const struct bl_join *j, struct batch *b,
            const uint64_t *answer, const bl_word *fact) {
    uint64_t *const out = b->token[b->n];
    for (uint32_t i = 0; i < j->outs; i++) {
        const struct bl_join_source *const o = &j->out[i];
        out[i] = o->from == BL_FROM_ANSWER ? answer[o->i]
                 : o->from == BL_FROM_FACT ? fact[o->i]
                                           : o->word;
    }
    struct bl_trie_node *const node = node_of(j, b);
    if (BL_LIKELY(node != NULL))
        bl_answer_prefetch(node, out[j->outs - 1]);
    b->node[b->n] = node;
    return ++b->n < BATCH ? BL_STEP_FAIL : flush(m, j, b);
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

BL_INLINE enum bl_tabling_step join_one(struct bl_machine *m,
                                        const struct bl_join *j,
                                        struct batch *b,
                                        const uint64_t *answer) {
    if (j->p == NULL)
        return make_answer(m, j, b, answer, NULL);
    bl_word key[BL_JOIN_ARGS];
    for (uint32_t i = 0; i < j->args; i++) {
        const struct bl_join_source *const a = &j->arg[i];
        key[i] = a->from == BL_FROM_ANSWER     ? answer[a->i]
                 : a->from == BL_FROM_CONSTANT ? a->word
                                               : 0;
    }
    struct bl_clause_run run = bl_pred_match_keys(j->p, key);
    enum bl_tabling_step step = BL_STEP_FAIL;
    for (; run.at < run.end && step == BL_STEP_FAIL; run.at++) {
        const bl_word *const fact = (*run.at)->key;
        if (fact_matches(j, key, fact))
            step = make_answer(m, j, b, answer, fact);
    }
    return step;
}

// Passes answers on without looking at them more than necessary; returns how
// many, 0 where the next one has to go the way of all others.
static size_t pass_on(struct bl_machine *m, const struct bl_join *j,
                      const struct bl_subgoal *sg,
                      struct bl_answer_cursor *cursor,
                      enum bl_tabling_step *step) {
    struct bl_subgoal *const to = j->producer->sg;
    uint64_t out[BL_JOIN_ARGS];
    for (uint32_t i = 0; i < j->outs; i++)
        out[i] = j->out[i].word;
    const struct bl_pass p = {sg, to, bl_answer_node(to, out, j->outs),
                              1u << BL_INT | 1u << BL_ATM};
    if (p.node == NULL) // not there yet, or shared
        return 0;
    const uint64_t fresh = to->fresh;
    const size_t n =
        bl_answers_pass(m->tabler->thread, &p, cursor, CHECK_EVERY);
    *step = bl_tabling_passed(m, j->producer, n, to->fresh - fresh);
    return n;
}

static bool only_facts(struct bl_pred *p) {
    return p == NULL || (bl_load_relaxed(&p->entry) == BL_OP_E_CLAUSES &&
                         bl_load_relaxed(&p->rules) == 0);
}

BL_INLINE bool read_simple(const struct bl_answer *a, uint64_t *token,
                           size_t n) {
    if (!bl_answer_read_n(a, token, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!is_constant(token[i]))
            return false;
    }
    return true;
}

// Looks for an interrupt after every so many answers; false: ball set.
BL_INLINE bool go_on(struct bl_machine *m, uint64_t *n, uint64_t more) {
    *n += more;
    if (BL_LIKELY(*n < CHECK_EVERY))
        return true;
    *n = 0;
    return bl_load_relaxed(&m->heap_soft) != NULL || bl_machine_event(m);
}

// Passes on all that can be; then there is one to be taken singly, or none.
// False: *step says how it ended.
static bool pass_all(struct bl_machine *m, const struct bl_join *j,
                     const struct bl_subgoal *sg,
                     struct bl_answer_cursor *cursor,
                     enum bl_tabling_step *step) {
    uint64_t n = 0;
    for (;;) {
        const size_t passed = pass_on(m, j, sg, cursor, step);
        if (passed == 0 || *step != BL_STEP_FAIL)
            return *step == BL_STEP_FAIL;
        if (!go_on(m, &n, passed)) {
            *step = BL_STEP_THROW;
            return false;
        }
    }
}

bool bl_join_run(struct bl_machine *m, const struct bl_join *j,
                 const struct bl_subgoal *sg, struct bl_answer_cursor *cursor,
                 enum bl_tabling_step *step) {
    struct batch b;
    uint64_t token[BL_JOIN_ARGS];
    uint64_t n = 0;
    *step = BL_STEP_FAIL;
    if (!only_facts(j->p))
        return false;
    b.n = 0;
    for (;;) {
        if (j->passes && !pass_all(m, j, sg, cursor, step))
            return true;
        const struct bl_answer_cursor before = *cursor;
        const struct bl_answer *const a = bl_answer_next_fast(sg, cursor);
        if (a == NULL && b.n == 0)
            return true;
        if (a == NULL) { // what is inserted now may have to be read as well
            *step = flush(m, j, &b);
        } else if (BL_UNLIKELY(!read_simple(a, token, j->vars))) {
            *cursor = before;
            *step = flush(m, j, &b);
            return *step != BL_STEP_FAIL;
        } else {
            *step = join_one(m, j, &b, token);
            if (j->passes && *step == BL_STEP_FAIL)
                *step = flush(m, j, &b);
        }
        if (BL_UNLIKELY(*step != BL_STEP_FAIL))
            return true;
        if (BL_UNLIKELY(!go_on(m, &n, 1))) {
            *step = BL_STEP_THROW;
            return true;
        }
    }
}
