// SPDX-License-Identifier: MIT
//
// crime: free a block of 8 MiB at 4096 bytes in
// signal: SIGABRT
// says: bigleaf: free(0x*): not the start of a block
// says: bigleaf: free(0x*): not in use (double free?)
// says: bigleaf: free(0x*): no block of this heap
//
#include <stdlib.h>

int main(void) {
    char *const p = malloc(8 << 20);
    free(p + 4096);
    return 0;
}
