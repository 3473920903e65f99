// SPDX-License-Identifier: MIT
//
// Who stands in front of us. A program may define malloc, free, calloc and
// realloc, and a library that is preloaded ahead of ours may: then these are
// called, and ours are not. But operator new and delete are still ours, and
// reallocarray. In the C++ library and the C library they call malloc, free and
// realloc by these names, so that a program's own serve them or count them; so
// must ours. A program may rely on it: glibc's manual asks who replaces malloc
// for no more than that.
//
// The dynamic linker has told us whose these are when it filled the table below
// (replaceable.list). A program that is not position-independent and takes the
// address of malloc has an address of its own for it, though it defines none:
// so it is asked again, by name, which finds definitions only.
//
#include "runtime/front.h"

#include "heap/heap.h"

#include <dlfcn.h>

// Of <stdlib.h>, whose other functions are not for the runtime; and none of
// these is called here.
extern void *malloc(size_t bytes);
extern void free(void *p);
extern void *realloc(void *p, size_t bytes);
extern void *aligned_alloc(size_t align, size_t bytes);

extern __typeof__(malloc) bl_this_malloc BL_HIDDEN;
extern __typeof__(free) bl_this_free BL_HIDDEN;
extern __typeof__(realloc) bl_this_realloc BL_HIDDEN;
extern __typeof__(aligned_alloc) bl_this_aligned_alloc BL_HIDDEN;

static const struct bl_front seen = {malloc, free, realloc, aligned_alloc};

// Whoever defines it first; ours where nobody is to be found.
#define FIRST(name)                                                            \
    (seen.name == bl_this_##name                                               \
         ? bl_this_##name                                                      \
         : (__typeof__(name) *)first(#name, (uintptr_t)bl_this_##name))

static uintptr_t first(const char *name, uintptr_t ours) {
    void *const found = dlsym(RTLD_DEFAULT, name);
    return found ? (uintptr_t)found : ours;
}

void bl_front_find(void) {
    static struct bl_front front;
    front = (struct bl_front){FIRST(malloc), FIRST(free), FIRST(realloc),
                              FIRST(aligned_alloc)};
    if (front.malloc != bl_this_malloc || front.free != bl_this_free ||
        front.realloc != bl_this_realloc ||
        front.aligned_alloc != bl_this_aligned_alloc)
        bl_heap_stand_behind(&front);
}
