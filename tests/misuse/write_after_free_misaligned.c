// SPDX-License-Identifier: MIT
//
// crime: count up in a block that is free; its link then leads inside a block
// signal: SIGABRT
// says: bigleaf: a free block was overwritten: its link is 0x*
//
#include <stdlib.h>

int main(void) {
    long *block[8];
    for (int i = 0; i < 8; i++)
        block[i] = malloc(100);
    for (int i = 0; i < 8; i++)
        free(block[i]);
    (*block[7])++;
    for (int i = 0; i < 2; i++)
        block[i] = malloc(100);
    return 0;
}
