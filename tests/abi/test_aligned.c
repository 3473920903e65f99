// SPDX-License-Identifier: MIT
//
// aligned_alloc, posix_memalign, memalign, valloc, pvalloc: every alignment
// up to 1 GiB, wrong alignments, contents.
//
#include "bl_test.h"
#include "sizes.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

static const size_t sizes[] = {1,       15,      16,       100,    1000,
                               4096,    5000,    32 * KIB, 100000, 1 * MIB,
                               1300000, 2 * MIB, 3 * MIB,  9 * MIB};

#define SIZES (sizeof sizes / sizeof sizes[0])

static void check_block(void *p, size_t align, size_t size) {
    if (p == NULL) {
        fail_test("no memory for %zu bytes aligned to %zu", size, align);
        return;
    }
    if ((uintptr_t)p % align != 0)
        fail_test("%p is not aligned to %zu", p, align);
    expect_size_ge(malloc_usable_size(p), size);
    fill_pattern(p, size, 2);
    expect_size_eq(first_wrong(p, size, size, 2), size);
}

TEST(aligned_blocks_up_to_64_mib) {
    for (size_t align = 1; align <= 64 * MIB; align *= 2)
        for (size_t i = 0; i < SIZES; i++) {
            void *p = NULL;
            if (align >= sizeof(void *)) {
                expect_int_eq(posix_memalign(&p, align, sizes[i]), 0);
                check_block(p, align, sizes[i]);
                free(p);
            }
            p = memalign(align, sizes[i]);
            check_block(p, align, sizes[i]);
            free(p);
            p = aligned_alloc(align, sizes[i]);
            check_block(p, align, sizes[i]);
            free(p);
        }
}

TEST(aligned_blocks_up_to_1_gib) {
    for (size_t align = 128 * MIB; align <= GIB; align *= 2)
        for (size_t i = 0; i < SIZES; i += 3) {
            void *const p = aligned_alloc(align, sizes[i]);
            if (p == NULL && errno == ENOMEM)
                bl_test_skip("no address space for an alignment of %zu", align);
            check_block(p, align, sizes[i]);
            free(p);
        }
}

// More than a heap can give it refuses; what it gives is aligned.
TEST(aligned_blocks_beyond_any_use) {
    for (unsigned shift = 31; shift < 64; shift++) {
        const size_t align = (size_t)1 << shift;
        void *p[3] = {NULL};
        for (int i = 0; i < 3; i++) {
            errno = 0;
            p[i] = memalign(align, 100 + (size_t)i * 3 * MIB);
            if (p[i] == NULL)
                expect_true(errno == ENOMEM || errno == EINVAL);
            else
                check_block(p[i], align, 100 + (size_t)i * 3 * MIB);
        }
        for (int i = 0; i < 3; i++)
            free(p[i]);
    }
}

TEST(aligned_blocks_live_together) {
    enum { N = 300 };
    static void *block[N];
    static size_t size[N];
    struct bl_random r = {bl_test_seed()};
    for (int i = 0; i < N; i++) {
        const size_t align = (size_t)8 << bl_random_below(&r, 19);
        size[i] =
            1 + bl_random_below(&r, (size_t)32 << bl_random_below(&r, 14));
        expect_int_eq(posix_memalign(&block[i], align, size[i]), 0);
        expect_size_eq((uintptr_t)block[i] % align, 0);
        fill_pattern(block[i], size[i], (unsigned)i);
    }
    for (int i = 0; i < N; i++) {
        expect_size_eq(first_wrong(block[i], size[i], size[i], (unsigned)i),
                       size[i]);
        free(block[i]);
    }
}

TEST(posix_memalign_refuses_bad_alignment) {
    const size_t bad[] = {0, 1, 2, 4, 3, 7, 24, 4095, 4097, SIZE_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        void *p = &p;
        errno = 33;
        expect_int_eq(posix_memalign(&p, bad[i], 10), EINVAL);
        expect_ptr_eq(p, &p); // left alone
        expect_int_eq(errno, 33);
    }
}

