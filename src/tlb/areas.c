// SPDX-License-Identifier: MIT
#include "tlb/areas.h"

#include <stdlib.h>
#include <string.h>

// What malloc of glibc takes from mmap; smaller mappings are not the heap's.
#define LEAST_HEAP_MAPPING (128 * BL_KIB)

// The first area that ends above `address`.
static size_t position(const struct bl_areas *as, uint64_t address) {
    size_t low = 0;
    size_t high = as->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (as->list[middle].end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void insert(struct bl_areas *as, size_t at, const struct bl_area *a) {
    if (as->count == as->capacity) {
        const size_t capacity = as->capacity ? 2 * as->capacity : 64;
        struct bl_area *list = realloc(as->list, capacity * sizeof *list);
        if (!list)
            return; // unknown then, and on base pages
        as->list = list;
        as->capacity = capacity;
    }
    memmove(&as->list[at + 1], &as->list[at],
            (as->count - at) * sizeof as->list[0]);
    as->list[at] = *a;
    as->count++;
}

static void cut_front(struct bl_area *a, uint64_t start) {
    a->offset += start - a->start;
    a->start = start;
}

void bl_areas_unmap(struct bl_areas *as, uint64_t start, uint64_t end) {
    size_t i = position(as, start);
    if (i < as->count && as->list[i].start < start) {
        struct bl_area rest = as->list[i];
        as->list[i].end = start;
        i++;
        if (rest.end > end) {
            cut_front(&rest, end);
            insert(as, i, &rest);
            return;
        }
    }
    size_t gone = 0;
    while (i + gone < as->count && as->list[i + gone].end <= end)
        gone++;
    memmove(&as->list[i], &as->list[i + gone],
            (as->count - i - gone) * sizeof as->list[0]);
    as->count -= gone;
    if (i < as->count && as->list[i].start < end)
        cut_front(&as->list[i], end);
}

static void add(struct bl_areas *as, const struct bl_area *a) {
    if (a->start >= a->end)
        return;
    bl_areas_unmap(as, a->start, a->end);
    insert(as, position(as, a->start), a);
}

// The heap lies on whole units, whatever the libc's mapping begins with.
static void make_heap(struct bl_area *a) {
    a->huge_start = bl_align_down(a->start, BL_HUGE_SIZE);
    a->huge_end = a->end;
}

static void make_text(struct bl_area *a) {
    const uint64_t first = bl_align_up(a->offset, BL_HUGE_SIZE);
    const uint64_t last =
        bl_align_down(a->offset + (a->end - a->start), BL_HUGE_SIZE);
    if (first >= last)
        return;
    a->huge_start = a->start + (first - a->offset);
    a->huge_end = a->start + (last - a->offset);
}

static bool is_heap(const struct bl_area_map *m) {
    return !m->flags.file && m->flags.private_memory && !m->flags.stack &&
           !m->flags.executable && m->bytes >= LEAST_HEAP_MAPPING;
}

void bl_areas_map(struct bl_areas *as, const struct bl_area_map *m) {
    struct bl_area a = {.start = m->address,
                        .end = m->address + m->bytes,
                        .path = m->path,
                        .offset = m->offset};
    if (is_heap(m))
        make_heap(&a);
    else if (m->flags.file && m->flags.private_memory && !m->flags.writable)
        make_text(&a);
    add(as, &a);
}

void bl_areas_move(struct bl_areas *as, uint64_t from, uint64_t old_bytes,
                   uint64_t to, uint64_t new_bytes) {
    struct bl_area a = bl_areas_find(as, from);
    const bool heap = a.huge_end > a.huge_start && !a.path;
    bl_areas_unmap(as, from, from + old_bytes);
    a.start = to;
    a.end = to + new_bytes;
    a.huge_start = a.huge_end = 0;
    if (heap)
        make_heap(&a);
    add(as, &a);
}

void bl_areas_break(struct bl_areas *as, uint64_t brk) {
    if (as->brk_start == 0)
        as->brk_start = as->brk = brk;
    if (brk < as->brk)
        bl_areas_unmap(as, brk, as->brk);
    as->brk = brk;
    struct bl_area a = {.start = as->brk_start, .end = brk};
    make_heap(&a);
    add(as, &a);
}

struct bl_area bl_areas_find(const struct bl_areas *as, uint64_t address) {
    const size_t i = position(as, address);
    if (i < as->count && as->list[i].start <= address)
        return as->list[i];
    const uint64_t page = bl_align_down(address, BL_BASE_SIZE);
    return (struct bl_area){.start = page, .end = page + BL_BASE_SIZE};
}

struct beginning {
    struct bl_areas *areas;
    uint64_t guest_base;
};

static void take_mapping(const struct bl_guest_mapping *m, void *context) {
    const struct beginning *b = context;
    if (m->start < b->guest_base)
        return;
    struct bl_area a = {.start = m->start - b->guest_base,
                        .end = m->end - b->guest_base,
                        .path = m->path[0] ? strdup(m->path) : NULL,
                        .offset = m->offset};
    if (a.path && !m->writable)
        make_text(&a);
    add(b->areas, &a);
}

void bl_areas_begin(struct bl_areas *as, uint64_t guest_base) {
    struct beginning b = {as, guest_base};
    bl_guest_mappings(take_mapping, &b);
}
