// SPDX-License-Identifier: MIT
//
// crime: a second thread frees what is free already
// signal: SIGABRT
// says: bigleaf: free(0x*): double free
// says: bigleaf: free(0x*): not in use (double free?)
// says: bigleaf: free(0x*): no block of this heap
//
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

static void *volatile sink;

static void *release(void *p) {
    free(p);
    return NULL;
}

int main(void) {
    pthread_t thread;
    void *keep[8];
    for (int i = 0; i < 8; i++)
        keep[i] = malloc(48);
    free(keep[3]);
    pthread_create(&thread, NULL, release, keep[3]);
    pthread_join(thread, NULL);
    for (int i = 0; i < 100000; i++)
        sink = malloc(48);
    return 0;
}
