// SPDX-License-Identifier: MIT
#ifndef BL_RUNTIME_FORK_H
#define BL_RUNTIME_FORK_H

// Registers the fork handlers. Once, from the constructor.
void bl_fork_start(void);

#endif
