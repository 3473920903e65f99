// SPDX-License-Identifier: MIT
//
// Generators, answers, completion: see `tabling.h`.
//
#include "logic/tabling.h"

#include "logic/cleanup.h"
#include "logic/engine.h"
#include "logic/error.h"
#include "logic/join.h"
#include "logic/kept.h"
#include "logic/memory.h"
#include "logic/moded.h"
#include "logic/record.h"

#include <stdlib.h>
#include <string.h>

// Words of the choice points. Generator: goal, then the call's variables.
// Answers: subgoal frame, next answer, cursor, variables. Resumption:
// consumer, variables.
enum { GENERATOR_WORDS = 1, ANSWER_WORDS = 4, RESUME_WORDS = 1 };

// What is put into tables between looks at their limit: answers of few tokens
// count one, larger ones and calls as many as they take nodes of a trie, or
// blocks about as large.
enum { LIMIT_EVERY = 16384, FEW = 8, CALL_WEIGHT = 16 };

bool bl_tabling_open(struct bl_machine *m, struct bl_table_space *space) {
    struct bl_tabler *const t = calloc(1, sizeof *t);
    if (t == NULL)
        return false;
    t->thread = bl_table_attach(space);
    if (t->thread == NULL) {
        free(t);
        return false;
    }
    m->tabler = t;
    return true;
}

// ---- goals

static struct bl_goal *goal_of(const struct bl_subgoal *sg) {
    return (struct bl_goal *)sg->user;
}

static struct bl_goal *new_goal(struct bl_tabler *t, struct bl_subgoal *sg,
                                struct bl_pred *p) {
    struct bl_goal *g = t->free_goals;
    if (g != NULL)
        t->free_goals = g->below;
    else
        g = malloc(sizeof *g);
    if (g == NULL)
        return NULL;
    const uint64_t dfn = ++t->next_dfn;
    *g = (struct bl_goal){.sg = sg,
                          .pred = p,
                          .modes = t->modes,
                          .dfn = dfn,
                          .low = dfn,
                          .below = t->top,
                          .joins_mark = t->joins.newest,
                          .calls_mark = t->calls.newest,
                          .ready_mark = t->ready,
                          .waiting_mark = t->waiting,
                          .parent = t->generator,
                          .vars = (uint32_t)t->vars,
                          .shared = sg->answers->shared};
    t->top = g;
    bl_subgoal_evaluate(sg);
    bl_subgoal_set_user(sg, g);
    return g;
}

// Takes the newest incomplete goal off the stack.
static void drop_goal(struct bl_tabler *t) {
    struct bl_goal *const g = t->top;
    t->top = g->below;
    (void)bl_consumers_free(g->consumers);
    t->waiting -= bl_consumers_free(g->waiters);
    bl_best_free(g->best);
    g->below = t->free_goals;
    t->free_goals = g;
}

// halt/1 leaves goals that are being evaluated.
static void drop_evaluation(struct bl_tabler *t) {
    (void)bl_consumers_free(t->ready);
    while (t->top != NULL)
        drop_goal(t);
}

void bl_tabling_close(struct bl_machine *m) {
    struct bl_tabler *const t = m->tabler;
    if (t == NULL)
        return;
    drop_evaluation(t);
    bl_kept_drop_all(t);
    bl_table_detach(t->thread);
    while (t->free_goals != NULL) {
        struct bl_goal *const next = t->free_goals->below;
        free(t->free_goals);
        t->free_goals = next;
    }
    free(t->token);
    free(t->var);
    free(t->decoded_var);
    free(t->term);
    free(t->root);
    free(t->frame);
    free(t);
    m->tabler = NULL;
}

static struct bl_work *work_of(struct bl_tabler *t, const struct bl_goal *g) {
    return g->calls ? &t->calls : &t->joins;
}

