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
// Answers are inserted in batches, see `bl_answer_batch`. Those of a recursive
// clause as a rule differ from the answer read in the last argument only, as
// in path(X,Z) :- path(X,Y), edge(Y,Z): then they come below its very node,
// and nothing but the last tokens is looked at.
//
#include "logic/join.h"

#include "logic/column.h"
#include "logic/error.h"
#include "logic/index.h"
#include "logic/profile.h"

enum { CHECK_EVERY = 4096 }; // answers between looks for an interrupt

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

// Reads one PUT instruction, at most.
static bool decode_put(struct bl_join *j, const bl_word *var,
                       const struct bl_env *e, const bl_word *pc,
                       bl_word live) {
    struct bl_join_source *const arg = &j->arg[pc[2]];
    if (*pc == BL_OP_PUT_CONST)
        return source_of(var, j->vars, pc[1], arg);
    if (*pc == BL_OP_PUT_VAL_Y)
        return bl_is_live(live, pc[1]) &&
               source_of(var, j->vars, e->y[pc[1]], arg);
    // A variable that is nowhere else: no cell has so small an address.
    *arg = (struct bl_join_source){BL_FROM_FACT, UINT32_MAX, 1 + pc[2]};
    return true;
}

// Reads `PUT..., DEALLOCATE, EXECUTE p`.
static bool decode_call(struct bl_join *j, const bl_word *var,
                        const struct bl_env *e, const bl_word *pc) {
    const bl_word live = pc[-1];
    uint32_t set = 0;
    for (; *pc == BL_OP_PUT_VAL_Y || *pc == BL_OP_PUT_CONST ||
           (*pc == BL_OP_PUT_VAR_X && pc[1] == pc[2]);
         pc += 3) {
        if (pc[2] >= BL_JOIN_ARGS || !decode_put(j, var, e, pc, live))
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

// Whether an answer and what comes of it differ in the last token only, and
// that alone chooses the facts.
static bool extends(const struct bl_join *j, const struct bl_subgoal *sg) {
    const uint32_t last = j->outs - 1;
    if (j->producer->sg != sg || j->vars != j->outs || j->bound != 1 ||
        j->checks != 1U << j->bound_at || j->out[last].from != BL_FROM_FACT ||
        j->arg[j->bound_at].from != BL_FROM_ANSWER ||
        j->arg[j->bound_at].i != last)
        return false;
    for (uint32_t i = 0; i < last; i++) {
        if (j->out[i].from != BL_FROM_ANSWER || j->out[i].i != i)
            return false;
    }
    return true;
}

// Which arguments choose the facts, and which ones a fact may not match.
static void plan_match(struct bl_join *j) {
    j->bound = 0;
    j->checks = 0;
    for (uint32_t i = 0; i < j->args; i++) {
        const struct bl_join_source *const s = &j->arg[i];
        if (s->from != BL_FROM_FACT && j->bound++ == 0)
            j->bound_at = i;
        if (s->from != BL_FROM_FACT || s->i != i)
            j->checks |= 1U << i;
    }
}

bool bl_join_find(struct bl_join *j, const struct bl_subgoal *sg,
                  const bl_word *var, size_t vars, const struct bl_env *e,
                  const bl_word *cp) {
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
    if (j->producer->modes != NULL)
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
    plan_match(j);
    j->passes = passes_on(j);
    j->extends = extends(j, sg);
    return true;
}

// ---- running

struct run {
    struct bl_machine *m;
    const struct bl_join *j;
    const struct bl_subgoal *sg;
    struct bl_answer_cursor *cursor;
    uint64_t unseen;           // answers since the last look for an interrupt
    struct bl_trie_node *node; // below which the newest answer ends
    uint64_t before[BL_JOIN_ARGS]; // its tokens up to there
    struct bl_answer_batch batch;
};

static enum bl_tabling_step no_memory(struct bl_machine *m) {
    bl_throw_resource(m, "table_space");
    return BL_STEP_THROW;
}

static enum bl_tabling_step flush(struct run *r) {
    struct bl_subgoal *const sg = r->j->producer->sg;
    const uint64_t fresh = sg->fresh;
    const unsigned n = r->batch.n;
    if (n == 0)
        return BL_STEP_FAIL;
    if (!bl_answer_batch_insert(r->m->tabler->thread, sg, &r->batch))
        return no_memory(r->m);
    return bl_tabling_passed(r->m, r->j->producer, n, sg->fresh - fresh);
}

BL_INLINE uint64_t value_of(const struct bl_join_source *s,
                            const uint64_t *answer, const bl_word *fact) {
    return s->from == BL_FROM_ANSWER ? answer[s->i]
           : s->from == BL_FROM_FACT ? fact[s->i]
                                     : s->word;
}

// Finds the node of an answer, which often is that of the one before. False
// without memory.
BL_INLINE bool find_node(struct run *r, const uint64_t *answer,
                         const bl_word *fact) {
    const struct bl_join *const j = r->j;
    bool same = r->node != NULL;
    for (uint32_t i = 0; i + 1 < j->outs; i++) {
        const uint64_t token = value_of(&j->out[i], answer, fact);
        same = same && token == r->before[i];
        r->before[i] = token;
    }
    if (same)
        return true;
    r->node = bl_answer_node(j->producer->sg, r->before, j->outs);
    if (BL_UNLIKELY(r->node == NULL))
        r->node = bl_answer_node_make(r->m->tabler->thread, j->producer->sg,
                                      r->before, j->outs);
    return r->node != NULL;
}

BL_INLINE enum bl_tabling_step
make_answer(struct run *r, const uint64_t *answer, const bl_word *fact) {
    const struct bl_join *const j = r->j;
    if (BL_UNLIKELY(!find_node(r, answer, fact)))
        return no_memory(r->m);
    bl_answer_batch_add(&r->batch, r->node,
                        value_of(&j->out[j->outs - 1], answer, fact));
    return r->batch.n < BL_ANSWER_BATCH ? BL_STEP_FAIL : flush(r);
}

// The facts that may match.
BL_INLINE struct bl_clause_run facts_for(const struct bl_join *j,
                                         const uint64_t *answer) {
    struct bl_index *const ix =
        j->bound == 1 ? bl_load_acquire(&j->p->index[j->bound_at]) : NULL;
    if (BL_LIKELY(ix != NULL))
        return bl_index_find(ix, value_of(&j->arg[j->bound_at], answer, NULL));
    bl_word key[BL_JOIN_ARGS];
    for (uint32_t i = 0; i < j->args; i++) {
        key[i] = j->arg[i].from == BL_FROM_FACT
                     ? 0
                     : value_of(&j->arg[i], answer, NULL);
    }
    return bl_pred_match_keys(j->p, key, NULL);
}

BL_INLINE bool fact_matches(const struct bl_join *j, const uint64_t *answer,
                            const bl_word *fact) {
    for (uint32_t left = j->checks; left != 0; left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(left);
        if (fact[i] != value_of(&j->arg[i], answer, fact))
            return false;
    }
    return true;
}

BL_INLINE enum bl_tabling_step join_one(struct run *r, const uint64_t *answer) {
    if (r->j->p == NULL)
        return make_answer(r, answer, NULL);
    struct bl_clause_run run = facts_for(r->j, answer);
    enum bl_tabling_step step = BL_STEP_FAIL;
    for (; run.at < run.end && step == BL_STEP_FAIL; run.at++) {
        const bl_word *const fact = (*run.at)->key;
        if (BL_LIKELY(fact_matches(r->j, answer, fact)))
            step = make_answer(r, answer, fact);
    }
    return step;
}

// Looks for an interrupt after every so many answers.
BL_INLINE enum bl_tabling_step look(struct run *r, uint64_t more) {
    r->unseen += more;
    if (BL_LIKELY(r->unseen < CHECK_EVERY))
        return BL_STEP_FAIL;
    r->unseen = 0;
    return bl_load_relaxed(&r->m->heap_soft) != NULL || bl_machine_event(r->m)
               ? BL_STEP_FAIL
               : BL_STEP_THROW;
}

// Goes through the answers that are ready where all that is looked at is the
// last token. The others, and those that begin a piece of the list, are left to
// the way of all joins.
static enum bl_tabling_step extend(struct run *r) {
    const struct bl_join *const j = r->j;
    const uint32_t out = j->out[j->outs - 1].i;
    const struct bl_column *const column = bl_column_of(j->p, j->bound_at, out);
    const struct bl_answer_span span =
        bl_answers_ready(r->sg, r->cursor, j->outs);
    const struct bl_answer *a = span.at;
    enum bl_tabling_step step = BL_STEP_FAIL;
    for (; column != NULL && a < span.end && step == BL_STEP_FAIL; a++) {
        const struct bl_answer_end end = bl_answer_open_narrow(a);
        if (BL_UNLIKELY(end.parent == NULL || !is_constant(end.token)))
            break;
        struct bl_trie_node *const node = (void *)(uintptr_t)end.parent;
        const struct bl_column_slot *const s =
            bl_column_find(column, end.token);
        const bl_word *v = column->value + s->at;
        for (uint32_t n = s->n; n > 0 && step == BL_STEP_FAIL; n--) {
            bl_answer_batch_add(&r->batch, node, *v++);
            if (r->batch.n == BL_ANSWER_BATCH)
                step = flush(r);
        }
    }
    const size_t taken = (size_t)(a - span.at);
    r->cursor->index += taken;
    return step == BL_STEP_FAIL ? look(r, taken) : step;
}

// Passes answers on without looking at them more than necessary; returns how
// many, 0 where the next one has to go the way of all others.
static size_t pass_on(const struct run *r, enum bl_tabling_step *step) {
    const struct bl_join *const j = r->j;
    struct bl_subgoal *const to = j->producer->sg;
    uint64_t out[BL_JOIN_ARGS];
    for (uint32_t i = 0; i < j->outs; i++)
        out[i] = j->out[i].word;
    const struct bl_pass p = {r->sg, to, bl_answer_node(to, out, j->outs),
                              1u << BL_INT | 1u << BL_ATM};
    *step = BL_STEP_FAIL;
    if (p.node == NULL) // not there yet, or shared
        return 0;
    const uint64_t fresh = to->fresh;
    const size_t n =
        bl_answers_pass(r->m->tabler->thread, &p, r->cursor, CHECK_EVERY);
    *step = bl_tabling_passed(r->m, j->producer, n, to->fresh - fresh);
    return n;
}

// Passes on all that can be; then there is one to be taken singly, or none.
static enum bl_tabling_step pass_all(struct run *r) {
    for (;;) {
        enum bl_tabling_step step;
        const size_t passed = pass_on(r, &step);
        if (passed == 0 || step != BL_STEP_FAIL)
            return step;
        step = look(r, passed);
        if (step != BL_STEP_FAIL)
            return step;
    }
}

// Where calls are counted, the machine makes them.
static bool only_facts(struct bl_pred *p) {
    return p == NULL ||
           (bl_load_relaxed(&p->entry) == BL_OP_E_CLAUSES &&
            bl_load_relaxed(&p->rules) == 0 && BL_LIKELY(!bl_profiling));
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

// How it went with the next answer.
enum progress {
    TAKEN,
    DRY,  // there is none
    ODD,  // it is for the machine; the cursor stands before it
    ENDED // by the step
};

static enum progress take_one(struct run *r, enum bl_tabling_step *step) {
    uint64_t token[BL_JOIN_ARGS];
    const struct bl_answer_cursor before = *r->cursor;
    const struct bl_answer *const a = bl_answer_next_fast(r->sg, r->cursor);
    enum progress progress = TAKEN;
    if (a == NULL && r->batch.n == 0)
        return DRY;
    if (a == NULL) { // what is inserted now may have to be read as well
        *step = flush(r);
    } else if (BL_UNLIKELY(!read_simple(a, token, r->j->vars))) {
        *r->cursor = before;
        *step = flush(r);
        progress = ODD;
    } else {
        *step = join_one(r, token);
        if (r->j->passes && *step == BL_STEP_FAIL)
            *step = flush(r);
    }
    if (BL_LIKELY(*step == BL_STEP_FAIL))
        *step = look(r, 1);
    return BL_LIKELY(*step == BL_STEP_FAIL) ? progress : ENDED;
}

bool bl_join_run(struct bl_machine *m, const struct bl_join *j,
                 const struct bl_subgoal *sg, struct bl_answer_cursor *cursor,
                 enum bl_tabling_step *step) {
    struct run r;
    *step = BL_STEP_FAIL;
    if (!only_facts(j->p))
        return false;
    r.m = m;
    r.j = j;
    r.sg = sg;
    r.cursor = cursor;
    r.unseen = 0;
    r.node = NULL;
    r.batch.n = 0;
    for (;;) {
        if (j->passes || j->extends)
            *step = j->passes ? pass_all(&r) : extend(&r);
        if (BL_UNLIKELY(*step != BL_STEP_FAIL))
            return true;
        const enum progress p = take_one(&r, step);
        if (BL_UNLIKELY(p != TAKEN))
            return p != ODD;
    }
}
