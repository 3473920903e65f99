// SPDX-License-Identifier: MIT
//
// Typed pools under the simulated kernel: geometry of every block size,
// counting identities, deletion wholesale, pages that serve another pool.
//
#include "page/page.h"

#include "bl_test.h"
#include "fake_os.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCKS 3000

static void *block[BLOCKS];

static struct bl_pool *pool_of(size_t bytes, size_t align,
                               enum bl_pool_sharing sharing) {
    const struct bl_pool_spec spec = {"unit", bytes, align, sharing};
    return bl_pool_new(&spec);
}

static void check_stats(const struct bl_pool *pool, size_t blocks) {
    struct bl_pool_stats stats;
    bl_pool_read_stats(pool, &stats);
    expect_size_eq(stats.blocks_in_use, blocks);
    expect_size_ge(stats.bytes_mapped, blocks * stats.block_bytes);
    if (blocks > 0)
        expect_size_ge(stats.pages_in_use, 1);
}

static void *free_one(void *pool) {
    bl_pool_free(pool, block[0]);
    return NULL;
}

// Who reads while others go on sees some of it before and some after.
TEST(a_reading_of_two_moments_is_no_absurd_number) {
    pthread_t thread;
    struct bl_pool_stats stats;
    fake_os_install();
    struct bl_pool *const pool = pool_of(100, 0, BL_POOL_SHARED);
    block[0] = bl_pool_alloc(pool);
    struct bl_page *const page = bl_page_at(bl_small_offset(block[0]));
    assert_int_eq(pthread_create(&thread, NULL, free_one, pool), 0);
    pthread_join(thread, NULL);
    page->used--; // as it was before the block was handed out
    bl_pool_read_stats(pool, &stats);
    expect_size_eq(stats.blocks_in_use, 0);
    page->used++;
    bl_pool_delete(pool);
}

// A program whose heap shrinks and which goes on with what it has.
TEST(warm_units_are_returned_by_who_frees_nothing_large) {
    enum { UNITS = 40 };
    void *unit[UNITS];
    fake_os_install();
    bl_reservoir_configure(BL_BACKING_THP, 1000);
    for (int i = 0; i < UNITS; i++)
        unit[i] = bl_span_alloc(BL_HUGE_SIZE, 1, &(size_t){0});
    for (int i = 0; i < UNITS; i++)
        bl_span_free(bl_page_at(bl_small_offset(unit[i])));
    const size_t most = fake_os_mapped_bytes();
    struct bl_pool *const pool = pool_of(4096, 16, BL_POOL_SHARED);
    for (int round = 0; round < 100; round++) {
        fake_os_advance_ms(50);
        for (int i = 0; i < 64; i++)
            block[i] = bl_pool_alloc(pool);
        for (int i = 0; i < 64; i++)
            bl_pool_free(pool, block[i]);
    }
    expect_size_le(fake_os_mapped_bytes(), most - UNITS / 2 * BL_HUGE_SIZE);
    expect_size_le(bl_stats.units_warm_now, 1);
    bl_reservoir_check();
}

static void fill_and_empty(struct bl_pool *pool, size_t bytes, size_t align,
                           int blocks) {
    for (int i = 0; i < blocks; i++) {
        block[i] = bl_pool_alloc(pool);
        assert_ptr_ne(block[i], NULL);
        expect_size_eq((uintptr_t)block[i] % align, 0);
        memset(block[i], i, bytes);
    }
    check_stats(pool, (size_t)blocks);
    bl_local_check(bl_self);
    for (int i = 0; i < blocks; i++) {
        const unsigned char *const p = block[i];
        if (p[0] != (unsigned char)i || p[bytes - 1] != (unsigned char)i)
            fail_test("block %d of %zu bytes was overwritten", i, bytes);
    }
    for (int i = 0; i < blocks; i += 2)
        bl_pool_free(pool, block[i]);
    check_stats(pool, (size_t)blocks / 2);
    for (int i = 1; i < blocks; i += 2)
        bl_pool_free(pool, block[i]);
    check_stats(pool, 0);
    bl_local_check(bl_self);
}

