// SPDX-License-Identifier: MIT
//
// A library that life_dlopen.c loads and unloads: it allocates in its
// constructor, keeps thread-local data, and frees in its destructor.
//
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT char *plugin_block(void);
EXPORT void *plugin_allocate(size_t size);
EXPORT void plugin_release(void *p);

static char *of_constructor;
static _Thread_local char *of_thread;

__attribute__((constructor)) static void load(void) {
    of_constructor = malloc(3000);
    if (of_constructor != NULL)
        memset(of_constructor, 'p', 3000);
}

__attribute__((destructor)) static void unload(void) { free(of_constructor); }

char *plugin_block(void) { return of_constructor; }

void *plugin_allocate(size_t size) {
    free(of_thread);
    of_thread = NULL;
    void *const p = malloc(size);
    if (p != NULL)
        memset(p, 'q', size);
    return p;
}

void plugin_release(void *p) { free(p); }
