// SPDX-License-Identifier: MIT
//
// A library that stands before the C library and, where ours is preloaded,
// behind ours: it counts calls and passes them on, as the libraries of
// compilers for sanitizers do.
//
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

unsigned between_calls(void);

static unsigned calls;

unsigned between_calls(void) { return calls; }

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*function)(void *), void *argument) {
    typedef int create_fn(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);
    calls++;
    return ((create_fn *)dlsym(RTLD_NEXT, "pthread_create"))(
        thread, attributes, function, argument);
}

pid_t fork(void) {
    calls++;
    return ((pid_t(*)(void))dlsym(RTLD_NEXT, "fork"))();
}

void *dlopen(const char *name, int mode) {
    calls++;
    return ((void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen"))(name,
                                                                      mode);
}