void bl_goal_queue(struct bl_tabler *t, struct bl_goal *g) {
    if (g->queued || g->consumers == NULL)
        return;
    g->queued = true;
    struct bl_work *const w = work_of(t, g);
    g->work_prev = NULL;
    g->work_next = w->newest;
    *(w->newest != NULL ? &w->newest->work_prev : &w->oldest) = g;
    w->newest = g;
}

static struct bl_goal *take_work(struct bl_work *w, struct bl_goal *g) {
    *(g->work_prev != NULL ? &g->work_prev->work_next : &w->newest) =
        g->work_next;
    *(g->work_next != NULL ? &g->work_next->work_prev : &w->oldest) =
        g->work_prev;
    return g;
}

// The next goal of the leader's component to go on with, or NULL. Continuations
// that may call new goals go first, and depth first as calls do: that keeps
// components small. Of joins the one that has waited longest goes on, as the
// answers it got meanwhile are read together: a cycle of goals is done in two
// rounds and not in as many as there are goals.
static struct bl_goal *next_work(struct bl_tabler *t,
                                 const struct bl_goal *leader) {
    struct bl_goal *const mark = leader->joins_mark;
    if (t->calls.newest != leader->calls_mark)
        return take_work(&t->calls, t->calls.newest);
    return t->joins.newest != mark
               ? take_work(&t->joins,
                           mark != NULL ? mark->work_prev : t->joins.oldest)
               : NULL;
}

// Has all its answers: one without variables has one at most.
static bool is_goal_decided(const struct bl_goal *g) {
    return g->settled || (g->vars == 0 && bl_answer_any(g->sg));
}

static void depends_on(struct bl_tabler *t, uint64_t dfn) {
    if (t->generator != NULL && dfn < t->generator->low)
        t->generator->low = dfn;
}

bool bl_goal_term(struct bl_machine *m, const struct bl_subgoal *sg,
                  const struct bl_modes *modes, bl_word *out) {
    struct bl_pred *const p = bl_table_user(bl_subgoal_table(sg));
    const size_t n = bl_subgoal_depth(sg);
    uint64_t *const token = malloc((n + 1) * sizeof *token);
    bl_must_have(token);
    const uint64_t *const first = bl_subgoal_read(sg, token + n);
    bl_word args[BL_MAX_ARITY];
    bl_word key[BL_MAX_ARITY];
    const bool ok =
        bl_decode(m, first, n, key, modes != NULL ? modes->keys : p->arity) &&
        bl_heap_ensure(m, p->arity);
    free(token);
    if (ok)
        bl_moded_spread(m, p, modes, key, args);
    if (ok)
        *out = bl_struct(m, p->functor, args);
    return ok;
}

bool bl_not_stratified(struct bl_machine *m, const struct bl_goal *of,
                       const char *place) {
    bl_word goal;
    if (bl_goal_term(m, of->sg, of->modes, &goal))
        bl_throw_stratification(m, goal, place);
    return false;
}

// ---- answers of complete goals

static enum bl_tabling_step push_answers(struct bl_machine *m,
                                         struct bl_subgoal *sg,
                                         struct bl_answer_cursor cursor,
                                         const struct bl_answer *next,
                                         const bl_word *vars, size_t n) {
    // for the retries too, which begin with the trail as it is now
    struct bl_choice *const b =
        bl_trail_ensure(m, n)
            ? bl_choice_push(m, bl_code_answer, n + ANSWER_WORDS)
            : NULL;
    if (b == NULL)
        return BL_STEP_THROW;
    // The variables may lie in the choice point that stood here before.
    memmove(b->arg + ANSWER_WORDS, vars, n * sizeof(bl_word));
    b->arg[0] = bl_make(sg, BL_REF);
    b->arg[1] = bl_make(next, BL_REF);
    b->arg[2] = bl_make(cursor.chunk, BL_REF);
    b->arg[3] = cursor.index;
    return BL_STEP_PROCEED;
}

