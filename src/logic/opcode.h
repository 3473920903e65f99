// SPDX-License-Identifier: MIT
//
// Instruction numbers. Code is an array of words: the number, then operands.
//
#ifndef BL_LOGIC_OPCODE_H
#define BL_LOGIC_OPCODE_H

#include "logic/term.h"

#define X(name, words) BL_OP_##name,
enum bl_opcode {
#include "logic/opcode.def"
    BL_OPCODES
};
#undef X

// Keys of an index that are no atom, integer or functor.
#define BL_KEY_LIST ((bl_word)1 << 60 | BL_FUN)
#define BL_KEY_FLOAT ((bl_word)1 << 61 | BL_FUN)

// The live slots at a call: a bit each, and above them whether the goal stands
// inside a condition that suspension may not cross. With more slots than
// bits, all of them are live (they are cleared at entry).
#define BL_LIVE_SLOTS 60u
#define BL_LIVE_ALL ((bl_word)1 << 62)
#define BL_LIVE_BARRIER ((bl_word)1 << 63)

#endif
