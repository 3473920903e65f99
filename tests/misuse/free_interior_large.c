// SPDX-License-Identifier: MIT
//
// crime: free the middle of a block of 8 MiB
// signal: SIGABRT
// says: bigleaf: free(0x*): not the start of a block
// says: bigleaf: free(0x*): not in use (double free?)
// says: bigleaf: free(0x*): no block of this heap
//
#include <stdlib.h>

int main(void) {
    char *const p = malloc(8 << 20);
    free(p + (4 << 20));
    return 0;
}