static enum bl_tabling_step take_answer(struct bl_machine *m,
                                        struct bl_subgoal *sg,
                                        const struct bl_answer *a,
                                        const bl_word *vars, size_t n) {
    const int r = bl_unify_answer(m, a, sg, vars, n);
    return r > 0 ? BL_STEP_PROCEED : r == 0 ? BL_STEP_FAIL : BL_STEP_THROW;
}

static enum bl_tabling_step return_answers(struct bl_machine *m,
                                           struct bl_subgoal *sg,
                                           const bl_word *vars, size_t n) {
    struct bl_answer_cursor cursor = {0};
    enum bl_tabling_step step;
    struct bl_join j;
    if (bl_join_find(&j, sg, vars, n, m->e, m->cp) &&
        bl_join_run(m, &j, sg, &cursor, &step))
        return step;
    const struct bl_answer *const first = bl_answer_next_fast(sg, &cursor);
    if (first == NULL)
        return BL_STEP_FAIL;
    if (n == 0)
        return BL_STEP_PROCEED;
    const struct bl_answer *const next = bl_answer_next_fast(sg, &cursor);
    if (next == NULL)
        return take_answer(m, sg, first, vars, n);
    if (push_answers(m, sg, cursor, next, vars, n) == BL_STEP_THROW)
        return BL_STEP_THROW;
    return take_answer(m, sg, first, m->b->arg + ANSWER_WORDS, n);
}

// Out of line: all that the way below does not do.
static BL_NOINLINE enum bl_tabling_step
retry_answer_slow(struct bl_machine *m) {
    struct bl_choice *const b = m->b;
    struct bl_subgoal *const sg =
        (struct bl_subgoal *)(void *)bl_ptr(b->arg[0]);
    const struct bl_answer *const a =
        (const struct bl_answer *)(void *)bl_ptr(b->arg[1]);
    struct bl_answer_cursor cursor = {(void *)bl_ptr(b->arg[2]), b->arg[3]};
    const struct bl_answer *const next = bl_answer_next_fast(sg, &cursor);
    b->arg[1] = bl_make(next, BL_REF);
    b->arg[2] = bl_make(cursor.chunk, BL_REF);
    b->arg[3] = cursor.index;
    if (next == NULL)
        bl_choice_pop(m);
    return take_answer(m, sg, a, b->arg + ANSWER_WORDS, b->n - ANSWER_WORDS);
}

// Binds the variables of a choice point for answers to one of as many
// constants; false, with nothing bound, where it is more than that. They are
// unbound, as they were in the call, and older than the choice point.
BL_INLINE bool bind_constants(struct bl_machine *m, const struct bl_choice *b,
                              struct bl_answer_end a) {
    bl_word *tr = b->tr;
    BL_ASSERT(m->b == b && m->tr == tr && b->n > ANSWER_WORDS);
    for (uint64_t i = b->n; bl_is_int(a.token) || bl_is_atom(a.token);) {
        bl_word *const cell = bl_ptr(b->arg[--i]);
        BL_ASSERT(*cell == bl_ref(cell) && cell < m->hb);
        *cell = a.token;
        *tr++ = bl_ref(cell);
        if ((i == ANSWER_WORDS) != (a.parent->parent == NULL))
            break;
        if (i == ANSWER_WORDS) {
            m->tr = tr;
            return true;
        }
        a = (struct bl_answer_end){a.parent->token, a.parent->parent};
    }
    m->tr = tr;
    bl_untrail(m, b->tr);
    return false;
}

enum bl_tabling_step bl_tabling_retry_answer(struct bl_machine *m) {
    struct bl_choice *const b = m->b;
    const struct bl_answer *const a =
        (const struct bl_answer *)(void *)bl_ptr(b->arg[1]);
    const struct bl_answer_cursor cursor = {(void *)bl_ptr(b->arg[2]),
                                            b->arg[3]};
    const struct bl_answer *const next = bl_answer_ready(&cursor);
    if (BL_UNLIKELY(next == NULL || !bind_constants(m, b, bl_answer_open(a))))
        return retry_answer_slow(m);
    bl_answer_prefetch_read(next);
    b->arg[1] = bl_make(next, BL_REF);
    b->arg[3] = cursor.index + 1;
    return BL_STEP_PROCEED;
}

