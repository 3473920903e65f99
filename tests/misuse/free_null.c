// SPDX-License-Identifier: MIT
//
// crime: none: free(NULL) and its like are allowed
// signal: none
// says:
//
#include <bigleaf/pool.h>

#include <stddef.h>
#include <stdlib.h>

static void *volatile sink;

int main(void) {
    free(NULL);
    sink = realloc(NULL, 10);
    free(sink);
    bl_pool_free(NULL, NULL);
    return 0;
}
