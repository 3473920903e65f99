// SPDX-License-Identifier: MIT
//
// Continuations that only join answers with facts, run without the machine.
//
#ifndef BL_LOGIC_JOIN_H
#define BL_LOGIC_JOIN_H

#include "logic/tabling.h"

enum { BL_JOIN_ARGS = 8 };

// Where a word of a join comes from.
struct bl_join_source {
    enum bl_join_from {
        BL_FROM_CONSTANT, // `word`
        BL_FROM_ANSWER,   // the answer's i-th token
        BL_FROM_FACT      // the fact's i-th argument
    } from;
    uint32_t i;
    bl_word word;
};

// p(args) joined with answers of `vars` tokens, giving answers `out` of
// `producer`. `p` NULL: answers are passed on.
struct bl_join {
    struct bl_goal *producer;
    struct bl_pred *p;
    uint32_t vars, args, outs;
    uint32_t bound;    // arguments that are known before the fact is
    uint32_t bound_at; // the first of them
    uint32_t checks;   // bit per argument that a fact may fail to match
    bool passes;       // one-token answers end answers as they are
    bool extends;      // answers come below the node of the answer read
    struct bl_join_source arg[BL_JOIN_ARGS];
    struct bl_join_source out[BL_JOIN_ARGS];
};

// What goes on at `cp` after a call of `sg` with the free variables `var`, as a
// join; false where it is more.
bool bl_join_find(struct bl_join *j, const struct bl_subgoal *sg,
                  const bl_word *var, size_t vars, const struct bl_env *e,
                  const bl_word *cp);

// Reads answers of `sg` as far as they are simple. True: all were read; *step
// is then how it went. False: the machine has to go on from the cursor.
bool bl_join_run(struct bl_machine *m, const struct bl_join *j,
                 const struct bl_subgoal *sg, struct bl_answer_cursor *cursor,
                 enum bl_tabling_step *step);

#endif
