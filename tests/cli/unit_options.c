// SPDX-License-Identifier: MIT
//
// What the command makes of the runtime's options that are numbers: as the
// runtime does, the value where it is one that may be, else the default.
//
#include "cli/options.h"

#include "bl_test.h"

const struct bl_command bl_commands[] = {{.name = NULL}};

TEST(a_number_not_given_is_the_default) {
    expect_size_eq(bl_runtime_number("BIGLEAF_HUGE_PERCENT", NULL), 10);
    expect_size_eq(bl_runtime_number("BIGLEAF_VERBOSE", NULL), 0);
}

// Not its text: this default is written as a name.
TEST(a_default_that_has_a_name_is_its_value) {
    expect_size_eq(bl_runtime_number("BIGLEAF_PURGE_DELAY_MS", NULL), 10000);
}

TEST(a_number_within_its_limits_is_taken) {
    expect_size_eq(bl_runtime_number("BIGLEAF_PURGE_DELAY_MS", "0"), 0);
    expect_size_eq(bl_runtime_number("BIGLEAF_HUGE_PERCENT", "100"), 100);
}

TEST(any_other_text_is_the_default) {
    static const char *const wrong[] = {"", "101", "-1", "5x", "none"};
    for (size_t i = 0; i < BL_ARRAY_LEN(wrong); i++)
        expect_size_eq(bl_runtime_number("BIGLEAF_HUGE_PERCENT", wrong[i]), 10);
    expect_size_eq(bl_runtime_number("BIGLEAF_VERBOSE", "2"), 0);
}
