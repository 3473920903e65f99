// SPDX-License-Identifier: MIT
//
// crime: free twice a block of 66,000 bytes that lies beside others like it
// signal: SIGABRT
// says: bigleaf: free(0x*): not in use (double free?)
//
#include <stdlib.h>

int main(void) {
    enum { BLOCKS = 1500 };
    static char *p[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        p[i] = malloc(66000);
    free(p[1000]);
    free(p[1000]);
    return 0;
}
