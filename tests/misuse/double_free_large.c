// SPDX-License-Identifier: MIT
//
// crime: free a block of 8 MiB twice
// signal: SIGABRT
// says: bigleaf: free(0x*): double free
// says: bigleaf: free(0x*): not in use (double free?)
// says: bigleaf: free(0x*): no block of this heap
//
#include <stdlib.h>

int main(void) {
    void *const p = malloc(8 << 20);
    free(p);
    free(p);
    return 0;
}
