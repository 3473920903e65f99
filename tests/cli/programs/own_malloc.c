// SPDX-License-Identifier: MIT
//
// A program with a malloc of its own, exported: it wins over a preloaded one.
//
#include <stddef.h>
#include <unistd.h>

void *malloc(size_t bytes);
void free(void *p);

static char arena[1 << 20];
static size_t used;

__attribute__((visibility("default"))) void *malloc(size_t bytes) {
    const size_t need = (bytes + 15) & ~(size_t)15;
    if (need > sizeof arena - used)
        return NULL;
    void *p = arena + used;
    used += need;
    return p;
}

__attribute__((visibility("default"))) void free(void *p) { (void)p; }

int main(void) {
    char *p = malloc(100);
    p[0] = 'o';
    return write(1, "own\n", 4) == 4 && p[0] == 'o' ? 0 : 1;
}
