// SPDX-License-Identifier: MIT
//
// What is done where malloc gives nothing. Stacks and tables have limits of
// their own and their ends are errors of the program; clauses, atoms and texts
// have not, and what makes them is not made to stop half-way.
//
#ifndef BL_LOGIC_MEMORY_H
#define BL_LOGIC_MEMORY_H

#include "base/base.h"

#include <stddef.h>

// One line on standard error, and status 3.
BL_COLD BL_NORETURN void bl_no_memory(void);

BL_INLINE void bl_must_have(const void *p) {
    if (BL_UNLIKELY(p == NULL))
        bl_no_memory();
}

#endif
