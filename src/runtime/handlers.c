// SPDX-License-Identifier: MIT
//
// glibc keeps a part of both functions in each library that calls them, and
// that part needs names that musl's C library lacks: its loader would refuse
// the preload library, and with it the program. So in there they are called
// by the names they have in either.
//
#include "runtime/handlers.h"

#ifdef BL_STATIC_RUNTIME

#include <pthread.h>

// Of <stdlib.h>, whose other functions are not for the runtime.
extern int at_quick_exit(bl_handler *function);

void bl_at_fork(bl_handler *before, bl_handler *parent, bl_handler *child) {
    pthread_atfork(before, parent, child);
}

void bl_at_quick_exit(bl_handler *function) { at_quick_exit(function); }

#else

#include "runtime/fork.h"
#include "runtime/next.h"

typedef int at_fork(bl_handler *, bl_handler *, bl_handler *);
typedef int at_quick(bl_handler *);

#if BL_LATE_FORK // the C library's name is one of ours
#define REGISTER bl_register_atfork
static bool is_glibc(void) { return bl_fork_is_seen(); }
#else
extern int __register_atfork(bl_handler *, bl_handler *, bl_handler *, void *)
    __attribute__((weak));
#define REGISTER __register_atfork
static bool is_glibc(void) { return __register_atfork != NULL; }
#endif
extern int __cxa_at_quick_exit(void (*)(void *), void *) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

void bl_at_fork(bl_handler *before, bl_handler *parent, bl_handler *child) {
    if (is_glibc()) {
        REGISTER(before, parent, child, __dso_handle);
        return;
    }
    at_fork *const other = (at_fork *)bl_in_other_libc("pthread_atfork");
    if (other)
        other(before, parent, child);
}

static bl_handler *at_end;

static void call(void *nothing) {
    (void)nothing;
    at_end();
}

void bl_at_quick_exit(bl_handler *function) {
    if (__cxa_at_quick_exit) {
        at_end = function;
        __cxa_at_quick_exit(call, __dso_handle);
        return;
    }
    at_quick *const other = (at_quick *)bl_in_other_libc("at_quick_exit");
    if (other)
        other(function);
}

#endif