static void use_every_size(enum bl_pool_sharing sharing) {
    for (size_t bytes = 1; bytes <= 3 * BL_MIB; bytes += bytes / 5 + 1) {
        struct bl_pool *const pool = pool_of(bytes, 0, sharing);
        assert_ptr_ne(pool, NULL);
        fill_and_empty(pool, bytes, 16, bytes < 20000 ? 500 : 4);
        bl_pool_delete(pool);
    }
}

TEST(shared_pools_of_every_size) {
    fake_os_install();
    use_every_size(BL_POOL_SHARED);
}

TEST(private_pools_of_every_size) {
    fake_os_install();
    use_every_size(BL_POOL_PRIVATE);
}

TEST(pools_of_every_alignment) {
    fake_os_install();
    for (size_t align = 1; align <= BL_HUGE_SIZE; align *= 2)
        for (int sharing = 0; sharing < 2; sharing++) {
            struct bl_pool *const pool =
                pool_of(100, align, (enum bl_pool_sharing)sharing);
            assert_ptr_ne(pool, NULL);
            fill_and_empty(pool, 100, align, 10);
            bl_pool_delete(pool);
        }
}

TEST(what_is_no_specification_is_refused) {
    fake_os_install();
    expect_ptr_eq(pool_of(0, 0, BL_POOL_SHARED), NULL);
    expect_ptr_eq(pool_of(16, 3, BL_POOL_SHARED), NULL);
    expect_ptr_eq(pool_of(16, 2 * BL_HUGE_SIZE, BL_POOL_SHARED), NULL);
    expect_ptr_eq(pool_of(SIZE_MAX, 0, BL_POOL_SHARED), NULL);
    expect_ptr_eq(pool_of(SIZE_MAX - 8, 16, BL_POOL_PRIVATE), NULL);
    expect_ptr_eq(pool_of(PTRDIFF_MAX, 0, BL_POOL_PRIVATE), NULL);
    expect_ptr_eq(pool_of(16, 0, (enum bl_pool_sharing)7), NULL);
}

// Deleting is no more than giving back pages: what is freed serves the next
// pool, whatever its size, and nothing grows.
static void delete_wholesale(enum bl_pool_sharing sharing) {
    size_t mapped = 0;
    fake_os_install();
    for (int round = 0; round < 60; round++) {
        const size_t bytes = (size_t)16 << (round % 9);
        struct bl_pool *const pool = pool_of(bytes, 0, sharing);
        assert_ptr_ne(pool, NULL);
        for (size_t i = 0; i < 4 * BL_MIB / bytes; i++) {
            char *const p = bl_pool_alloc(pool);
            assert_ptr_ne(p, NULL);
            p[0] = 1;
        }
        bl_pool_delete(pool);
        bl_local_check(bl_self);
        if (round == 10)
            mapped = fake_os_mapped_bytes();
    }
    expect_size_le(fake_os_mapped_bytes(), mapped + BL_HUGE_SIZE);
}

TEST(shared_pools_are_deleted_wholesale) { delete_wholesale(BL_POOL_SHARED); }
TEST(private_pools_are_deleted_wholesale) { delete_wholesale(BL_POOL_PRIVATE); }

enum { MANY = 2000 };
static struct bl_pool *many[MANY];

static void make_many(enum bl_pool_sharing sharing) {
    for (int i = 0; i < MANY; i++) {
        many[i] = pool_of(64, 0, sharing);
        assert_ptr_ne(many[i], NULL);
        char *const p = bl_pool_alloc(many[i]);
        assert_ptr_ne(p, NULL);
        p[63] = 1;
    }
    bl_local_check(bl_self);
}

