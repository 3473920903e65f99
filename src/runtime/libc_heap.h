// SPDX-License-Identifier: MIT
#ifndef BL_RUNTIME_LIBC_HEAP_H
#define BL_RUNTIME_LIBC_HEAP_H

#include "heap/heap.h"

// NULL where there is none. Called once, in the first allocation; what the
// dynamic linker allocates meanwhile our heap serves.
const struct bl_libc_heap *bl_find_libc_heap(void);

#endif
