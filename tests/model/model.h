// SPDX-License-Identifier: MIT
//
// The model test: a *trace* of legal calls is carried out against the
// allocator and against a shadow heap, which knows of every block where it
// lies, how long it is and what is in it. A trace that fails is shrunk to a
// few lines of text that can be replayed.
//
// A trace is a sequence of operations on numbered slots and pools. Each names
// the thread that carries it out; one thread runs at a time, so a trace is
// deterministic although blocks are freed by threads that did not allocate
// them. An operation that its slot's state does not allow is passed over:
// therefore every part of a trace is a trace, which is what shrinking needs.
//
#ifndef BL_TESTS_MODEL_MODEL_H
#define BL_TESTS_MODEL_MODEL_H

#include "bl_random.h"

#include <bigleaf/pool.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MODEL_SLOTS 4096
#define MODEL_POOLS 16
#define MODEL_THREADS 8
#define MODEL_MAX_OPS (1u << 20)

#define MODEL_KIB ((size_t)1 << 10)
#define MODEL_MIB ((size_t)1 << 20)

// X(name, has slot, has pool, further numbers)
#define MODEL_KINDS(X)                                                         \
    X(malloc, 1, 0, 1)  /* slot, size */                                       \
    X(calloc, 1, 0, 2)  /* slot, count, size */                                \
    X(align, 1, 0, 2)   /* slot, alignment, size */                            \
    X(realloc, 1, 0, 1) /* slot, size: of an empty slot too */                 \
    X(free, 1, 0, 0)    /* slot; a pool's block goes to its pool */            \
    X(usable, 1, 0, 0)  /* slot */                                             \
    X(absurd, 1, 0, 1)  /* slot, size: must fail and leave all as it is */     \
    X(take, 1, 1, 0)    /* slot, pool */                                       \
    X(pool, 0, 1, 2)    /* pool, block bytes, alignment */                     \
    X(private, 0, 1, 2) /* likewise, for one thread at a time */               \
    X(stats, 0, 1, 0)   /* pool */                                             \
    X(delete, 0, 1, 0)  /* pool, with all its blocks */                        \
    X(trim, 0, 0, 0)    /* give back what is free */                           \
    X(end, 0, 0, 0)     /* the thread ends; the next use starts a new one */   \
    X(check, 0, 0, 0)   /* compare every block */

enum op_kind {
#define MODEL_ENUM(name, slot, pool, numbers) OP_##name,
    MODEL_KINDS(MODEL_ENUM)
#undef MODEL_ENUM
        OP_KINDS
};

struct op {
    uint8_t kind;
    uint8_t thread;
    uint8_t pool;
    uint16_t slot;
    uint64_t a;
    uint64_t b;
};

struct trace {
    struct op *ops;
    size_t count;
    size_t capacity;
};

// The allocator under test. The pool functions are NULL where there are none,
// and so is what walks all its invariants for the thread that calls it.
struct model_api {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*aligned)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    size_t (*usable_size)(void *);
    int (*trim)(size_t);
    struct bl_pool *(*pool_new)(const struct bl_pool_spec *);
    void *(*pool_alloc)(struct bl_pool *);
    void (*pool_free)(struct bl_pool *, void *);
    void (*pool_read_stats)(const struct bl_pool *, struct bl_pool_stats *);
    void (*pool_delete)(struct bl_pool *);
    void (*walk)(void);
};

// Filled by api_libc.c or api_internal.c.
struct model_api model_api(void);

// --- trace.c: traces in memory that malloc knows nothing of, and as text

struct trace trace_new(size_t capacity);
void trace_add(struct trace *t, struct op op);
void trace_write(const struct trace *t, FILE *f);
// False, and a line on standard error, where the text is not a trace.
bool trace_read(struct trace *t, const char *path);
void op_write(const struct op *op, FILE *f);

// --- shadow.c: what must be true of every block

enum block_kind { BLOCK_NONE, BLOCK_HEAP, BLOCK_POOL };

struct shadow_block {
    unsigned char *at;
    size_t size;
    uint32_t tag; // of its contents
    uint8_t kind;
    uint8_t pool;
};

struct shadow {
    struct shadow_block block[MODEL_SLOTS];
    uint16_t order[MODEL_SLOTS]; // slots in use, by address
    size_t in_use;
    size_t bytes;
    uint32_t next_tag;
};

// Each returns NULL, or a sentence on what is wrong (in a static buffer).
const char *shadow_add(struct shadow *s, unsigned slot, void *at, size_t size,
                       size_t align, bool zeroed);
const char *shadow_check(const struct shadow *s, unsigned slot);
const char *shadow_check_all(const struct shadow *s);
// The first `size` bytes of `at` hold what the slot's block held.
const char *shadow_check_prefix(const struct shadow *s, unsigned slot,
                                const void *at, size_t size);
void shadow_remove(struct shadow *s, unsigned slot);

// --- replay.c

// Carries the trace out in this process. NULL, or what is wrong; *failed_at
// is then the number of the operation.
const char *replay(const struct model_api *api, const struct trace *t,
                   size_t *failed_at);
// The same in a forked child, so that it may crash. False where it failed;
// `why` (may be NULL) gets one line.
bool replay_in_child(const struct model_api *api, const struct trace *t,
                     char *why, size_t why_capacity);

// --- generate.c

struct profile;                       // a mixture of operations and sizes
const char *profile_name(unsigned i); // NULL behind the last
void generate(struct trace *t, size_t ops, unsigned profile, bool pools,
              struct bl_random *r);

// --- shrink.c

// Makes *t as short, and its numbers as small, as they can be while it still
// fails, in about `seconds`.
void shrink(const struct model_api *api, struct trace *t, unsigned seconds);

#endif