static void delete_many(void) {
    for (int i = 0; i < MANY; i++) {
        check_stats(many[i], 1);
        bl_pool_delete(many[i]);
    }
    bl_local_check(bl_self);
}

#define HELD 16

static _Atomic(bool) read_enough;

static void *take_and_give(void *pool) {
    void *held[HELD];
    while (!bl_load_relaxed(&read_enough)) {
        for (int i = 0; i < HELD; i++)
            held[i] = bl_pool_alloc(pool);
        for (int i = 0; i < HELD; i++)
            bl_pool_free(pool, held[i]);
    }
    return NULL;
}

// Blocks that are runs, which go while others count them.
TEST(a_pool_of_large_blocks_is_read_while_it_is_used) {
    struct bl_pool *const pool = pool_of(2 * BL_MIB, 16, BL_POOL_SHARED);
    pthread_t user;
    assert_int_eq(pthread_create(&user, NULL, take_and_give, pool), 0);
    for (int seen = 0; seen < 20000;) {
        struct bl_pool_stats stats;
        bl_pool_read_stats(pool, &stats);
        seen += stats.blocks_in_use > 0;
        expect_size_le(stats.blocks_in_use, HELD);
        expect_true(stats.bytes_mapped >= stats.blocks_in_use * 2 * BL_MIB);
    }
    bl_store_relaxed(&read_enough, true);
    pthread_join(user, NULL);
    check_stats(pool, 0);
}

TEST(as_many_pools_as_there_is_memory) {
    fake_os_install();
    make_many(BL_POOL_SHARED);
    const size_t mapped = fake_os_mapped_bytes();
    const uint32_t rows = bl_self->row_count;
    expect_size_ge(rows, (MANY - BL_POOLS_NEAR) / BL_POOLS_ROW);
    delete_many();
    for (int sharing = 0; sharing < 4; sharing++) {
        make_many((enum bl_pool_sharing)(sharing % 2));
        delete_many();
    }
    expect_size_le(fake_os_mapped_bytes(), mapped + BL_HUGE_SIZE);
    expect_size_eq(bl_self->row_count, rows); // numbers serve again
}

// From here on pools have their entries beyond those in a local itself.
static void take_near_numbers(void) {
    for (int i = BL_POOLS_RESERVED; i < BL_POOLS_NEAR; i++)
        assert_ptr_ne(pool_of(64, 0, BL_POOL_SHARED), NULL);
}

TEST(far_pools_of_every_size) {
    fake_os_install();
    take_near_numbers();
    use_every_size(BL_POOL_SHARED);
}

static void *fill_and_end(void *pool) {
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = bl_pool_alloc(pool);
        assert_ptr_ne(block[i], NULL);
    }
    return NULL;
}

static void end_with(void *(*body)(void *), void *arg) {
    pthread_t thread;
    assert_int_eq(pthread_create(&thread, NULL, body, arg), 0);
    pthread_join(thread, NULL);
}

static void refuse_metadata(void) {
    fake_os_fail(1, ENOMEM, FAKE_MAY_FAIL, true);
    while (bl_metadata_alloc(1) != NULL) {
    }
}

// Its full pages are taken up by a thread that never had one of the pool, when
// there is memory for its entry.
TEST(who_ends_leaves_far_pages_to_others) {
    fake_os_install();
    struct bl_pool *const near = pool_of(200, 0, BL_POOL_SHARED);
    take_near_numbers();
    struct bl_pool *const pool = pool_of(200, 0, BL_POOL_SHARED);
    end_with(fill_and_end, pool);
    check_stats(pool, BLOCKS);
    for (int i = 1; i < BLOCKS; i++)
        bl_pool_free(pool, block[i]);
    refuse_metadata();
    expect_ptr_ne(bl_pool_alloc(near), NULL); // looks at what was reported
    expect_ptr_eq(bl_pool_alloc(pool), NULL);
    expect_ptr_eq(bl_local_entry(bl_self, pool->index), NULL);
    check_stats(pool, 1);
    fake_os_fail(0, 0, FAKE_MAY_FAIL, false);
    bl_local_empty(bl_self);
    expect_ptr_ne(bl_local_entry(bl_self, pool->index), NULL);
    check_stats(pool, 1);
    bl_local_check(bl_self);
    bl_local_empty(bl_self);
    struct bl_pool_stats stats;
    bl_pool_read_stats(pool, &stats);
    expect_size_le(stats.pages_in_use, 2);
    fill_and_end(pool);
    check_stats(pool, 1 + BLOCKS);
    bl_pool_delete(pool);
    bl_local_check(bl_self);
}

