// SPDX-License-Identifier: MIT
//
// The heap: the malloc family on typed pages, spans and runs.
//
//   up to 64 KiB     a block of a size class, on a page of the thread's local
//   up to 16 MiB     a span of slices, side by side with others; up to 2 MiB
//                    while the heap is small, to 1 MiB where realloc grows it
//   above            a run of units, with room behind it to grow into
//
// These functions are what the ABI (abi_c.c, abi_cxx.cc) is made of; they carry
// names of their own, so that tests can use them beside the libc's under a
// sanitizer. They set errno only where the C standard has malloc set it, and
// keep it in free. Any thread may call any of them.
//
#ifndef BL_HEAP_HEAP_H
#define BL_HEAP_HEAP_H

#include "base/base.h"
#include "heap/classes.h"
#include "page/page.h"

#include <malloc.h>

// The allocator to use where this one is switched off (BIGLEAF=off).
struct bl_libc_heap {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*memalign)(size_t, size_t);
    void (*free)(void *);
    size_t (*usable_size)(void *);
    // Readings and settings; NULL where the libc has none.
    int (*trim)(size_t);
    int (*mallopt)(int, int);
    void (*stats)(void);
    struct mallinfo2 (*mallinfo2)(void);
};

void *bl_malloc(size_t bytes);
void *bl_calloc(size_t count, size_t bytes);
void *bl_realloc(void *p, size_t bytes);
void bl_free(void *p);
// `align` is a power of two; NULL and EINVAL where it is not.
void *bl_memalign(size_t align, size_t bytes);
size_t bl_usable_size(const void *p);
// Returns what can be returned to the kernel; the bytes.
size_t bl_heap_trim(void);
void bl_heap_info(struct mallinfo2 *out);

// Switches to `libc`, or back where NULL. Blocks handed out before stay valid.
void bl_heap_switch_off(const struct bl_libc_heap *libc);
// Somebody else's functions, which the C library's and the C++ library's would
// call in the place of ours that are made of malloc and free.
struct bl_front {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*realloc)(void *, size_t);
    void *(*aligned_alloc)(size_t, size_t);
};
// Has those of ours call them: reallocarray, operator new and delete.
void bl_heap_stand_behind(const struct bl_front *other);

// Called once, before the first block is handed out.
extern void (*bl_heap_start_hook)(void);

void bl_heap_check(void);

#endif
