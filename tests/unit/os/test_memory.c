// SPDX-License-Identifier: MIT
//
// The hooks against the real kernel, and the simulated kernel against the
// same expectations: the tests run on both.
//
#include "bl_test.h"
#include "fake_os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Free addresses, wherever this process (or a sanitizer) has some.
static char *base;

__attribute__((constructor)) static void find_base(void) {
    const size_t bytes = 256 * BL_HUGE_SIZE;
    void *const p =
        mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        abort();
    base = (char *)bl_align_up((uintptr_t)p, BL_HUGE_SIZE);
    munmap(p, bytes);
}

static void map_is_exact(void) {
    expect_int_eq(bl_os.map(base, 4 * BL_HUGE_SIZE, BL_OS_BASE_PAGES), 0);
    expect_int_eq(base[0], 0);
    base[0] = 1;
    expect_int_eq(bl_os.map(base, BL_BASE_SIZE, BL_OS_BASE_PAGES), -EEXIST);
    expect_int_eq(
        bl_os.map(base + 3 * BL_HUGE_SIZE, 2 * BL_HUGE_SIZE, BL_OS_BASE_PAGES),
        -EEXIST);
    expect_int_eq(base[0], 1);
    expect_int_eq(bl_os.unmap(base + BL_HUGE_SIZE, BL_HUGE_SIZE), 0);
    expect_int_eq(
        bl_os.map(base + BL_HUGE_SIZE, BL_HUGE_SIZE, BL_OS_BASE_PAGES), 0);
    expect_int_eq(bl_os.unmap(base, 4 * BL_HUGE_SIZE), 0);
}

static void move_keeps_contents(void) {
    char *const to = base + 64 * BL_HUGE_SIZE;
    expect_int_eq(bl_os.map(base, 2 * BL_HUGE_SIZE, BL_OS_BASE_PAGES), 0);
    memset(base, 7, 2 * BL_HUGE_SIZE);
    expect_int_eq(bl_os.map(to + BL_HUGE_SIZE, BL_BASE_SIZE, BL_OS_BASE_PAGES),
                  0);
    expect_int_eq(bl_os.move(base, 2 * BL_HUGE_SIZE, to), -EEXIST);
    expect_int_eq(base[BL_HUGE_SIZE], 7);
    expect_int_eq(bl_os.unmap(to + BL_HUGE_SIZE, BL_BASE_SIZE), 0);
    expect_int_eq(bl_os.move(base, 2 * BL_HUGE_SIZE, to), 0);
    expect_int_eq(to[0] + to[2 * BL_HUGE_SIZE - 1], 14);
    expect_int_eq(bl_os.map(base, 2 * BL_HUGE_SIZE, BL_OS_BASE_PAGES), 0);
    expect_int_eq(bl_os.unmap(base, 2 * BL_HUGE_SIZE), 0);
    expect_int_eq(bl_os.unmap(to, 2 * BL_HUGE_SIZE), 0);
}

static void populate_keeps_contents(void) {
    expect_int_eq(bl_os.map(base, BL_HUGE_SIZE, BL_OS_BASE_PAGES), 0);
    memset(base, 9, BL_BASE_SIZE);
    expect_int_eq(bl_os.populate(base, BL_HUGE_SIZE), 0);
    expect_int_eq(base[BL_BASE_SIZE - 1], 9);
    expect_int_eq(base[BL_BASE_SIZE], 0);
    expect_int_eq(bl_os.unmap(base, BL_HUGE_SIZE), 0);
}

static void in_child(void (*body)(void)) {
    const pid_t pid = fork();
    if (pid == 0) {
        body();
        bl_test_exit();
    }
    expect_child_ok(pid);
}

static void share_and_part(void) {
    expect_true(bl_os.is_shared(base, BL_HUGE_SIZE));
    memset(base, 2, BL_HUGE_SIZE / 4);
    expect_true(bl_os.is_shared(base, BL_HUGE_SIZE));
    memset(base, 2, BL_HUGE_SIZE);
    expect_false(bl_os.is_shared(base, BL_HUGE_SIZE));
}

