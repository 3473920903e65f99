// SPDX-License-Identifier: MIT
//
// operator new and delete, by their mangled names (Itanium C++ ABI), so that
// the runtime needs no C++ library. What only that library can do is asked of
// it through weak references: the new-handler, and throwing std::bad_alloc.
// This file is compiled with unwind tables, for the exception passes through.
//
// Limit: a new-handler that throws ends a nothrow new by terminate, since C
// cannot catch.
//
#include "heap/fast.h"
#include "heap/internal.h"

#include <stdbool.h>

typedef void (*new_handler)(void);

// std::get_new_handler() and libstdc++'s std::__throw_bad_alloc().
__attribute__((weak)) new_handler _ZSt15get_new_handlerv(void);
__attribute__((weak)) void _ZSt17__throw_bad_allocv(void);

BL_COLD static void *new_failed(size_t bytes, size_t align, bool may_throw) {
    for (;;) {
        const new_handler handler =
            _ZSt15get_new_handlerv ? _ZSt15get_new_handlerv() : NULL;
        if (handler == NULL) {
            if (!may_throw)
                return NULL;
            if (_ZSt17__throw_bad_allocv)
                _ZSt17__throw_bad_allocv();
            bl_fatal("operator new: out of memory, and no C++ library to "
                     "throw std::bad_alloc");
        }
        handler();
        void *p = bl_memalign(align, bytes);
        if (p != NULL)
            return p;
    }
}

BL_INLINE void *new_block(size_t bytes, bool may_throw) {
    void *p = bl_malloc_fast(bytes);
    return BL_LIKELY(p != NULL) ? p : new_failed(bytes, 16, may_throw);
}

BL_INLINE void *new_aligned(size_t bytes, size_t align, bool may_throw) {
    void *p = bl_memalign(align, bytes);
    return BL_LIKELY(p != NULL) ? p : new_failed(bytes, align, may_throw);
}

// X(name, parameters, what it does). A nothrow_t is passed by reference.
#define BL_NEW_FORMS(X)                                                        \
    X(_Znwm, (size_t n), new_block(n, true))                                   \
    X(_Znam, (size_t n), new_block(n, true))                                   \
    X(_ZnwmRKSt9nothrow_t, (size_t n, const void *t), new_block(n, t == NULL)) \
    X(_ZnamRKSt9nothrow_t, (size_t n, const void *t), new_block(n, t == NULL)) \
    X(_ZnwmSt11align_val_t, (size_t n, size_t a), new_aligned(n, a, true))     \
    X(_ZnamSt11align_val_t, (size_t n, size_t a), new_aligned(n, a, true))     \
    X(_ZnwmSt11align_val_tRKSt9nothrow_t,                                      \
      (size_t n, size_t a, const void *t), new_aligned(n, a, t == NULL))       \
    X(_ZnamSt11align_val_tRKSt9nothrow_t,                                      \
      (size_t n, size_t a, const void *t), new_aligned(n, a, t == NULL))

#define BL_DELETE_FORMS(X)                                                     \
    X(_ZdlPv, (void *p))                                                       \
    X(_ZdaPv, (void *p))                                                       \
    X(_ZdlPvm, (void *p, size_t))                                              \
    X(_ZdaPvm, (void *p, size_t))                                              \
    X(_ZdlPvSt11align_val_t, (void *p, size_t))                                \
    X(_ZdaPvSt11align_val_t, (void *p, size_t))                                \
    X(_ZdlPvmSt11align_val_t, (void *p, size_t, size_t))                       \
    X(_ZdaPvmSt11align_val_t, (void *p, size_t, size_t))                       \
    X(_ZdlPvRKSt9nothrow_t, (void *p, const void *))                           \
    X(_ZdaPvRKSt9nothrow_t, (void *p, const void *))                           \
    X(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t, const void *))    \
    X(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t, const void *))

#define DEFINE_NEW(name, parameters, expression)                               \
    void *name parameters;                                                     \
    BL_EXPORT void *name parameters { return expression; }
BL_NEW_FORMS(DEFINE_NEW)

#define DEFINE_DELETE(name, parameters)                                        \
    void name parameters;                                                      \
    BL_EXPORT void name parameters { bl_free_fast(p); }
BL_DELETE_FORMS(DEFINE_DELETE)
