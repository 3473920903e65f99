// SPDX-License-Identifier: MIT
//
// Functions of the C library that are ours in the preload library lead to
// those of a library that stands between us and the C library (between.c).
//
#include "bl_test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

unsigned between_calls(void);

static void *nothing(void *arg) { return arg; }

TEST(threads_are_made_by_who_stands_behind_us) {
    pthread_t thread;
    const unsigned before = between_calls();
    assert_int_eq(pthread_create(&thread, NULL, nothing, NULL), 0);
    pthread_join(thread, NULL);
    expect_int_eq(between_calls(), before + 1);
}

TEST(processes_are_made_by_who_stands_behind_us) {
    const unsigned before = between_calls();
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    expect_child_ok(child);
    expect_int_eq(between_calls(), before + 1);
}

TEST(libraries_are_loaded_by_who_stands_behind_us) {
    const unsigned before = between_calls();
    void *const self = dlopen(NULL, RTLD_NOW);
    expect_ptr_ne(self, NULL);
    expect_int_eq(between_calls(), before + 1);
    expect_ptr_ne(dlsym(self, "between_calls"), NULL);
}
