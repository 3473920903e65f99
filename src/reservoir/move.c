// SPDX-License-Identifier: MIT
//
// Units that change their addresses and keep their memory; where the kernel
// refuses that, as some sandboxes do, their contents alone.
//
#include "reservoir/internal.h"

#include <errno.h>

// False: copied, and what was at `from` is ordinary memory at `to`. Ends the
// program without memory.
static bool move_or_copy(void *from, size_t bytes, void *to) {
    if (bl_os.move(from, bytes, to) == 0)
        return true;
    if (bl_os.map(to, bytes, BL_OS_BASE_PAGES) < 0)
        bl_fatal("the kernel refuses to move memory, and to map more");
    if (bl_policy.backing == BL_BACKING_BASE || bl_budget_defers())
        bl_os.advise_base(to, bytes);
    else
        bl_os.advise_huge(to, bytes);
    __builtin_memcpy(to, from, bytes);
    bl_unmap(from, bytes);
    return false;
}

void bl_move_or_copy_units(void *from, size_t units, void *to) {
    if (move_or_copy(from, units << BL_HUGE_SHIFT, to))
        bl_marks_move(from, units, to);
    else
        bl_marks_clear(from, units);
}

// A stretch may be of several mappings, and Linux before 6.17 moves one at a
// time: then half by half.
static int move_stretch(char *from, size_t units, char *to) {
    const int result = bl_os.move(from, units << BL_HUGE_SHIFT, to);
    if (result == 0 || result == -EEXIST || units == 1)
        return result;
    const size_t half = units / 2;
    const size_t first = half << BL_HUGE_SHIFT;
    const int one = move_stretch(from, half, to);
    if (one < 0)
        return one;
    const int two = move_stretch(from + first, units - half, to + first);
    if (two < 0) { // its place is free, so as a rule this cannot fail too
        if (!move_or_copy(to, first, from))
            bl_marks_clear(from, half);
    }
    return two;
}

int bl_move_units(void *from, size_t units, void *to) {
    const int result = move_stretch(from, units, to);
    if (result == 0)
        bl_marks_move(from, units, to);
    return result;
}
