// SPDX-License-Identifier: MIT
//
// crime: write past the end of a block, over the free one behind it
// signal: SIGABRT
// says: bigleaf: a free block was overwritten: its link is 0x*
//
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *block[64];
    for (int i = 0; i < 64; i++)
        block[i] = malloc(48);
    int i = 0;
    while (i < 62 && block[i + 1] != block[i] + 48)
        i++;
    free(block[63]);
    free(block[i + 1]);
    memset(block[i], 'A', 64);
    for (int k = 0; k < 3; k++)
        block[k] = malloc(48);
    return 0;
}
