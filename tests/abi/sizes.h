// SPDX-License-Identifier: MIT
//
// Sizes worth asking for: every small one, and the neighbourhood of every
// size at which an allocator may change its mind.
//
#ifndef BL_TESTS_ABI_SIZES_H
#define BL_TESTS_ABI_SIZES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

// The i-th size not above `most`, in growing order; 0 when there is no more
// (the size 0 itself is left to its own tests).
static inline size_t size_number(size_t i, size_t most) {
    static const int near[] = {-17, -16, -8, -1, 0, 1, 8, 16, 17};
    const size_t per_edge = sizeof near / sizeof near[0];
    size_t size = i + 1;
    if (size > 1100) {
        const size_t k = size - 1101;
        // 1.5, 2, 3, 4, 6, 8 ... KiB: twice per doubling.
        const size_t edge = k / per_edge;
        const size_t base = (edge % 2 == 0 ? 3 * KIB / 2 : 2 * KIB)
                            << (edge / 2);
        size = base + (size_t)near[k % per_edge];
    }
    return size <= most ? size : 0;
}

// A byte that depends on where it lies and on a tag.
static inline unsigned char pattern_byte(size_t offset, unsigned tag) {
    return (unsigned char)(offset * 131 + (offset >> 8) * 7 + tag * 29 + 1);
}

// Fills blocks of up to 64 KiB wholly; of larger ones the ends and one byte
// in each 509.
static inline void fill_pattern(void *block, size_t size, unsigned tag) {
    unsigned char *const p = block;
    const size_t step = size <= 64 * KIB ? 1 : 509;
    for (size_t i = 0; i < size; i += step)
        p[i] = pattern_byte(i, tag);
    if (size > 0)
        p[size - 1] = pattern_byte(size - 1, tag);
}

// The offset of the first byte among the first `size` of a block filled with
// `filled` bytes that is not as filled, or `size`.
static inline size_t first_wrong(const void *block, size_t size, size_t filled,
                                 unsigned tag) {
    const unsigned char *const p = block;
    const size_t step = filled <= 64 * KIB ? 1 : 509;
    for (size_t i = 0; i < size; i += step)
        if (p[i] != pattern_byte(i, tag))
            return i;
    if (size == filled && size > 0 &&
        p[size - 1] != pattern_byte(size - 1, tag))
        return size - 1;
    return size;
}

#endif