// ---- the limit

// Also looks for an interrupt: a builtin with many solutions and answers that
// fail are a loop without a call.
static bool within_limit(struct bl_machine *m) {
    // relaxed: bl_machine_poll looks again
    if (bl_load_relaxed(&m->interrupt) != 0 && !bl_machine_poll(m))
        return false;
    if (bl_engine.table_limit == 0 ||
        bl_table_bytes(bl_engine.space) <= bl_engine.table_limit)
        return true;
    bl_throw_resource(m, "table_space");
    return false;
}

// False: ball set.
static bool weigh(struct bl_machine *m, uint64_t n) {
    struct bl_tabler *const t = m->tabler;
    const uint64_t before = t->inserted;
    t->inserted += n;
    return before / LIMIT_EVERY == t->inserted / LIMIT_EVERY || within_limit(m);
}

// ---- calls

static enum bl_tabling_step generate(struct bl_machine *m,
                                     struct bl_subgoal *sg, struct bl_pred *p,
                                     bool negated) {
    struct bl_tabler *const t = m->tabler;
    const size_t n = t->vars;
    if (!weigh(m, CALL_WEIGHT + bl_subgoal_depth(sg)))
        return BL_STEP_THROW;
    struct bl_choice *const b =
        bl_choice_push(m, bl_code_generator, n + GENERATOR_WORDS);
    struct bl_env *const base = b != NULL ? bl_env_push(m, n + 1) : NULL;
    if (base == NULL) {
        if (b != NULL)
            bl_choice_pop(m);
        return BL_STEP_THROW;
    }
    struct bl_goal *const g = new_goal(t, sg, p);
    if (g == NULL) {
        bl_choice_pop(m);
        bl_throw_resource(m, "memory");
        return BL_STEP_THROW;
    }
    g->negated = negated;
    b->arg[0] = bl_make(g, BL_REF);
    if (n > 0) // no variables: the vector may be NULL
        memcpy(b->arg + GENERATOR_WORDS, t->var, n * sizeof(bl_word));
    base->y[0] = bl_make(g, BL_REF);
    if (n > 0)
        memcpy(base->y + 1, t->var, n * sizeof(bl_word));
    m->cp = bl_code_new_answer;
    t->generator = g;
    return BL_STEP_CLAUSES;
}

static enum bl_tabling_step consume(struct bl_machine *m, struct bl_goal *g,
                                    const struct bl_env *e, const bl_word *cp) {
    struct bl_tabler *const t = m->tabler;
    depends_on(t, g->dfn);
    return bl_suspend(m, g, t->var, t->vars, e, cp) ? BL_STEP_FAIL
                                                    : BL_STEP_THROW;
}

static bool is_decided(const struct bl_subgoal *sg) {
    if (sg->state == BL_COMPLETE)
        return true;
    if (sg->state == BL_FRESH)
        return bl_subgoal_completed_elsewhere(sg);
    return is_goal_decided(goal_of(sg));
}

// The frame of the call of `n` tokens; NULL: ball set. What another thread has
// abolished of a shared table is seen no longer by one that evaluates nothing.
static struct bl_subgoal *frame_of(struct bl_machine *m, struct bl_table *table,
                                   size_t n) {
    struct bl_tabler *const t = m->tabler;
    struct bl_subgoal *sg = bl_table_call(t->thread, table, t->token, n);
    if (BL_UNLIKELY(sg != NULL && sg->entry != NULL) && t->top == NULL &&
        bl_table_is_outdated(t->thread, table)) {
        if (!bl_keep_answers(m, table))
            return NULL;
        bl_table_renew(t->thread, table);
        sg = bl_table_call(t->thread, table, t->token, n);
    }
    if (sg == NULL)
        bl_throw_resource(m, "table_space");
    return sg;
}

