// SPDX-License-Identifier: MIT
//
// A program that defines operator new(size_t) and delete(void *) itself, with a
// header before each block: all forms that call these by default must do so,
// and those that do not must not. Its own sized delete is missing on purpose.
//
#include "bl_test.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

static const std::size_t header = 32;
static long live;
static bool without_memory;
static void *volatile sink;

void *operator new(std::size_t bytes) {
    char *const p = without_memory
                        ? nullptr
                        : static_cast<char *>(std::malloc(bytes + header));
    if (p == nullptr)
        throw std::bad_alloc();
    live++;
    return p + header;
}

void operator delete(void *p) noexcept {
    if (p == nullptr)
        return;
    live--;
    std::free(static_cast<char *>(p) - header);
}

struct thing {
    int values[10];
    ~thing() { sink = this; } // so that new[] keeps a count
};

struct alignas(128) wide {
    char bytes[128];
};

TEST(replaced_plain) {
    thing *const t = new thing;
    sink = t;
    expect_size_eq(static_cast<std::size_t>(live), 1);
    delete t; // sized, since C++14
    expect_size_eq(static_cast<std::size_t>(live), 0);
}

TEST(replaced_array) {
    thing *const t = new thing[7];
    sink = t;
    expect_size_eq(static_cast<std::size_t>(live), 1);
    delete[] t;
    expect_size_eq(static_cast<std::size_t>(live), 0);
}

TEST(replaced_nothrow) {
    thing *const t = new (std::nothrow) thing;
    thing *const many = new (std::nothrow) thing[3];
    sink = t;
    sink = many;
    expect_size_eq(static_cast<std::size_t>(live), 2);
    delete t;
    delete[] many;
    sink = ::operator new(10, std::nothrow);
    ::operator delete(sink, std::nothrow);
    sink = ::operator new[](10, std::nothrow);
    ::operator delete[](sink, std::nothrow);
    expect_size_eq(static_cast<std::size_t>(live), 0);
}

TEST(replaced_without_memory) {
    without_memory = true;
    expect_ptr_eq(::operator new(10, std::nothrow), nullptr);
    expect_ptr_eq(::operator new[](10, std::nothrow), nullptr);
    bool thrown = false;
    try {
        sink = ::operator new[](10);
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    without_memory = false;
    expect_true(thrown);
}

// The library's own: memory by nothrow new, given back by plain delete.
TEST(replaced_in_the_library) {
    {
        std::vector<int> v(1000);
        for (std::size_t i = 0; i < v.size(); i++)
            v[i] = static_cast<int>(i * 7919 % 1000);
        std::stable_sort(v.begin(), v.end());
        expect_true(std::is_sorted(v.begin(), v.end()));
    }
    expect_size_eq(static_cast<std::size_t>(live), 0);
}

// The aligned forms call no plain one.
TEST(replaced_not_aligned) {
    wide *const w = new wide;
    wide *const many = new (std::nothrow) wide[2];
    sink = w;
    sink = many;
    expect_size_eq(reinterpret_cast<std::uintptr_t>(w) % 128, 0);
    expect_size_eq(reinterpret_cast<std::uintptr_t>(many) % 128, 0);
    expect_size_eq(static_cast<std::size_t>(live), 0);
    delete w;
    delete[] many;
    expect_size_eq(static_cast<std::size_t>(live), 0);
}
