// SPDX-License-Identifier: MIT
//
// crime: free the same small block twice in a row
// signal: SIGABRT
// says: bigleaf: free(0x*): double free
//
#include <stdlib.h>

int main(void) {
    void *const p = malloc(40);
    free(p);
    free(p);
    return 0;
}