static pthread_key_t last_words;
static struct bl_pool *used_late;

// Sets itself again until the rounds are used up, and after the runtime's own
// destructor, whose key is older.
static void use_pools_late(void *value) {
    struct bl_pool *const pool = pool_of(64, 0, BL_POOL_SHARED);
    bl_pool_delete(pool);
    bl_pool_free(used_late, bl_pool_alloc(used_late));
    pthread_setspecific(last_words, value);
}

static void *end_late(void *arg) {
    pthread_setspecific(last_words, arg);
    return NULL;
}

TEST(threads_that_use_pools_as_they_end_leave_nothing) {
    used_late = pool_of(100, 0, BL_POOL_SHARED);
    assert_ptr_ne(used_late, NULL);
    assert_int_eq(pthread_key_create(&last_words, use_pools_late), 0);
    for (int i = 0; i < 20; i++) {
        end_with(end_late, used_late);
        expect_size_eq(bl_load_relaxed(&bl_stats.locals_now), 1);
    }
}

// ---------------------------------------------------------------------------

struct failing {
    unsigned long n;
    bool from_then_on;
    unsigned long *calls;
};

static void use_pools(bool may_fail) {
    struct bl_pool *pools[4] = {NULL};
    for (int i = 0; i < 4; i++) {
        const size_t bytes = (size_t)24 << (3 * i);
        pools[i] = pool_of(bytes, 0, i % 2 ? BL_POOL_PRIVATE : BL_POOL_SHARED);
        if (pools[i] == NULL) {
            expect_true(may_fail);
            continue;
        }
        size_t got = 0;
        for (int j = 0; j < 400; j++) {
            void *const p = bl_pool_alloc(pools[i]);
            if (p == NULL) {
                expect_true(may_fail);
                continue;
            }
            memset(p, j, bytes);
            got++;
            if (j % 3 == 0) {
                bl_pool_free(pools[i], p);
                got--;
            }
        }
        check_stats(pools[i], got);
        if (bl_self != NULL)
            bl_local_check(bl_self);
    }
    for (int i = 0; i < 4; i++)
        if (pools[i] != NULL)
            bl_pool_delete(pools[i]);
    bl_reservoir_purge(true);
}

static void use_pools_with_failure(void *arg) {
    const struct failing *const f = arg;
    fake_os_install();
    fake_os_fail(f->n, ENOMEM, FAKE_MAY_FAIL, f->from_then_on);
    use_pools(f->n != 0);
    if (f->n == 0)
        *f->calls = fake_os_calls();
    fake_os_fail(0, 0, FAKE_MAY_FAIL, false);
    use_pools(false);
}

static void fail_each_call(bool from_then_on) {
    struct failing f = {0, from_then_on, NULL};
    f.calls = mmap(NULL, sizeof *f.calls, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(f.calls != MAP_FAILED);
    bl_test_in_child(use_pools_with_failure, &f);
    expect_size_ge(*f.calls, 5);
    for (f.n = 1; f.n <= *f.calls; f.n++)
        bl_test_in_child(use_pools_with_failure, &f);
}

TEST(each_call_fails_once) { fail_each_call(false); }
TEST(each_call_fails_for_ever) { fail_each_call(true); }
