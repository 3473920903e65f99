// SPDX-License-Identifier: MIT
//
// Sizes of the machine's pages and arithmetic on powers of two.
// A "base page" is 4 KiB, a "huge page" 2 MiB; a "page" is ours (see `page/`).
//
#ifndef BL_BASE_BITS_H
#define BL_BASE_BITS_H

#include "base/assert.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BL_BASE_SHIFT 12
#define BL_BASE_SIZE ((size_t)1 << BL_BASE_SHIFT)
#define BL_HUGE_SHIFT 21
#define BL_HUGE_SIZE ((size_t)1 << BL_HUGE_SHIFT)

#define BL_KIB ((size_t)1 << 10)
#define BL_MIB ((size_t)1 << 20)
#define BL_GIB ((size_t)1 << 30)
#define BL_TIB ((size_t)1 << 40)

#define BL_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

BL_INLINE bool bl_is_pow2(size_t x) { return x != 0 && (x & (x - 1)) == 0; }

// `align` is a power of two; the caller rules out overflow.
BL_INLINE size_t bl_align_up(size_t x, size_t align) {
    return (x + align - 1) & ~(align - 1);
}

BL_INLINE size_t bl_align_down(size_t x, size_t align) {
    return x & ~(align - 1);
}

// Index of the highest set bit; x is not 0. By ^, which compilers find to be
// what the processor has an instruction for.
BL_INLINE unsigned bl_log2_floor(uint64_t x) {
    return 63u ^ (unsigned)__builtin_clzll(x);
}

// Smallest k with 2^k >= x; x is not 0.
BL_INLINE unsigned bl_log2_ceil(uint64_t x) {
    return x <= 1 ? 0 : bl_log2_floor(x - 1) + 1;
}

BL_INLINE unsigned bl_lowest_bit(uint64_t x) {
    return (unsigned)__builtin_ctzll(x);
}

// True, and nothing usable in *out, where the result does not fit.
BL_INLINE bool bl_mul_overflows(size_t a, size_t b, size_t *out) {
    return __builtin_mul_overflow(a, b, out);
}

BL_INLINE bool bl_add_overflows(size_t a, size_t b, size_t *out) {
    return __builtin_add_overflow(a, b, out);
}

#endif
