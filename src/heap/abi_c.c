// SPDX-License-Identifier: MIT
//
// The malloc family under its own names: C23, POSIX, glibc. Where the
// standards leave a choice, glibc 2.36 decides. The names with two underscores
// are glibc's internal ones, which some programs call; a block must never come
// from another heap than the one that will free it.
//
#include "heap/fast.h"
#include "heap/cxx.h"
#include "heap/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define ABI BL_EXPORT __attribute__((nothrow))

// At the start of a line of the processor's caches, lest what stands before
// them decides how fast they are: a twentieth of a malloc and a free.
#define FAST __attribute__((aligned(64)))

FAST ABI void *malloc(size_t bytes) { return bl_malloc_fast(bytes); }
FAST ABI void free(void *p) { bl_free_fast(p); }
ABI void *calloc(size_t count, size_t each) { return bl_calloc(count, each); }
ABI void *realloc(void *p, size_t bytes) { return bl_realloc(p, bytes); }

void *reallocarray(void *p, size_t count, size_t each);
ABI void *reallocarray(void *p, size_t count, size_t each) {
    size_t bytes = 0;
    if (bl_mul_overflows(count, each, &bytes))
        return bl_out_of_memory();
    const struct bl_front *other = bl_heap_front();
    return other ? other->realloc(p, bytes) : bl_realloc(p, bytes);
}

// Behind others' malloc no thread has seen a block that delete may take.
BL_NOINLINE static void delete_elsewhere(void *p) {
    const struct bl_front *other =
        bl_thread.delete_seen == 0 ? bl_heap_front() : NULL;
    if (other != NULL)
        other->free(p);
    else
        bl_free_elsewhere(p);
}

static inline void give_back(void *p) {
    bl_free_within(p, bl_thread.delete_seen, delete_elsewhere);
}

void free_sized(void *p, size_t bytes);
ABI void free_sized(void *p, size_t bytes) {
    (void)bytes;
    give_back(p);
}

void free_aligned_sized(void *p, size_t align, size_t bytes);
ABI void free_aligned_sized(void *p, size_t align, size_t bytes) {
    (void)align;
    (void)bytes;
    give_back(p);
}

// glibc rounds an alignment up to a power of two.
ABI void *memalign(size_t align, size_t bytes) {
    if (align > SIZE_MAX / 2 + 1) {
        errno = EINVAL;
        return NULL;
    }
    if (!bl_is_pow2(align))
        align = align == 0 ? 16 : (size_t)1 << bl_log2_ceil(align);
    return bl_memalign(align, bytes);
}

ABI void *aligned_alloc(size_t align, size_t bytes) {
    return memalign(align, bytes);
}

ABI int posix_memalign(void **out, size_t align, size_t bytes) {
    if (!bl_is_pow2(align) || align % sizeof(void *) != 0)
        return EINVAL;
    void *p = bl_memalign(align, bytes);
    if (p == NULL)
        return ENOMEM; // and errno says so too, as glibc's does
    *out = p;
    return 0;
}

ABI void *valloc(size_t bytes) { return bl_memalign(BL_BASE_SIZE, bytes); }

ABI void *pvalloc(size_t bytes) {
    if (bytes > SIZE_MAX - BL_BASE_SIZE)
        return bl_out_of_memory();
    return bl_memalign(BL_BASE_SIZE, bl_align_up(bytes, BL_BASE_SIZE));
}

ABI size_t malloc_usable_size(void *p) { return bl_usable_size(p); }

ABI int malloc_trim(size_t pad) {
    const struct bl_libc_heap *libc = bl_libc();
    if (libc != NULL && libc->trim != NULL)
        return libc->trim(pad);
    return bl_heap_trim() > 0;
}

// No parameter of glibc's malloc has a meaning here; to refuse one would make
// programs fail that set it.
ABI int mallopt(int parameter, int value) {
    const struct bl_libc_heap *libc = bl_libc();
    if (libc != NULL && libc->mallopt != NULL)
        return libc->mallopt(parameter, value);
    return 1;
}

ABI struct mallinfo2 mallinfo2(void) {
    struct mallinfo2 info;
    bl_heap_info(&info);
    return info;
}

// The caller's stream, so the caller's stdio.
ABI int malloc_info(int options, FILE *stream) {
    if (options != 0)
        return EINVAL;
    struct mallinfo2 info;
    bl_heap_info(&info);
    char buffer[512];
    struct bl_text t;
    bl_text_init(&t, buffer, sizeof buffer);
    bl_text_str(&t, "<malloc version=\"1\">\n<system type=\"current\" size=\"");
    bl_text_u64(&t, info.arena);
    bl_text_str(&t, "\"/>\n<total type=\"rest\" count=\"");
    bl_text_u64(&t, info.ordblks);
    bl_text_str(&t, "\" size=\"");
    bl_text_u64(&t, info.fordblks);
    bl_text_str(&t, "\"/>\n</malloc>\n");
    return fputs(buffer, stream) < 0 ? -1 : 0;
}

