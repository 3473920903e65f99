// SPDX-License-Identifier: MIT
//
// crime: free a block, then others, then it again
// signal: SIGABRT
// says: bigleaf: free(0x*): double free
//
#include <stdlib.h>

int main(void) {
    void *block[64];
    for (int i = 0; i < 64; i++)
        block[i] = malloc(40);
    for (int i = 0; i < 32; i++)
        free(block[i]);
    free(block[5]);
    return 0;
}
