// SPDX-License-Identifier: MIT
//
// Tables with modes (answer subsumption): of the answers that agree in all
// other arguments, one is kept, and a mode says which.
//
// A predicate's calls may be *abstracted* too: subterms below some depth are
// left to variables, so that ever larger calls come to an end.
//
// The arguments without mode are the *key*, in calls as in answers: a call is
// a variant of another when their keys are, and its other arguments are unified
// with what was found. These tables are private to each thread.
// Source: the table modes of [SantosRocha-2013], in SWI-Prolog's notation.
//
#ifndef BL_LOGIC_MODED_H
#define BL_LOGIC_MODED_H

#include "logic/engine.h"
#include "logic/tabling.h"

enum bl_mode_kind {
    BL_MODE_KEY,
    BL_MODE_MIN,
    BL_MODE_MAX,
    BL_MODE_FIRST,
    BL_MODE_LAST,
    BL_MODE_SUM,
    BL_MODE_LATTICE, // name(Old, New, Result)
    BL_MODE_PO       // name(Old, New): the new one is better
};

enum { BL_DEPTH_MAX = 1000, BL_DEPTH_ANY };

struct bl_modes {
    struct bl_modes *next;  // among a predicate's replaced ones
    struct bl_table *table; // const: of the calls under these
    uint32_t keys, moded;   // none of these: only the depth is limited
    uint32_t depth;         // of compound terms in an argument of a call's key
    struct bl_mode {
        enum bl_mode_kind kind;
        bl_word name;
    } arg[]; // of each argument
};

// What calls of the predicate look at under these modes, which are its own;
// NULL: it was never tabled.
BL_INLINE struct bl_table *bl_modes_table(const struct bl_pred *p,
                                          const struct bl_modes *modes) {
    return BL_LIKELY(modes == NULL) ? bl_load_acquire(&p->table) : modes->table;
}

// Calls of all predicates are, by a flag.
BL_INLINE bool bl_are_calls_abstracted(void) {
    // relaxed: a flag set by another thread counts sooner or later
    return bl_load_relaxed(&bl_engine.call_depth) != 0;
}

// Calls of the predicate are tabled as they are: without modes, at any depth.
BL_INLINE bool bl_is_called_plainly(const struct bl_pred *p) {
    return bl_load_relaxed(&p->modes) == NULL && !bl_are_calls_abstracted();
}

// From p(_, min, lattice(q/3)); *out is NULL where no argument has a mode and
// any depth will do. BL_TRUE or BL_THROW.
int bl_modes_read(struct bl_machine *m, bl_word pattern, uint32_t depth,
                  struct bl_modes **out);
// The same of p/3.
int bl_modes_of_depth(struct bl_machine *m, uint32_t arity, uint32_t depth,
                      struct bl_modes **out);

// How deep compound terms in an argument of a call may be.
uint32_t bl_call_depth(const struct bl_modes *modes);
// The call with its arguments in the registers: tokens of the key, and the
// variables of all. Returns their number, -1 with the ball set, or
// BL_MODED_BOUND where an argument that has a mode is no variable of its own,
// or another one is too deep.
enum { BL_MODED_BOUND = -2 };
long bl_moded_call(struct bl_machine *m, const struct bl_pred *p,
                   const struct bl_modes *modes);
// Has answers to be chosen among.
BL_INLINE bool bl_has_modes(const struct bl_modes *modes) {
    return BL_UNLIKELY(modes != NULL) && modes->moded > 0;
}
BL_INLINE bool bl_is_key(const struct bl_modes *modes, uint32_t i) {
    return modes == NULL || modes->arg[i].kind == BL_MODE_KEY;
}
// Puts the call into the first register, for '$moded'/1, which it returns.
struct bl_pred *bl_moded_wrap(struct bl_machine *m, const struct bl_pred *p);

// An answer of `g`, by its `n` variables.
enum bl_tabling_step bl_moded_answer(struct bl_machine *m, struct bl_goal *g,
                                     const bl_word *vars, size_t n);

// The current answers of a goal that is being evaluated, by key.
void bl_best_free(struct bl_best *best);

// Arguments of a call from those of its key.
void bl_moded_spread(struct bl_machine *m, const struct bl_pred *p,
                     const struct bl_modes *modes, const bl_word *key,
                     bl_word *args);

#endif
