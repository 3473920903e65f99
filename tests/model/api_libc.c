// SPDX-License-Identifier: MIT
//
// The allocator under test is the one this program happens to run on. Pools
// are there when libbigleaf is: linked in, or preloaded.
//
#include "model.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>

#pragma weak bl_pool_new
#pragma weak bl_pool_alloc
#pragma weak bl_pool_free
#pragma weak bl_pool_read_stats
#pragma weak bl_pool_delete

#define FUNCTION(name)                                                         \
    (name != NULL ? name : (__typeof__(name) *)dlsym(RTLD_DEFAULT, #name))

static void *aligned(size_t align, size_t size) {
    void *p = NULL;
    return posix_memalign(&p, align, size) == 0 ? p : NULL;
}

struct model_api model_api(void) {
    return (struct model_api){
        .malloc = malloc,
        .calloc = calloc,
        .aligned = aligned,
        .realloc = realloc,
        .free = free,
        .usable_size = malloc_usable_size,
        .trim = malloc_trim,
        .pool_new = FUNCTION(bl_pool_new),
        .pool_alloc = FUNCTION(bl_pool_alloc),
        .pool_free = FUNCTION(bl_pool_free),
        .pool_read_stats = FUNCTION(bl_pool_read_stats),
        .pool_delete = FUNCTION(bl_pool_delete),
    };
}
