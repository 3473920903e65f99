// SPDX-License-Identifier: MIT
//
// crime: free a small number
// signal: SIGABRT
// says: bigleaf: free(0x*): no block of this heap
//
#include <stdint.h>
#include <stdlib.h>

int main(void) {
    free((void *)(uintptr_t)0x12340);
    return 0;
}
