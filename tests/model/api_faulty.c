// SPDX-License-Identifier: MIT
//
// The libc's malloc with a planted fault, which MODEL_FAULT names. The model
// test must find each one and shrink it to a few lines, or it proves nothing.
//
#include "model.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static unsigned mallocs;
static void *last_block;
static _Thread_local bool not_first_thread;
static pthread_t first_thread;

static bool has_fault(const char *name) {
    const char *const fault = getenv("MODEL_FAULT");
    return fault != NULL && strcmp(fault, name) == 0;
}

static void *faulty_malloc(size_t size) {
    if (has_fault("same_block_twice") && ++mallocs % 100 == 0 &&
        last_block != NULL)
        return last_block;
    return last_block = malloc(size);
}

static void *faulty_calloc(size_t count, size_t size) {
    unsigned char *const p = calloc(count, size);
    if (has_fault("calloc_not_zero") && p != NULL && count * size > 300)
        p[count * size / 2 / 59 * 59] = 1;
    return p;
}

static void *faulty_realloc(void *old, size_t size) {
    const size_t before = old != NULL ? malloc_usable_size(old) : 0;
    unsigned char *const p = realloc(old, size);
    if (has_fault("realloc_loses_bytes") && p != NULL && before > 1000 &&
        size > before)
        p[999] ^= 1;
    return p;
}

static void *faulty_aligned(size_t align, size_t size) {
    void *p = NULL;
    const size_t given =
        has_fault("alignment_ignored") && align > 4096 ? 16 : align;
    return posix_memalign(&p, given, size) == 0 ? p : NULL;
}

static void faulty_free(void *p) {
    not_first_thread = !pthread_equal(pthread_self(), first_thread);
    if (has_fault("crash_in_other_thread") && not_first_thread &&
        malloc_usable_size(p) > 600)
        abort();
    free(p);
    if (has_fault("free_changes_errno"))
        errno = ENOMEM;
}

struct model_api model_api(void) {
    first_thread = pthread_self();
    return (struct model_api){.malloc = faulty_malloc,
                              .calloc = faulty_calloc,
                              .aligned = faulty_aligned,
                              .realloc = faulty_realloc,
                              .free = faulty_free,
                              .usable_size = malloc_usable_size,
                              .trim = malloc_trim};
}
