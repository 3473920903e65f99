// SPDX-License-Identifier: MIT
//
// crime: clear a block that is free, which then goes back to its page
// signal: SIGABRT
// says: bigleaf: a free block was overwritten: its link is 0x0
//
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 4096 };

int main(void) {
    static char *block[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        block[i] = malloc(1000);
    for (int i = 0; i < BLOCKS / 2; i++)
        free(block[i]);
    memset(block[BLOCKS / 2 - 1], 0, 8);
    for (int i = BLOCKS / 2; i < BLOCKS; i++)
        free(block[i]);
    return 0;
}
