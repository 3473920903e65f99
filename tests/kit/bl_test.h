// SPDX-License-Identifier: MIT
//
// The test kit. A test is a function that `TEST(name)` registers; the `main`
// of bl_test.c runs each in a process of its own, so that a crash, a leak or a
// changed limit ends with the test. `expect_*` notes a failure and goes on,
// `assert_*` ends the test. Both print both values.
//
// The kit writes with write(2) and allocates nothing, so that a test of an
// allocator sees only its own calls. `expect_*` may be used from any thread
// and from children that the test forks; a child ends with `bl_test_exit`.
// Works in C and in C++.
//
#ifndef BL_TESTS_KIT_BL_TEST_H
#define BL_TESTS_KIT_BL_TEST_H

#include "bl_random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bl_test {
    const char *name;
    void (*body)(void);
    unsigned limit_seconds;
    struct bl_test *next;
};

void bl_test_register(struct bl_test *t);

#define TEST_LIMIT(name_, seconds_)                                            \
    static void test_##name_(void);                                            \
    static struct bl_test record_##name_ = {#name_, test_##name_, seconds_,    \
                                            NULL};                             \
    __attribute__((constructor)) static void register_##name_(void) {          \
        bl_test_register(&record_##name_);                                     \
    }                                                                          \
    static void test_##name_(void)

#define TEST(name_) TEST_LIMIT(name_, 60)

// Ends the test as skipped (exit status 77) and prints the reason.
__attribute__((noreturn, format(printf, 1, 2))) void
bl_test_skip(const char *format, ...);

// One line on standard output, in one write.
__attribute__((format(printf, 1, 2))) void bl_test_note(const char *format,
                                                        ...);

// Notes a failure with a message of the test's own.
__attribute__((format(printf, 3, 4))) void
bl_test_fail(const char *file, int line, const char *format, ...);

// Ends this process with the status its checks have earned: 0 or 1.
__attribute__((noreturn)) void bl_test_exit(void);

// Runs `body(arg)` in a forked child and expects it to end well.
void bl_test_in_child(void (*body)(void *), void *arg);
// Waits for a child and expects exit status 0.
void bl_test_expect_child(const char *file, int line, pid_t pid);
#define expect_child_ok(pid) bl_test_expect_child(__FILE__, __LINE__, pid)

// The seed of this run: --seed, else BL_TEST_SEED, else from the clock.
uint64_t bl_test_seed(void);
// True where the allocator under test is Bigleaf's (BL_TEST_MALLOC=bigleaf).
bool bl_test_on_bigleaf(void);
// The arguments behind "--" on the command line.
int bl_test_argc(void);
char **bl_test_argv(void);

bool bl_test_check_int(const char *file, int line, const char *text,
                       long long a, const char *op, long long b, bool ok,
                       bool fatal);
bool bl_test_check_size(const char *file, int line, const char *text,
                        unsigned long long a, const char *op,
                        unsigned long long b, bool ok, bool fatal);
bool bl_test_check_ptr(const char *file, int line, const char *text,
                       const void *a, const char *op, const void *b, bool ok,
                       bool fatal);
bool bl_test_check_str(const char *file, int line, const char *text,
                       const char *a, const char *b, bool fatal);
bool bl_test_check_true(const char *file, int line, const char *text, bool ok,
                        bool fatal);

#define BL_TEST_INT(a, op, b, fatal)                                           \
    __extension__({                                                            \
        const long long bl_a = (long long)(a);                                 \
        const long long bl_b = (long long)(b);                                 \
        bl_test_check_int(__FILE__, __LINE__, #a " " #op " " #b, bl_a, #op,    \
                          bl_b, bl_a op bl_b, fatal);                          \
    })
#define BL_TEST_SIZE(a, op, b, fatal)                                          \
    __extension__({                                                            \
        const unsigned long long bl_a = (unsigned long long)(a);               \
        const unsigned long long bl_b = (unsigned long long)(b);               \
        bl_test_check_size(__FILE__, __LINE__, #a " " #op " " #b, bl_a, #op,   \
                           bl_b, bl_a op bl_b, fatal);                         \
    })
#define BL_TEST_PTR(a, op, b, fatal)                                           \
    __extension__({                                                            \
        const void *const bl_a = (a);                                          \
        const void *const bl_b = (b);                                          \
        bl_test_check_ptr(__FILE__, __LINE__, #a " " #op " " #b, bl_a, #op,    \
                          bl_b, bl_a op bl_b, fatal);                          \
    })

#define expect_true(x) bl_test_check_true(__FILE__, __LINE__, #x, (x), false)
#define assert_true(x) bl_test_check_true(__FILE__, __LINE__, #x, (x), true)
#define expect_false(x)                                                        \
    bl_test_check_true(__FILE__, __LINE__, "!(" #x ")", !(x), false)
#define assert_false(x)                                                        \
    bl_test_check_true(__FILE__, __LINE__, "!(" #x ")", !(x), true)

#define expect_int_eq(a, b) BL_TEST_INT(a, ==, b, false)
#define expect_int_ne(a, b) BL_TEST_INT(a, !=, b, false)
#define expect_int_lt(a, b) BL_TEST_INT(a, <, b, false)
#define expect_int_le(a, b) BL_TEST_INT(a, <=, b, false)
#define expect_int_ge(a, b) BL_TEST_INT(a, >=, b, false)
#define assert_int_eq(a, b) BL_TEST_INT(a, ==, b, true)
#define assert_int_ne(a, b) BL_TEST_INT(a, !=, b, true)
#define assert_int_ge(a, b) BL_TEST_INT(a, >=, b, true)

#define expect_size_eq(a, b) BL_TEST_SIZE(a, ==, b, false)
#define expect_size_ne(a, b) BL_TEST_SIZE(a, !=, b, false)
#define expect_size_lt(a, b) BL_TEST_SIZE(a, <, b, false)
#define expect_size_le(a, b) BL_TEST_SIZE(a, <=, b, false)
#define expect_size_ge(a, b) BL_TEST_SIZE(a, >=, b, false)
#define assert_size_eq(a, b) BL_TEST_SIZE(a, ==, b, true)
#define assert_size_le(a, b) BL_TEST_SIZE(a, <=, b, true)
#define assert_size_ge(a, b) BL_TEST_SIZE(a, >=, b, true)

#define expect_ptr_eq(a, b) BL_TEST_PTR(a, ==, b, false)
#define expect_ptr_ne(a, b) BL_TEST_PTR(a, !=, b, false)
#define assert_ptr_eq(a, b) BL_TEST_PTR(a, ==, b, true)
#define assert_ptr_ne(a, b) BL_TEST_PTR(a, !=, b, true)

#define expect_str_eq(a, b)                                                    \
    bl_test_check_str(__FILE__, __LINE__, #a " == " #b, a, b, false)
#define assert_str_eq(a, b)                                                    \
    bl_test_check_str(__FILE__, __LINE__, #a " == " #b, a, b, true)

#define fail_test(...) bl_test_fail(__FILE__, __LINE__, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
