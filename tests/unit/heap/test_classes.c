// SPDX-License-Identifier: MIT
//
// Relations that hold for every size: a class is large enough, the next
// smaller one is not, classes grow, rounding wastes little, alignment is 16.
//
#include "heap/classes.h"

#include "bl_test.h"

TEST(every_size_has_the_smallest_class_that_fits) {
    for (size_t bytes = 0; bytes <= BL_CLASS_MAX; bytes++) {
        const uint32_t c = bl_class_of(bytes);
        assert_size_le(bytes, bl_class_bytes(c));
        assert_true(c < BL_CLASSES);
        if (c > 0 && bytes > 0)
            assert_true(bl_class_bytes(c - 1) < bytes);
    }
}

TEST(classes_grow_and_are_aligned) {
    for (uint32_t c = 0; c < BL_CLASSES; c++) {
        const size_t bytes = bl_class_bytes(c);
        expect_size_eq(bytes % 16, 0);
        expect_int_eq(bl_class_of(bytes), c);
        if (c > 0)
            expect_size_lt(bl_class_bytes(c - 1), bytes);
    }
    expect_size_eq(bl_class_bytes(BL_CLASSES - 1), BL_CLASS_MAX);
}

TEST(rounding_costs_an_eighth_at_most) {
    for (size_t bytes = 1; bytes <= BL_CLASS_MAX; bytes++) {
        const size_t waste = bl_class_bytes(bl_class_of(bytes)) - bytes;
        if (waste > 15 && waste * 8 > bytes + 8 * 15)
            fail_test("%zu bytes waste %zu", bytes, waste);
    }
}
