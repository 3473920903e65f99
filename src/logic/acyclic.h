// SPDX-License-Identifier: MIT
//
// Terms without end, which unification makes where it does not check.
//
#ifndef BL_LOGIC_ACYCLIC_H
#define BL_LOGIC_ACYCLIC_H

#include "logic/machine.h"

// BL_TRUE, BL_FAIL: the term contains itself, or BL_THROW.
int bl_is_acyclic(struct bl_machine *m, bl_word t);

#endif
