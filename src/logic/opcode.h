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
// inside a condition that suspension may not cross. In a clause that may have
// more slots than bits they are its first ones, of which this is the number:
// its variables, which are made at its entry. A slot that got its value later
// may still hold one that backtracking took away.
#define BL_LIVE_SLOTS 60u
#define BL_LIVE_FIRST ((bl_word)1 << 62)
#define BL_LIVE_BARRIER ((bl_word)1 << 63)

BL_INLINE bool bl_is_live(bl_word live, uint64_t slot) {
    if (BL_UNLIKELY((live & BL_LIVE_FIRST) != 0))
        return slot < (live & ~(BL_LIVE_FIRST | BL_LIVE_BARRIER));
    return slot < BL_LIVE_SLOTS && (live >> slot & 1) != 0;
}

#endif
