// SPDX-License-Identifier: MIT
//
// crime: free a page full of blocks, then one again
// signal: SIGABRT
// says: bigleaf: free(0x*): double free
// says: bigleaf: free(0x*): not in use (double free?)
// says: bigleaf: free(0x*): no block of this heap
//
#include <stdlib.h>

int main(void) {
    static void *block[20000];
    for (int i = 0; i < 20000; i++)
        block[i] = malloc(64);
    for (int i = 0; i < 20000; i++)
        free(block[i]);
    free(block[9999]);
    return 0;
}
