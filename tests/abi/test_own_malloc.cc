// SPDX-License-Identifier: MIT
//
// A program that defines malloc, free, calloc and realloc itself, which is all
// that glibc's manual asks of one that replaces them. The functions of the C
// library and of the C++ library that are made of these use the program's.
//
#include "bl_test.h"

#include <cstdlib>
#include <cstring>
#include <new>

static char memory[1 << 20];
static size_t used;
static size_t allocations, frees;
static void *volatile sink;

static size_t *size_of(void *p) { return static_cast<size_t *>(p) - 2; }

extern "C" {
void *malloc(size_t bytes) noexcept {
    const size_t need = (bytes + 31) & ~size_t{15};
    if (need > sizeof memory - used)
        return nullptr;
    char *const at = memory + used;
    used += need;
    allocations++;
    *reinterpret_cast<size_t *>(at) = bytes;
    return at + 16;
}

void free(void *p) noexcept { frees += p != nullptr; }

void *calloc(size_t count, size_t each) noexcept {
    return malloc(count * each);
}

void *realloc(void *p, size_t bytes) noexcept {
    void *const q = malloc(bytes);
    if (p != nullptr && q != nullptr)
        memcpy(q, p, *size_of(p) < bytes ? *size_of(p) : bytes);
    return q;
}
}

static bool is_ours(void *p) {
    return static_cast<char *>(p) >= memory &&
           static_cast<char *>(p) < memory + sizeof memory;
}

TEST(reallocarray_calls_the_programs_realloc) {
    char *p = static_cast<char *>(malloc(10));
    strcpy(p, "kept");
    p = static_cast<char *>(reallocarray(p, 10, 10));
    expect_true(is_ours(p));
    expect_str_eq(p, "kept");
}

TEST(strings_of_the_c_library_are_the_programs) {
    expect_true(is_ours(strdup("a string")));
}

static void new_and_delete(size_t each) {
    const size_t made = allocations;
    const size_t freed = frees;
    for (int i = 0; i < 100; i++) {
        sink = ::operator new(each);
        expect_true(is_ours(sink));
        ::operator delete(sink);
        sink = ::operator new[](each, std::nothrow);
        expect_true(is_ours(sink));
        ::operator delete[](sink, each);
    }
    expect_size_eq(allocations - made, 200);
    expect_size_eq(frees - freed, 200);
}

TEST(small_blocks_of_new) { new_and_delete(24); }
TEST(larger_blocks_of_new) { new_and_delete(2000); }
TEST(new_of_nothing) { new_and_delete(0); }

TEST(blocks_of_new_given_to_free) {
    const size_t freed = frees;
    sink = new int(1);
    free(sink);
    expect_size_eq(frees - freed, 1);
}

TEST(new_without_memory) {
    expect_ptr_eq(::operator new(sizeof memory, std::nothrow), nullptr);
    bool thrown = false;
    try {
        sink = ::operator new(sizeof memory);
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    expect_true(thrown);
}
