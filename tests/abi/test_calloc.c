// SPDX-License-Identifier: MIT
//
// calloc: zeros also in memory that was used before, products that overflow.
//
#include "bl_test.h"
#include "sizes.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

static bool all_zero(const void *block, size_t size) {
    const unsigned char *const p = block;
    return size == 0 || (p[0] == 0 && memcmp(p, p + 1, size - 1) == 0);
}

static void dirty(size_t size, int blocks) {
    void *block[16];
    for (int i = 0; i < blocks; i++) {
        block[i] = malloc(size);
        assert_ptr_ne(block[i], NULL);
        memset(block[i], 0xa5, malloc_usable_size(block[i]));
    }
    for (int i = 0; i < blocks; i++)
        free(block[i]);
}

TEST(calloc_is_zero_after_dirty_reuse) {
    size_t size;
    size_t step = 1;
    for (size_t i = 0; (size = size_number(i, 70 * MIB)) != 0; i += step) {
        step = size < 2 * MIB ? 1 : 4;
        const int blocks = size <= 1 * MIB ? 16 : 2;
        void *block[16];
        dirty(size, blocks);
        for (int j = 0; j < blocks; j++) {
            block[j] = calloc(1, size);
            assert_ptr_ne(block[j], NULL);
            expect_size_eq((uintptr_t)block[j] % 16, 0);
            if (!all_zero(block[j], size))
                fail_test("calloc(1, %zu) is not zero", size);
            memset(block[j], 0x5a, size);
        }
        for (int j = 0; j < blocks; j++)
            free(block[j]);
    }
}

// A page that was used by one size and now serves another.
TEST(calloc_is_zero_after_reuse_by_another_size) {
    struct bl_random r = {bl_test_seed()};
    enum { N = 400 };
    static void *block[N];
    for (int round = 0; round < 40; round++) {
        const size_t most = (size_t)64 << bl_random_below(&r, 15);
        for (int i = 0; i < N; i++) {
            const size_t size = 1 + bl_random_below(&r, most);
            block[i] = calloc(1, size);
            assert_ptr_ne(block[i], NULL);
            if (!all_zero(block[i], size))
                fail_test("calloc(1, %zu) is not zero", size);
            memset(block[i], 0xff, size);
        }
        for (int i = 0; i < N; i++)
            free(block[i]);
    }
}

TEST(calloc_is_zero_after_realloc_shrank) {
    for (size_t size = 100; size <= 80 * MIB; size *= 6) {
        unsigned char *p = malloc(size);
        assert_ptr_ne(p, NULL);
        memset(p, 0xee, size);
        p = realloc(p, size / 3 + 1);
        assert_ptr_ne(p, NULL);
        void *const q = calloc(2, size / 3);
        assert_ptr_ne(q, NULL);
        expect_true(all_zero(q, size / 3 * 2));
        free(q);
        free(p);
    }
}

TEST(calloc_overflow_is_enomem) {
    volatile size_t half = SIZE_MAX / 2;
    const size_t pairs[][2] = {{half, 3},
                               {3, half},
                               {(size_t)1 << 32, (size_t)1 << 32},
                               {SIZE_MAX, SIZE_MAX},
                               {(size_t)1 << 62, 4},
                               {half + 1, 2},
                               {1, half + 1}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        errno = 0;
        void *const p = calloc(pairs[i][0], pairs[i][1]);
        expect_ptr_eq(p, NULL);
        expect_int_eq(errno, ENOMEM);
    }
}

TEST(calloc_of_zero_is_unique) {
    void *const a = calloc(0, 10);
    void *const b = calloc(10, 0);
    void *const c = calloc(0, 0);
    volatile size_t most = SIZE_MAX;
    void *const d = calloc(0, most);
    expect_ptr_ne(a, NULL);
    expect_ptr_ne(b, NULL);
    expect_ptr_ne(c, NULL);
    expect_ptr_ne(d, NULL);
    expect_true(a != b && b != c && a != c && c != d);
    free(a);
    free(b);
    free(c);
    free(d);
}

TEST(calloc_huge_touches_little) {
    // Zeroing 8 GiB by hand would take seconds and 8 GiB of memory.
    unsigned char *const p = calloc(8, GIB);
    if (p == NULL)
        bl_test_skip("this machine grants no 8 GiB of address space");
    expect_int_eq(p[4 * GIB], 0);
    p[4 * GIB] = 1;
    free(p);
}
