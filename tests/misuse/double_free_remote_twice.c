// SPDX-License-Identifier: MIT
//
// crime: free another thread's block twice
// signal: SIGABRT
// says: bigleaf: free(0x*): double free
// says: bigleaf: free(0x*): not in use (double free?)
// says: bigleaf: free(0x*): no block of this heap
//
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static void *volatile sink;

static atomic_int ready;

static void *owner(void *out) {
    *(void **)out = malloc(48);
    atomic_store(&ready, 1);
    while (atomic_load(&ready) != 2)
        sched_yield();
    for (int i = 0; i < 100000; i++)
        sink = malloc(48);
    return NULL;
}

int main(void) {
    pthread_t thread;
    void *p = NULL;
    pthread_create(&thread, NULL, owner, &p);
    while (atomic_load(&ready) == 0)
        sched_yield();
    free(p);
    free(p);
    atomic_store(&ready, 2);
    pthread_join(thread, NULL);
    return 0;
}
