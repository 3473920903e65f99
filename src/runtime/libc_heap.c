// SPDX-License-Identifier: MIT
//
// The heap of the libc we stand before, for BIGLEAF=off: where the linker put
// it into the program beside ours, under names of our own (`bigleaf cc -static`
// does so, see cli/libc_malloc.c), else the next one in the dynamic linker's
// order. A static program linked in another way has none: our own heap then
// serves from base pages.
//
#include "runtime/libc_heap.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#ifdef BL_STATIC_RUNTIME

#define LINKED __attribute__((weak, visibility("default")))

LINKED void *bl_libc_malloc(size_t bytes);
LINKED void *bl_libc_calloc(size_t count, size_t each);
LINKED void *bl_libc_realloc(void *p, size_t bytes);
LINKED void *bl_libc_memalign(size_t align, size_t bytes);
LINKED void bl_libc_free(void *p);
LINKED size_t bl_libc_malloc_usable_size(void *p);
LINKED int bl_libc_malloc_trim(size_t pad);
LINKED int bl_libc_mallopt(int parameter, int value);
LINKED void bl_libc_malloc_stats(void);
LINKED struct mallinfo2 bl_libc_mallinfo2(void);

static const struct bl_libc_heap linked = {
    .malloc = bl_libc_malloc,
    .calloc = bl_libc_calloc,
    .realloc = bl_libc_realloc,
    .memalign = bl_libc_memalign,
    .free = bl_libc_free,
    .usable_size = bl_libc_malloc_usable_size,
    .trim = bl_libc_malloc_trim,
    .mallopt = bl_libc_mallopt,
    .stats = bl_libc_malloc_stats,
    .mallinfo2 = bl_libc_mallinfo2,
};

// A static program must not be made to have a dynamic linker.
extern __typeof__(dlsym) dlsym __attribute__((weak));

static bool has_dynamic_linker(void) {
    return dlsym != NULL && getauxval(AT_BASE) != 0;
}

bool bl_libc_heap_is_chosen(void) {
    return &bl_switched_off != NULL && bl_switched_off;
}

#else

static const struct bl_libc_heap linked; // nothing is

static bool has_dynamic_linker(void) { return true; }

bool bl_libc_heap_is_chosen(void) { return false; }

#endif

static bool is_whole(const struct bl_libc_heap *heap) {
    return heap->malloc && heap->calloc && heap->realloc && heap->memalign &&
           heap->free && heap->usable_size;
}

static const struct bl_libc_heap *find_next(void) {
    static struct bl_libc_heap next;
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
    return is_whole(&next) ? &next : NULL;
}

const struct bl_libc_heap *bl_find_libc_heap(void) {
    if (is_whole(&linked))
        return &linked;
    return has_dynamic_linker() ? find_next() : NULL;
}
