// SPDX-License-Identifier: MIT
//
// The C library's function behind one of ours that bears its name, in the
// preload library. Private to `runtime`.
//
#ifndef BL_RUNTIME_NEXT_H
#define BL_RUNTIME_NEXT_H

#include "base/base.h"

#include <features.h>

// Since 2.34 the C library itself holds those of libdl and libpthread, all
// under this version; ours stand before them from there on only.
#define BL_NEXT_VERSION "GLIBC_2.34"
#define BL_HAS_NEXT __GLIBC_PREREQ(2, 34)
#if BL_HAS_NEXT && (defined(__x86_64__) || defined(__aarch64__))
#define BL_LATE_FORK 1 // late_fork.c: of functions that have older versions
#else
#define BL_LATE_FORK 0
#endif

// Looked for once; `known` is 0 until then. Any thread.
uintptr_t bl_next(_Atomic(uintptr_t) *known, const char *name);
// The same of another version than BL_NEXT_VERSION.
uintptr_t bl_next_version(_Atomic(uintptr_t) *known, const char *name,
                          const char *version);

// Where the C library is not glibc; 0: it has no such function.
uintptr_t bl_in_other_libc(const char *name);

#endif
