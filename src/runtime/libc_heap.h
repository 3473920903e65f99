// SPDX-License-Identifier: MIT
#ifndef BL_RUNTIME_LIBC_HEAP_H
#define BL_RUNTIME_LIBC_HEAP_H

#include "heap/heap.h"

// NULL where there is none. Called once, in the first allocation; what the
// dynamic linker allocates meanwhile our heap serves.
const struct bl_libc_heap *bl_find_libc_heap(void);

// Set before the program begins, where switch.c is in it.
extern bool bl_switched_off __attribute__((weak));
// Whether malloc was resolved to the libc's: ours must be off too then.
bool bl_libc_heap_is_chosen(void);

#endif
