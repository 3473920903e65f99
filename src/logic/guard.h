// SPDX-License-Identifier: MIT
//
// What a goal has for as long as it runs: see `guard.c`.
//
#ifndef BL_LOGIC_GUARD_H
#define BL_LOGIC_GUARD_H

#include "logic/machine.h"

enum bl_guard_kind { BL_GUARD_OUTPUT, BL_GUARD_MUTEX };

// The code of such choice points.
extern bl_word bl_code_guard[];

// The new choice point, for words 1 and 2 of which the caller sees to it that
// they are integers or made by bl_guard_word; NULL: ball set.
struct bl_choice *bl_guard_push(struct bl_machine *m, enum bl_guard_kind kind);
// Gives back what the choice point, which is not on the stack any more, or is
// about to leave it, stands for. Throws nothing.
void bl_guard_undo(struct bl_machine *m, const struct bl_choice *b);

// An address as an integer, for the collector of the heap.
BL_INLINE bl_word bl_guard_word(const void *p) {
    return bl_int((int64_t)((uintptr_t)p >> 3));
}

BL_INLINE void *bl_guard_pointer(bl_word w) {
    return (void *)((uintptr_t)bl_int_value(w) << 3);
}

void bl_builtins_guard(void);

// Of the two kinds, with the words of the choice point.
void bl_output_undo(struct bl_machine *m, const bl_word *word);
void bl_mutex_undo(struct bl_machine *m, const bl_word *word);

#endif