TEST(posix_memalign_without_memory) {
    volatile size_t too_large = PTRDIFF_MAX;
    for (size_t align = 8; align <= GIB; align *= 4) {
        void *p = &p;
        errno = 0;
        expect_int_eq(posix_memalign(&p, align, too_large), ENOMEM);
        expect_int_eq(errno, ENOMEM); // glibc's tests ask for that
        expect_int_eq(posix_memalign(&p, align, too_large * 2), ENOMEM);
    }
}

// As glibc 2.36 has it: a wrong alignment is rounded up to a power of two,
// by memalign and by aligned_alloc, which later releases refuse with EINVAL.
TEST(memalign_with_bad_alignment) {
    const size_t odd[] = {3, 5, 24, 100, 1000, 5000};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        errno = 0;
        void *p = memalign(odd[i], 100);
        if (p == NULL)
            expect_int_eq(errno, EINVAL);
        else
            memset(p, 1, 100);
        free(p);
        errno = 0;
        p = aligned_alloc(odd[i], 100);
        if (p == NULL)
            expect_int_eq(errno, EINVAL);
        else
            memset(p, 1, 100);
        free(p);
    }
    void *const p = memalign(0, 100);
    free(p);
}

TEST(aligned_alloc_overflow) {
    volatile size_t most = SIZE_MAX;
    errno = 0;
    expect_ptr_eq(aligned_alloc(64, most), NULL);
    expect_int_eq(errno, ENOMEM);
    errno = 0;
    expect_ptr_eq(memalign(64, most - 63), NULL);
    expect_int_eq(errno, ENOMEM);
    errno = 0;
    expect_ptr_eq(aligned_alloc((size_t)1 << 63, 1), NULL);
    expect_true(errno == ENOMEM || errno == EINVAL);
    errno = 0;
    expect_ptr_eq(memalign((size_t)1 << 62, most), NULL);
    expect_true(errno == ENOMEM || errno == EINVAL);
    errno = 0;
    expect_ptr_eq(memalign(most, 1), NULL);
    expect_true(errno == ENOMEM || errno == EINVAL);
}

TEST(aligned_alloc_of_zero) {
    for (size_t align = 16; align <= 4 * MIB; align *= 4) {
        void *const p = aligned_alloc(align, 0);
        void *const q = aligned_alloc(align, 0);
        expect_ptr_ne(p, NULL);
        expect_ptr_ne(p, q);
        expect_size_eq((uintptr_t)p % align, 0);
        free(p);
        free(q);
    }
}

TEST(valloc_gives_whole_pages) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < SIZES; i++) {
        void *const p = valloc(sizes[i]);
        check_block(p, page, sizes[i]);
        free(p);
        void *const q = pvalloc(sizes[i]);
        check_block(q, page, sizes[i]);
        expect_size_ge(malloc_usable_size(q),
                       (sizes[i] + page - 1) / page * page);
        free(q);
    }
    volatile size_t most = SIZE_MAX;
    errno = 0;
    expect_ptr_eq(valloc(most), NULL);
    expect_int_eq(errno, ENOMEM);
    errno = 0;
    expect_ptr_eq(pvalloc(most), NULL);
    expect_int_eq(errno, ENOMEM);
    errno = 0;
    expect_ptr_eq(pvalloc(most - page + 2), NULL);
    expect_int_eq(errno, ENOMEM);
}

TEST(aligned_blocks_are_reused) {
    for (int i = 0; i < 30000; i++) {
        unsigned char *const p = aligned_alloc(4 * MIB, 1 * MIB);
        assert_ptr_ne(p, NULL);
        p[1000] = 1;
        free(p);
    }
    for (int i = 0; i < 30000; i++) {
        unsigned char *const p = aligned_alloc(4096, 10000);
        assert_ptr_ne(p, NULL);
        p[1000] = 1;
        free(p);
    }
}
