// SPDX-License-Identifier: MIT
//
// Collecting the heap above the newest choice point.
//
#ifndef BL_LOGIC_COLLECT_H
#define BL_LOGIC_COLLECT_H

#include "logic/machine.h"

// At a call whose arguments are x[0..arity). Moves terms: no word of the heap
// may be held in C but in registers, environments and choice points. Returns
// the words freed; 0 where there was no memory to work in.
size_t bl_collect(struct bl_machine *m, uint32_t arity);

// Takes from the trail, of what was written there since the newest choice
// point, what backtracking does not need: names of cells above it, left from
// before a cut, and all but the first value of a cell that was assigned.
// Returns how many words.
size_t bl_tidy_trail(struct bl_machine *m);

#endif
