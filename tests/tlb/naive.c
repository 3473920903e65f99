// SPDX-License-Identifier: MIT
#include "naive.h"

#include <stdlib.h>
#include <string.h>

enum { TABLES = BL_TLB_MOST_TABLES + 5, LONGEST = 128 };

// A set is list[0 .. length), the last used one first.
struct set {
    uint64_t list[LONGEST];
    uint32_t length;
};

struct table {
    struct set *sets;
    uint32_t set_count;
    uint32_t ways;
};

struct naive {
    const struct bl_tlb_geometry *geometry;
    struct table tables[TABLES]; // TLBs; then 2 MiB, 1 GiB, 512 GiB, near, far
};

enum { STRUCTURE = BL_TLB_MOST_TABLES, NEAR = STRUCTURE + 3, FAR = NEAR + 1 };

static void make(struct table *t, uint32_t entries, uint32_t ways) {
    t->ways = entries ? ways : 0;
    t->set_count = entries ? entries / ways : 0;
    t->sets = calloc(t->set_count + 1, sizeof *t->sets);
}

struct naive *naive_new(const struct bl_tlb_geometry *g) {
    struct naive *n = calloc(1, sizeof *n);
    n->geometry = g;
    for (uint32_t i = 0; i < g->table_count; i++)
        make(&n->tables[i], g->tables[i].entries, g->tables[i].ways);
    for (int i = 0; i < 3; i++)
        make(&n->tables[STRUCTURE + i], g->structure[i], g->structure[i]);
    make(&n->tables[NEAR], g->near.lines, g->near.ways);
    make(&n->tables[FAR], g->far.lines, g->far.ways);
    return n;
}

void naive_free(struct naive *n) {
    for (int i = 0; i < TABLES; i++)
        free(n->tables[i].sets);
    free(n);
}

void naive_flush(struct naive *n) {
    for (int i = 0; i < TABLES; i++) {
        for (uint32_t k = 0; k < n->tables[i].set_count; k++)
            n->tables[i].sets[k].length = 0;
    }
}

// True where `key` was there; it is in front afterwards.
static bool use(struct table *t, uint64_t number, uint64_t key) {
    if (t->set_count == 0)
        return false;
    struct set *s = &t->sets[number % t->set_count];
    uint32_t at = 0;
    while (at < s->length && s->list[at] != key)
        at++;
    const bool found = at < s->length;
    if (!found) {
        if (s->length < t->ways)
            s->length++;
        at = s->length - 1;
    }
    memmove(&s->list[1], &s->list[0], at * sizeof s->list[0]);
    s->list[0] = key;
    return found;
}

static struct table *table_for(struct naive *n, uint32_t level,
                               enum bl_tlb_side side, bool huge) {
    for (uint32_t i = 0; i < n->geometry->table_count; i++) {
        const struct bl_tlb_table *t = &n->geometry->tables[i];
        if (t->level == level && t->sides[side] && t->sizes[huge])
            return &n->tables[i];
    }
    return NULL;
}

static uint32_t read_cycles(struct naive *n, uint64_t address, int level) {
    static const int covers[] = {12, 21, 30, 39};
    const uint64_t line = (address >> covers[level] >> 3) * 4 + (uint64_t)level;
    if (use(&n->tables[NEAR], line, line))
        return n->geometry->near.cycles;
    if (use(&n->tables[FAR], line, line))
        return n->geometry->far.cycles;
    return n->geometry->memory_cycles;
}

static uint32_t walk_cycles(struct naive *n, uint64_t number, bool huge) {
    static const int covers[] = {21, 30, 39};
    const uint64_t address = huge ? number << 21 : number << 12;
    const int leaf = huge ? 1 : 0;
    int top = 3; // the level to begin at, read from memory
    for (int i = leaf; i < 3; i++) {
        const uint64_t part = address >> covers[i];
        if (use(&n->tables[STRUCTURE + i], part, part)) {
            top = i;
            break;
        }
    }
    uint32_t cycles = 0;
    for (int level = top; level >= leaf; level--)
        cycles += read_cycles(n, address, level);
    return cycles;
}

enum bl_tlb_level naive_access(struct naive *n, enum bl_tlb_side side,
                               uint64_t number, bool huge, uint32_t *cycles) {
    const uint64_t key = number * 2 + huge;
    struct table *second = table_for(n, 2, side, huge);
    *cycles = 0;
    if (use(table_for(n, 1, side, huge), number, key))
        return BL_TLB_FIRST;
    if (second && use(second, number, key)) {
        *cycles = n->geometry->second_cycles;
        return BL_TLB_SECOND;
    }
    *cycles = walk_cycles(n, number, huge);
    return BL_TLB_WALK;
}
