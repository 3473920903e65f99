// SPDX-License-Identifier: MIT
//
// operator new where it takes more than malloc's fast path, which abi_c.c has
// with all forms of operator delete. The runtime must not need a C++ library,
// so what only that library can do - the new-handler, throwing and catching
// std::bad_alloc - is asked of it through weak references: a program that calls
// these operators has one.
//
extern "C" {
#include "heap/cxx.h"
}

#include <cstddef>

namespace std {
enum class align_val_t : size_t;
struct nothrow_t;
typedef void (*new_handler)();
new_handler get_new_handler() noexcept __attribute__((weak));
void __throw_bad_alloc() __attribute__((weak, noreturn));
} // namespace std

// What the compiler refers to for the one `catch` below.
__asm__(".weak __gxx_personality_v0\n"
        ".weak __cxa_begin_catch\n"
        ".weak __cxa_end_catch\n"
        ".weak _ZSt9terminatev\n"
        ".weak __cxa_rethrow\n");

namespace {

enum { PLAIN = 16 };

// The loop that [C++17, new.delete.single] asks for.
__attribute__((cold, noinline)) void *new_failed(size_t bytes, size_t align) {
    for (;;) {
        std::new_handler handler =
            std::get_new_handler ? std::get_new_handler() : nullptr;
        if (handler == nullptr) {
            if (std::__throw_bad_alloc)
                std::__throw_bad_alloc();
            bl_new_without_library();
        }
        handler();
        if (void *p = bl_new_block(bytes, align))
            return p;
    }
}

__attribute__((cold, noinline)) void *
nothrow_new_failed(size_t bytes, size_t align) noexcept {
    if (!std::get_new_handler || std::get_new_handler() == nullptr)
        return nullptr;
    try {
        return new_failed(bytes, align);
    } catch (...) {
        return nullptr;
    }
}

inline void *new_block(size_t bytes, size_t align) {
    void *p = bl_new_block(bytes, align);
    return __builtin_expect(p != nullptr, 1) ? p : new_failed(bytes, align);
}

inline void *nothrow_new(size_t bytes, size_t align) noexcept {
    void *p = bl_new_block(bytes, align);
    return __builtin_expect(p != nullptr, 1) ? p
                                             : nothrow_new_failed(bytes, align);
}

} // namespace

void *bl_new_slow(size_t bytes) {
    void *p = bl_malloc_slow(bytes);
    return __builtin_expect(p != nullptr, 1) ? p : new_failed(bytes, PLAIN);
}

#define ABI __attribute__((visibility("default")))
#define NEW(...) ABI void *operator new(__VA_ARGS__)
#define NEW_ARRAY(...) ABI void *operator new[](__VA_ARGS__)

typedef std::align_val_t Align;
typedef const std::nothrow_t &Nothrow;

NEW(size_t n, Align a) { return new_block(n, (size_t)a); }
NEW_ARRAY(size_t n, Align a) { return new_block(n, (size_t)a); }
NEW(size_t n, Nothrow) noexcept { return nothrow_new(n, PLAIN); }
NEW_ARRAY(size_t n, Nothrow) noexcept { return nothrow_new(n, PLAIN); }
NEW(size_t n, Align a, Nothrow) noexcept { return nothrow_new(n, (size_t)a); }
NEW_ARRAY(size_t n, Align a, Nothrow) noexcept {
    return nothrow_new(n, (size_t)a);
}
