// SPDX-License-Identifier: MIT
#ifndef BL_RUNTIME_FORK_H
#define BL_RUNTIME_FORK_H

#include "base/base.h"

// Registers the fork handlers, at the first call.
void bl_fork_start(void);

// Whether that is called before this process forks or has a second thread; else
// it is to be called at the start.
#ifdef BL_STATIC_RUNTIME
static inline bool bl_fork_is_seen(void) { return false; }
#else
bool bl_fork_is_seen(void);
#endif

#endif
