// SPDX-License-Identifier: MIT
//
// realloc and reallocarray: contents across every boundary, the NULL and zero
// cases, failure leaves the block alone, growth by small steps.
//
#include "bl_test.h"
#include "sizes.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static const size_t boundaries[] = {
    16,       32,        64,        128,       256,      512,
    1 * KIB,  2 * KIB,   4 * KIB,   8 * KIB,   16 * KIB, 32 * KIB,
    64 * KIB, 128 * KIB, 256 * KIB, 512 * KIB, 1 * MIB,  2 * MIB,
    4 * MIB,  16 * MIB,  32 * MIB,  64 * MIB,  96 * MIB};

#define BOUNDARIES (sizeof boundaries / sizeof boundaries[0])

static void change_size(size_t from, size_t to) {
    void *p = malloc(from);
    assert_ptr_ne(p, NULL);
    fill_pattern(p, from, 3);
    void *const q = realloc(p, to);
    assert_ptr_ne(q, NULL);
    const size_t kept = from < to ? from : to;
    if (first_wrong(q, kept, from, 3) != kept)
        fail_test("realloc from %zu to %zu lost the byte at %zu", from, to,
                  first_wrong(q, kept, from, 3));
    expect_size_eq((uintptr_t)q % 16, 0);
    expect_size_ge(malloc_usable_size(q), to);
    fill_pattern(q, to, 4);
    free(q);
}

TEST(realloc_keeps_contents_across_boundaries) {
    for (size_t i = 0; i < BOUNDARIES; i++)
        for (size_t j = 0; j < BOUNDARIES; j++) {
            // Touching tens of MiB takes its time: there, the exact edge and
            // the near sizes only between neighbours.
            const bool large = boundaries[i] + boundaries[j] > 8 * MIB;
            const bool far = i + 1 < j || j + 1 < i;
            for (int d = -1; d <= 1; d++) {
                if (large && far && d != (int)((i + j) % 3) - 1)
                    continue;
                change_size(boundaries[i] + (size_t)d, boundaries[j]);
                if (!large)
                    change_size(boundaries[i], boundaries[j] + (size_t)d);
            }
        }
}

TEST(realloc_of_null_is_malloc) {
    size_t size;
    for (size_t i = 0; (size = size_number(i, 8 * MIB)) != 0; i += 11) {
        void *const p = realloc(NULL, size);
        assert_ptr_ne(p, NULL);
        fill_pattern(p, size, 1);
        free(p);
    }
    void *const p = realloc(NULL, 0);
    expect_ptr_ne(p, NULL);
    free(p);
}

TEST(realloc_to_zero_frees) {
    // glibc's answer: the block is freed and NULL is returned.
    for (size_t size = 1; size < 100 * MIB; size *= 7) {
        void *const p = malloc(size);
        assert_ptr_ne(p, NULL);
        errno = 0;
        expect_ptr_eq(realloc(p, 0), NULL);
        expect_int_eq(errno, 0);
    }
}

TEST(realloc_failure_keeps_the_block) {
    for (size_t size = 1; size < 100 * MIB; size *= 7) {
        void *const p = malloc(size);
        assert_ptr_ne(p, NULL);
        fill_pattern(p, size, 9);
        volatile size_t too_large[] = {PTRDIFF_MAX, SIZE_MAX, SIZE_MAX - 4096,
                                       (size_t)1 << 60};
        for (int i = 0; i < 4; i++) {
            errno = 0;
            expect_ptr_eq(realloc(p, too_large[i]), NULL);
            expect_int_eq(errno, ENOMEM);
        }
        expect_size_eq(first_wrong(p, size, size, 9), size);
        free(p);
    }
}

TEST(realloc_grows_by_one) {
    unsigned char *p = NULL;
    for (size_t n = 1; n <= 70000; n++) {
        p = realloc(p, n);
        assert_ptr_ne(p, NULL);
        p[n - 1] = pattern_byte(n - 1, 5);
    }
    for (size_t i = 0; i < 70000; i++)
        if (p[i] != pattern_byte(i, 5)) {
            fail_test("byte %zu is wrong", i);
            break;
        }
    for (size_t n = 70000; n > 1; n -= 13) {
        p = realloc(p, n);
        assert_ptr_ne(p, NULL);
        if (n < 14)
            break;
    }
    expect_int_eq(p[0], pattern_byte(0, 5));
    free(p);
}

// As a vector grows: by half each time, with another one beside it.
TEST(realloc_grows_two_vectors) {
    size_t n = 100;
    unsigned char *p = malloc(n);
    unsigned char *q = malloc(n);
    assert_ptr_ne(p, NULL);
    assert_ptr_ne(q, NULL);
    fill_pattern(p, n, 1);
    fill_pattern(q, n, 2);
    while (n < 150 * MIB) {
        const size_t more = n + n / 2;
        p = realloc(p, more);
        q = realloc(q, more);
        assert_ptr_ne(p, NULL);
        assert_ptr_ne(q, NULL);
        assert_size_eq(first_wrong(p, n, n, 1), n);
        assert_size_eq(first_wrong(q, n, n, 2), n);
        n = more;
        fill_pattern(p, n, 1);
        fill_pattern(q, n, 2);
    }
    free(p);
    free(q);
}

