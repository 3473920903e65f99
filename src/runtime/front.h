// SPDX-License-Identifier: MIT
#ifndef BL_RUNTIME_FRONT_H
#define BL_RUNTIME_FRONT_H

// Finds out whether others' malloc stands in front of ours, and has the heap
// respect it. Called once, in the first allocation.
#ifdef BL_STATIC_RUNTIME // the linker allows one definition
static inline void bl_front_find(void) {}
#else
void bl_front_find(void);
#endif

#endif
