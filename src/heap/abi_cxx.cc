// SPDX-License-Identifier: MIT
//
// operator new where it takes more than malloc's fast path, and the forms of
// new and delete that call others, as [C++17, new.delete] has it: a program may
// define any of them, and then those that call it by default still do. The
// linker or the loader finds whose it is, even in our own library
// (src/runtime/replaceable.list). What is called most, new(size_t) and
// delete(void *), is in abi_c.c.
//
// The runtime must not need a C++ library, so what only that library can do -
// the new-handler, throwing and catching std::bad_alloc - is asked of it
// through weak references: a program that calls these operators has one.
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

// What the compiler refers to for each `catch` below.
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
    void *p = bl_new_block_slow(bytes);
    return __builtin_expect(p != nullptr, 1) ? p : new_failed(bytes, PLAIN);
}

typedef std::align_val_t Align;
typedef const std::nothrow_t &Nothrow;

#define ABI __attribute__((visibility("default"), weak))
#define NEW(...) ABI void *operator new(__VA_ARGS__)
#define NEW_ARRAY(...) ABI void *operator new[](__VA_ARGS__)
#define DELETE(...) ABI void operator delete(__VA_ARGS__) noexcept
#define DELETE_ARRAY(...) ABI void operator delete[](__VA_ARGS__) noexcept

NEW(size_t n, Align a) { return new_block(n, (size_t)a); }
NEW_ARRAY(size_t n) { return ::operator new(n); }
NEW_ARRAY(size_t n, Align a) { return ::operator new(n, a); }

DELETE(void *p, size_t) { ::operator delete(p); }
DELETE(void *p, Nothrow) { ::operator delete(p); }
DELETE(void *p, size_t, Align a) { ::operator delete(p, a); }
DELETE(void *p, Align a, Nothrow) { ::operator delete(p, a); }
DELETE_ARRAY(void *p) { ::operator delete(p); }
DELETE_ARRAY(void *p, Align a) { ::operator delete(p, a); }
DELETE_ARRAY(void *p, size_t) { ::operator delete[](p); }
DELETE_ARRAY(void *p, Nothrow) { ::operator delete[](p); }
DELETE_ARRAY(void *p, size_t, Align a) { ::operator delete[](p, a); }
DELETE_ARRAY(void *p, Align a, Nothrow) { ::operator delete[](p, a); }

// ---- without throwing

// Ours, whoever else defines these operators.
#define OWN(name, symbol)                                                      \
    __attribute__((visibility("hidden"), malloc, alloc_size(1),                \
                   alias(symbol))) void *name

extern "C" {
OWN(bl_own_new_array, "_Znam")(size_t);
OWN(bl_own_new_aligned, "_ZnwmSt11align_val_t")(size_t, Align);
OWN(bl_own_new_array_aligned, "_ZnamSt11align_val_t")(size_t, Align);
}

namespace {

typedef void *(*Plain)(size_t);
typedef void *(*Aligned)(size_t, Align);

// Nobody else defines what a form that does not throw calls.
inline bool all_ours() {
    return Plain(&::operator new) == bl_own_new &&
           Plain(&::operator new[]) == bl_own_new_array &&
           Aligned(&::operator new) == bl_own_new_aligned &&
           Aligned(&::operator new[]) == bl_own_new_array_aligned;
}

template <typename F, typename... Arguments>
__attribute__((cold, noinline)) void *call(F *form,
                                           Arguments... arguments) noexcept {
    try {
        return form(arguments...);
    } catch (...) {
        return nullptr;
    }
}

} // namespace

NEW(size_t n, Nothrow) noexcept {
    return all_ours() ? nothrow_new(n, PLAIN) : call(Plain(&::operator new), n);
}
NEW_ARRAY(size_t n, Nothrow) noexcept {
    return all_ours() ? nothrow_new(n, PLAIN)
                      : call(Plain(&::operator new[]), n);
}
NEW(size_t n, Align a, Nothrow) noexcept {
    return all_ours() ? nothrow_new(n, (size_t)a)
                      : call(Aligned(&::operator new), n, a);
}
NEW_ARRAY(size_t n, Align a, Nothrow) noexcept {
    return all_ours() ? nothrow_new(n, (size_t)a)
                      : call(Aligned(&::operator new[]), n, a);
}
