// SPDX-License-Identifier: MIT
//
// crime: free a static variable
// signal: SIGABRT
// says: bigleaf: free(0x*): no block of this heap
//
#include <stdlib.h>

static void *volatile sink;

int main(void) {
    static char in_data[64] = {1};
    sink = in_data;
    free(sink);
    return 0;
}
