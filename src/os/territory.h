// SPDX-License-Identifier: MIT
//
// The runtime's heap as others see it: where a territory may lie, how it is
// laid out (what is where, and why: reservoir/reservoir.h), and which mappings
// of a process belong to one.
//
// Addresses alone do not tell. With an unlimited stack (`ulimit -s unlimited`,
// `setarch -L`) the kernel puts every mapping of a program among the places
// where territories may lie; and programs ask for round or random addresses
// there. A territory is there only where a mapping begins at the very first
// byte of a place: its table of slices. What the tables describe is heap, and
// the rest of the place is anybody's.
//
#ifndef BL_OS_TERRITORY_H
#define BL_OS_TERRITORY_H

#include "base/base.h"

#define BL_METADATA_BYTES (64 * BL_GIB)

// Places of the tables from the start of the territory, and what they take.
#define BL_SLICES_AT ((size_t)0)
#define BL_UNIT_INFO_AT (16 * BL_GIB)
#define BL_RUNS_AT (17 * BL_GIB)
#define BL_UNIT_BITS_AT (18 * BL_GIB)
#define BL_MARK_BITS_AT (19 * BL_GIB)
#define BL_BUMP_AT (20 * BL_GIB)
#define BL_SLICE_INFO_BYTES (8 * BL_KIB) // for each unit of the small part
#define BL_RUN_BYTES ((size_t)64)        // for each unit of the large part

// Of a runtime; and of the pools of libbigleaf-table.a, many copies of which
// may be in a process (x86-64 and aarch64 with 47 and more bits of user
// addresses).
#define BL_RUNTIME_FIRST ((uintptr_t)0x100000000000)
#define BL_RUNTIME_BYTES (16 * BL_TIB)
#define BL_RUNTIME_SMALL_BYTES (4 * BL_TIB)
#define BL_RUNTIME_PLACES 4
#define BL_POOLS_FIRST ((uintptr_t)0x200000000000)
#define BL_POOLS_BYTES (4 * BL_TIB)
#define BL_POOLS_SMALL_BYTES (2 * BL_TIB)
#define BL_POOLS_PLACES 12

#define BL_TERRITORY_LOW BL_RUNTIME_FIRST
#define BL_TERRITORY_HIGH                                                      \
    (BL_RUNTIME_FIRST + BL_RUNTIME_PLACES * BL_RUNTIME_BYTES)
// All of them start at multiples of this from the lowest.
#define BL_TERRITORY_STEP BL_POOLS_BYTES
#define BL_TERRITORY_STARTS 16

// The territories of a process, learned from its mappings; all zero at first.
struct bl_territories {
    // By start: units of each part that the tables seen so far describe.
    struct {
        uint32_t small;
        uint32_t large;
    } units[BL_TERRITORY_STARTS];
    uint64_t table;     // start of the last table seen
    uint64_t table_end; // end of what was seen of it
};

// Whether private anonymous memory at [start, end) belongs to a territory. To
// be asked in the order of addresses. Tables are readable and writable; what a
// program was handed out it may protect as it likes.
bool bl_territories_take(struct bl_territories *t, uint64_t start, uint64_t end,
                         bool may_be_table);
// Whether there is a territory.
bool bl_territories_any(const struct bl_territories *t);

#endif
