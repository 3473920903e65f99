// SPDX-License-Identifier: MIT
//
// A model of the translation lookaside buffers of one core, and of the walks
// of the page table behind them.
//
// A TLB is a list of tables: level 1 or 2, for data, code or both, for base
// pages, huge pages or both. Each table is set-associative, replaces the least
// recently used entry of a set (real ones approximate this), and is filled on
// a miss; the second level is asked, and its entry counted as used, only when
// the first one missed. Neither level holds back entries for the other.
//
// A walk reads one entry per level of the page table, from the deepest level
// that a paging-structure cache knows. Each read costs what the level of the
// memory costs that holds its line: near, far, or memory; both caches hold
// nothing but lines of the page table, so their sizes are what data leaves to
// them. The cycles are an estimate, the misses are what the tables say.
//
// A core runs three policies side by side on the same accesses: all memory on
// base pages, all on huge pages, and as backed: what is said of each address.
// The fast path is exact: a hit in the first level under all three policies
// changes nothing but the time of use, and the filter knows where that lies.
//
// One core belongs to one thread. Nothing here allocates after init.
//
#ifndef BL_TLB_TLB_H
#define BL_TLB_TLB_H

#include "base/base.h"
#include "tlb/geometry.h"

enum bl_tlb_policy {
    BL_TLB_ALL_BASE,
    BL_TLB_ALL_HUGE,
    BL_TLB_AS_BACKED,
    BL_TLB_POLICIES
};

extern const char *const bl_tlb_policy_names[BL_TLB_POLICIES];

enum bl_tlb_level { BL_TLB_FIRST, BL_TLB_SECOND, BL_TLB_WALK };

// A page of either size: its address in units of its size.
struct bl_tlb_page {
    uint64_t number;
    bool huge;
};

// One set-associative table: entries [first, first + sets * ways) of the
// owner's arrays.
struct bl_tlb_array {
    uint32_t first;
    uint32_t set_mask; // sets - 1
    uint32_t ways;     // 0: there is none
};

enum { BL_TLB_CACHE_LEVELS = 3, BL_TLB_LEVELS = 4 };

// One policy. `tags` and `stamps` are the owner's; a tag of 0 is empty, the
// smallest stamp of a set is its victim.
struct bl_tlb {
    uint64_t *tags;
    uint64_t *stamps;
    struct bl_tlb_array first[BL_TLB_SIDES][BL_TLB_PAGE_SIZES];
    struct bl_tlb_array second[BL_TLB_SIDES][BL_TLB_PAGE_SIZES];
    struct bl_tlb_array structure[BL_TLB_CACHE_LEVELS]; // 2 MiB, 1 GiB, 512 GiB
    struct bl_tlb_array near;
    struct bl_tlb_array far;
    const struct bl_tlb_geometry *geometry;
};

// What one access did.
struct bl_tlb_outcome {
    enum bl_tlb_level level;
    uint32_t cycles; // spent translating
    uint32_t slot;   // of its first-level entry
};

// Entries that one policy needs.
size_t bl_tlb_entries(const struct bl_tlb_geometry *geometry);
// Uses entries [from, from + bl_tlb_entries) of the arrays, all zero.
void bl_tlb_init(struct bl_tlb *tlb, const struct bl_tlb_geometry *geometry,
                 uint64_t *tags, uint64_t *stamps, uint32_t from);
// `now` grows from access to access and is never 0.
struct bl_tlb_outcome bl_tlb_access(struct bl_tlb *tlb, enum bl_tlb_side side,
                                    struct bl_tlb_page page, uint64_t now);

BL_INLINE uint64_t bl_tlb_tag(uint64_t number, bool huge) {
    return (uint64_t)1 << 63 | number << 1 | huge;
}

enum { BL_TLB_FILTER = 256 };

// Where a base page's first-level entries lie. What the slots hold now decides
// whether it is true, so nothing ever has to be taken out.
struct bl_tlb_filter {
    uint64_t page; // whose: its slots may have been given to one like it, by
                   // the other side, and `backed_tag` would be another's
    uint32_t slot[BL_TLB_POLICIES];
    uint64_t backed_tag;
};

struct bl_tlb_core {
    uint64_t *tags;
    uint64_t *stamps;
    uint64_t clock; // accesses so far, of both sides
    struct bl_tlb_filter filter[BL_TLB_SIDES][BL_TLB_FILTER];
    struct bl_tlb policy[BL_TLB_POLICIES];
    size_t entries; // at `tags`, and at `stamps`
};

// Entries of 8 bytes for all policies; half are tags, half are stamps.
size_t bl_tlb_core_words(const struct bl_tlb_geometry *geometry);
// `words` are zero, and the caller's to free.
void bl_tlb_core_init(struct bl_tlb_core *core,
                      const struct bl_tlb_geometry *geometry, uint64_t *words);
// Empties all tables, as a change of address space does.
void bl_tlb_core_flush(struct bl_tlb_core *core);
// An access that `bl_tlb_core_hit` did not know; `backed` is the page that
// holds it as backed.
void bl_tlb_core_miss(struct bl_tlb_core *core, enum bl_tlb_side side,
                      uint64_t address, struct bl_tlb_page backed,
                      struct bl_tlb_outcome out[BL_TLB_POLICIES]);

// True: a hit in the first level under every policy, and all is done.
BL_INLINE bool bl_tlb_core_hit(struct bl_tlb_core *core, enum bl_tlb_side side,
                               uint64_t address) {
    const uint64_t page = address >> BL_BASE_SHIFT;
    const struct bl_tlb_filter *f = &core->filter[side][page % BL_TLB_FILTER];
    const uint64_t *tags = core->tags;
    const uint64_t now = ++core->clock;
    if (BL_UNLIKELY(f->page != page))
        return false;
    if (BL_UNLIKELY(tags[f->slot[BL_TLB_ALL_BASE]] != bl_tlb_tag(page, false)))
        return false;
    if (BL_UNLIKELY(tags[f->slot[BL_TLB_ALL_HUGE]] !=
                    bl_tlb_tag(address >> BL_HUGE_SHIFT, true)))
        return false;
    if (BL_UNLIKELY(tags[f->slot[BL_TLB_AS_BACKED]] != f->backed_tag))
        return false;
    core->stamps[f->slot[BL_TLB_ALL_BASE]] = now;
    core->stamps[f->slot[BL_TLB_ALL_HUGE]] = now;
    core->stamps[f->slot[BL_TLB_AS_BACKED]] = now;
    return true;
}

#endif
