// SPDX-License-Identifier: MIT
//
// Size classes: steps of 16 bytes up to 256, then eight to a doubling up to
// 64 KiB, so that rounding costs at most an eighth and on average a sixteenth.
// Each class is a shared pool of the page layer; class c is pool number c.
//
#ifndef BL_HEAP_CLASSES_H
#define BL_HEAP_CLASSES_H

#include "base/base.h"

#define BL_LINEAR_MAX 256 // bytes: classes in steps of 16 up to here
#define BL_LINEAR_CLASSES 16
#define BL_STEPS 8 // classes to a doubling above
#define BL_CLASS_MAX (64 * BL_KIB)
#define BL_CLASSES (BL_LINEAR_CLASSES + 8 * BL_STEPS)

// True for 1 to BL_LINEAR_MAX bytes: 0 is not among them, since 0 - 1 is not.
BL_INLINE bool bl_is_linear(size_t bytes) { return bytes - 1 < BL_LINEAR_MAX; }

BL_INLINE uint32_t bl_linear_class_of(size_t bytes) {
    return (uint32_t)((bytes - 1) >> 4);
}

// For more than BL_LINEAR_MAX bytes.
BL_INLINE uint32_t bl_upper_class_of(size_t bytes) {
    const unsigned shift = bl_log2_floor(bytes - 1) - 3; // of 1/8 of a doubling
    const uint32_t step = (uint32_t)((bytes - 1) >> shift) - BL_STEPS;
    return BL_LINEAR_CLASSES + (shift - 5) * BL_STEPS + step;
}

// Class of a request of 0 to BL_CLASS_MAX bytes.
BL_INLINE uint32_t bl_class_of(size_t bytes) {
    if (BL_LIKELY(bl_is_linear(bytes)))
        return bl_linear_class_of(bytes);
    return bytes == 0 ? 0 : bl_upper_class_of(bytes);
}

BL_INLINE size_t bl_class_bytes(uint32_t c) {
    if (c < BL_LINEAR_CLASSES)
        return ((size_t)c + 1) << 4;
    const uint32_t above = c - BL_LINEAR_CLASSES;
    return ((size_t)BL_STEPS + 1 + above % BL_STEPS) << (5 + above / BL_STEPS);
}

#endif
