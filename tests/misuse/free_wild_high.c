// SPDX-License-Identifier: MIT
//
// crime: free an address no program can have
// signal: SIGABRT
// says: bigleaf: free(0x*): no block of this heap
//
#include <stdint.h>
#include <stdlib.h>

int main(void) {
    free((void *)(uintptr_t)0xdead00000000beefu);
    return 0;
}