static int clamp_int(size_t x) { return x > INT32_MAX ? INT32_MAX : (int)x; }

ABI struct mallinfo mallinfo(void) {
    struct mallinfo2 wide;
    bl_heap_info(&wide);
    return (struct mallinfo){.arena = clamp_int(wide.arena),
                             .ordblks = clamp_int(wide.ordblks),
                             .hblks = clamp_int(wide.hblks),
                             .uordblks = clamp_int(wide.uordblks),
                             .fordblks = clamp_int(wide.fordblks),
                             .keepcost = clamp_int(wide.keepcost)};
}

static void say_bytes(const char *what, size_t bytes) {
    char buffer[96];
    struct bl_text t;
    bl_message_begin(&t, buffer, sizeof buffer);
    bl_text_str(&t, what);
    bl_text_u64(&t, bytes);
    bl_message_end(&t);
}

ABI void malloc_stats(void) {
    const struct bl_libc_heap *libc = bl_libc();
    if (libc != NULL && libc->stats != NULL) {
        libc->stats();
        return;
    }
    struct mallinfo2 info;
    bl_heap_info(&info);
    say_bytes("bytes mapped: ", info.arena);
    say_bytes("bytes in use: ", info.uordblks);
    say_bytes("bytes warm:   ", info.keepcost);
    say_bytes("pages:        ", info.ordblks);
    say_bytes("blocks:       ", info.hblks);
    // In glibc's words, which readers of its report look for.
    say_bytes("max mmap bytes: ", bl_load_relaxed(&bl_stats.units_max)
                                      << BL_HUGE_SHIFT);
}

#define SAME_AS(name)                                                          \
    BL_EXPORT __attribute__((alias(#name), nothrow, copy(name)))

// These, whoever else defines functions of these names.
#define THIS(name)                                                             \
    __attribute__((alias(#name), visibility("hidden"), copy(name)))

void *bl_this_malloc(size_t bytes) THIS(malloc);
void bl_this_free(void *p) THIS(free);
void *bl_this_realloc(void *p, size_t bytes) THIS(realloc);
void *bl_this_aligned_alloc(size_t align, size_t bytes) THIS(aligned_alloc);

// Of programs older than glibc 2.26, which still has it for them.
void cfree(void *p) SAME_AS(free);

void *__libc_malloc(size_t bytes) SAME_AS(malloc);
void __libc_free(void *p) SAME_AS(free);
void *__libc_calloc(size_t count, size_t each) SAME_AS(calloc);
void *__libc_realloc(void *p, size_t bytes) SAME_AS(realloc);
void *__libc_memalign(size_t align, size_t bytes) SAME_AS(memalign);
void *__libc_valloc(size_t bytes) SAME_AS(valloc);
void *__libc_pvalloc(size_t bytes) SAME_AS(pvalloc);
int __posix_memalign(void **out, size_t align, size_t bytes)
    SAME_AS(posix_memalign);

// The operators new and delete of C++ that the others call, under the names
// that its ABI gives them: a call of malloc would cost new a frame and a
// comparison. The others, and what new does without memory, are in abi_cxx.cc.
// Throwing passes through no frame of this file, or, compiled without
// optimization, through one that has nothing to clean up. They are weak, so
// that a program linked with libbigleaf.a may define its own.

#define CXX(symbol) __asm__(#symbol) __attribute__((weak))

void *bl_new(size_t bytes) CXX(_Znwm);
FAST BL_EXPORT void *bl_new(size_t bytes) {
    return bl_malloc_below(bytes, bl_thread.new_served, bl_new_slow);
}
void *bl_own_new(size_t bytes) __attribute__((alias("_Znwm")));

static const struct bl_front *front_of_new(void) {
    return bl_thread.new_served == 0 ? bl_heap_front() : NULL;
}

void *bl_new_block_slow(size_t bytes) {
    const struct bl_front *other = front_of_new();
    return other ? other->malloc(bytes ? bytes : 1) : bl_malloc_slow(bytes);
}

// The C++ library rounds up as aligned_alloc once demanded.
void *bl_new_block(size_t bytes, size_t align) {
    const struct bl_front *other = front_of_new();
    if (align <= 16)
        return other ? other->malloc(bytes ? bytes : 1) : bl_malloc(bytes);
    if (other == NULL)
        return bl_memalign(align, bytes);
    const size_t rounded = bl_align_up(bytes ? bytes : 1, align);
    return rounded ? other->aligned_alloc(align, rounded) : NULL;
}

void bl_delete(void *p) CXX(_ZdlPv);
FAST ABI void bl_delete(void *p) { give_back(p); }
// What it was aligned to tells free nothing.
void bl_delete_aligned(void *p) CXX(_ZdlPvSt11align_val_t) BL_EXPORT
    __attribute__((alias("_ZdlPv"), nothrow));

void bl_new_without_library(void) {
    bl_fatal("operator new: out of memory, and no C++ library to throw "
             "std::bad_alloc");
}
