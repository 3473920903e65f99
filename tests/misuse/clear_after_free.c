// SPDX-License-Identifier: MIT
//
// crime: clear a block that is free: its link then says that no more follow
// signal: SIGABRT
// says: bigleaf: a free block was overwritten: its link is 0x0
//
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *block[8];
    for (int i = 0; i < 8; i++)
        block[i] = malloc(100);
    for (int i = 0; i < 8; i++)
        free(block[i]);
    memset(block[7], 0, 100);
    for (int i = 0; i < 2; i++)
        block[i] = malloc(100);
    return 0;
}