// The call whose arguments are in the registers; NULL: *step says why.
static struct bl_subgoal *find_call(struct bl_machine *m, struct bl_pred *p,
                                    enum bl_tabling_step *step) {
    struct bl_tabler *const t = m->tabler;
    // Acquire: pairs with the declaration of the modes.
    const struct bl_modes *const modes = bl_load_acquire(&p->modes);
    const long n = BL_LIKELY(modes == NULL && !bl_are_calls_abstracted())
                       ? bl_encode(m, m->x, p->arity, true)
                       : bl_moded_call(m, p, modes);
    t->modes = modes;
    *step = n == BL_MODED_BOUND ? BL_STEP_MODED : BL_STEP_THROW;
    if (n < 0)
        return NULL;
    return frame_of(m, bl_modes_table(p, modes), (size_t)n);
}

enum bl_tabling_step bl_tabling_call(struct bl_machine *m, struct bl_pred *p) {
    struct bl_tabler *const t = m->tabler;
    enum bl_tabling_step step;
    struct bl_subgoal *const sg = find_call(m, p, &step);
    if (sg == NULL)
        return step;
    if (is_decided(sg))
        return return_answers(m, sg, t->var, t->vars);
    if (sg->state == BL_EVALUATING)
        return consume(m, goal_of(sg), m->e, m->cp);
    return generate(m, sg, p, false);
}

static enum bl_tabling_step hold_if_absent(const struct bl_subgoal *sg) {
    return !bl_answer_any(sg) ? BL_STEP_PROCEED : BL_STEP_FAIL;
}

// A negation around the goal `g`, which is being evaluated.
static enum bl_tabling_step await_absence(struct bl_machine *m,
                                          struct bl_goal *g) {
    if (bl_answer_any(g->sg))
        return BL_STEP_FAIL;
    return bl_suspend_absent(m, g, m->e, m->cp) ? BL_STEP_FAIL : BL_STEP_THROW;
}

enum bl_tabling_step bl_tabling_call_absent(struct bl_machine *m,
                                            struct bl_pred *p) {
    enum bl_tabling_step step;
    struct bl_subgoal *const sg = find_call(m, p, &step);
    if (sg == NULL)
        return step;
    if (is_decided(sg))
        return hold_if_absent(sg);
    if (sg->state == BL_FRESH)
        return generate(m, sg, p, true);
    depends_on(m->tabler, goal_of(sg)->dfn);
    return await_absence(m, goal_of(sg));
}

// ---- new answers

enum bl_tabling_step bl_tabling_passed(struct bl_machine *m, struct bl_goal *g,
                                       size_t n, uint64_t fresh) {
    struct bl_tabler *const t = m->tabler;
    // Somebody else's answer is new to this thread's consumers.
    if (fresh > 0 || g->shared) {
        g->grown = true;
        bl_goal_queue(t, g);
    }
    return weigh(m, n) ? BL_STEP_FAIL : BL_STEP_THROW;
}

static enum bl_tabling_step insert(struct bl_machine *m, struct bl_goal *g,
                                   const uint64_t *token, size_t n) {
    const enum bl_answer_result r =
        bl_answer_insert_fast(m->tabler->thread, g->sg, token, n);
    if (r != BL_ANSWER_NO_MEMORY)
        return bl_tabling_passed(m, g, 1, r == BL_ANSWER_NEW);
    bl_throw_resource(m, "table_space");
    return BL_STEP_THROW;
}

// Early completion: a goal without variables needs no second answer, so what
// else its clauses or its consumer could do is cut away. The choice point of a
// resumption stays, for the consumers that come next.
static enum bl_tabling_step decide(struct bl_machine *m, struct bl_goal *g) {
    struct bl_choice *b = m->b;
    if (insert(m, g, NULL, 0) == BL_STEP_THROW)
        return BL_STEP_THROW;
    while (b->alt != bl_code_generator && b->alt != bl_code_resume)
        b = b->prev;
    if (m->cleanups > 0 && !bl_cleanup_above(m, b))
        return BL_STEP_THROW;
    m->b = b;
    m->hb = b->h;
    return BL_STEP_FAIL;
}

