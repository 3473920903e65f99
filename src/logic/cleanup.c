// SPDX-License-Identifier: MIT
//
// A goal with a cleanup leaves a choice point. Backtracking to it, a cut that
// removes it, and an error that passes it run the cleanup: as a query of its
// own, in the middle of the instruction, with all registers kept, and shielded
// from limits and Ctrl-C for a while. `cleanups` counts these choice points, so
// that a cut looks for them only where there are some.
//
#include "logic/cleanup.h"

#include "logic/builtin.h"

#include <string.h>

// The cleanup has run: only failure is left.
static const bl_word ran[] = {BL_OP_TRUST_ELSE, BL_OP_FAIL};

// So long limits and Ctrl-C wait for a cleanup, which is there for them too: it
// would keep for ever what it has not given back.
#define PATIENCE_NS 1000000000u

// Cleanups within cleanups: each runs on the C stack.
enum { DEEPEST = 100 };

static void run(struct bl_machine *m, bl_word goal) {
    bl_word x[BL_REGISTERS];
    const bl_word *const pc = m->pc;
    const uint64_t shielded = m->shielded_ns;
    if (m->cleanups_deep == DEEPEST) {
        bl_throw_resource(m, "cleanups");
        return;
    }
    m->cleanups_deep++;
    if (shielded == 0)
        m->shielded_ns = bl_now_ns() + PATIENCE_NS;
    memcpy(x, m->x, sizeof x);
    struct bl_query q;
    const int r = bl_query_open(m, &q, bl_struct1(m, BL_ATOM(ignore), goal));
    if (r == BL_RUN_TRUE)
        bl_query_cut(m, &q);
    else
        bl_query_close(m, &q);
    memcpy(m->x, x, sizeof x);
    m->pc = pc;
    m->shielded_ns = shielded;
    m->cleanups_deep--;
}

// Of two balls the first stays; an interrupt that the second one was comes
// again.
static void run_beside_ball(struct bl_machine *m, bl_word goal) {
    struct bl_record *const first = m->ball;
    const uint32_t thrown = m->thrown;
    m->ball = NULL;
    m->thrown = 0;
    run(m, goal);
    if (first == NULL)
        return;
    if (m->ball != NULL && m->thrown != 0)
        bl_machine_interrupt(m, m->thrown);
    if (m->ball != NULL)
        bl_record_free(m->ball);
    m->ball = first;
    m->thrown = thrown;
}

bool bl_cleanup_above(struct bl_machine *m, const struct bl_choice *b) {
    for (struct bl_choice *c = m->b; c > b && m->cleanups > 0; c = c->prev) {
        if (c->alt != bl_code_cleanup)
            continue;
        c->alt = ran;
        m->cleanups--;
        run_beside_ball(m, c->arg[0]);
    }
    return m->ball == NULL && !m->halting;
}

bool bl_cleanup_in_failure(struct bl_machine *m) {
    const struct bl_choice *const b = m->b;
    bl_choice_pop(m);
    m->cleanups--;
    run(m, b->arg[0]); // read before another choice point takes its place
    return m->ball == NULL && !m->halting;
}

void bl_cleanup_in_error(struct bl_machine *m, struct bl_choice *b) {
    m->cleanups--;
    run_beside_ball(m, b->arg[0]);
}
