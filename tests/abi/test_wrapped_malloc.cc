// SPDX-License-Identifier: MIT
//
// A program that puts functions of its own in front of malloc and free, to
// count them, and has the next in the dynamic linker's order do the work. It
// counts what the C++ library takes, too.
//
#include "bl_test.h"

#include <cstdlib>
#include <dlfcn.h>
#include <new>
#include <pthread.h>

static size_t allocations, frees;
static void *volatile sink;

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

extern "C" {
void *malloc(size_t bytes) noexcept {
    static void *(*work)(size_t);
    if (work == nullptr)
        work = reinterpret_cast<void *(*)(size_t)>(next("malloc"));
    allocations++;
    return work(bytes);
}

void free(void *p) noexcept {
    static void (*work)(void *);
    if (work == nullptr)
        work = reinterpret_cast<void (*)(void *)>(next("free"));
    frees += p != nullptr;
    work(p);
}
}

static void *new_and_delete(void *arg) {
    const size_t each = *static_cast<size_t *>(arg);
    sink = malloc(each);
    free(sink);
    const size_t made = allocations;
    const size_t freed = frees;
    for (int i = 0; i < 100; i++) {
        sink = ::operator new(each);
        ::operator delete(sink);
        sink = ::operator new[](each, std::nothrow);
        ::operator delete[](sink);
    }
    expect_size_eq(allocations - made, 200);
    expect_size_eq(frees - freed, 200);
    return nullptr;
}

TEST(small_blocks_of_new_are_counted) {
    size_t each = 24;
    new_and_delete(&each);
}

TEST(larger_blocks_of_new_are_counted) {
    size_t each = 20000;
    new_and_delete(&each);
}

TEST(blocks_of_another_thread_are_counted) {
    size_t each = 100;
    pthread_t thread;
    assert_int_eq(pthread_create(&thread, nullptr, new_and_delete, &each), 0);
    pthread_join(thread, nullptr);
}
