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

// p(args) joined with answers, giving `out`. `p` NULL: answers are passed on.
struct bl_join {
    struct bl_pred *p;
    uint32_t args, outs;
    struct bl_join_source arg[BL_JOIN_ARGS];
    struct bl_join_source out[BL_JOIN_ARGS];
};

// What the consumer's continuation is as a join; NULL where it is more.
struct bl_join *bl_join_find(const struct bl_consumer *c);

// Reads the consumer's answers as far as they are simple. True: all were read;
// *step is then how it went. False: the machine has to go on from the cursor.
bool bl_join_run(struct bl_machine *m, struct bl_consumer *c,
                 enum bl_tabling_step *step);

#endif
