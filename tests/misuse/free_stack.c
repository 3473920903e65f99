// SPDX-License-Identifier: MIT
//
// crime: free a variable on the stack
// signal: SIGABRT
// says: bigleaf: free(0x*): no block of this heap
//
#include <stdlib.h>

static void *volatile sink;

int main(void) {
    char on_stack[64];
    sink = on_stack;
    free(sink);
    return 0;
}
