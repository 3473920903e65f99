// SPDX-License-Identifier: MIT
//
// What a machine's TLBs look like: some by name, others from a file.
//
// The text form, one thing a line, '#' begins a comment:
//
//   tlb LEVEL SIDE PAGES ENTRIES WAYS   LEVEL 1|2, SIDE data|code|both,
//                                       PAGES base|huge|any, WAYS a number|full
//   second CYCLES                       a hit in level 2
//   structure 2m|1g|512g ENTRIES        a cache of upper levels' entries
//   near LINES WAYS CYCLES              lines of the page table in near caches
//   far LINES WAYS CYCLES               ... and in far ones
//   memory CYCLES                       a read that neither holds
//
#ifndef BL_TLB_GEOMETRY_H
#define BL_TLB_GEOMETRY_H

#include "base/base.h"

enum bl_tlb_side { BL_TLB_DATA, BL_TLB_CODE, BL_TLB_SIDES };
enum bl_tlb_page_size { BL_TLB_BASE, BL_TLB_HUGE, BL_TLB_PAGE_SIZES };

enum { BL_TLB_MOST_TABLES = 8, BL_TLB_MOST_ENTRIES = 65536 };

struct bl_tlb_table {
    bool sides[BL_TLB_SIDES];
    bool sizes[BL_TLB_PAGE_SIZES];
    uint32_t level; // 1 or 2
    uint32_t entries;
    uint32_t ways; // entries / ways is a power of two
};

struct bl_tlb_lines {
    uint32_t lines;
    uint32_t ways;
    uint32_t cycles;
};

struct bl_tlb_geometry {
    struct bl_tlb_table tables[BL_TLB_MOST_TABLES];
    uint32_t table_count;
    uint32_t second_cycles;
    uint32_t structure[3]; // entries for 2 MiB, 1 GiB, 512 GiB each
    struct bl_tlb_lines near;
    struct bl_tlb_lines far;
    uint32_t memory_cycles;
};

// "haswell skylake ...", for a message.
extern const char *const bl_tlb_geometry_names;

// The text form of a named machine; NULL: no such name.
const char *bl_tlb_geometry_text(const char *name);
// NULL, or what is wrong, with *line its number (0: the whole).
const char *bl_tlb_geometry_parse(const char *text, struct bl_tlb_geometry *out,
                                  unsigned *line);
// The table that serves a level, side and size; NULL: there is none.
const struct bl_tlb_table *
bl_tlb_geometry_table(const struct bl_tlb_geometry *geometry, uint32_t level,
                      enum bl_tlb_side side, enum bl_tlb_page_size size);

#endif
