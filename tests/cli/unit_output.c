// SPDX-License-Identifier: MIT
//
// What counts as the same output, how ratios are made, and JSON lines read.
//
#include "cli/json.h"
#include "cli/output.h"
#include "cli/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define EXPECT(x)                                                              \
    do {                                                                       \
        if (!(x)) {                                                            \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #x);                     \
            failures++;                                                        \
        }                                                                      \
    } while (0)

// `wanted` is NULL where the line must be dropped.
static void expect_mask(const char *line, const char *wanted) {
    char *masked = bl_output_mask(line, false);
    const bool same =
        wanted && masked ? strcmp(masked, wanted) == 0 : !wanted && !masked;
    if (!same) {
        printf("'%s' became '%s', not '%s'\n", line,
               masked ? masked : "(dropped)", wanted ? wanted : "(dropped)");
        failures++;
    }
    free(masked);
}

static void output_masks_times_and_memory_only(void) {
    expect_mask("s UNSATISFIABLE", "s UNSATISFIABLE");
    expect_mask("v 1 -2 3 0", "v 1 -2 3 0");
    expect_mask("c conflicts:   35247   52560.63  per second",
                "c conflicts: 35247 # per second");
    expect_mask("c -  0.11  7 26 6 416 6309 2279 32% 6 12744 932 99%",
                "c - # # 26 6 416 6309 2279 32% 6 12744 932 99%");
    expect_mask("c 3  0.09  7 31 5 341", "c 3 # # 31 5 341");
    expect_mask("c         0.58   86.68% search", NULL);
    expect_mask("c total real time since initialization: 0.68 seconds", NULL);
    expect_mask("Memory used           : 12.00 MB", "Memory used : # MB");
    expect_mask("CPU time              : 0.94 s", "CPU time : # s");
    expect_mask("conflicts             : 35247   (37000 /sec)",
                "conflicts : 35247 (# /sec)");
    expect_mask(" :memory                  19.01", " :memory #");
    expect_mask(" :mk-clause               1234", " :mk-clause 1234");
    expect_mask("Time         : 0.123s (Solving: 0.00s)",
                "Time : #s (Solving: #s)");
    expect_mask("time 7", "time #");
    expect_mask("cpu_time 7", "cpu_time #");
    expect_mask("global::totalTime = 7", "global::totalTime = #");
    expect_mask("lifetime 7", "lifetime 7");
    expect_mask("o 12", "o 12");
    expect_mask("objective 12.5", "objective 12.5");
    expect_mask("x86 sha256 abc123", "x86 sha256 abc123");
}

static FILE *file_of(const char *text) {
    FILE *f = tmpfile();
    fputs(text, f);
    return f;
}

static enum bl_sameness judge(const char *a, const char *b) {
    static const struct bl_output_rules none;
    char *where;
    FILE *left = file_of(a);
    FILE *right = file_of(b);
    const enum bl_sameness same = bl_output_compare(left, right, &none, &where);
    free(where);
    fclose(left);
    fclose(right);
    return same;
}

static void output_is_judged_in_four_steps(void) {
    EXPECT(judge("s SAT\n", "s SAT\n") == BL_SAME_BYTES);
    EXPECT(judge("", "") == BL_SAME_BYTES);
    EXPECT(judge("c 0.1 s\ns SAT\n", "c 0.2 s\ns SAT\n") == BL_SAME_TEXT);
    EXPECT(judge("c x 1\nc 0.5 s\n", "c 0.5 s\nc x 1\n") == BL_SAME_TEXT);
    EXPECT(judge("c conflicts 1\n", "c conflicts 2\n") == BL_SAME_WORDS);
    EXPECT(judge("o 3.5\n", "o 4.5\n") == BL_SAME_WORDS);
    EXPECT(judge("s SAT\n", "s UNSAT\n") == BL_SAME_NOTHING);
    EXPECT(judge("s SAT\n", "s SAT\nv 1\n") == BL_SAME_NOTHING);
}

static FILE *file_with(const char *bytes, size_t n) {
    FILE *f = tmpfile();
    fwrite(bytes, 1, n, f);
    return f;
}

// A zero byte ends no line: what stands behind it counts, too.
static void output_that_is_no_text_must_be_equal(void) {
    static const struct bl_output_rules none;
    static const char *const pairs[][2] = {
        {"a\0b\n", "a\0c\n"}, {"1 s\0\n", "2 s\0\n"}, {"a\0b\n", "a   \n"}};
    for (size_t i = 0; i < BL_ARRAY_LEN(pairs); i++) {
        char *where;
        FILE *left = file_with(pairs[i][0], 4);
        FILE *right = file_with(pairs[i][1], 4);
        EXPECT(bl_output_compare(left, right, &none, &where) ==
               BL_SAME_NOTHING);
        EXPECT(where && (i > 0 || strstr(where, "behind a zero byte")));
        free(where);
        fclose(left);
        fclose(right);
    }
}

