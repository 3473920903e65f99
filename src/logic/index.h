// SPDX-License-Identifier: MIT
//
// Arrays of clauses and the hash indexes over them, made when a call first
// wants one. All functions here need the predicate's lock;
// `bl_pred_match_keys` does not.
//
#ifndef BL_LOGIC_INDEX_H
#define BL_LOGIC_INDEX_H

#include "logic/clause.h"

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
