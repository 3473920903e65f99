// SPDX-License-Identifier: MIT
//
// Stacks of threads on huge pages, in the preload library, where `stack` asks
// for them.
//
// The C library maps a stack within `pthread_create` and starts the thread
// there at once, so a thread asks for its own: `pthread_create` is ours, and
// what it starts advises its stack and then calls the program's function. The
// whole stack is advised, for it is one mapping and stays one. The unit in
// which the thread begins holds pages by then, so a thread that goes no deeper
// takes nothing more; each unit below comes huge when it is first touched.
//
// Where no huge stacks are wanted, or the options are not known yet, the C
// library's function is called as it was. A thread that C11's functions or a
// bare clone start is not seen.
//
#include "runtime/next.h"

#if BL_HAS_NEXT

#include "heap/heap.h"
#include "os/os.h"
#include "runtime/fork.h"
#include "runtime/options.h"

#include <pthread.h>

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                      void *);

struct start {
    void *(*function)(void *);
    void *argument;
};

static _Atomic(uintptr_t) next_create;

static void advise_own_stack(void) {
    pthread_attr_t attributes;
    void *at = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &at, &bytes) == 0 &&
        bytes >= BL_HUGE_SIZE) {
        const uintptr_t low = bl_align_up((uintptr_t)at, BL_BASE_SIZE);
        const uintptr_t high =
            bl_align_down((uintptr_t)at + bytes, BL_BASE_SIZE);
        bl_os.advise_huge((void *)low, high - low);
    }
    pthread_attr_destroy(&attributes);
}

static void *run(void *context) {
    const struct start start = *(const struct start *)context;
    bl_free(context);
    advise_own_stack();
    return start.function(start.argument);
}

BL_EXPORT int pthread_create(pthread_t *thread,
                             const pthread_attr_t *attributes,
                             void *(*function)(void *), void *argument) {
    create_fn *const create =
        (create_fn *)bl_next(&next_create, "pthread_create");
    bl_fork_start();
    const bool wanted = bl_options.on && bl_options.stack;
    struct start *const start = wanted ? bl_malloc(sizeof *start) : NULL;
    if (!start)
        return create(thread, attributes, function, argument);
    *start = (struct start){function, argument};
    const int result = create(thread, attributes, run, start);
    if (result != 0)
        bl_free(start);
    return result;
}

#endif
