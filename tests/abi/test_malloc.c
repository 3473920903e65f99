// SPDX-License-Identifier: MIT
//
// malloc and free: alignment, distinctness, contents, limits, errno.
//
#include "bl_test.h"
#include "sizes.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>

#define ALIGN 16

TEST(malloc_aligns_every_size) {
    size_t size;
    for (size_t i = 0; (size = size_number(i, 80 * MIB)) != 0; i++) {
        void *const p = malloc(size);
        assert_ptr_ne(p, NULL);
        expect_size_eq((uintptr_t)p % ALIGN, 0);
        expect_size_ge(malloc_usable_size(p), size);
        free(p);
    }
}

TEST(malloc_of_zero_is_unique) {
    enum { N = 1000 };
    static void *block[N];
    for (int i = 0; i < N; i++) {
        block[i] = malloc(0);
        assert_ptr_ne(block[i], NULL);
        expect_size_eq((uintptr_t)block[i] % ALIGN, 0);
        for (int j = 0; j < i; j++)
            assert_ptr_ne(block[j], block[i]);
    }
    for (int i = 0; i < N; i++)
        free(block[i]);
}

TEST(malloc_too_large_is_enomem) {
    volatile size_t sizes[] = {SIZE_MAX,           SIZE_MAX - 1,
                               SIZE_MAX - 15,      SIZE_MAX - 4095,
                               SIZE_MAX - 2 * MIB, SIZE_MAX - 4 * MIB,
                               SIZE_MAX / 2,       (size_t)PTRDIFF_MAX + 1,
                               PTRDIFF_MAX,        (size_t)1 << 62,
                               (size_t)1 << 48};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        errno = 0;
        void *const p = malloc(sizes[i]);
        expect_ptr_eq(p, NULL);
        expect_int_eq(errno, ENOMEM);
        free(p);
    }
    // The heap is whole afterwards.
    void *const p = malloc(100);
    expect_ptr_ne(p, NULL);
    free(p);
}

TEST(malloc_success_keeps_errno) {
    // Not asked for by the standard, but programs rely on it.
    errno = EPERM;
    for (size_t size = 1; size < 64 * MIB; size *= 3) {
        void *const p = malloc(size);
        expect_ptr_ne(p, NULL);
        expect_int_eq(errno, EPERM);
        free(p);
        expect_int_eq(errno, EPERM);
    }
}

TEST(free_keeps_errno) {
    size_t size;
    for (size_t i = 0; (size = size_number(i, 80 * MIB)) != 0; i += 7) {
        void *const p = malloc(size);
        assert_ptr_ne(p, NULL);
        errno = 4711;
        free(p);
        expect_int_eq(errno, 4711);
    }
    errno = 4712;
    free(NULL);
    expect_int_eq(errno, 4712);
}

TEST(malloc_blocks_do_not_overlap) {
    enum { N = 2500 };
    static unsigned char *block[N];
    static size_t sizes[N];
    int n = 0;
    while (n < N && (sizes[n] = size_number((size_t)n, 4 * MIB)) != 0) {
        block[n] = malloc(sizes[n]);
        assert_ptr_ne(block[n], NULL);
        fill_pattern(block[n], sizes[n], (unsigned)n);
        n++;
    }
    for (int i = 0; i < n; i++)
        expect_size_eq(first_wrong(block[i], sizes[i], sizes[i], (unsigned)i),
                       sizes[i]);
    for (int i = 0; i < n; i += 2)
        free(block[i]);
    for (int i = 1; i < n; i += 2)
        expect_size_eq(first_wrong(block[i], sizes[i], sizes[i], (unsigned)i),
                       sizes[i]);
    for (int i = 1; i < n; i += 2)
        free(block[i]);
}

TEST(malloc_uses_all_of_usable_size) {
    enum { N = 200 };
    for (size_t size = 1; size <= 3 * MIB; size = size * 5 / 4 + 1) {
        const int n = size <= 64 * KIB ? N : 4;
        void *block[N];
        for (int i = 0; i < n; i++) {
            block[i] = malloc(size);
            assert_ptr_ne(block[i], NULL);
            memset(block[i], i + 1, malloc_usable_size(block[i]));
        }
        for (int i = 0; i < n; i++) {
            const unsigned char *const p = block[i];
            const size_t usable = malloc_usable_size(block[i]);
            expect_int_eq(p[0], i + 1);
            expect_int_eq(p[usable / 2], i + 1);
            expect_int_eq(p[usable - 1], i + 1);
        }
        for (int i = 0; i < n; i++)
            free(block[i]);
    }
}

TEST(usable_size_of_null_is_0) { expect_size_eq(malloc_usable_size(NULL), 0); }

TEST(malloc_huge_is_lazily_backed) {
    // 8 GiB of address space, a few pages of memory.
    const size_t size = 8 * GIB;
    unsigned char *const p = malloc(size);
    if (p == NULL)
        bl_test_skip("this machine grants no 8 GiB of address space");
    p[0] = 1;
    p[size / 2] = 2;
    p[size - 1] = 3;
    expect_int_eq(p[0] + p[size / 2] + p[size - 1], 6);
    free(p);
}

TEST(malloc_reuses_what_is_freed) {
    // 100 000 rounds of 1 MiB would be 100 GiB if nothing were reused.
    for (int i = 0; i < 100000; i++) {
        unsigned char *const p = malloc(1 * MIB);
        assert_ptr_ne(p, NULL);
        p[(size_t)i % MIB] = 1;
        free(p);
    }
    for (int i = 0; i < 20000; i++) {
        unsigned char *const p = malloc(40 * MIB);
        assert_ptr_ne(p, NULL);
        p[i] = 1;
        free(p);
    }
}
