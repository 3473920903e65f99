// SPDX-License-Identifier: MIT
//
// The operator table, one for the process. Reading takes no lock: an entry is
// one word per kind of use, replaced at once.
//
#ifndef BL_LOGIC_OP_H
#define BL_LOGIC_OP_H

#include "logic/atom.h"

enum bl_op_use { BL_PREFIX, BL_INFIX, BL_POSTFIX, BL_OP_USES };

struct bl_op {
    uint32_t priority; // 0: none
    uint32_t left;     // greatest priority of the left argument
    uint32_t right;
    enum bl_known_atom type; // xfx, xfy, ...
};

void bl_ops_init(void);
bool bl_op_find(bl_word atom, enum bl_op_use use, struct bl_op *out);
bool bl_op_is_any(bl_word atom);
// CLASH: a name is not infix and postfix at once.
enum bl_op_result {
    BL_OP_SET,
    BL_OP_NO_TYPE, // `type` is none of xfx, xfy, ...
    BL_OP_CLASH,
    BL_OP_FULL
};
enum bl_op_result bl_op_set(bl_word atom, enum bl_known_atom type,
                            uint32_t priority);
// Calls back for every operator.
void bl_op_each(void (*f)(bl_word atom, struct bl_op op, void *arg), void *arg);

#endif
