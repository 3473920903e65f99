// SPDX-License-Identifier: MIT
//
// crime: free twice what malloc(0) gave
// signal: SIGABRT
// says: bigleaf: free(0x*): double free
//
#include <stdlib.h>

int main(void) {
    void *const p = malloc(0);
    free(p);
    free(p);
    return 0;
}