TEST(real_memory_is_shared_after_a_fork) {
    if (access("/proc/self/pagemap", R_OK) != 0)
        bl_test_skip("no /proc/self/pagemap");
    expect_int_eq(bl_os.map(base, BL_HUGE_SIZE, BL_OS_BASE_PAGES), 0);
    bl_os.advise_base(base, BL_HUGE_SIZE);
    expect_false(bl_os.is_shared(base, BL_HUGE_SIZE));
    memset(base, 1, BL_HUGE_SIZE);
    expect_false(bl_os.is_shared(base, BL_HUGE_SIZE));
    in_child(share_and_part);
    expect_false(bl_os.is_shared(base, BL_HUGE_SIZE));
    expect_int_eq(bl_os.unmap(base, BL_HUGE_SIZE), 0);
}

static void errno_is_left_alone(void) {
    errno = 77;
    bl_os.map(base, BL_HUGE_SIZE, BL_OS_BASE_PAGES);
    bl_os.map(base, BL_HUGE_SIZE, BL_OS_BASE_PAGES);
    bl_os.map(base + BL_HUGE_SIZE, BL_HUGE_SIZE, BL_OS_HUGETLB_PAGES);
    bl_os.advise_huge(base, BL_HUGE_SIZE);
    bl_os.collapse(base, BL_HUGE_SIZE);
    bl_os.is_shared(base, BL_HUGE_SIZE);
    bl_os.discard(base, BL_HUGE_SIZE);
    bl_os.unmap(base, BL_HUGE_SIZE);
    expect_int_eq(errno, 77);
}

TEST(real_map_is_exact) { map_is_exact(); }
TEST(real_move_keeps_contents) { move_keeps_contents(); }
TEST(real_populate_keeps_contents) { populate_keeps_contents(); }
TEST(real_errno_is_left_alone) { errno_is_left_alone(); }

TEST(real_clock_goes_on) {
    const uint64_t before = bl_os.now_ms();
    expect_size_ge(bl_os.now_ms(), before);
}

TEST(fake_map_is_exact) {
    fake_os_install();
    map_is_exact();
    expect_size_eq(fake_os_mapped_bytes(), 0);
}

TEST(fake_move_keeps_contents) {
    fake_os_install();
    move_keeps_contents();
    expect_size_eq(fake_os_mapped_bytes(), 0);
}

TEST(fake_populate_keeps_contents) {
    fake_os_install();
    populate_keeps_contents();
}

TEST(fake_pool_runs_dry) {
    fake_os_install();
    fake_os_set_pool(3);
    expect_int_eq(bl_os.map(base, 2 * BL_HUGE_SIZE, BL_OS_HUGETLB_PAGES), 0);
    expect_size_eq(fake_os_pool(), 1);
    expect_int_eq(bl_os.map(base + 8 * BL_HUGE_SIZE, 2 * BL_HUGE_SIZE,
                            BL_OS_HUGETLB_PAGES),
                  -ENOMEM);
    expect_size_eq(fake_os_pool_bytes(base, 4 * BL_HUGE_SIZE),
                   2 * BL_HUGE_SIZE);
    expect_int_eq(bl_os.unmap(base + BL_HUGE_SIZE, BL_HUGE_SIZE), 0);
    expect_size_eq(fake_os_pool(), 2);
}

TEST(fake_fails_the_nth_call) {
    fake_os_install();
    fake_os_fail(2, ENOMEM, FAKE_BIT(FAKE_MAP), false);
    expect_int_eq(bl_os.map(base, BL_HUGE_SIZE, BL_OS_BASE_PAGES), 0);
    expect_int_eq(
        bl_os.map(base + BL_HUGE_SIZE, BL_HUGE_SIZE, BL_OS_BASE_PAGES),
        -ENOMEM);
    expect_int_eq(
        bl_os.map(base + BL_HUGE_SIZE, BL_HUGE_SIZE, BL_OS_BASE_PAGES), 0);
    fake_os_fail(1, EPERM, FAKE_BIT(FAKE_ADVISE_HUGE), true);
    expect_int_eq(bl_os.advise_huge(base, BL_HUGE_SIZE), -EPERM);
    expect_int_eq(bl_os.advise_huge(base, BL_HUGE_SIZE), -EPERM);
    expect_size_eq(fake_os_calls(), 2);
}
