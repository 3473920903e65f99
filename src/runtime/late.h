// SPDX-License-Identifier: MIT
//
// Libraries that `dlopen` brings after start. Private to `runtime`.
//
#ifndef BL_RUNTIME_LATE_H
#define BL_RUNTIME_LATE_H

// After `bl_image_start`: what is loaded now is not late.
#ifdef BL_STATIC_RUNTIME
static inline void bl_late_start(void) {}
#else
void bl_late_start(void);
#endif

#endif
