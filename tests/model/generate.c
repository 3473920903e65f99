// SPDX-License-Identifier: MIT
//
// Random traces after the ways in which reasoners use memory: many small
// vectors that grow by half, a few arenas that grow for ever, terms and
// clauses of a few sizes, phases that fill and empty, worker threads that
// pass blocks on.
//
#include "model.h"

#define MOST_BYTES (160 * MODEL_MIB)

struct profile {
    const char *name;
    unsigned slots;   // how many blocks live at most
    unsigned threads; // 1: only the first
    unsigned vectors; // of 100 changes: growth by realloc
    unsigned pools;   // of 100: on pools
    unsigned aligned; // of 100 allocations
    unsigned zeroed;  // of 100 allocations
    unsigned phase;   // operations between turns of filling and emptying
    size_t (*size)(struct bl_random *);
};

static size_t below(struct bl_random *r, size_t n) {
    return (size_t)bl_random_below(r, n);
}

// Any magnitude up to 2^bits is as likely as any other.
static size_t log_uniform(struct bl_random *r, unsigned bits) {
    return below(r, (size_t)1 << (1 + below(r, bits)));
}

static size_t small_sizes(struct bl_random *r) {
    static const unsigned char common[] = {8, 16, 24, 24, 32, 40, 48, 64, 96};
    return below(r, 4) == 0 ? below(r, 1025) : common[below(r, 9)];
}

static size_t medium_sizes(struct bl_random *r) {
    return below(r, 100) < 80 ? log_uniform(r, 12) : log_uniform(r, 19);
}

static size_t large_sizes(struct bl_random *r) {
    return below(r, 100) < 50 ? log_uniform(r, 16) : log_uniform(r, 24);
}

static size_t one_size(struct bl_random *r) {
    return below(r, 50) == 0 ? log_uniform(r, 14) : 56;
}

// Near the sizes at which allocators change their minds.
static size_t edge_sizes(struct bl_random *r) {
    const size_t edge = (size_t)16 << below(r, 20);
    return edge + below(r, 33) - 16;
}

//   name     slots threads vectors pools aligned zeroed phase sizes
static const struct profile profiles[] = {
    {"small", 4000, 1, 5, 0, 2, 10, 3000, small_sizes},
    {"vectors", 1500, 1, 70, 0, 0, 5, 9000, medium_sizes},
    {"arenas", 12, 1, 60, 0, 5, 20, 1000, large_sizes},
    {"edges", 300, 1, 40, 0, 20, 20, 1500, edge_sizes},
    {"aligned", 600, 1, 20, 0, 80, 5, 1500, medium_sizes},
    {"phases", 4096, 2, 5, 0, 5, 20, 4000, one_size},
    {"pools", 3000, 1, 2, 80, 2, 5, 2500, small_sizes},
    {"threads", 2500, 6, 15, 0, 5, 10, 2500, medium_sizes},
    {"threaded_pools", 2500, 6, 5, 60, 2, 5, 2500, small_sizes},
    {"mixed", 1200, 4, 25, 20, 10, 20, 2000, large_sizes},
};

#define PROFILES (sizeof profiles / sizeof profiles[0])

const char *profile_name(unsigned i) {
    return i < PROFILES ? profiles[i].name : NULL;
}

struct generator {
    const struct profile *profile;
    struct bl_random *r;
    struct trace *trace;
    size_t size[MODEL_SLOTS]; // what a slot would hold; 0: empty
    size_t bytes;
    unsigned thread;
    bool filling;
};

static void set_size(struct generator *g, unsigned slot, size_t size) {
    g->bytes += size - g->size[slot];
    g->size[slot] = size;
}

static void emit(struct generator *g, enum op_kind kind, unsigned slot,
                 size_t a, size_t b) {
    trace_add(g->trace, (struct op){.kind = (uint8_t)kind,
                                    .thread = (uint8_t)g->thread,
                                    .slot = (uint16_t)slot,
                                    .pool = (uint8_t)below(g->r, 8),
                                    .a = a,
                                    .b = b});
}

