// SPDX-License-Identifier: MIT
//
// crime: free twice what an ended thread allocated
// signal: SIGABRT
// says: bigleaf: free(0x*): double free
// says: bigleaf: free(0x*): not in use (double free?)
// says: bigleaf: free(0x*): no block of this heap
//
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

static void *volatile sink;

static void *allocate(void *out) {
    *(void **)out = malloc(48);
    return NULL;
}

int main(void) {
    pthread_t thread;
    void *p = NULL;
    pthread_create(&thread, NULL, allocate, &p);
    pthread_join(thread, NULL);
    free(p);
    free(p);
    for (int i = 0; i < 100000; i++)
        sink = malloc(48);
    return 0;
}
