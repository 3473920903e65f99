// SPDX-License-Identifier: MIT
//
// crime: ask for the usable size of a freed block: 0, or the end
// signal: SIGABRT
// says: bigleaf: malloc_usable_size(0x*): double free
// says:
//
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>

int main(void) {
    void *const p = malloc(40);
    free(p);
    if (malloc_usable_size(p) == 0)
        raise(SIGABRT);
    return 0;
}
