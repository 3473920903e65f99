// SPDX-License-Identifier: MIT
//
// The heap of the libc we stand before, for BIGLEAF=off. In a static program
// there is none: our own heap then serves from base pages.
//
#include "runtime/libc_heap.h"

#include <dlfcn.h>

#ifdef BL_STATIC_RUNTIME

const struct bl_libc_heap *bl_find_libc_heap(void) { return NULL; }

#else

static struct bl_libc_heap next;

static bool found_all(void) {
    return next.malloc && next.calloc && next.realloc && next.memalign &&
           next.free && next.usable_size;
}

const struct bl_libc_heap *bl_find_libc_heap(void) {
    *(void **)&next.malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&next.calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&next.realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&next.memalign = dlsym(RTLD_NEXT, "memalign");
    *(void **)&next.free = dlsym(RTLD_NEXT, "free");
    *(void **)&next.usable_size = dlsym(RTLD_NEXT, "malloc_usable_size");
    *(void **)&next.trim = dlsym(RTLD_NEXT, "malloc_trim");
    *(void **)&next.mallopt = dlsym(RTLD_NEXT, "mallopt");
    *(void **)&next.stats = dlsym(RTLD_NEXT, "malloc_stats");
    *(void **)&next.mallinfo2 = dlsym(RTLD_NEXT, "mallinfo2");
    return found_all() ? &next : NULL;
}

#endif
