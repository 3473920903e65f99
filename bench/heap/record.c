// SPDX-License-Identifier: MIT
//
// Records what a program asks of malloc: preloaded, it passes each call on to
// glibc and notes it in the file HEAP_TRACE, of which each thread maps a chunk
// at a time. A shared mapping needs no flush, so the trace is whole however
// the program ends. The program's children are not recorded.
//
//     HEAP_TRACE=t.heap LD_PRELOAD=libheap-record.so minisat f.cnf
//
#include "event.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

#define INITIAL_EXEC __attribute__((tls_model("initial-exec")))

static int file = -1;
static atomic_uint_fast64_t last_order;
static atomic_size_t chunks;
static atomic_uint threads;

static _Thread_local INITIAL_EXEC struct event *at, *end;
static _Thread_local INITIAL_EXEC unsigned thread_number;
static _Thread_local INITIAL_EXEC _Bool known;

// A child inherits the chunk, and would write where its parent does.
static void forget_in_child(void) {
    file = -1;
    at = end = NULL;
}

__attribute__((constructor)) static void start(void) {
    const char *const path = getenv("HEAP_TRACE");
    if (path == NULL)
        return;
    file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    pthread_atfork(NULL, NULL, forget_in_child);
    unsetenv("HEAP_TRACE"); // a program that is executed would write over it
    if (file < 0) {
        static const char why[] = "heap-record: HEAP_TRACE cannot be made\n";
        if (write(STDERR_FILENO, why, sizeof why - 1) < 0)
            _exit(3);
        _exit(3);
    }
}

// A fresh chunk of the file; without one the rest goes unrecorded.
static void next_chunk(void) {
    const off_t offset = (off_t)(atomic_fetch_add(&chunks, 1) * CHUNK_BYTES);
    if (!known) {
        known = 1;
        thread_number = atomic_fetch_add(&threads, 1);
    }
    if (at != NULL)
        munmap(end - CHUNK_EVENTS, CHUNK_BYTES);
    at = end = NULL;
    if (posix_fallocate(file, offset, CHUNK_BYTES) != 0)
        return;
    void *const chunk = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE,
                             MAP_SHARED, file, offset);
    if (chunk == MAP_FAILED)
        return;
    at = chunk;
    end = at + CHUNK_EVENTS;
}

static uint64_t next_order(void) {
    return atomic_fetch_add_explicit(&last_order, 1, memory_order_relaxed) + 1;
}

static void note(enum event_kind kind, const void *result, uint64_t old,
                 size_t size, const void *caller) {
    if (file < 0)
        return;
    const int saved = errno;
    if (at == end)
        next_chunk();
    if (at != NULL)
        *at++ = (struct event){
            .order = next_order() & 0xffffffffffffu,
            .kind = (uint8_t)kind,
            .thread = (uint8_t)thread_number,
            .result = (uintptr_t)result,
            .old = old,
            .size = size & 0xffffffffffu,
            .site = (uint32_t)((uintptr_t)caller >> 2) & 0xffffffu,
        };
    errno = saved;
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t size) {
    void *const p = __libc_malloc(size);
    note(EVENT_MALLOC, p, 0, size, CALLER);
    return p;
}

void *calloc(size_t count, size_t size) {
    void *const p = __libc_calloc(count, size);
    note(EVENT_CALLOC, p, 0, count * size, CALLER);
    return p;
}

// Where another thread gets the old address before this is noted, the reader
// sees that address taken twice, and mends it.
void *realloc(void *old, size_t size) {
    const uint64_t was = (uintptr_t)old;
    void *const p = __libc_realloc(old, size);
    note(EVENT_REALLOC, p, was, size, CALLER);
    return p;
}

void free(void *p) {
    if (p != NULL)
        note(EVENT_FREE, NULL, (uintptr_t)p, 0, CALLER);
    __libc_free(p);
}

static void *aligned(size_t alignment, size_t size, const void *caller) {
    void *const p = __libc_memalign(alignment, size);
    note(EVENT_ALIGNED, p, alignment, size, caller);
    return p;
}

void *memalign(size_t alignment, size_t size) {
    return aligned(alignment, size, CALLER);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return aligned(alignment, size, CALLER);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    void *const p = aligned(alignment, size, CALLER);
    if (p == NULL)
        return ENOMEM;
    *out = p;
    return 0;
}
