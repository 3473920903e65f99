// SPDX-License-Identifier: MIT
//
// Arrays of clauses and the hash indexes over them, made when a call first
// wants one. Finding needs no lock, all other functions here need the
// predicate's.
//
#ifndef BL_LOGIC_INDEX_H
#define BL_LOGIC_INDEX_H

#include "logic/clause.h"

// ---- finding

BL_INLINE struct bl_clause_run bl_clauses_run(struct bl_clauses *list) {
    struct bl_clause_run run = {NULL, NULL};
    if (list != NULL) {
        run.end = list->item + bl_load_acquire(&list->end);
        run.at = list->item + bl_load_acquire(&list->start);
        if (run.at > run.end) // erased meanwhile by another thread
            run.at = run.end;
    }
    return run;
}

BL_INLINE uint64_t bl_index_hash(bl_word key) {
    const uint64_t h = key * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

// The slot of the key, or the free one where it would go.
BL_INLINE struct bl_index_slot *bl_index_slot_of(struct bl_index *ix,
                                                 bl_word key) {
    uint64_t i = bl_index_hash(key) & ix->mask;
    for (;;) {
        const bl_word k = bl_load_acquire(&ix->slot[i].key);
        if (k == key || k == 0)
            return &ix->slot[i];
        i = (i + 1) & ix->mask;
    }
}

BL_INLINE struct bl_clause_run bl_index_find(struct bl_index *ix, bl_word key) {
    struct bl_index_slot *const s = bl_index_slot_of(ix, key);
    if (bl_load_relaxed(&s->key) == 0)
        return bl_clauses_run(ix->otherwise);
    struct bl_clauses *const list = bl_load_acquire(&s->list);
    if (list != NULL)
        return bl_clauses_run(list);
    return (struct bl_clause_run){&s->single, &s->single + 1};
}

// ---- changing

// The array with the clause at its end or its front: `list` itself where it
// had room, else a larger copy. `list` may be NULL.
struct bl_clauses *bl_clauses_add(struct bl_clauses *list, struct bl_clause *c,
                                  bool at_end);

// Brings the indexes up to date after a clause came; drops what it cannot.
void bl_index_add(struct bl_pred *p, struct bl_clause *c, bool at_end);
void bl_index_drop(struct bl_pred *p);
// After an erasure: the first clauses of the arrays go where they are erased.
void bl_index_erase(struct bl_pred *p, struct bl_clause *c);
void bl_index_free(struct bl_index *ix);

// reclaim.c: what was replaced or erased is kept while somebody may read it.
void bl_keep_clauses(struct bl_pred *p, struct bl_clauses *old);
void bl_keep_index(struct bl_pred *p, struct bl_index *old);
void bl_keep_clause(struct bl_pred *p, struct bl_clause *c);
// Frees it where that is certainly nobody.
void bl_reclaim(struct bl_pred *p);
// Replaces the array by one without erased clauses.
void bl_pred_sweep(struct bl_pred *p);

#endif
