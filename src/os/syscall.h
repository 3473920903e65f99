// SPDX-License-Identifier: MIT
//
// Raw system calls: the kernel's own result (negative is -errno), `errno`
// untouched, and no libc function that a preload or a tracer may have replaced.
// Private to `os`.
//
#ifndef BL_OS_SYSCALL_H
#define BL_OS_SYSCALL_H

#include <sys/syscall.h>

#if defined(__x86_64__)
static inline long bl_syscall6(long nr, long a, long b, long c, long d, long e,
                               long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ __volatile__("syscall"
                         : "=a"(result)
                         : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
                           "r"(r9)
                         : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
static inline long bl_syscall6(long nr, long a, long b, long c, long d, long e,
                               long f) {
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ __volatile__("svc 0"
                         : "+r"(x0)
                         : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                         : "memory");
    return x0;
}
#else
#error "Bigleaf knows the system calls of x86-64 and aarch64 Linux only"
#endif

#define bl_syscall0(nr) bl_syscall6((nr), 0, 0, 0, 0, 0, 0)
#define bl_syscall1(nr, a) bl_syscall6((nr), (long)(a), 0, 0, 0, 0, 0)
#define bl_syscall2(nr, a, b)                                                  \
    bl_syscall6((nr), (long)(a), (long)(b), 0, 0, 0, 0)
#define bl_syscall3(nr, a, b, c)                                               \
    bl_syscall6((nr), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define bl_syscall4(nr, a, b, c, d)                                            \
    bl_syscall6((nr), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define bl_syscall5(nr, a, b, c, d, e)                                         \
    bl_syscall6((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

#endif
