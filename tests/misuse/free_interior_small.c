// SPDX-License-Identifier: MIT
//
// crime: free the middle of a small block
// signal: SIGABRT
// says: bigleaf: free(0x*): not the start of a block
//
#include <stdlib.h>

int main(void) {
    char *const p = malloc(200);
    free(p + 32);
    return 0;
}
