// SPDX-License-Identifier: MIT
//
// Calls after main: atexit handlers, destructors, a thread that still
// allocates while the process ends. Without the kit: the whole process is the
// test, and its exit status the verdict.
//
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *of_constructor;
static char *of_main;
static char *of_handler;

static void check(const char *p, char c) {
    for (int i = 0; i < 5000; i++)
        if (p == NULL || p[i] != c)
            _exit(3);
}

static char *filled(char c) {
    char *const p = malloc(5000);
    if (p == NULL)
        _exit(4);
    memset(p, c, 5000);
    return p;
}

__attribute__((constructor(101))) static void first(void) {
    of_constructor = filled('c');
}

__attribute__((destructor(101))) static void last(void) {
    check(of_constructor, 'c');
    check(of_handler, 'h');
    free(of_constructor);
    free(of_handler);
    char *const p = filled('d');
    check(p, 'd');
    free(realloc(p, 4 << 20));
    free(calloc(1, 100 << 20));
}

static void at_exit(void) {
    check(of_main, 'm');
    free(of_main);
    of_handler = filled('h');
    for (int i = 0; i < 10000; i++)
        free(malloc((size_t)i));
}

static void *allocate_for_ever(void *arg) {
    (void)arg;
    for (size_t i = 0;; i++)
        free(realloc(malloc(i % 5000), i % 300000));
    return NULL;
}

int main(void) {
    pthread_t thread;
    atexit(at_exit);
    of_main = filled('m');
    for (int i = 0; i < 3; i++)
        if (pthread_create(&thread, NULL, allocate_for_ever, NULL) != 0)
            return 2;
    usleep(20000);
    return 0;
}
