// SPDX-License-Identifier: MIT
//
// What abi_cxx.cc needs of the heap: it is C++, and the heap's own headers are
// C11 with atomics.
//
#ifndef BL_HEAP_CXX_H
#define BL_HEAP_CXX_H

#include <stddef.h>

// operator new where malloc's fast path does not serve.
void *bl_new_slow(size_t bytes) __attribute__((visibility("hidden")));

// What operator new is made of; NULL without memory.
void *bl_new_block_slow(size_t bytes) __attribute__((visibility("hidden")));
// `align` is a power of two; up to 16 any block will do.
void *bl_new_block(size_t bytes, size_t align)
    __attribute__((visibility("hidden")));

// Our operator new(size_t), whoever else defines one.
void *bl_own_new(size_t bytes) __attribute__((visibility("hidden")));

// One line, then abort: out of memory, and nobody to throw.
void bl_new_without_library(void)
    __attribute__((cold, noreturn, visibility("hidden")));

#endif