static enum bl_tabling_step insert_terms(struct bl_machine *m,
                                         struct bl_goal *g, const bl_word *vars,
                                         size_t n) {
    const long tokens = bl_encode(m, vars, n, false);
    if (tokens < 0 || (tokens > FEW && !weigh(m, (uint64_t)tokens)))
        return BL_STEP_THROW;
    return insert(m, g, m->tabler->token, (size_t)tokens);
}

// Out of line, so that the way below is short.
static BL_NOINLINE enum bl_tabling_step answer_with_modes(struct bl_machine *m,
                                                          struct bl_goal *g,
                                                          const bl_word *vars,
                                                          size_t n) {
    if (bl_has_modes(g->modes))
        return bl_moded_answer(m, g, vars, n);
    return n == 0 ? decide(m, g) : insert_terms(m, g, vars, n);
}

enum bl_tabling_step bl_tabling_new_answer(struct bl_machine *m) {
    const struct bl_env *const e = m->e;
    struct bl_goal *const g = (struct bl_goal *)(void *)bl_ptr(e->y[0]);
    const size_t n = e->n - 1;
    if (BL_UNLIKELY(g->modes != NULL))
        return answer_with_modes(m, g, e->y + 1, n);
    if (BL_UNLIKELY(n == 0))
        return decide(m, g);
    uint64_t token[8];
    if (n <= BL_ARRAY_LEN(token)) {
        size_t i = 0;
        for (; i < n; i++) {
            token[i] = bl_deref(e->y[1 + i]);
            if (!bl_is_int(token[i]) && !bl_is_atom(token[i]))
                break;
        }
        if (i == n)
            return insert(m, g, token, n);
    }
    return insert_terms(m, g, e->y + 1, n);
}

// ---- consumers

// Starts the first consumer from `c` on that has something to read; when there
// is none, its goal is done for now.
static enum bl_tabling_step resume_from(struct bl_machine *m,
                                        struct bl_consumer *c) {
    for (; c != NULL; c = c->next) {
        enum bl_tabling_step step = BL_STEP_FAIL;
        if (c->join != NULL &&
            bl_join_run(m, c->join, c->of->sg, &c->cursor, &step)) {
            if (step == BL_STEP_THROW)
                return step;
            continue;
        }
        struct bl_answer_cursor look = c->cursor;
        if (bl_answer_next_fast(c->of->sg, &look) == NULL ||
            is_goal_decided(c->producer))
            continue;
        if (!bl_resume(m, c))
            return BL_STEP_THROW;
        m->tabler->resumptions++;
        struct bl_choice *const b =
            bl_choice_push(m, bl_code_resume, c->vars + RESUME_WORDS);
        if (b == NULL)
            return BL_STEP_THROW;
        b->arg[0] = bl_make(c, BL_REF);
        memcpy(b->arg + RESUME_WORDS, m->tabler->root,
               c->vars * sizeof(bl_word));
        return bl_tabling_retry_resume(m);
    }
    return BL_STEP_FAIL;
}

enum bl_tabling_step bl_tabling_retry_resume(struct bl_machine *m) {
    struct bl_choice *const b = m->b;
    // NULL: the continuation of a negation, which runs once
    struct bl_consumer *const c =
        (struct bl_consumer *)(void *)bl_ptr(b->arg[0]);
    const struct bl_answer *const a =
        c != NULL && !is_goal_decided(c->producer)
            ? bl_answer_next_fast(c->of->sg, &c->cursor)
            : NULL;
    if (BL_LIKELY(a != NULL))
        return take_answer(m, c->of->sg, a, b->arg + RESUME_WORDS, c->vars);
    bl_choice_pop(m);
    // what the resumption put on the stacks goes
    m->e = m->b->e;
    m->cp = m->b->cp;
    m->h = m->b->h;
    return c != NULL ? resume_from(m, c->next) : BL_STEP_FAIL;
}

