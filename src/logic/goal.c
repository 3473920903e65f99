// SPDX-License-Identifier: MIT
//
// Goals that are terms: call/N. A plain goal is called as if it stood in the
// clause; a control construct is run by '$body'/2 of the library, which is
// told the choice point that a cut in it reaches.
//
#include "logic/goal.h"

#include "logic/error.h"
#include "logic/moded.h"
#include "logic/record.h"

bl_word bl_goal_plain(bl_word goal) {
    const bl_word colon = BL_FN(colon_2);
    goal = bl_deref(goal);
    while (bl_tag(goal) == BL_STR && *bl_ptr(goal) == colon)
        goal = bl_deref(bl_ptr(goal)[2]);
    return goal;
}

static bool is_control(bl_word functor) {
    const bl_word name = bl_functor_name(functor);
    const uint32_t n = bl_functor_arity(functor);
    if (n == 2)
        return name == BL_ATOM(comma) || name == BL_ATOM(semicolon) ||
               name == BL_ATOM(bar) || name == BL_ATOM(arrow) ||
               name == BL_ATOM(softarrow);
    if (n == 1)
        return name == BL_ATOM(not_provable) || name == BL_ATOM(not );
    return n == 0 && name == BL_ATOM(cut);
}

// Adds the extra arguments of call/N to the goal, as a term.
static bl_word with_arguments(struct bl_machine *m, bl_word goal,
                              bl_word functor, uint32_t n, uint32_t extra) {
    bl_word args[2 * BL_MAX_ARITY];
    for (uint32_t i = 0; i < n; i++)
        args[i] = bl_term_args(goal)[i];
    for (uint32_t i = 0; i < extra; i++)
        args[n + i] = m->x[1 + i];
    return bl_struct(m, functor, args);
}

// Whether a construct has only callable goals and variables at its leaves.
static bool is_body(struct bl_machine *m, bl_word t, bool *fits) {
    size_t depth = 0;
    *fits = true;
    for (;;) {
        t = bl_deref(t);
        // what is negated is called, and looked at then
        const bool construct = bl_tag(t) == BL_STR &&
                               bl_functor_arity(*bl_ptr(t)) == 2 &&
                               is_control(*bl_ptr(t));
        if (!construct && !bl_is_var(t) && !bl_is_callable(t))
            *fits = false;
        if (construct) {
            const uint32_t n = bl_functor_arity(*bl_ptr(t));
            if (!bl_scratch_ensure(m, depth + n))
                return false;
            for (uint32_t i = n; i-- > 0;)
                bl_scratch(m)[depth++] = bl_ptr(t)[1 + i];
        }
        if (depth == 0)
            return true;
        t = bl_scratch(m)[--depth];
    }
}

static struct bl_pred *construct(struct bl_machine *m, bl_word goal) {
    bool fits;
    if (!is_body(m, goal, &fits))
        return NULL;
    if (!fits) {
        bl_throw_type(m, BL_ATOM_callable, goal);
        return NULL;
    }
    m->x[0] = goal;
    m->x[1] = bl_level_of(m, m->b);
    return bl_pred_ensure(BL_FN(body_2));
}

struct bl_pred *bl_goal_to_call(struct bl_machine *m, uint32_t extra) {
    const bl_word goal = bl_goal_plain(m->x[0]);
    if (bl_is_var(goal)) {
        bl_throw_instantiation(m);
        return NULL;
    }
    if (!bl_is_callable(goal)) {
        bl_throw_type(m, BL_ATOM_callable, goal);
        return NULL;
    }
    const bl_word own = bl_term_functor(goal);
    const uint32_t n = bl_functor_arity(own);
    if (n + extra > BL_MAX_ARITY) {
        bl_throw_representation(m, "max_arity");
        return NULL;
    }
    const bl_word functor =
        extra == 0 ? own : bl_functor(bl_functor_name(own), n + extra);
    if (is_control(functor))
        return construct(
            m, extra == 0 ? goal : with_arguments(m, goal, functor, n, extra));
    __builtin_memmove(m->x + n, m->x + 1, extra * sizeof(bl_word));
    for (uint32_t i = 0; i < n; i++)
        m->x[i] = bl_term_args(goal)[i];
    return bl_pred_ensure(functor);
}

struct bl_pred *bl_goal_to_negate(struct bl_machine *m) {
    const bl_word goal = bl_goal_plain(m->x[0]);
    const struct bl_pred *p = NULL;
    if (bl_is_callable(goal))
        p = bl_functor_pred(bl_term_functor(goal));
    if (p == NULL || (p->flags & BL_PRED_TABLED) == 0 ||
        !bl_is_called_plainly(p))
        return bl_pred_ensure(BL_FN(negation_1));
    return bl_goal_to_call(m, 0);
}
