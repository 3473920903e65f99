// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "bl_test.h"

TEST(align_up_and_down_enclose) {
    struct bl_random r = {bl_test_seed()};
    for (int i = 0; i < 100000; i++) {
        const size_t align = (size_t)1 << bl_random_below(&r, 40);
        const size_t x = bl_random_next(&r) >> 20;
        const size_t up = bl_align_up(x, align);
        const size_t down = bl_align_down(x, align);
        assert_true(down <= x && x <= up && up - down <= align);
        assert_true(up % align == 0 && down % align == 0);
        assert_true(x % align != 0 || up == down);
    }
}

TEST(logarithms) {
    for (unsigned k = 0; k < 64; k++) {
        const uint64_t p = (uint64_t)1 << k;
        expect_int_eq(bl_log2_floor(p), k);
        expect_int_eq(bl_log2_ceil(p), k);
        if (k > 1) {
            expect_int_eq(bl_log2_floor(p - 1), k - 1);
            expect_int_eq(bl_log2_ceil(p - 1), k);
            expect_int_eq(bl_log2_floor(p + 1), k);
        }
        if (k > 0 && k < 63)
            expect_int_eq(bl_log2_ceil(p + 1), k + 1);
        expect_int_eq(bl_lowest_bit(p | (k < 63 ? p << 1 : 0)), k);
        expect_true(bl_is_pow2(p));
    }
    expect_false(bl_is_pow2(0));
    expect_false(bl_is_pow2(6));
}

TEST(overflow_is_told) {
    size_t out = 0;
    expect_false(bl_mul_overflows(3, 5, &out));
    expect_size_eq(out, 15);
    expect_true(bl_mul_overflows(SIZE_MAX, 2, &out));
    expect_true(bl_mul_overflows((size_t)1 << 32, (size_t)1 << 32, &out));
    expect_false(bl_add_overflows(SIZE_MAX - 1, 1, &out));
    expect_size_eq(out, SIZE_MAX);
    expect_true(bl_add_overflows(SIZE_MAX, 1, &out));
}
