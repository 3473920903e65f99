// SPDX-License-Identifier: MIT
//
// C11 atomics with the memory order in the name, so that a search finds every
// relaxed access. Where one thread relies on what another wrote before, a
// comment says which two operations pair.
//
#ifndef BL_BASE_ATOMIC_H
#define BL_BASE_ATOMIC_H

#include <stdatomic.h>

#define bl_load_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define bl_load_acquire(p) atomic_load_explicit((p), memory_order_acquire)
#define bl_store_relaxed(p, v)                                                 \
    atomic_store_explicit((p), (v), memory_order_relaxed)
#define bl_store_release(p, v)                                                 \
    atomic_store_explicit((p), (v), memory_order_release)
#define bl_load_seq_cst(p) atomic_load_explicit((p), memory_order_seq_cst)
#define bl_add_relaxed(p, v)                                                   \
    atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define bl_sub_relaxed(p, v)                                                   \
    atomic_fetch_sub_explicit((p), (v), memory_order_relaxed)
#define bl_add_acq_rel(p, v)                                                   \
    atomic_fetch_add_explicit((p), (v), memory_order_acq_rel)
#define bl_sub_acq_rel(p, v)                                                   \
    atomic_fetch_sub_explicit((p), (v), memory_order_acq_rel)
#define bl_exchange_acquire(p, v)                                              \
    atomic_exchange_explicit((p), (v), memory_order_acquire)
#define bl_exchange_acq_rel(p, v)                                              \
    atomic_exchange_explicit((p), (v), memory_order_acq_rel)
#define bl_exchange_seq_cst(p, v)                                              \
    atomic_exchange_explicit((p), (v), memory_order_seq_cst)
#define bl_cas_weak_seq_cst(p, old, v)                                         \
    atomic_compare_exchange_weak_explicit(                                     \
        (p), (old), (v), memory_order_seq_cst, memory_order_relaxed)
#define bl_cas_weak_release(p, old, v)                                         \
    atomic_compare_exchange_weak_explicit(                                     \
        (p), (old), (v), memory_order_release, memory_order_relaxed)
#define bl_cas_weak_acq_rel(p, old, v)                                         \
    atomic_compare_exchange_weak_explicit(                                     \
        (p), (old), (v), memory_order_acq_rel, memory_order_acquire)
#define bl_cas_strong_acq_rel(p, old, v)                                       \
    atomic_compare_exchange_strong_explicit(                                   \
        (p), (old), (v), memory_order_acq_rel, memory_order_acquire)

static inline void bl_cpu_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

#endif
