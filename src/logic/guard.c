// SPDX-License-Identifier: MIT
//
// What a goal has for as long as it runs: another place for its output, a
// mutex. It stands in a choice point, so that failure and errors, limits and
// Ctrl-C among them, give it back wherever they find the goal: the builtin
// that takes it pushes the choice point before anything can be thrown, and the
// builtin behind the goal pops it. Between the two no cut may take it away:
// clauses of the library have the form
//
//   take, ( call(G) -> give_back )
//
// setup_call_cleanup/3 does as much for any goals (cleanup.c); here no goal is
// run, and a cut need not look for it.
//
#include "logic/guard.h"

#include "logic/builtin.h"

// Calls '$guard_back': an instruction of its own would be one more in the loop.
bl_word bl_code_guard[2];

enum { WORDS = 3 }; // the kind, and two of its own

struct bl_choice *bl_guard_push(struct bl_machine *m, enum bl_guard_kind kind) {
    struct bl_choice *const b = bl_choice_push(m, bl_code_guard, WORDS);
    if (b == NULL)
        return NULL;
    b->arg[0] = bl_int(kind);
    b->arg[1] = b->arg[2] = bl_int(0);
    return b;
}

void bl_guard_undo(struct bl_machine *m, const struct bl_choice *b) {
    BL_ASSERT(b->alt == bl_code_guard && b->n == WORDS);
    if (b->arg[0] == bl_int(BL_GUARD_OUTPUT))
        bl_output_undo(m, b->arg);
    else
        bl_mutex_undo(m, b->arg);
}

// Backtracking came to the choice point.
static int back_0(struct bl_machine *m, bl_word *a) {
    const struct bl_choice *const b = m->b;
    (void)a;
    bl_untrail(m, b->tr);
    m->h = b->h;
    m->e = b->e;
    m->cp = b->cp;
    bl_choice_pop(m);
    bl_guard_undo(m, b);
    return BL_FAIL;
}

void bl_builtins_guard(void) {
    const struct bl_pred *const back =
        bl_pred_define_builtin("$guard_back", 0, back_0, BL_OP_E_BUILTIN);
    bl_code_guard[0] = BL_OP_BUILTIN;
    bl_code_guard[1] = bl_make(back, BL_REF);
}