static void emit_allocation(struct generator *g, unsigned slot) {
    const size_t size = g->profile->size(g->r);
    const size_t dice = below(g->r, 100);
    if (g->bytes + size > MOST_BYTES)
        return;
    if (dice < g->profile->aligned) {
        const size_t align = (size_t)16 << below(g->r, 18);
        emit(g, OP_align, slot, align, size);
    } else if (dice < g->profile->aligned + g->profile->zeroed) {
        const size_t count = 1 + below(g->r, 8);
        emit(g, OP_calloc, slot, count, size / count);
    } else {
        emit(g, OP_malloc, slot, size, 0);
    }
    set_size(g, slot, size + 1);
}

static void emit_release(struct generator *g, unsigned slot) {
    emit(g, OP_free, slot, 0, 0);
    set_size(g, slot, 0);
}

static void emit_growth(struct generator *g, unsigned slot) {
    const size_t old = g->size[slot];
    size_t size = old + old / 2 + 8;
    const size_t dice = below(g->r, 100);
    if (dice < 10)
        size = old + 1;
    else if (dice < 25)
        size = g->profile->size(g->r);
    else if (dice < 30)
        size = below(g->r, old + 1);
    const size_t most =
        g->profile->size == large_sizes ? 48 * MODEL_MIB : 3 * MODEL_MIB;
    if (size > most || g->bytes + size - old > MOST_BYTES)
        size = 1 + below(g->r, 64);
    emit(g, OP_realloc, slot, size, 0);
    set_size(g, slot, size + 1);
}

static void emit_pool_op(struct generator *g, unsigned slot) {
    const size_t dice = below(g->r, 1000);
    if (dice < 6) {
        emit(g, OP_delete, 0, 0, 0);
        return;
    }
    if (dice < 16) {
        emit(g, OP_stats, 0, 0, 0);
        return;
    }
    if (dice < 40) {
        const size_t align =
            below(g->r, 4) == 0 ? (size_t)8 << below(g->r, 10) : 0;
        emit(g, below(g->r, 2) == 0 ? OP_pool : OP_private, 0,
             1 + log_uniform(g->r, 12), align);
        return;
    }
    if (g->filling || below(g->r, 3) == 0) {
        emit(g, OP_take, slot, 0, 0);
        set_size(g, slot, 64);
    } else {
        emit_release(g, slot);
    }
}

static void emit_rare(struct generator *g, unsigned slot) {
    switch (below(g->r, 5)) {
    case 0:
        emit(g, OP_absurd, slot, (size_t)bl_random_next(g->r), 0);
        break;
    case 1:
        emit(g, OP_trim, 0, 0, 0);
        break;
    case 2:
        if (g->thread > 0)
            emit(g, OP_end, 0, 0, 0);
        break;
    case 3:
        emit(g, OP_realloc, slot, 0, 0);
        set_size(g, slot, 0);
        break;
    default:
        emit(g, OP_usable, slot, 0, 0);
        break;
    }
}

static void emit_one(struct generator *g, bool pools) {
    const struct profile *const p = g->profile;
    const unsigned slot = (unsigned)below(g->r, p->slots);
    if (below(g->r, 40) == 0 && p->threads > 1)
        g->thread = (unsigned)below(g->r, p->threads);
    if (below(g->r, 300) == 0)
        emit_rare(g, slot);
    else if (pools && below(g->r, 100) < p->pools)
        emit_pool_op(g, slot);
    else if (g->size[slot] != 0 && below(g->r, 100) < p->vectors)
        emit_growth(g, slot);
    else if (g->size[slot] == 0 && (g->filling || below(g->r, 8) == 0))
        emit_allocation(g, slot);
    else if (!g->filling || below(g->r, 3) == 0)
        emit_release(g, slot);
}

void generate(struct trace *t, size_t ops, unsigned profile, bool pools,
              struct bl_random *r) {
    static struct generator g;
    g = (struct generator){.profile = &profiles[profile % PROFILES],
                           .r = r,
                           .trace = t,
                           .filling = true};
    t->count = 0;
    for (size_t tries = 0; t->count < ops && tries < 8 * ops; tries++) {
        if (below(r, g.profile->phase) == 0)
            g.filling = !g.filling;
        emit_one(&g, pools);
    }
}
