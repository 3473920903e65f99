// SPDX-License-Identifier: MIT
//
// crime: free a function
// signal: SIGABRT
// says: bigleaf: free(0x*): no block of this heap
//
#include <stdint.h>
#include <stdlib.h>

int main(void) {
    free((void *)(uintptr_t)&main);
    return 0;
}
