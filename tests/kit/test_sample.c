// SPDX-License-Identifier: MIT
//
// Tests with every verdict the kit knows. check_verdicts.py runs them and
// compares what the kit says with what it should say.
//
#include "bl_test.h"

#include <signal.h>
#include <unistd.h>

TEST(passes) {
    expect_int_eq(1 + 1, 2);
    expect_size_lt(1, 2);
    expect_str_eq("leaf", "leaf");
    expect_ptr_ne(&bl_test_seed, NULL);
}

TEST(fails_and_goes_on) {
    expect_int_eq(-1, 1);
    expect_size_ge(1, 2);
    expect_str_eq("leaf", NULL);
}

TEST(stops_at_assert) {
    assert_int_eq(3, 4);
    expect_int_eq(5, 6);
}

TEST(is_skipped) { bl_test_skip("no %s here", "kernel"); }

TEST(crashes) { raise(SIGKILL); }

TEST_LIMIT(takes_too_long, 1) { sleep(30); }

static void failing_child(void *arg) { expect_ptr_eq(arg, NULL); }

TEST(child_fails) {
    int x = 0;
    bl_test_in_child(failing_child, &x);
}

TEST(child_passes) { bl_test_in_child(failing_child, NULL); }

TEST(seed_is_given) { expect_size_eq(bl_test_seed(), 77); }
