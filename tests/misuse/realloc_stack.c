// SPDX-License-Identifier: MIT
//
// crime: realloc a variable on the stack
// signal: SIGABRT
// says: bigleaf: realloc(0x*): no block of this heap
//
#include <stdlib.h>

static void *volatile sink;

int main(void) {
    char on_stack[64];
    sink = on_stack;
    sink = realloc(sink, 100);
    return 0;
}
