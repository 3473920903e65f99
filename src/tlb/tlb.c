// SPDX-License-Identifier: MIT
#include "tlb/tlb.h"

#include <string.h>

const char *const bl_tlb_policy_names[BL_TLB_POLICIES] = {"base", "huge",
                                                          "backed"};

// Address bits below one entry of each level of the page table.
static const uint32_t level_shift[BL_TLB_LEVELS] = {12, 21, 30, 39};
enum { ENTRIES_PER_LINE_SHIFT = 3 };

size_t bl_tlb_entries(const struct bl_tlb_geometry *g) {
    size_t n = (size_t)g->near.lines + g->far.lines;
    for (uint32_t i = 0; i < g->table_count; i++)
        n += g->tables[i].entries;
    for (size_t i = 0; i < BL_TLB_CACHE_LEVELS; i++)
        n += g->structure[i];
    return n;
}

// Takes `entries` of the owner's arrays.
static struct bl_tlb_array take(uint32_t *next, uint32_t entries,
                                uint32_t ways) {
    const struct bl_tlb_array a = {*next, entries ? entries / ways - 1 : 0,
                                   entries ? ways : 0};
    *next += entries;
    return a;
}

static void place_tables(struct bl_tlb *t, uint32_t *next) {
    const struct bl_tlb_geometry *g = t->geometry;
    struct bl_tlb_array arrays[BL_TLB_MOST_TABLES];
    for (uint32_t i = 0; i < g->table_count; i++)
        arrays[i] = take(next, g->tables[i].entries, g->tables[i].ways);
    for (int side = 0; side < BL_TLB_SIDES; side++) {
        for (int size = 0; size < BL_TLB_PAGE_SIZES; size++) {
            const struct bl_tlb_table *one = bl_tlb_geometry_table(
                g, 1, (enum bl_tlb_side)side, (enum bl_tlb_page_size)size);
            const struct bl_tlb_table *two = bl_tlb_geometry_table(
                g, 2, (enum bl_tlb_side)side, (enum bl_tlb_page_size)size);
            t->first[side][size] = arrays[one - g->tables];
            if (two)
                t->second[side][size] = arrays[two - g->tables];
        }
    }
}

void bl_tlb_init(struct bl_tlb *t, const struct bl_tlb_geometry *g,
                 uint64_t *tags, uint64_t *stamps, uint32_t from) {
    uint32_t next = from;
    *t = (struct bl_tlb){.tags = tags, .stamps = stamps, .geometry = g};
    place_tables(t, &next);
    for (size_t i = 0; i < BL_TLB_CACHE_LEVELS; i++)
        t->structure[i] = take(&next, g->structure[i], g->structure[i]);
    t->near = take(&next, g->near.lines, g->near.ways);
    t->far = take(&next, g->far.lines, g->far.ways);
    BL_ASSERT(next == from + bl_tlb_entries(g));
}

// Looks `tag` up in the set that `number` chooses and makes it the most
// recently used; on a miss it takes the place of the least recently used.
static bool touch(struct bl_tlb *t, const struct bl_tlb_array *a,
                  uint64_t number, uint64_t tag, uint64_t now, uint32_t *slot) {
    const uint32_t base = a->first + (uint32_t)(number & a->set_mask) * a->ways;
    const uint64_t *tags = t->tags + base;
    const uint64_t *stamps = t->stamps + base;
    uint32_t victim = 0;
    for (uint32_t i = 0; i < a->ways; i++) {
        if (tags[i] == tag) {
            t->stamps[base + i] = now;
            *slot = base + i;
            return true;
        }
    }
    for (uint32_t i = 1; i < a->ways; i++) {
        if (stamps[i] < stamps[victim])
            victim = i;
    }
    t->tags[base + victim] = tag;
    t->stamps[base + victim] = now;
    *slot = base + victim;
    return false;
}

static bool touch_cache(struct bl_tlb *t, const struct bl_tlb_array *a,
                        uint64_t number, uint64_t now) {
    uint32_t slot;
    return a->ways != 0 &&
           touch(t, a, number, bl_tlb_tag(number, false), now, &slot);
}

