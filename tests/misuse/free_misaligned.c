// SPDX-License-Identifier: MIT
//
// crime: free a block one byte off
// signal: SIGABRT
// says: bigleaf: free(0x*): not the start of a block
//
#include <stdlib.h>

int main(void) {
    char *const p = malloc(64);
    free(p + 1);
    return 0;
}
