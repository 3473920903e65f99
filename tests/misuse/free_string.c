// SPDX-License-Identifier: MIT
//
// crime: free a string constant
// signal: SIGABRT
// says: bigleaf: free(0x*): no block of this heap
//
#include <stdint.h>
#include <stdlib.h>

int main(void) {
    static const char text[] = "a constant of the program";
    free((void *)(uintptr_t)text);
    return 0;
}
