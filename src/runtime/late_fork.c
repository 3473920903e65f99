// SPDX-License-Identifier: MIT
//
// The handlers of fork (fork.c) registered when they are wanted first, in the
// preload library: the C library's register of them is code and tables that
// most small programs never touch, 128 KiB that would count as theirs.
//
// They are wanted where a process forks that has a second thread, or that holds
// pages of the pool (then runtime.c registers them at the start). So `fork` and
// `pthread_create` register them, and do what they did. And others' handlers
// must find ours registered before them: then ours are the last before a fork
// and the first after it, and theirs may take locks under which other threads
// allocate. So `__register_atfork`, which every library's pthread_atfork calls,
// registers ours first.
//
// Forks within the C library (daemon, forkpty) call none of these. They need no
// handlers where the process has one thread; and threads that the C library
// makes for itself (for a timer, a look-up) are not seen either, so who calls
// daemon beside one of those forks without.
//
#include "runtime/fork.h"
#include "runtime/next.h"

#if BL_LATE_FORK

#include "runtime/handlers.h"

#include <dlfcn.h>
#include <sys/types.h>

#ifdef __x86_64__
#define FORK_VERSION "GLIBC_2.2.5"
#define REGISTER_VERSION "GLIBC_2.3.2"
#else // AArch64
#define FORK_VERSION "GLIBC_2.17"
#define REGISTER_VERSION "GLIBC_2.17"
#endif

typedef pid_t fork_fn(void);
typedef int register_fn(bl_handler *, bl_handler *, bl_handler *, void *);

static _Atomic(uintptr_t) next_fork;
static _Atomic(uintptr_t) next_register;

extern __typeof__(dlvsym) dlvsym __attribute__((weak));

bool bl_fork_is_seen(void) { return dlvsym != NULL; }

pid_t fork(void);
BL_EXPORT pid_t fork(void) {
    fork_fn *const next =
        (fork_fn *)bl_next_version(&next_fork, "fork", FORK_VERSION);
    bl_fork_start();
    return next();
}

int bl_register_atfork(bl_handler *before, bl_handler *parent,
                       bl_handler *child, void *object) {
    register_fn *const next = (register_fn *)bl_next_version(
        &next_register, "__register_atfork", REGISTER_VERSION);
    return next(before, parent, child, object);
}

int __register_atfork(bl_handler *before, bl_handler *parent, bl_handler *child,
                      void *object);
BL_EXPORT int __register_atfork(bl_handler *before, bl_handler *parent,
                                bl_handler *child, void *object) {
    bl_fork_start();
    return bl_register_atfork(before, parent, child, object);
}

#else

bool bl_fork_is_seen(void) { return false; }

#endif
