// SPDX-License-Identifier: MIT
//
// Delta debugging [Zeller-2002]: leave out ever smaller parts of the trace as
// long as it still fails; then make the numbers smaller, and all threads one.
// Any part of a trace is a trace (see model.h), so nothing else is needed.
//
#include "model.h"

#include <string.h>
#include <time.h>

struct search {
    const struct model_api *api;
    struct trace *best;
    struct trace trial;
    time_t deadline;
    unsigned tries;
};

static time_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static bool time_is_up(const struct search *s) { return now() >= s->deadline; }

// Takes the trial where it fails too.
static bool still_fails(struct search *s) {
    s->tries++;
    if (replay_in_child(s->api, &s->trial, NULL, 0))
        return false;
    memcpy(s->best->ops, s->trial.ops, s->trial.count * sizeof(struct op));
    s->best->count = s->trial.count;
    return true;
}

static void copy_without(struct search *s, size_t from, size_t count) {
    const struct trace *const t = s->best;
    const size_t end = from + count < t->count ? from + count : t->count;
    memcpy(s->trial.ops, t->ops, from * sizeof(struct op));
    memcpy(s->trial.ops + from, t->ops + end,
           (t->count - end) * sizeof(struct op));
    s->trial.count = t->count - (end - from);
}

static void leave_out_parts(struct search *s) {
    for (size_t part = s->best->count / 2; part >= 1; part /= 2) {
        bool any = true;
        while (any && !time_is_up(s)) {
            any = false;
            for (size_t at = 0; at < s->best->count && !time_is_up(s);) {
                copy_without(s, at, part);
                if (still_fails(s))
                    any = true;
                else
                    at += part;
            }
            // Large parts are tried once: what remains is left to small ones.
            if (part > 16)
                any = false;
        }
    }
}

static bool try_op(struct search *s, size_t i, struct op op) {
    if (memcmp(&s->best->ops[i], &op, sizeof op) == 0)
        return false;
    copy_without(s, s->best->count, 0);
    s->trial.ops[i] = op;
    return still_fails(s);
}

static void make_numbers_small(struct search *s) {
    for (size_t i = 0; i < s->best->count && !time_is_up(s); i++) {
        struct op op = s->best->ops[i];
        op.thread = 0;
        if (op.kind != OP_end)
            try_op(s, i, op);
        while (s->best->ops[i].a > 1 && !time_is_up(s)) {
            op = s->best->ops[i];
            op.a /= 2;
            if (!try_op(s, i, op))
                break;
        }
        while (s->best->ops[i].b > 1 && !time_is_up(s)) {
            op = s->best->ops[i];
            op.b /= 2;
            if (!try_op(s, i, op))
                break;
        }
    }
}

void shrink(const struct model_api *api, struct trace *t, unsigned seconds) {
    struct search s = {.api = api,
                       .best = t,
                       .trial = trace_new(t->capacity),
                       .deadline = now() + (time_t)seconds};
    const size_t before = t->count;
    leave_out_parts(&s);
    if (t->count <= 200)
        make_numbers_small(&s);
    leave_out_parts(&s);
    printf("shrunk from %zu to %zu operations in %u replays\n", before,
           t->count, s.tries);
}