TEST(realloc_shrinks_in_steps) {
    size_t n = 200 * MIB;
    unsigned char *p = malloc(n);
    assert_ptr_ne(p, NULL);
    for (size_t i = 0; i < 4096; i++)
        p[i] = pattern_byte(i, 8);
    while (n > 4096) {
        n = n * 2 / 3 > 4096 ? n * 2 / 3 : 4096;
        p = realloc(p, n);
        assert_ptr_ne(p, NULL);
        for (size_t i = 0; i < 4096; i++)
            assert_int_eq(p[i], pattern_byte(i, 8));
    }
    free(p);
}

// A block that leaves room behind it in the address space must still be
// separate from the next block.
TEST(realloc_in_place_meets_no_neighbour) {
    enum { N = 8 };
    static unsigned char *block[N];
    static size_t size[N];
    struct bl_random r = {bl_test_seed()};
    for (int i = 0; i < N; i++) {
        size[i] = 1 * MIB + (size_t)i * 12345;
        block[i] = malloc(size[i]);
        assert_ptr_ne(block[i], NULL);
        fill_pattern(block[i], size[i], (unsigned)i);
    }
    for (int round = 0; round < 300; round++) {
        const int i = (int)bl_random_below(&r, N);
        const size_t grown = size[i] + bl_random_below(&r, 3 * MIB);
        const size_t to = grown < 48 * MIB ? grown : 1 * MIB;
        block[i] = realloc(block[i], to);
        assert_ptr_ne(block[i], NULL);
        const size_t kept = to < size[i] ? to : size[i];
        assert_size_eq(first_wrong(block[i], kept, size[i], (unsigned)i), kept);
        size[i] = to;
        fill_pattern(block[i], size[i], (unsigned)i);
    }
    for (int i = 0; i < N; i++) {
        expect_size_eq(first_wrong(block[i], size[i], size[i], (unsigned)i),
                       size[i]);
        free(block[i]);
    }
}

// What lies behind the old end after growth may hold anything, but what was
// given back and grown again must be writable.
TEST(realloc_after_shrink_is_writable) {
    unsigned char *p = malloc(64 * MIB);
    assert_ptr_ne(p, NULL);
    for (int i = 0; i < 20; i++) {
        memset(p, i, 64 * MIB - 1);
        p = realloc(p, 3 * MIB);
        assert_ptr_ne(p, NULL);
        expect_int_eq(p[3 * MIB - 1], i);
        p = realloc(p, 64 * MIB);
        assert_ptr_ne(p, NULL);
        expect_int_eq(p[3 * MIB - 1], i);
    }
    free(p);
}

TEST(realloc_keeps_blocks_of_memalign) {
    for (size_t align = 32; align <= 4 * MIB; align *= 2)
        for (size_t size = 1; size <= 8 * MIB; size = size * 11 + 3) {
            void *p = NULL;
            assert_int_eq(posix_memalign(&p, align, size), 0);
            fill_pattern(p, size, 6);
            p = realloc(p, size * 2);
            assert_ptr_ne(p, NULL);
            assert_size_eq(first_wrong(p, size, size, 6), size);
            free(p);
        }
}

#define STALE_BLOCKS 300000
#define STALE_BYTES ((size_t)32)
#define STALE_UNIT (2 * MIB)

// New blocks, each with the bytes that lie as far behind `from` as the block
// behind the start of its 2 MiB.
static void copy_and_free(const unsigned char *from) {
    static unsigned char *block[STALE_BLOCKS];
    for (size_t i = 0; i < STALE_BLOCKS; i++) {
        block[i] = malloc(STALE_BYTES);
        assert_ptr_ne(block[i], NULL);
        memcpy(block[i], from + (uintptr_t)block[i] % STALE_UNIT, STALE_BYTES);
    }
    for (size_t i = 0; i < STALE_BLOCKS; i++)
        free(block[i]);
}

// Memory that a program is given may hold what were free blocks elsewhere, and
// a program may copy it about before it writes to it.
TEST(copies_of_stale_bytes_are_no_free_blocks) {
    static const unsigned char nothing[STALE_UNIT];
    for (unsigned units = 1; units <= 12; units += 11) {
        copy_and_free(nothing);
        unsigned char *const large = malloc(units * STALE_UNIT);
        assert_ptr_ne(large, NULL);
        for (unsigned unit = 0; unit < units; unit++)
            copy_and_free(large + unit * STALE_UNIT);
        free(large);
    }
}

TEST(reallocarray_checks_the_product) {
    int *p = reallocarray(NULL, 1000, sizeof(int));
    assert_ptr_ne(p, NULL);
    p[999] = 5;
    errno = 0;
    volatile size_t half = SIZE_MAX / 2;
    expect_ptr_eq(reallocarray(p, half, 3), NULL);
    expect_int_eq(errno, ENOMEM);
    expect_int_eq(p[999], 5);
    p = reallocarray(p, 2000, sizeof(int));
    assert_ptr_ne(p, NULL);
    expect_int_eq(p[999], 5);
    free(p);
}
