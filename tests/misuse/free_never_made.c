// SPDX-License-Identifier: MIT
//
// crime: free the block behind the first of its size, which is not made yet
// signal: SIGABRT
// says: bigleaf: free(0x*): not the start of a block
// says: bigleaf: free(0x*): not in use (double free?)
// says: bigleaf: free(0x*): double free
//
#include <stdlib.h>
#include <string.h>

static char *volatile sink;

int main(void) {
    sink = malloc(6144);
    free(sink + 6144);
    return 0;
}
