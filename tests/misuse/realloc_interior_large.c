// SPDX-License-Identifier: MIT
//
// crime: realloc the middle of a large block
// signal: SIGABRT
// says: bigleaf: realloc(0x*): not the start of a block
// says: bigleaf: realloc(0x*): not in use (double free?)
// says: bigleaf: realloc(0x*): no block of this heap
//
#include <stdlib.h>

static void *volatile sink;

int main(void) {
    char *const p = malloc(12 << 20);
    sink = realloc(p + (2 << 20), 100);
    return 0;
}
