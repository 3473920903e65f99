// SPDX-License-Identifier: MIT
//
// The whole heap under a kernel whose n-th call fails, once or from then on.
// A call either succeeds and its block is sound, or answers NULL and changes
// nothing; afterwards everything works and no memory is left over.
//
#include "heap/heap.h"

#include "bl_test.h"
#include "fake_os.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define SLOTS 64

struct slot {
    unsigned char *at;
    size_t bytes;
};

static bool sound(const struct slot *s, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 1 + i / 16)
        if (s->at[i] != (unsigned char)(s->bytes + i))
            return false;
    return true;
}

static void fill(struct slot *s) {
    for (size_t i = 0; i < s->bytes; i += 1 + i / 16)
        s->at[i] = (unsigned char)(s->bytes + i);
}

static size_t some_size(struct bl_random *r) {
    return 1 + bl_random_below(r, (size_t)32 << bl_random_below(r, 18));
}

static void *allocate(struct bl_random *r, size_t bytes) {
    switch (bl_random_below(r, 4)) {
    case 0: {
        unsigned char *const p = bl_calloc(1, bytes);
        if (p != NULL)
            expect_true(p[0] == 0 && p[bytes / 2] == 0 && p[bytes - 1] == 0);
        return p;
    }
    case 1:
        return bl_memalign((size_t)16 << bl_random_below(r, 14), bytes);
    default:
        return bl_malloc(bytes);
    }
}

static void change(struct slot *s, struct bl_random *r, bool may_fail) {
    const size_t bytes = some_size(r);
    errno = 0;
    if (s->at == NULL) {
        s->at = allocate(r, bytes);
        if (s->at == NULL) {
            expect_true(may_fail);
            expect_int_eq(errno, ENOMEM);
            return;
        }
    } else if (bl_random_below(r, 3) == 0) {
        unsigned char *const moved = bl_realloc(s->at, bytes);
        if (moved == NULL) {
            expect_true(may_fail);
            expect_int_eq(errno, ENOMEM);
            expect_true(sound(s, s->bytes));
            return;
        }
        s->at = moved;
        expect_true(sound(s, bytes < s->bytes ? bytes : s->bytes));
    } else {
        expect_true(sound(s, s->bytes));
        bl_free(s->at);
        s->at = NULL;
        return;
    }
    s->bytes = bytes;
    expect_size_ge(bl_usable_size(s->at), bytes);
    fill(s);
}

static void work(uint64_t seed, bool may_fail) {
    static struct slot slots[SLOTS];
    struct bl_random r = {seed};
    for (int i = 0; i < 900; i++) {
        change(&slots[bl_random_below(&r, SLOTS)], &r, may_fail);
        if (i % 97 == 0)
            fake_os_advance_ms(400);
        if (i % 300 == 299 && bl_self != NULL)
            bl_heap_check();
    }
    for (int i = 0; i < SLOTS; i++) {
        bl_free(slots[i].at);
        slots[i].at = NULL;
    }
    bl_heap_trim();
    if (bl_self != NULL)
        bl_heap_check();
}

struct reading {
    unsigned long calls;
    size_t mapped;
};

struct failing {
    unsigned long n;
    unsigned mask;
    bool from_then_on;
    int error;
    enum bl_backing backing;
    bool large; // a heap that keeps warm what it frees
    struct reading *reading;
};

#define LARGE_HEAP (BL_SMALL_HEAP_UNITS << BL_HUGE_SHIFT)

static void work_with_failure(void *arg) {
    const struct failing *const f = arg;
    fake_os_install();
    fake_os_set_pool(6);
    bl_reservoir_configure(f->backing, 1000);
    void *const rest = f->large ? bl_malloc(LARGE_HEAP) : NULL;
    fake_os_fail(f->n, f->error, f->mask, f->from_then_on);
    work(7, f->n != 0);
    const unsigned long calls = fake_os_calls();
    fake_os_fail(0, 0, f->mask, false);
    work(8, false);
    bl_free(rest);
    bl_heap_trim();
    if (f->n == 0)
        *f->reading = (struct reading){calls, fake_os_mapped_bytes()};
    else if (f->mask == FAKE_MAY_FAIL)
        expect_size_le(fake_os_mapped_bytes(),
                       f->reading->mapped + 2 * BL_HUGE_SIZE);
}