// A negation holds: its continuation goes on.
static enum bl_tabling_step resume_ready(struct bl_machine *m) {
    struct bl_tabler *const t = m->tabler;
    struct bl_consumer *const c = t->ready;
    t->ready = c->next;
    c->next = NULL;
    const bool resumed = bl_resume(m, c);
    (void)bl_consumers_free(c);
    struct bl_choice *const b =
        resumed ? bl_choice_push(m, bl_code_resume, RESUME_WORDS) : NULL;
    if (b == NULL)
        return BL_STEP_THROW;
    b->arg[0] = bl_make(NULL, BL_REF);
    t->resumptions++;
    return BL_STEP_PROCEED;
}

// ---- completion

static enum bl_tabling_step complete(struct bl_machine *m, struct bl_goal *g,
                                     const bl_word *vars, size_t n) {
    struct bl_tabler *const t = m->tabler;
    struct bl_subgoal *const sg = g->sg;
    const bool negated = g->negated;
    t->generator = g->parent;
    for (bool last = false; !last;) {
        last = t->top == g;
        bl_subgoal_complete(t->thread, t->top->sg);
        bl_subgoal_set_user(t->top->sg, NULL);
        drop_goal(t);
    }
    bl_choice_pop(m);
    const enum bl_tabling_step step =
        negated ? hold_if_absent(sg) : return_answers(m, sg, vars, n);
    return BL_LIKELY(!t->abolish_soon) || bl_abolish_if_idle(m) ? step
                                                                : BL_STEP_THROW;
}

// The goal depends on an older one: its caller waits as its consumer, unless
// there is nothing left to wait for.
static enum bl_tabling_step merge(struct bl_machine *m, struct bl_goal *g,
                                  const bl_word *vars, size_t n) {
    struct bl_tabler *const t = m->tabler;
    t->generator = g->parent;
    BL_ASSERT(g->parent != NULL);
    depends_on(t, g->low);
    bl_choice_pop(m);
    if (g->negated)
        return await_absence(m, g);
    if (is_goal_decided(g))
        return return_answers(m, g->sg, vars, n);
    return bl_suspend(m, g, vars, n, m->e, m->cp) ? BL_STEP_FAIL
                                                  : BL_STEP_THROW;
}

// The consumers that may have something to read: all of them where answers
// came, else those that are new.
static struct bl_consumer *begin_pass(struct bl_goal *g) {
    struct bl_consumer *const first = g->grown ? g->consumers : g->unvisited;
    g->queued = false;
    g->grown = false;
    g->unvisited = NULL;
    return first;
}

// Runs what can run in the component of the leader `g`: first consumers with
// unread answers, then negations that hold; when neither is left, what can be
// settled is. False: nothing is left, the component is complete.
static bool advance(struct bl_machine *m, struct bl_goal *g,
                    enum bl_tabling_step *step) {
    struct bl_tabler *const t = m->tabler;
    *step = BL_STEP_FAIL;
    struct bl_goal *const next = next_work(t, g);
    if (next != NULL) {
        *step = resume_from(m, begin_pass(next));
    } else if (t->ready != g->ready_mark) {
        *step = resume_ready(m);
    } else if (t->waiting != g->waiting_mark) {
        if (!bl_absence_settle(m, g))
            *step = BL_STEP_THROW;
    } else {
        return false;
    }
    return true;
}