static void ratios_are_of_pairs(void) {
    const double a[] = {1, 4, 9, 16, 25};
    const double b[] = {2, 8, 18, 32, 50};
    const struct bl_interval r = bl_ratio(a, b, 5);
    EXPECT(fabs(r.median - 0.5) < 1e-9);
    EXPECT(fabs(r.low - 0.5) < 1e-9 && fabs(r.high - 0.5) < 1e-9);
    const double c[] = {1, 2, 3, 4};
    const double one[] = {1, 1, 1, 1};
    const struct bl_interval s = bl_ratio(c, one, 4);
    EXPECT(fabs(s.median - 2.5) < 1e-9);
    EXPECT(s.low >= 1 && s.low < 2.5 && s.high > 2.5 && s.high <= 4);
    const double zero[] = {0};
    EXPECT(fabs(bl_ratio(zero, zero, 1).median - 1) < 1e-9);
    EXPECT(isnan(bl_ratio(one, zero, 1).median));
    EXPECT(isnan(bl_median(NULL, 0)));
}

static void json_values_are_found(void) {
    const char *line = "{\"a\": {\"b\":[1,{\"c\":2},\"x]\"], \"d\":7},"
                       "\"s\":\"q\\\"\\u00e9\\n\"}";
    uint64_t x = 0;
    EXPECT(bl_json_get_u64(line, "a.d", &x) && x == 7);
    EXPECT(!bl_json_get_u64(line, "a.e", &x));
    EXPECT(!bl_json_get_u64("{\"a\":", "a", &x));
    EXPECT(!bl_json_get_u64("", "a", &x));
    char *s = bl_json_get_string(line, "s");
    EXPECT(s && strcmp(s, "q\"\xc3\xa9\n") == 0);
    free(s);
    const char *array = bl_json_find(line, "a.b");
    int elements = 0;
    for (const char *p = NULL; (p = bl_json_next(array, p));)
        elements++;
    EXPECT(elements == 3);
}

// Lines that a dying process left half written, or that a stranger wrote.
static void json_survives_mangled_lines(void) {
    static const char line[] =
        "{\"schema\":\"bigleaf.process/1\",\"pid\":12,\"peak\":{\"heap\":"
        "{\"bytes\":4096,\"huge_bytes\":0}},\"parts\":[{\"region\":\"heap\","
        "\"object\":\"a\\u00e9\\n\"},{}],\"image\":[]}";
    uint64_t state = 88172645463325252u;
    for (int round = 0; round < 20000; round++) {
        char text[sizeof line];
        memcpy(text, line, sizeof line);
        for (int change = 0; change < 4; change++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            text[state % (sizeof line - 1)] =
                "\"\\{}[],:u0 \0x"[(state >> 32) % 13];
        }
        uint64_t x = 0;
        bl_json_get_u64(text, "peak.heap.bytes", &x);
        free(bl_json_get_string(text, "schema"));
        const char *array = bl_json_find(text, "parts");
        int elements = 0;
        for (const char *p = NULL; array && (p = bl_json_next(array, p));) {
            free(bl_json_get_string(p, "object"));
            EXPECT(++elements < 1000);
        }
    }
}

static void json_is_written_with_escapes(void) {
    char *text;
    size_t size;
    struct bl_json j = {.out = open_memstream(&text, &size)};
    bl_json_open(&j, NULL, '{');
    bl_json_string(&j, "a\"", "tab\t\xff");
    bl_json_real(&j, "nan", NAN, 3);
    bl_json_open(&j, "list", '[');
    bl_json_u64(&j, NULL, 1);
    bl_json_bool(&j, NULL, true);
    bl_json_close(&j, ']');
    bl_json_close(&j, '}');
    fclose(j.out);
    EXPECT(strcmp(text, "{\"a\\\"\":\"tab\\u0009\xef\xbf\xbd\",\"nan\":null,"
                        "\"list\":[1,true]}") == 0);
    free(text);
}

static void nearest_word_is_near(void) {
    static const char *const words[] = {"run", "compare", "doctor", NULL};
    EXPECT(strcmp(bl_nearest("runn", words), "run") == 0);
    EXPECT(strcmp(bl_nearest("docter", words), "doctor") == 0);
    EXPECT(bl_nearest("xyzzy", words) == NULL);
}

int main(void) {
    output_masks_times_and_memory_only();
    output_is_judged_in_four_steps();
    output_that_is_no_text_must_be_equal();
    ratios_are_of_pairs();
    json_values_are_found();
    json_survives_mangled_lines();
    json_is_written_with_escapes();
    nearest_word_is_near();
    return failures ? 1 : 0;
}