// All n up to 30, then every 19th: the later ones are of the same kinds.
static void fail_each_call(struct failing f) {
    f.reading = mmap(NULL, sizeof *f.reading, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(f.reading != MAP_FAILED);
    f.n = 0;
    bl_test_in_child(work_with_failure, &f);
    expect_size_ge(f.reading->calls, 3);
    for (f.n = 1; f.n <= f.reading->calls; f.n += f.n < 30 ? 1 : 19)
        bl_test_in_child(work_with_failure, &f);
    munmap(f.reading, sizeof *f.reading);
}

TEST(each_call_fails_once) {
    fail_each_call((struct failing){.mask = FAKE_MAY_FAIL, .error = ENOMEM});
}

TEST(each_call_fails_for_ever) {
    fail_each_call((struct failing){
        .mask = FAKE_MAY_FAIL, .error = ENOMEM, .from_then_on = true});
}

TEST(each_call_is_refused_for_ever) {
    fail_each_call((struct failing){
        .mask = FAKE_MAY_FAIL, .error = EPERM, .from_then_on = true});
}

TEST(maps_fail_for_ever_on_thp) {
    fail_each_call((struct failing){.mask = FAKE_BIT(FAKE_MAP),
                                    .error = ENOMEM,
                                    .from_then_on = true,
                                    .backing = BL_BACKING_THP});
}

TEST(moves_fail_for_ever) {
    fail_each_call((struct failing){.mask = FAKE_BIT(FAKE_MOVE),
                                    .error = ENOSYS,
                                    .from_then_on = true,
                                    .backing = BL_BACKING_THP,
                                    .large = true});
}

TEST(moves_fail_once) {
    fail_each_call((struct failing){.mask = FAKE_BIT(FAKE_MOVE),
                                    .error = ENOMEM,
                                    .backing = BL_BACKING_THP,
                                    .large = true});
}

TEST(each_call_fails_once_in_a_large_heap) {
    fail_each_call((struct failing){
        .mask = FAKE_MAY_FAIL, .error = ENOMEM, .large = true});
}

// The kernel's limit on mappings makes also unmapping fail.
TEST(unmaps_fail_once) {
    fail_each_call((struct failing){.mask = FAKE_BIT(FAKE_UNMAP),
                                    .error = ENOMEM,
                                    .backing = BL_BACKING_THP});
}

TEST(unmaps_fail_for_ever) {
    fail_each_call((struct failing){.mask = FAKE_BIT(FAKE_UNMAP),
                                    .error = ENOMEM,
                                    .from_then_on = true,
                                    .backing = BL_BACKING_THP});
}

// Who asks for less keeps what he has where there is no memory to move to.
TEST(who_shrinks_is_never_refused) {
    static const size_t sizes[] = {2000, 60000, 500000, 3 * BL_MIB,
                                   40 * BL_MIB};
    fake_os_install();
    for (size_t i = 0; i < BL_ARRAY_LEN(sizes); i++) {
        unsigned char *p = bl_malloc(sizes[i]);
        assert_ptr_ne(p, NULL);
        memset(p, 7, sizes[i]);
        fake_os_fail(1, ENOMEM, FAKE_MAY_FAIL, true);
        while (bl_malloc(100) != NULL)
            ;
        p = bl_realloc(p, 100);
        fake_os_fail(0, 0, FAKE_MAY_FAIL, false);
        assert_ptr_ne(p, NULL);
        for (size_t k = 0; k < 100; k++)
            expect_int_eq(p[k], 7);
        bl_free(p);
    }
    bl_heap_check();
}

// ---------------------------------------------------------------------------
// No more memory than there is.

enum { MANY = 40000 };
static void *block[MANY];

static int take_all(size_t bytes) {
    int n = 0;
    while (n < MANY && (block[n] = bl_malloc(bytes)) != NULL)
        n++;
    expect_int_lt(n, MANY);
    return n;
}

// What is freed lies in a cache first, and keeps its pages from other sizes.
TEST(what_is_freed_serves_other_sizes_at_the_limit) {
    fake_os_install();
    bl_free(bl_malloc(1));
    fake_os_set_limit(fake_os_mapped_bytes());
    const int n = take_all(1000);
    for (int i = n / 2; i < n / 2 + 100; i++)
        bl_free(block[i]);
    expect_ptr_ne(bl_malloc(30000), NULL);
    expect_ptr_ne(bl_malloc(30000), NULL);
    bl_heap_check();
}

TEST(what_is_freed_serves_a_run_at_the_limit) {
    fake_os_install();
    bl_free(bl_malloc(12 * BL_HUGE_SIZE));
    bl_heap_trim();
    const size_t empty = fake_os_mapped_bytes();
    fake_os_set_limit(empty + 12 * BL_HUGE_SIZE + BL_MIB);
    const int n = take_all(1000);
    expect_int_ge(n, 22000);
    for (int i = 0; i < n; i++)
        bl_free(block[i]);
    expect_ptr_ne(bl_malloc(12 * BL_HUGE_SIZE), NULL);
    bl_heap_check();
}

// Above a MiB what grows asks for memory of its own.
TEST(who_grows_is_served_by_free_slices_without_memory) {
    fake_os_install();
    unsigned char *p = bl_malloc(600 * BL_KIB);
    assert_ptr_ne(p, NULL);
    memset(p, 7, 600 * BL_KIB);
    assert_ptr_ne(bl_malloc(100 * BL_KIB), NULL); // right behind it
    fake_os_fail(1, ENOMEM, FAKE_MAY_FAIL, true);
    p = bl_realloc(p, 1100 * BL_KIB);
    fake_os_fail(0, 0, FAKE_MAY_FAIL, false);
    assert_ptr_ne(p, NULL);
    for (size_t i = 0; i < 600 * BL_KIB; i++)
        assert_int_eq(p[i], 7);
    bl_heap_check();
}
