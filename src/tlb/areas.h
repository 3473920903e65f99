// SPDX-License-Identifier: MIT
//
// What lies where in the emulated program, and which of it Bigleaf would have
// on huge pages:
//
//   heap    the memory behind brk, and private anonymous mappings as malloc
//           makes them (128 KiB and more, no stack): all of it
//   text    what a program or library never writes: whole 2 MiB units of a
//           segment, counted in the file, since Bigleaf places it so
//   others  stacks, written data, small and shared mappings: none
//
// Learnt from the mappings at the start and from each mmap, munmap, mremap and
// brk after it. Areas are kept in the order of their addresses and do not
// overlap. The caller holds a lock.
//
#ifndef BL_TLB_AREAS_H
#define BL_TLB_AREAS_H

#include "os/guest.h"
#include "tlb/tlb.h"

struct bl_area {
    uint64_t start, end;
    uint64_t huge_start, huge_end; // equal: nothing is huge
    const char *path;              // never freed; NULL: no file
    uint64_t offset;               // of `start` in the file
};

struct bl_areas {
    struct bl_area *list;
    size_t count;
    size_t capacity;
    uint64_t brk_start; // 0: not seen yet
    uint64_t brk;
};

// Those that are there before the program has run.
void bl_areas_begin(struct bl_areas *areas, uint64_t guest_base);

// Results of system calls that have succeeded. What a mapping covers is gone.
struct bl_area_map {
    uint64_t address, bytes;
    struct bl_guest_map_flags flags;
    const char *path; // of the file; NULL: none
    uint64_t offset;
};
void bl_areas_map(struct bl_areas *areas, const struct bl_area_map *map);
void bl_areas_unmap(struct bl_areas *areas, uint64_t start, uint64_t end);
void bl_areas_move(struct bl_areas *areas, uint64_t from, uint64_t old_bytes,
                   uint64_t to, uint64_t new_bytes);
void bl_areas_break(struct bl_areas *areas, uint64_t brk);

// Never NULL: where nothing is known, an area of that base page alone.
struct bl_area bl_areas_find(const struct bl_areas *areas, uint64_t address);

// The page that holds `address` as backed.
BL_INLINE struct bl_tlb_page bl_area_page(const struct bl_area *a,
                                          uint64_t address) {
    struct bl_tlb_page page = {address >> BL_BASE_SHIFT, false};
    if (address >= a->huge_start && address < a->huge_end) {
        // Units of text begin where they do in the file.
        page.number = (a->huge_start >> BL_HUGE_SHIFT) +
                      ((address - a->huge_start) >> BL_HUGE_SHIFT);
        page.huge = true;
    }
    return page;
}

#endif
