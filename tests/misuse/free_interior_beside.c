// SPDX-License-Identifier: MIT
//
// crime: free the end of a block of 66,000 bytes, behind which another began
// signal: SIGABRT
// says: bigleaf: free(0x*): not the start of a block
//
#include <stdlib.h>

int main(void) {
    enum { BLOCKS = 1500 };
    static char *p[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        p[i] = malloc(66000);
    free(p[1001]);
    free(p[1000] + 65984);
    return 0;
}
