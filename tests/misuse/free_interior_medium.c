// SPDX-License-Identifier: MIT
//
// crime: free the middle of a block of 100 KiB
// signal: SIGABRT
// says: bigleaf: free(0x*): not the start of a block
//
#include <stdlib.h>

int main(void) {
    char *const p = malloc(100 << 10);
    free(p + (48 << 10));
    return 0;
}
