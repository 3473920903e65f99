// SPDX-License-Identifier: MIT
#ifndef BL_TABLE_OWN_START_H
#define BL_TABLE_OWN_START_H

// What the process must know of the library's own pools, at the first call.
void bl_own_start(void);

#endif
