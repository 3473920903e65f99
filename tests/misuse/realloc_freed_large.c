// SPDX-License-Identifier: MIT
//
// crime: realloc a freed block of 8 MiB
// signal: SIGABRT
// says: bigleaf: realloc(0x*): double free
// says: bigleaf: realloc(0x*): not in use (double free?)
// says: bigleaf: realloc(0x*): no block of this heap
//
#include <stdlib.h>

static void *volatile sink;

int main(void) {
    void *const p = malloc(8 << 20);
    free(p);
    sink = realloc(p, 16 << 20);
    return 0;
}
