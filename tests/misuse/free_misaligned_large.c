// SPDX-License-Identifier: MIT
//
// crime: free a large block eight bytes off
// signal: SIGABRT
// says: bigleaf: free(0x*): not the start of a block
// says: bigleaf: free(0x*): not in use (double free?)
// says: bigleaf: free(0x*): no block of this heap
//
#include <stdlib.h>

int main(void) {
    char *const p = malloc(5 << 20);
    free(p + 8);
    return 0;
}
