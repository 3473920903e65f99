// SPDX-License-Identifier: MIT
//
// What clauses leave behind. A running call may stand in an array that was
// replaced, or go on to a clause that was erased after it began; so both are
// kept. They are freed when they have become many, one machine is all there
// is, and none of its choice points goes through clauses of the predicate or
// belongs to clause/2 or retract/1, which may. Erased rules stay: their code
// may be running.
//
#include "logic/index.h"

#include <stdlib.h>

enum { LOOKED_AT = 4096 }; // choice points; with more, nothing is freed

void bl_keep_clauses(struct bl_pred *p, struct bl_clauses *old) {
    if (old == NULL)
        return;
    old->next = p->old_clauses;
    p->old_clauses = old;
    p->old++;
}

void bl_keep_index(struct bl_pred *p, struct bl_index *old) {
    old->next = p->old_indexes;
    p->old_indexes = old;
    p->old++;
}

void bl_keep_clause(struct bl_pred *p, struct bl_clause *c) {
    if (c->kind != BL_CLAUSE_FACT)
        return;
    c->next_erased = p->erased;
    p->erased = c;
    p->old++;
}

static bool goes_through(const struct bl_choice *b, const struct bl_pred *p) {
    const bl_word op = *b->alt;
    if (op == BL_OP_RETRY_CLAUSE || op == BL_OP_RETRY_DYNAMIC)
        return b->arg[b->n - 4] == bl_make(p, BL_REF);
    if (op != BL_OP_RETRY_MORE)
        return false;
    const struct bl_pred *const builtin = (void *)bl_ptr(b->arg[b->n - 2]);
    return builtin->functor == BL_FN(clause_2) ||
           builtin->functor == BL_FN(retract_1);
}

static bool is_read(const struct bl_pred *p) {
    const struct bl_machine *const m = bl_machine_alone();
    if (m == NULL)
        return true;
    int looked_at = 0;
    for (const struct bl_choice *b = m->b; b != NULL; b = b->prev) {
        if (++looked_at > LOOKED_AT || goes_through(b, p))
            return true;
    }
    return false;
}

void bl_reclaim(struct bl_pred *p) {
    if (is_read(p))
        return;
    bl_index_drop(p); // its lists may name what is freed here
    while (p->old_indexes != NULL) {
        struct bl_index *const next = p->old_indexes->next;
        bl_index_free(p->old_indexes);
        p->old_indexes = next;
    }
    while (p->old_clauses != NULL) {
        struct bl_clauses *const next = p->old_clauses->next;
        free(p->old_clauses);
        p->old_clauses = next;
    }
    while (p->erased != NULL) {
        struct bl_clause *const next = p->erased->next_erased;
        free(p->erased);
        p->erased = next;
    }
    p->old = 0;
}
