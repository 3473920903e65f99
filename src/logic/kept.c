// SPDX-License-Identifier: MIT
//
// Answers kept for choice points when their table is abolished.
//
// A choice point that returns the answers of a complete goal reads them where
// they lie in the table. Before a table goes, the answers that such choice
// points have not returned are copied, and the choice points read the copies:
// a goal called before has the answers it had then. A copy goes when its last
// answer is returned or, if its choice point was cut off, at the next such
// occasion.
//
#include "logic/kept.h"

#include "logic/error.h"

#include <stdlib.h>
#include <string.h>

struct bl_kept {
    struct bl_kept *next;
    const struct bl_choice *owner;
    size_t at, end;   // words of `token` returned, used
    uint64_t token[]; // of each answer: how many follow, and these
};

// Words of the choice point of answers, see tabling.c: subgoal frame, next
// answer, cursor. Here the first is the copy.
enum { ANSWER_WORDS = 4 };

static struct bl_subgoal *subgoal_of(const struct bl_choice *b) {
    return (struct bl_subgoal *)(void *)bl_ptr(b->arg[0]);
}

static void drop(struct bl_tabler *t, struct bl_kept *k) {
    struct bl_kept **at = &t->kept;
    while (*at != k)
        at = &(*at)->next;
    *at = k->next;
    free(k);
}

static struct bl_kept *append(struct bl_kept *k, size_t *capacity,
                              const uint64_t *token, size_t n) {
    if (k->end + n + 1 > *capacity) {
        *capacity = 2 * *capacity + n + 1;
        struct bl_kept *const more =
            realloc(k, sizeof *k + *capacity * sizeof(uint64_t));
        if (more == NULL) {
            free(k);
            return NULL;
        }
        k = more;
    }
    k->token[k->end++] = n;
    if (n > 0)
        memcpy(k->token + k->end, token, n * sizeof *token);
    k->end += n;
    return k;
}

// What choice point `b` has not returned; NULL without memory.
static struct bl_kept *copy_rest(const struct bl_choice *b) {
    const struct bl_subgoal *const sg = subgoal_of(b);
    const struct bl_answer *a =
        (const struct bl_answer *)(void *)bl_ptr(b->arg[1]);
    struct bl_answer_cursor cursor = {(void *)bl_ptr(b->arg[2]), b->arg[3]};
    const size_t deepest = bl_answer_depth_max(sg);
    size_t capacity = 64;
    uint64_t *const few = malloc((deepest + 1) * sizeof *few);
    struct bl_kept *k = malloc(sizeof *k + capacity * sizeof(uint64_t));
    if (few == NULL) {
        free(k);
        k = NULL;
    }
    if (k != NULL)
        *k = (struct bl_kept){.owner = b};
    for (; k != NULL && a != NULL; a = bl_answer_next(sg, &cursor)) {
        const uint64_t *const token = bl_answer_read(a, few + deepest);
        k = append(k, &capacity, token, (size_t)(few + deepest - token));
    }
    free(few);
    return k;
}

static bool is_owned(const struct bl_machine *m, const struct bl_kept *k) {
    const struct bl_choice *b = m->b;
    while (b != NULL && b > k->owner)
        b = b->prev;
    return b != NULL && b == k->owner && b->alt == bl_code_kept &&
           (struct bl_kept *)(void *)bl_ptr(b->arg[0]) == k;
}

static void drop_unowned(struct bl_machine *m) {
    struct bl_kept *k = m->tabler->kept;
    while (k != NULL) {
        struct bl_kept *const next = k->next;
        if (!is_owned(m, k))
            drop(m->tabler, k);
        k = next;
    }
}

bool bl_keep_answers(struct bl_machine *m, const struct bl_table *table) {
    struct bl_tabler *const t = m->tabler;
    drop_unowned(m);
    for (struct bl_choice *b = m->b; b != NULL; b = b->prev) {
        if (b->alt != bl_code_answer ||
            (table != NULL && subgoal_of(b)->table != table))
            continue;
        struct bl_kept *const k = copy_rest(b);
        if (k == NULL) {
            bl_throw_resource(m, "memory");
            return false;
        }
        k->next = t->kept;
        t->kept = k;
        b->alt = bl_code_kept;
        b->arg[0] = bl_make(k, BL_REF);
    }
    return true;
}

bool bl_abolish_if_idle(struct bl_machine *m) {
    struct bl_tabler *const t = m->tabler;
    if (!t->abolish_soon || t->top != NULL)
        return true;
    if (!bl_keep_answers(m, NULL))
        return false;
    t->abolish_soon = !bl_table_abolish_all(t->thread);
    return true;
}

enum bl_tabling_step bl_retry_kept(struct bl_machine *m) {
    struct bl_choice *const b = m->b;
    struct bl_kept *const k = (struct bl_kept *)(void *)bl_ptr(b->arg[0]);
    const size_t n = k->token[k->at];
    const uint64_t *const token = k->token + k->at + 1;
    k->at += n + 1;
    const bool last = k->at == k->end;
    if (last)
        bl_choice_pop(m);
    const int r = bl_unify_tokens(m, token, n, b->arg + ANSWER_WORDS,
                                  b->n - ANSWER_WORDS);
    if (last)
        drop(m->tabler, k);
    return r > 0 ? BL_STEP_PROCEED : r == 0 ? BL_STEP_FAIL : BL_STEP_THROW;
}

void bl_kept_drop_all(struct bl_tabler *t) {
    while (t->kept != NULL)
        drop(t, t->kept);
}
