// SPDX-License-Identifier: MIT
//
// Queries: a goal run from C. One that is a control construct is compiled as
// the body of a clause over its variables, so that the loop of a query such as
// (p(X), fail ; true) runs at full speed; any other is called as it is.
//
#include "logic/clause.h"
#include "logic/cleanup.h"
#include "logic/error.h"
#include "logic/message.h"
#include "logic/record.h"

static bool is_construct(bl_word goal) {
    if (bl_tag(goal) != BL_STR)
        return false;
    const bl_word f = *bl_ptr(goal);
    return f == BL_FN(comma_2) || f == BL_FN(semicolon_2) ||
           f == BL_FN(bar_2) || f == BL_FN(arrow_2) ||
           f == BL_FN(softarrow_2) || f == BL_FN(not_provable_1);
}

// The goal's variables, into `var`; SIZE_MAX where there are too many.
static size_t variables(struct bl_machine *m, bl_word goal, bl_word *var) {
    size_t n = 0;
    size_t depth = 0;
    for (;;) {
        goal = bl_deref(goal);
        if (bl_is_var(goal)) {
            size_t i = 0;
            while (i < n && var[i] != goal)
                i++;
            if (i == n && n == BL_MAX_ARITY)
                return SIZE_MAX;
            if (i == n)
                var[n++] = goal;
        } else if (bl_is_compound(goal)) {
            const uint32_t k = bl_functor_arity(bl_term_functor(goal));
            if (!bl_scratch_ensure(m, depth + k))
                return SIZE_MAX;
            for (uint32_t i = k; i-- > 0;)
                bl_scratch(m)[depth++] = bl_term_args(goal)[i];
        }
        if (depth == 0)
            return n;
        goal = bl_scratch(m)[--depth];
    }
}

// Calling the goal explains why it is not compiled, but for an interrupt, which
// comes again.
static void drop_error(struct bl_machine *m) {
    if (m->ball == NULL)
        return;
    if (m->thrown != 0)
        bl_machine_interrupt(m, m->thrown);
    bl_record_free(m->ball);
    m->ball = NULL;
}

// The goal as a clause, its variables in the registers; NULL where it cannot
// be compiled, which calling it then explains.
static struct bl_clause *compile(struct bl_machine *m, bl_word goal) {
    bl_word var[BL_MAX_ARITY];
    m->thrown = 0;
    const size_t n = variables(m, goal, var);
    if (n == SIZE_MAX || !bl_heap_ensure(m, n + 8)) {
        drop_error(m);
        return NULL;
    }
    const bl_word head =
        bl_struct(m, bl_functor(BL_ATOM(query_goal), (uint32_t)n), var);
    struct bl_clause *const c =
        bl_clause_compile(m, bl_struct2(m, BL_ATOM(neck), head, goal));
    if (c == NULL)
        drop_error(m);
    if (c == NULL || c->kind != BL_CLAUSE_CODE) {
        if (c != NULL)
            bl_clause_free(c);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        m->x[i] = var[i];
    return c;
}

int bl_query_open(struct bl_machine *m, struct bl_query *q, bl_word goal) {
    *q = (struct bl_query){.e = m->e, .cp = m->cp, .b0 = m->b0};
    goal = bl_deref(goal);
    q->base = bl_choice_push(m, bl_code_query_failed, 0);
    if (q->base == NULL)
        return BL_RUN_ERROR;
    if (is_construct(goal))
        q->clause = compile(m, goal);
    m->cp = bl_code_query_true;
    m->b0 = m->b;
    if (q->clause != NULL) {
        m->pc = bl_load_relaxed(&q->clause->code);
    } else {
        m->x[0] = goal;
        m->pc = bl_code_call;
    }
    return bl_machine_run(m);
}

int bl_query_next(struct bl_machine *m, struct bl_query *q) {
    BL_ASSERT(m->b >= q->base);
    (void)q;
    m->pc = bl_code_fail;
    return bl_machine_run(m);
}

// A cleanup that throws here has no catcher.
static void clean_up(struct bl_machine *m, const struct bl_query *q) {
    if (m->cleanups == 0 || m->b <= q->base)
        return;
    struct bl_record *const ball = m->ball;
    m->ball = NULL;
    if (!bl_cleanup_above(m, q->base) && m->ball != NULL) {
        bl_print_record(m, m->ball, NULL);
        bl_record_free(m->ball);
    }
    m->ball = ball;
}

static void leave(struct bl_machine *m, const struct bl_query *q) {
    m->b = q->base->prev;
    m->hb = m->b->h;
    m->e = q->e;
    m->cp = q->cp;
    m->b0 = q->b0;
}

// The clause stays: terms may point at the floats in its code.
void bl_query_cut(struct bl_machine *m, struct bl_query *q) {
    clean_up(m, q);
    leave(m, q);
}

void bl_query_close(struct bl_machine *m, struct bl_query *q) {
    if (q->base == NULL) // there was no room to begin
        return;
    clean_up(m, q);
    bl_untrail(m, q->base->tr);
    m->h = q->base->h;
    leave(m, q);
    if (q->clause != NULL)
        bl_clause_free(q->clause);
    q->clause = NULL;
}