enum bl_tabling_step bl_tabling_retry_generator(struct bl_machine *m) {
    struct bl_choice *const b = m->b;
    struct bl_goal *const g = (struct bl_goal *)(void *)bl_ptr(b->arg[0]);
    const bl_word *const vars = b->arg + GENERATOR_WORDS;
    enum bl_tabling_step step;
    BL_ASSERT(m->tabler->generator == g);
    while (g->low == g->dfn && advance(m, g, &step)) {
        if (step != BL_STEP_FAIL || m->b != b)
            return step;
        if (BL_UNLIKELY(bl_load_relaxed(&m->heap_soft) == NULL) &&
            !bl_machine_event(m))
            return BL_STEP_THROW;
    }
    if (g->low == g->dfn)
        return complete(m, g, vars, g->vars);
    return merge(m, g, vars, g->vars);
}

// ---- errors

// Frees those of a list that work for goals from number `dfn` on; returns the
// rest, in order.
static struct bl_consumer *keep_older(struct bl_consumer *c, uint64_t dfn,
                                      struct bl_consumer **last,
                                      uint64_t *freed) {
    struct bl_consumer *first = NULL;
    struct bl_consumer **end = &first;
    *last = NULL;
    while (c != NULL) {
        struct bl_consumer *const next = c->next;
        if (c->producer->dfn < dfn) {
            *end = *last = c;
            end = &c->next;
        } else {
            c->next = NULL;
            *freed += bl_consumers_free(c);
        }
        c = next;
    }
    *end = NULL;
    return first;
}

static void forget_work(struct bl_work *w, uint64_t dfn) {
    struct bl_goal *next;
    for (struct bl_goal *g = w->newest; g != NULL; g = next) {
        next = g->work_next;
        if (g->dfn >= dfn)
            (void)take_work(w, g);
    }
}

// The oldest goal whose answers those from `oldest` on have waited for: what
// suspends notes it in `low`.
static uint64_t lowest(const struct bl_tabler *t,
                       const struct bl_goal *oldest) {
    uint64_t low = oldest->low;
    for (const struct bl_goal *g = t->top; g != oldest; g = g->below)
        low = g->low < low ? g->low : low;
    return low;
}

static bool has_younger(const struct bl_consumer *c, uint64_t dfn) {
    while (c != NULL && c->producer->dfn < dfn)
        c = c->next;
    return c != NULL;
}

// Older goals must not find answers for those that go, from `oldest` on. All
// their consumers are looked at again, which loses nothing. Where a call has
// failed deep inside others, most go without being waited for: looking at all
// that are older would take quadratic time.
static void forget_younger(struct bl_tabler *t, const struct bl_goal *oldest) {
    const uint64_t dfn = oldest->dfn;
    while (t->ready != oldest->ready_mark) {
        struct bl_consumer *const c = t->ready;
        t->ready = c->next;
        c->next = NULL;
        (void)bl_consumers_free(c);
    }
    forget_work(&t->joins, dfn);
    forget_work(&t->calls, dfn);
    const uint64_t low = lowest(t, oldest);
    struct bl_goal *g = oldest->below;
    for (; g != NULL && g->dfn >= low; g = g->below) {
        struct bl_consumer *last;
        uint64_t freed = 0;
        g->waiters = keep_older(g->waiters, dfn, &last, &freed);
        t->waiting -= freed;
        g->consumers = keep_older(g->consumers, dfn, &last, &freed);
        g->last_consumer = last;
        g->unvisited = g->consumers;
    }
    for (; BL_CHECKS >= 3 && g != NULL; g = g->below)
        BL_CHECK(!has_younger(g->consumers, dfn) &&
                 !has_younger(g->waiters, dfn));
}

void bl_tabling_abandon(struct bl_machine *m, struct bl_choice *generator) {
    struct bl_tabler *const t = m->tabler;
    struct bl_goal *const g =
        (struct bl_goal *)(void *)bl_ptr(generator->arg[0]);
    t->generator = g->parent;
    forget_younger(t, g);
    for (bool last = false; !last;) {
        last = t->top == g;
        bl_subgoal_set_user(t->top->sg, NULL);
        bl_subgoal_abandon(t->thread, t->top->sg);
        drop_goal(t);
    }
}
