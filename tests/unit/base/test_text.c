// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "bl_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

TEST(numbers_read_as_printf_writes_them) {
    const uint64_t values[] = {0,  1,   9,          10,         99,        100,
                               42, 255, UINT32_MAX, UINT64_MAX, 1ull << 63};
    for (size_t i = 0; i < BL_ARRAY_LEN(values); i++) {
        char buffer[64];
        char expected[64];
        struct bl_text t;
        bl_text_init(&t, buffer, sizeof buffer);
        bl_text_u64(&t, values[i]);
        bl_text_char(&t, ' ');
        bl_text_i64(&t, (int64_t)values[i]);
        bl_text_char(&t, ' ');
        bl_text_hex(&t, values[i]);
        snprintf(expected, sizeof expected,
                 "%" PRIu64 " %" PRId64 " %s%" PRIx64, values[i],
                 (int64_t)values[i], "0x", values[i]);
        expect_str_eq(buffer, expected);
        expect_false(t.cut);
        const char *s = buffer;
        uint64_t back = 0;
        expect_true(bl_read_u64(&s, &back));
        expect_size_eq(back, values[i]);
        expect_int_eq(*s, ' ');
        s = strrchr(buffer, 'x') + 1;
        expect_true(bl_read_hex(&s, &back));
        expect_size_eq(back, values[i]);
    }
}

TEST(what_does_not_fit_is_cut) {
    for (size_t capacity = 1; capacity < 12; capacity++) {
        char buffer[16];
        struct bl_text t;
        memset(buffer, '#', sizeof buffer);
        bl_text_init(&t, buffer, capacity);
        bl_text_str(&t, "0123456789");
        expect_size_eq(t.len, capacity > 10 ? 10 : capacity - 1);
        expect_size_eq(strlen(buffer), t.len);
        expect_int_eq(t.cut, capacity <= 10);
        expect_int_eq(buffer[capacity], '#');
    }
}

TEST(only_utf8_goes_into_json) {
    static const struct {
        const char *bytes;
        size_t length;
    } heads[] = {{"a", 1},
                 {"\xc2\x80", 2},
                 {"\xed\x9f\xbf", 3},
                 {"\xee\x80\x80", 3},
                 {"\xf4\x8f\xbf\xbf", 4},
                 {"\xff", 0},
                 {"\x80", 0},
                 {"\xc3", 0},              // cut
                 {"\xe2\x82", 0},          // cut
                 {"\xc1\xbf", 0},          // longer than need be
                 {"\xe0\x9f\xbf", 0},      // so, too
                 {"\xf0\x8f\xbf\xbf", 0},  // so, too
                 {"\xed\xa0\x80", 0},      // a surrogate
                 {"\xf4\x90\x80\x80", 0}}; // beyond the last
    char buffer[64];
    struct bl_text t;
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        expect_size_eq(bl_utf8_length(heads[i].bytes), heads[i].length);
    bl_text_init(&t, buffer, sizeof buffer);
    bl_text_json(&t, "x\xe2\x82\xe2\x82\xac");
    expect_str_eq(buffer, "\"x\xef\xbf\xbd\xef\xbf\xbd\xe2\x82\xac\"");
}

TEST(json_strings_are_quoted) {
    char buffer[64];
    struct bl_text t;
    bl_text_init(&t, buffer, sizeof buffer);
    bl_text_json(&t, "a\"b\\c\n\x01/\xc3\xa4");
    expect_str_eq(buffer, "\"a\\\"b\\\\c\\u000a\\u0001/\xc3\xa4\"");
}

TEST(readers_refuse_what_is_no_number) {
    uint64_t x = 7;
    const char *const bad[] = {"", "x", "-1", " 1", "18446744073709551616"};
    for (size_t i = 0; i < BL_ARRAY_LEN(bad); i++) {
        const char *s = bad[i];
        if (bl_read_u64(&s, &x))
            fail_test("\"%s\" was read as %" PRIu64, bad[i], x);
    }
    const char *s = "10000000000000000";
    expect_false(bl_read_hex(&s, &x));
}

TEST(string_tests) {
    expect_true(bl_str_eq("", ""));
    expect_true(bl_str_eq("ab", "ab"));
    expect_false(bl_str_eq("ab", "abc"));
    expect_false(bl_str_eq("abc", "ab"));
    expect_true(bl_str_starts("BIGLEAF_X", "BIGLEAF_"));
    expect_true(bl_str_starts("x", ""));
    expect_false(bl_str_starts("BIG", "BIGLEAF"));
}
