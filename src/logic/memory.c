// SPDX-License-Identifier: MIT
//
// The end of a program that the machine has no memory for. What it has written
// so far is kept, unless another thread is writing just now.
//
#include "logic/memory.h"

#include <stdio.h>
#include <unistd.h>

void bl_no_memory(void) {
    static const char text[] =
        "leaflog: the machine has no memory left for this program\n";
    if (ftrylockfile(stdout) == 0)
        (void)fflush(stdout);
    const ssize_t n = write(STDERR_FILENO, text, sizeof text - 1);
    (void)n; // nobody is left to be told
    _exit(3);
}
