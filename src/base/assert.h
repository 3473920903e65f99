// SPDX-License-Identifier: MIT
//
// Assertions in four levels (`BL_CHECKS`): 0 none, 1 API contracts, 2 what
// the code believes of itself, 3 full walks of a structure. `BL_CHECK` is
// always on. Below its level an assertion still compiles, so it cannot rot.
//
#ifndef BL_BASE_ASSERT_H
#define BL_BASE_ASSERT_H

#ifndef BL_CHECKS
#define BL_CHECKS 0
#endif

#define BL_LIKELY(x) __builtin_expect(!!(x), 1)
#define BL_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define BL_INLINE static inline __attribute__((always_inline))
#define BL_NOINLINE __attribute__((noinline))
#define BL_COLD __attribute__((cold, noinline))
#define BL_NORETURN __attribute__((noreturn))
#define BL_EXPORT __attribute__((visibility("default")))
// Of a variable that is read often: found by its distance, not by a table.
#define BL_HIDDEN __attribute__((visibility("hidden")))
#define BL_MUST_USE __attribute__((warn_unused_result))

// One line on standard error, then abort. Defined by `os`, which can write.
BL_NORETURN BL_COLD void bl_check_failed(const char *file, int line,
                                         const char *what);
BL_NORETURN BL_COLD void bl_check_eq_failed(const char *file, int line,
                                            const char *what,
                                            unsigned long left,
                                            unsigned long right);

#define BL_CHECK(x)                                                            \
    (BL_LIKELY(x) ? (void)0 : bl_check_failed(__FILE__, __LINE__, #x))

// Prints both numbers when they differ.
#define BL_CHECK_EQ(a, b)                                                      \
    do {                                                                       \
        unsigned long bl_left = (unsigned long)(a);                            \
        unsigned long bl_right = (unsigned long)(b);                           \
        if (BL_UNLIKELY(bl_left != bl_right))                                  \
            bl_check_eq_failed(__FILE__, __LINE__, #a " == " #b, bl_left,      \
                               bl_right);                                      \
    } while (0)

#define BL_ASSERT_AT(level, x)                                                 \
    do {                                                                       \
        if (BL_CHECKS >= (level))                                              \
            BL_CHECK(x);                                                       \
    } while (0)

#define BL_REQUIRE(x) BL_ASSERT_AT(1, x) // a caller's duty
#define BL_ASSERT(x) BL_ASSERT_AT(2, x)  // what must hold here

#define BL_UNREACHABLE() bl_check_failed(__FILE__, __LINE__, "not reached")

#endif
