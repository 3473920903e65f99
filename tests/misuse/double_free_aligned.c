// SPDX-License-Identifier: MIT
//
// crime: free a block of posix_memalign twice
// signal: SIGABRT
// says: bigleaf: free(0x*): double free
// says: bigleaf: free(0x*): not in use (double free?)
// says: bigleaf: free(0x*): no block of this heap
//
#include <stddef.h>
#include <stdlib.h>

int main(void) {
    void *p = NULL;
    if (posix_memalign(&p, 4096, 100) != 0)
        return 2;
    free(p);
    free(p);
    return 0;
}