// Reads the entry of `level` that translates `address`.
static uint32_t read_entry(struct bl_tlb *t, uint64_t address, uint32_t level,
                           uint64_t now) {
    const struct bl_tlb_geometry *g = t->geometry;
    const uint64_t line =
        (address >> (level_shift[level] + ENTRIES_PER_LINE_SHIFT)) *
            BL_TLB_LEVELS +
        level;
    if (touch_cache(t, &t->near, line, now))
        return g->near.cycles;
    if (touch_cache(t, &t->far, line, now))
        return g->far.cycles;
    return g->memory_cycles;
}

static uint32_t walk(struct bl_tlb *t, struct bl_tlb_page page, uint64_t now) {
    const uint32_t leaf = page.huge ? 1 : 0;
    const uint64_t address = page.number << level_shift[leaf];
    // The lowest level above the leaf's whose entry is known already.
    uint32_t known = leaf + 1;
    while (known < BL_TLB_LEVELS &&
           !touch_cache(t, &t->structure[known - 1],
                        address >> level_shift[known], now))
        known++;
    uint32_t cycles = 0;
    for (uint32_t level = known; level-- > leaf;)
        cycles += read_entry(t, address, level, now);
    return cycles;
}

struct bl_tlb_outcome bl_tlb_access(struct bl_tlb *t, enum bl_tlb_side side,
                                    struct bl_tlb_page page, uint64_t now) {
    const struct bl_tlb_array *second = &t->second[side][page.huge];
    const uint64_t tag = bl_tlb_tag(page.number, page.huge);
    struct bl_tlb_outcome out = {BL_TLB_FIRST, 0, 0};
    uint32_t slot;
    if (touch(t, &t->first[side][page.huge], page.number, tag, now, &out.slot))
        return out;
    if (second->ways && touch(t, second, page.number, tag, now, &slot)) {
        out.level = BL_TLB_SECOND;
        out.cycles = t->geometry->second_cycles;
        return out;
    }
    out.level = BL_TLB_WALK;
    out.cycles = walk(t, page, now);
    return out;
}

size_t bl_tlb_core_words(const struct bl_tlb_geometry *g) {
    return bl_tlb_entries(g) * 2 * BL_TLB_POLICIES;
}

void bl_tlb_core_init(struct bl_tlb_core *c, const struct bl_tlb_geometry *g,
                      uint64_t *words) {
    const size_t each = bl_tlb_entries(g);
    *c = (struct bl_tlb_core){.tags = words,
                              .stamps = words + BL_TLB_POLICIES * each,
                              .entries = BL_TLB_POLICIES * each};
    for (uint32_t i = 0; i < BL_TLB_POLICIES; i++)
        bl_tlb_init(&c->policy[i], g, c->tags, c->stamps, i * (uint32_t)each);
}

void bl_tlb_core_flush(struct bl_tlb_core *c) {
    memset(c->tags, 0, c->entries * sizeof *c->tags);
    memset(c->stamps, 0, c->entries * sizeof *c->stamps);
}

void bl_tlb_core_miss(struct bl_tlb_core *c, enum bl_tlb_side side,
                      uint64_t address, struct bl_tlb_page backed,
                      struct bl_tlb_outcome out[BL_TLB_POLICIES]) {
    const uint64_t number = address >> BL_BASE_SHIFT;
    const struct bl_tlb_page pages[BL_TLB_POLICIES] = {
        {number, false}, {address >> BL_HUGE_SHIFT, true}, backed};
    struct bl_tlb_filter *f = &c->filter[side][number % BL_TLB_FILTER];
    for (int i = 0; i < BL_TLB_POLICIES; i++) {
        out[i] = bl_tlb_access(&c->policy[i], side, pages[i], c->clock);
        f->slot[i] = out[i].slot;
    }
    f->page = number;
    f->backed_tag = bl_tlb_tag(backed.number, backed.huge);
}
