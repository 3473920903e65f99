// SPDX-License-Identifier: MIT
//
// crime: free the old place after realloc moved the block
// signal: SIGABRT
// says: bigleaf: free(0x*): double free
// says: bigleaf: free(0x*): not in use (double free?)
// says: bigleaf: free(0x*): no block of this heap
//
#include <stdlib.h>

static void *volatile sink;

int main(void) {
    void *const p = malloc(40);
    sink = realloc(p, 100000);
    free(p);
    return 0;
}
