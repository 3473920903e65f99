// SPDX-License-Identifier: MIT
//
// Preloaded into the command: a process that takes another name is slow about
// it, as on a busy machine.
//
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int prctl(int option, ...) {
    va_list rest;
    va_start(rest, option);
    const unsigned long a = va_arg(rest, unsigned long);
    const unsigned long b = va_arg(rest, unsigned long);
    const unsigned long c = va_arg(rest, unsigned long);
    const unsigned long d = va_arg(rest, unsigned long);
    va_end(rest);
    if (option == PR_SET_NAME)
        usleep(1500000);
    return (int)syscall(SYS_prctl, option, a, b, c, d);
}
