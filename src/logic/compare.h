// SPDX-License-Identifier: MIT
//
// The standard order of terms, and variants.
//
#ifndef BL_LOGIC_COMPARE_H
#define BL_LOGIC_COMPARE_H

#include "logic/machine.h"

// Var < number < atom < compound, as ISO has it: -1, 0, 1.
int bl_compare(struct bl_machine *m, bl_word a, bl_word b);
// Equal but for a renaming of variables (=@=).
bool bl_is_variant(struct bl_machine *m, bl_word a, bl_word b);

#endif
