// SPDX-License-Identifier: MIT
//
// With BIGLEAF=off a static program is to run on its libc's malloc as if ours
// were not there. `bigleaf cc` links both (cli/libc_malloc.c): the libc's with
// `bl_libc_` before its names, ours with `bl_own_` before those that are called
// often (CMakeLists.txt). The names themselves are indirect functions, which
// glibc resolves once, at the program's start, by the environment: no call
// asks again. Rarer functions are ours alone and ask at each call (heap.c),
// and so would all where the environment is not known yet, which is so in a
// static-pie program of a glibc before 2.33.
//
// A resolver runs ahead of thread-local storage and of other indirect
// functions, such as strcmp: of the libc it calls nothing but getauxval. What
// it decides holds for the runtime too (libc_heap.c), or a block of one heap
// would be freed in the other.
//
#include "runtime/libc_heap.h"
#include "runtime/options.h"

#include <stddef.h>
#include <sys/auxv.h>

extern char **environ;

bool bl_switched_off;

static bool is_off(void) {
    bl_switched_off =
        environ && !bl_options_leave_on(environ) && getauxval(AT_SECURE) == 0;
    return bl_switched_off;
}

#define CHOOSE(name, ours, theirs)                                             \
    static __typeof__(name) *choose_##name(void) {                             \
        return is_off() ? theirs : ours;                                       \
    }                                                                          \
    BL_EXPORT __typeof__(name) name __attribute__((ifunc("choose_" #name)))

#define SWITCH(result, name, ...)                                              \
    result name(__VA_ARGS__);                                                  \
    result bl_own_##name(__VA_ARGS__);                                         \
    result bl_libc_##name(__VA_ARGS__);                                        \
    CHOOSE(name, bl_own_##name, bl_libc_##name)

SWITCH(void *, malloc, size_t bytes);
SWITCH(void *, calloc, size_t count, size_t each);
SWITCH(void *, realloc, void *p, size_t bytes);
SWITCH(void, free, void *p);

// Out of memory, ours asks the new-handler and throws.
static void *libc_new(size_t bytes) {
    void *p = bl_libc_malloc(bytes);
    void *bl_own__Znwm(size_t);
    return BL_LIKELY(p != NULL) ? p : bl_own__Znwm(bytes);
}

#define SWITCH_NEW(name)                                                       \
    void *name(size_t bytes);                                                  \
    void *bl_own_##name(size_t bytes);                                         \
    CHOOSE(name, bl_own_##name, libc_new)

#define SWITCH_DELETE(name)                                                    \
    void name(void *p);                                                        \
    void bl_own_##name(void *p);                                               \
    CHOOSE(name, bl_own_##name, bl_libc_free)

SWITCH_NEW(_Znwm);
SWITCH_NEW(_Znam);
SWITCH_DELETE(_ZdlPv);
SWITCH_DELETE(_ZdaPv);
// With the size as second argument, which neither heap looks at.
SWITCH_DELETE(_ZdlPvm);
SWITCH_DELETE(_ZdaPvm);
