// SPDX-License-Identifier: MIT
//
// crime: realloc a freed block
// signal: SIGABRT
// says: bigleaf: realloc(0x*): double free
//
#include <stdlib.h>

static void *volatile sink;

int main(void) {
    void *const p = malloc(40);
    free(p);
    sink = realloc(p, 80);
    return 0;
}
