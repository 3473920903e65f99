// SPDX-License-Identifier: MIT
//
// pthread_atfork and at_quick_exit, in whatever the runtime is part of.
// Private to `runtime`.
//
#ifndef BL_RUNTIME_HANDLERS_H
#define BL_RUNTIME_HANDLERS_H

typedef void bl_handler(void);

void bl_at_fork(bl_handler *before, bl_handler *parent, bl_handler *child);
// glibc's own, behind ours (late_fork.c).
int bl_register_atfork(bl_handler *before, bl_handler *parent,
                       bl_handler *child, void *object);
void bl_at_quick_exit(bl_handler *function);

#endif
