// SPDX-License-Identifier: MIT
#include "image/data.h"

#include "image/remap.h"
#include "os/file.h"
#include "os/os.h"

// A stack of this size is deep recursion already.
#define STACK_MOST (64 * BL_MIB)
// What is left between the stack and its limit.
#define STACK_MARGIN (256 * BL_KIB)

static bool units_of(const struct bl_maps_entry *e, uint64_t *start,
                     uint64_t *end) {
    *start = bl_align_up(e->start, BL_HUGE_SIZE);
    *end = bl_align_down(e->end, BL_HUGE_SIZE);
    return *start < *end;
}

static void advise(const struct bl_maps_entry *e) {
    uint64_t start;
    uint64_t end;
    if (units_of(e, &start, &end))
        bl_os.advise_huge((void *)(uintptr_t)start, end - start);
}

static bool is_anonymous(const struct bl_maps_entry *e) {
    return e->inode == 0 && e->path[0] == '\0' && !e->shared;
}

static bool is_object_data(const struct bl_maps_entry *e, bool *changed) {
    uint64_t start;
    uint64_t end;
    *changed = false;
    if (!e->inode || e->path[0] != '/' || e->shared || e->executable ||
        !e->readable)
        return false;
    if (!e->writable && !units_of(e, &start, &end))
        return false;
    // Relocated constants are read-only by now, and changed.
    *changed =
        e->writable || bl_file_has_private_pages((const void *)(uintptr_t)start,
                                                 end - start) == 1;
    return *changed;
}

// A handler of a signal could write between the copy and its move.
static void copy_units(const struct bl_maps_entry *e) {
    struct bl_remap r = {
        .protection = BL_FILE_READ | (e->writable ? BL_FILE_WRITE : 0u),
        .file = -1,
    };
    if (!units_of(e, &r.start, &r.end))
        return;
    r.mapped_start = r.start;
    r.mapped_end = r.end;
    const uint64_t signals = bl_file_block_signals();
    (void)bl_remap_copy(&r);
    bl_file_restore_signals(signals);
}

void bl_image_take_data(const struct bl_maps *maps) {
    struct bl_maps_entry e;
    uint64_t data_end = 0; // of the data just seen: .bss follows it
    for (const char *p = maps->text; bl_maps_next(&p, &e);) {
        bool changed = false;
        if (bl_str_eq(e.path, "[heap]")) {
            advise(&e);
        } else if (is_object_data(&e, &changed)) {
            copy_units(&e);
            data_end = e.end;
        } else if (is_anonymous(&e) && e.writable && e.start == data_end) {
            advise(&e);
        }
    }
}

static void grow_stack(const struct bl_maps_entry *e) {
    uint64_t most = bl_file_stack_room();
    if (most > STACK_MOST)
        most = STACK_MOST;
    if (most <= STACK_MARGIN + BL_HUGE_SIZE)
        return;
    const uint64_t low =
        bl_align_up(e->end - (most - STACK_MARGIN), BL_HUGE_SIZE);
    const uint64_t reach = bl_align_down(e->start, BL_HUGE_SIZE);
    if (low >= reach)
        return;
    // The flag belongs to the mapping, which grows and keeps it.
    bl_os.advise_huge((void *)(uintptr_t)e->start, e->end - e->start);
    // Reading takes no memory: it finds zeros that are nobody's.
    (void)bl_file_reach((const void *)(uintptr_t)low);
}

void bl_image_take_stack(const struct bl_maps *maps) {
    struct bl_maps_entry before = {0};
    struct bl_maps_entry e;
    for (const char *p = maps->text; bl_maps_next(&p, &e); before = e) {
        if (!bl_str_eq(e.path, "[stack]"))
            continue;
        // The stack must not grow into a neighbour, which its limit does not
        // know; and older kernels take so deep a touch for a mistake.
        if (before.end + STACK_MOST + BL_MIB < e.start &&
            bl_file_kernel_is_at_least(5, 0))
            grow_stack(&e);
        return;
    }
}
