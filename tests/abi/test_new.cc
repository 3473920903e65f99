// SPDX-License-Identifier: MIT
//
// operator new and delete in all forms: plain, array, nothrow, aligned,
// sized; bad_alloc; the new_handler is called and may free memory or throw.
//
#include "bl_test.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

// Called through a pointer that the compiler cannot follow, so that it
// neither removes a pair of new and delete nor merges two.
static void *volatile sink;

static volatile std::size_t too_large = PTRDIFF_MAX;

static std::align_val_t align_of(std::size_t n) {
    return static_cast<std::align_val_t>(n);
}

TEST(new_plain) {
    for (std::size_t size = 0; size < 4096; size++) {
        sink = ::operator new(size);
        expect_ptr_ne(sink, nullptr);
        expect_size_eq(reinterpret_cast<std::uintptr_t>(sink) % 16, 0);
        std::memset(sink, 1, size);
        ::operator delete(sink);
        sink = ::operator new[](size);
        expect_ptr_ne(sink, nullptr);
        std::memset(sink, 1, size);
        ::operator delete[](sink);
    }
    ::operator delete(nullptr);
    ::operator delete[](nullptr);
}

TEST(new_sized_delete) {
    for (std::size_t size = 1; size < (std::size_t{64} << 20); size *= 3) {
        sink = ::operator new(size);
        ::operator delete(sink, size);
        sink = ::operator new[](size);
        ::operator delete[](sink, size);
    }
    ::operator delete (nullptr, std::size_t{16});
    ::operator delete[](nullptr, std::size_t{16});
}

TEST(new_nothrow) {
    for (std::size_t size = 0; size < 3000; size += 7) {
        sink = ::operator new(size, std::nothrow);
        expect_ptr_ne(sink, nullptr);
        ::operator delete(sink, std::nothrow);
        sink = ::operator new[](size, std::nothrow);
        expect_ptr_ne(sink, nullptr);
        ::operator delete[](sink, std::nothrow);
    }
    sink = ::operator new(too_large, std::nothrow);
    expect_ptr_eq(sink, nullptr);
    sink = ::operator new[](too_large, std::nothrow);
    expect_ptr_eq(sink, nullptr);
    sink = ::operator new(too_large, align_of(64), std::nothrow);
    expect_ptr_eq(sink, nullptr);
    sink = ::operator new[](too_large, align_of(64), std::nothrow);
    expect_ptr_eq(sink, nullptr);
}

TEST(new_aligned) {
    for (std::size_t align = 1; align <= (std::size_t{4} << 20); align *= 2) {
        for (std::size_t size = 1; size < 100000; size = size * 7 + 1) {
            const std::align_val_t a = align_of(align);
            sink = ::operator new(size, a);
            expect_size_eq(reinterpret_cast<std::uintptr_t>(sink) % align, 0);
            std::memset(sink, 1, size);
            ::operator delete(sink, a);
            sink = ::operator new[](size, a);
            expect_size_eq(reinterpret_cast<std::uintptr_t>(sink) % align, 0);
            ::operator delete[](sink, a);
            sink = ::operator new(size, a);
            ::operator delete(sink, size, a);
            sink = ::operator new[](size, a);
            ::operator delete[](sink, size, a);
            sink = ::operator new(size, a, std::nothrow);
            expect_size_eq(reinterpret_cast<std::uintptr_t>(sink) % align, 0);
            ::operator delete(sink, a, std::nothrow);
            sink = ::operator new[](size, a, std::nothrow);
            ::operator delete[](sink, a, std::nothrow);
        }
    }
    ::operator delete(nullptr, align_of(64));
    ::operator delete[](nullptr, std::size_t{64}, align_of(64));
}

template <typename Call> static bool throws_bad_alloc(Call call) {
    try {
        sink = call();
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

TEST(new_throws_bad_alloc) {
    expect_true(throws_bad_alloc([] { return ::operator new(too_large); }));
    expect_true(throws_bad_alloc([] { return ::operator new[](too_large); }));
    expect_true(throws_bad_alloc(
        [] { return ::operator new(too_large, align_of(64)); }));
    expect_true(throws_bad_alloc(
        [] { return ::operator new[](too_large, align_of(4096)); }));
    expect_true(
        throws_bad_alloc([] { return ::operator new(too_large * 2 + 1); }));
}

static int handler_calls;

static void counting_handler() {
    handler_calls++;
    if (handler_calls >= 3)
        std::set_new_handler(nullptr);
}

struct special {};

static void throwing_handler() { throw special(); }

TEST(new_calls_the_handler_until_it_gives_up) {
    std::set_new_handler(counting_handler);
    handler_calls = 0;
    expect_true(throws_bad_alloc([] { return ::operator new(too_large); }));
    expect_int_eq(handler_calls, 3);

    std::set_new_handler(counting_handler);
    handler_calls = 0;
    sink = ::operator new(too_large, std::nothrow);
    expect_ptr_eq(sink, nullptr);
    expect_int_eq(handler_calls, 3);

    std::set_new_handler(counting_handler);
    handler_calls = 0;
    expect_true(throws_bad_alloc(
        [] { return ::operator new[](too_large, align_of(128)); }));
    expect_int_eq(handler_calls, 3);
}

TEST(new_handler_may_throw_what_it_likes) {
    std::set_new_handler(throwing_handler);
    bool caught = false;
    try {
        sink = ::operator new(too_large);
    } catch (const special &) {
        caught = true;
    } catch (const std::bad_alloc &) {
    }
    expect_true(caught);
    std::set_new_handler(nullptr);
}

static int bad_alloc_calls;

static void bad_alloc_handler() {
    bad_alloc_calls++;
    throw std::bad_alloc();
}

TEST(new_nothrow_swallows_bad_alloc_of_the_handler) {
    std::set_new_handler(bad_alloc_handler);
    sink = ::operator new(too_large, std::nothrow);
    expect_ptr_eq(sink, nullptr);
    expect_int_eq(bad_alloc_calls, 1);
    sink = ::operator new[](too_large, align_of(64), std::nothrow);
    expect_ptr_eq(sink, nullptr);
    expect_int_eq(bad_alloc_calls, 2);
    std::set_new_handler(nullptr);
}

struct alignas(256) wide {
    char bytes[300];
};

TEST(containers_work) {
    std::vector<std::string> words;
    for (int i = 0; i < 100000; i++)
        words.push_back(std::string(static_cast<std::size_t>(i % 100), 'x'));
    std::size_t total = 0;
    for (const std::string &word : words)
        total += word.size();
    expect_size_eq(total, 1000 * 4950);
    std::vector<wide> wides(1000);
    expect_size_eq(reinterpret_cast<std::uintptr_t>(&wides[0]) % 256, 0);
}

TEST(memory_of_new_and_malloc_is_one_heap) {
    // Not promised by C++, but by every libstdc++ there is.
    sink = std::malloc(100);
    ::operator delete(sink);
    sink = ::operator new(100);
    std::free(sink);
}
