// SPDX-License-Identifier: MIT
//
// crime: free the block behind the first of its size
// signal: SIGABRT
// says: bigleaf: free(0x*): double free
// says: bigleaf: free(0x*): not the start of a block
// says: bigleaf: free(0x*): not in use (double free?)
//
#include <stdlib.h>
#include <string.h>

static char *volatile sink;

int main(void) {
    sink = malloc(1000);
    free(sink + 1008);
    free(sink - 1008); // the last of those made at once is first
    return 0;
}
