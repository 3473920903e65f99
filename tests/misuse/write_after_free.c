// SPDX-License-Identifier: MIT
//
// crime: write into a block that is free
// signal: SIGABRT
// says: bigleaf: a free block was overwritten: its link is 0x*
//
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *block = malloc(100);
    free(block);
    memset(block, 'A', 100);
    for (int i = 0; i < 2; i++)
        block = malloc(100);
    return 0;
}
