// SPDX-License-Identifier: MIT
#include "os/counters.h"

#include "bl_test.h"

#include <string.h>

static uint64_t event(unsigned model, size_t i) {
    struct bl_counter_event events[BL_COUNTERS_MOST] = {0};
    const struct bl_counter_processor p = {"GenuineIntel", 6, model};
    assert_true(bl_counters_of(&p, events) > i);
    return events[i].config;
}

// By the name of its cores, not by its number.
TEST(events_of_a_model) {
    static const unsigned moved[] = {0x8f, 0x97, 0xb7, 0xaa, 0xc6, 0xad};
    static const unsigned stayed[] = {0x55, 0x5e, 0x6a, 0x8c, 0x9e, 0xa5,
                                      0xa7, 0x96, 0x9c, 0xbe, 0xaf};
    for (size_t i = 0; i < BL_ARRAY_LEN(moved); i++)
        expect_size_eq(event(moved[i], 0), 0x0e12);
    for (size_t i = 0; i < BL_ARRAY_LEN(stayed); i++)
        expect_size_eq(event(stayed[i], 0), 0x0e08);
    expect_size_eq(event(0x3f, 1), 0x6008); // Haswell
    expect_size_eq(event(0x55, 1), 0x2008); // Skylake
}

TEST(a_stranger_gets_the_kernels_own) {
    struct bl_counter_event events[BL_COUNTERS_MOST];
    const struct bl_counter_processor p = {"GenuineIntel", 18, 1};
    expect_true(bl_counters_of(&p, events) > 0);
    expect_int_eq(events[0].kind, BL_COUNTER_CACHE);
}

TEST(a_counter_that_never_ran_is_unknown) {
    const struct bl_counter_reading never = {0, 1000, 0};
    const struct bl_counter_reading half = {21, 1000, 500};
    const struct bl_counter_reading whole = {21, 1000, 1000};
    const struct bl_counter_reading unused = {0, 0, 0};
    expect_true(bl_counter_value(&never) == UINT64_MAX);
    expect_size_eq(bl_counter_value(&half), 42);
    expect_size_eq(bl_counter_value(&whole), 21);
    expect_size_eq(bl_counter_value(&unused), 0);
}
