// SPDX-License-Identifier: MIT
//
// crime: free memory that mmap gave
// signal: SIGABRT
// says: bigleaf: free(0x*): no block of this heap
//
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(void) {
    void *const p = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    free(p);
    return 0;
}
