// SPDX-License-Identifier: MIT
//
// crime: free a block of 60 KiB twice
// signal: SIGABRT
// says: bigleaf: free(0x*): double free
// says: bigleaf: free(0x*): not in use (double free?)
// says: bigleaf: free(0x*): no block of this heap
//
#include <stdlib.h>

int main(void) {
    void *const other = malloc(60 << 10);
    void *const p = malloc(60 << 10);
    free(p);
    free(p);
    free(other);
    return 0;
}
