// SPDX-License-Identifier: MIT
//
// The rest of the family: C23's sized frees, and glibc's questions and knobs
// (usable size, trim, mallinfo, mallopt, stats, info), which must be there
// and must tell the truth in so far as they tell anything.
//
#include "bl_test.h"
#include "resident.h"
#include "sizes.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef void free_sized_fn(void *, size_t);
typedef void free_aligned_sized_fn(void *, size_t, size_t);

static void *symbol(const char *name) { return dlsym(RTLD_DEFAULT, name); }

TEST(free_sized_frees) {
    free_sized_fn *const free_sized = (free_sized_fn *)symbol("free_sized");
    if (free_sized == NULL)
        bl_test_skip("this malloc has no free_sized (C23)");
    size_t size;
    for (size_t i = 0; (size = size_number(i, 4 * MIB)) != 0; i++) {
        void *p = malloc(size);
        assert_ptr_ne(p, NULL);
        errno = 99;
        free_sized(p, size);
        expect_int_eq(errno, 99);
        p = calloc(size, 1);
        assert_ptr_ne(p, NULL);
        free_sized(p, size);
        p = realloc(malloc(size / 2), size);
        assert_ptr_ne(p, NULL);
        free_sized(p, size);
    }
    free_sized(NULL, 0);
    free_sized(NULL, 100);
    for (int i = 0; i < 100000; i++)
        free_sized(malloc(1 * MIB), 1 * MIB);
}

TEST(free_aligned_sized_frees) {
    free_aligned_sized_fn *const release =
        (free_aligned_sized_fn *)symbol("free_aligned_sized");
    if (release == NULL)
        bl_test_skip("this malloc has no free_aligned_sized (C23)");
    for (size_t align = 16; align <= 8 * MIB; align *= 2)
        for (size_t size = align; size <= 16 * MIB; size *= 4) {
            void *const p = aligned_alloc(align, size);
            assert_ptr_ne(p, NULL);
            errno = 99;
            release(p, align, size);
            expect_int_eq(errno, 99);
        }
    release(NULL, 64, 100);
}

TEST(bigleaf_has_all_of_c23) {
    if (!bl_test_on_bigleaf())
        bl_test_skip("only of our own malloc");
    static const char *const names[] = {"malloc",
                                        "calloc",
                                        "realloc",
                                        "reallocarray",
                                        "free",
                                        "free_sized",
                                        "free_aligned_sized",
                                        "aligned_alloc",
                                        "posix_memalign",
                                        "memalign",
                                        "valloc",
                                        "pvalloc",
                                        "malloc_usable_size",
                                        "malloc_trim",
                                        "mallinfo",
                                        "mallinfo2",
                                        "mallopt",
                                        "malloc_stats",
                                        "malloc_info"};
    Dl_info of_malloc = {0};
    Dl_info info = {0};
    assert_true(dladdr(symbol("malloc"), &of_malloc) != 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *const at = symbol(names[i]);
        if (at == NULL || dladdr(at, &info) == 0)
            fail_test("%s is missing", names[i]);
        else if (info.dli_fbase != of_malloc.dli_fbase)
            fail_test("%s is not ours but that of %s", names[i],
                      info.dli_fname);
    }
}

TEST(trim_is_harmless) {
    void *const p = malloc(100);
    void *const q = malloc(30 * MIB);
    assert_ptr_ne(p, NULL);
    assert_ptr_ne(q, NULL);
    fill_pattern(p, 100, 1);
    memset(q, 1, 30 * MIB);
    free(q);
    const int first = malloc_trim(0);
    expect_true(first == 0 || first == 1);
    const int second = malloc_trim(1 * MIB);
    expect_true(second == 0 || second == 1);
    expect_size_eq(first_wrong(p, 100, 100, 1), 100);
    free(p);
    void *const again = malloc(30 * MIB);
    assert_ptr_ne(again, NULL);
    memset(again, 2, 30 * MIB);
    free(again);
}

TEST(trim_gives_memory_back) {
    enum { N = 40 };
    void *block[N];
    for (int i = 0; i < N; i++) {
        block[i] = malloc(5 * MIB);
        assert_ptr_ne(block[i], NULL);
        memset(block[i], 1, 5 * MIB);
    }
    const size_t peak = resident_bytes();
    for (int i = 0; i < N; i++)
        free(block[i]);
    malloc_trim(0);
    const size_t after = resident_bytes();
    expect_size_lt(after, peak - 150 * MIB);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

TEST(mallinfo_counts_what_is_allocated) {
    const struct mallinfo2 before = mallinfo2();
    void *const small = malloc(1000);
    void *const large = malloc(50 * MIB);
    const struct mallinfo2 after = mallinfo2();
    assert_ptr_ne(small, NULL);
    assert_ptr_ne(large, NULL);
    expect_size_ge(after.uordblks + after.hblkhd,
                   before.uordblks + before.hblkhd + 50 * MIB);
    free(small);
    free(large);
    const struct mallinfo old = mallinfo();
    expect_int_ge(old.uordblks, 0);
}

TEST(mallopt_accepts_the_known_knobs) {
    expect_int_eq(mallopt(M_TRIM_THRESHOLD, 128 * 1024), 1);
    expect_int_eq(mallopt(M_MMAP_THRESHOLD, 256 * 1024), 1);
    expect_int_eq(mallopt(M_ARENA_MAX, 2), 1);
    void *const p = malloc(1 * MIB);
    expect_ptr_ne(p, NULL);
    free(p);
}

TEST(stats_go_to_standard_error) {
    char text[16];
    int ends[2];
    assert_int_eq(pipe(ends), 0);
    const int saved = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    malloc_stats();
    dup2(saved, STDERR_FILENO);
    close(ends[1]);
    expect_int_ge(read(ends[0], text, sizeof text), 1);
}

// Programs linked before glibc 2.26 may call it; it is not for new ones.
TEST(cfree_frees) {
    void (*const release)(void *) = (void (*)(void *))symbol("cfree");
    if (release == NULL) {
        expect_false(bl_test_on_bigleaf());
        return;
    }
    release(malloc(100));
    release(calloc(1, 3 * MIB));
    release(NULL);
}

TEST(info_writes_xml) {
    char *text = NULL;
    size_t size = 0;
    FILE *const f = open_memstream(&text, &size);
    assert_ptr_ne(f, NULL);
    expect_int_eq(malloc_info(0, f), 0);
    fclose(f);
    expect_true(strstr(text, "<malloc") != NULL);
    expect_true(strstr(text, "</malloc>") != NULL);
    free(text);
    errno = 0;
    expect_int_ne(malloc_info(1, stderr), 0);
}
