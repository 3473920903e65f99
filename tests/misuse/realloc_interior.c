// SPDX-License-Identifier: MIT
//
// crime: realloc the middle of a block
// signal: SIGABRT
// says: bigleaf: realloc(0x*): not the start of a block
//
#include <stdlib.h>

static void *volatile sink;

int main(void) {
    char *const p = malloc(400);
    sink = realloc(p + 16, 100);
    return 0;
}
