// SPDX-License-Identifier: MIT
//
// crime: free an address far beyond all blocks
// signal: SIGABRT
// says: bigleaf: free(0x*): no block of this heap
//
#include <stddef.h>
#include <stdlib.h>

int main(void) {
    char *const p = malloc(40);
    free(p + ((size_t)1 << 40));
    return 0;
}
