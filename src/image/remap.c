// SPDX-License-Identifier: MIT
#include "image/remap.h"

#include "os/file.h"
#include "os/os.h"

const char bl_remap_no_huge_page[] =
    "the kernel had no huge page for the shadow";
const char bl_remap_not_told[] = "the kernel does not tell what is huge";

static void *address(const struct bl_remap *r) {
    return (void *)(uintptr_t)r->start;
}

static size_t length(const struct bl_remap *r) { return r->end - r->start; }

static void read_huge(struct bl_remap *r) {
    const int64_t huge = bl_file_huge_bytes(address(r), length(r));
    r->huge = huge < 0 ? 0 : (uint64_t)huge;
    r->unknown = huge < 0;
}

// A kernel that refuses to replace a mapping may have taken the old one down
// already (before Linux 6.12). Then the file's own bytes go back; a program
// that cannot have its text back must not run on.
static void put_back(const struct bl_remap *r) {
    void *const at = (void *)(uintptr_t)r->mapped_start;
    const size_t bytes = r->mapped_end - r->mapped_start;
    if (bl_file_is_mapped(at, bytes))
        return;
    if (r->file < 0 || bl_file_map_over(at, bytes, r->protection, r->file,
                                        r->offset, false) < 0)
        bl_fatal("the kernel took away program text and did not give it back");
}

// perf takes text from a pool for code that was made at run time, and finds no
// names for it. It does not learn of what is moved: so there it goes on to see
// the file that was there before.
static int move_over(const struct bl_remap *r, int shadow, uint64_t offset) {
    void *const aside = bl_file_scratch(length(r));
    if (!aside)
        return -1;
    int result =
        bl_file_map_over(aside, length(r), r->protection, shadow, offset, true);
    if (result == 0)
        result = bl_file_move_over(aside, length(r), address(r));
    if (result < 0)
        bl_file_scratch_free(aside, length(r));
    return result;
}

static int map_over(const struct bl_remap *r, int shadow, uint64_t offset) {
    return bl_file_map_over(address(r), length(r), r->protection, shadow,
                            offset, true);
}

const char *bl_remap_file(struct bl_remap *r, int shadow, uint64_t offset,
                          bool pool) {
    BL_ASSERT((r->start - offset) % BL_HUGE_SIZE == 0);
    BL_ASSERT(r->start < r->end);
    // Before Linux 5.16 such a mapping cannot be moved.
    if ((!pool || move_over(r, shadow, offset) < 0) &&
        map_over(r, shadow, offset) < 0) {
        put_back(r);
        return "the kernel refused to map the shadow";
    }
    r->shadowed = true;
    read_huge(r);
    if (r->huge == length(r))
        return NULL;
    // Split under memory pressure, or not huge when it was made.
    const int collapsed = bl_os.collapse(address(r), length(r));
    read_huge(r);
    return collapsed < 0 ? bl_remap_no_huge_page : NULL;
}

// The first unit, all that is filled: without huge pages the rest would be
// copied in vain.
static bool is_unit_huge(unsigned char *copy, const struct bl_remap *r) {
    return bl_file_huge_bytes(copy, length(r)) == (int64_t)BL_HUGE_SIZE ||
           bl_os.collapse(copy, BL_HUGE_SIZE) == 0;
}

static const char *fill_copy(unsigned char *copy, const struct bl_remap *r) {
    bl_os.advise_huge(copy, length(r));
    __builtin_memcpy(copy, address(r), BL_HUGE_SIZE);
    if (!is_unit_huge(copy, r))
        return "the kernel had no huge page for a copy";
    __builtin_memcpy(copy + BL_HUGE_SIZE,
                     (unsigned char *)address(r) + BL_HUGE_SIZE,
                     length(r) - BL_HUGE_SIZE);
    // Already huge where the kernel had the pages at hand.
    if (bl_file_huge_bytes(copy, length(r)) != (int64_t)length(r))
        bl_os.collapse(copy, length(r));
    return bl_file_protect(copy, length(r), r->protection) < 0
               ? "the system forbids executable copies"
               : NULL;
}

const char *bl_remap_copy(struct bl_remap *r) {
    BL_ASSERT(r->start % BL_HUGE_SIZE == 0 && r->end % BL_HUGE_SIZE == 0);
    BL_ASSERT(r->mapped_start == r->start && r->mapped_end == r->end);
    unsigned char *const copy = bl_file_scratch(length(r));
    if (!copy)
        return "no address space for a copy";
    const char *wrong = fill_copy(copy, r);
    if (wrong) {
        bl_file_scratch_free(copy, length(r));
        return wrong;
    }
    if (bl_file_move_over(copy, length(r), address(r)) < 0) {
        bl_file_scratch_free(copy, length(r));
        put_back(r);
        return "the kernel refused to move the copy";
    }
    read_huge(r);
    return NULL;
}

// One byte of each unit is read: a huge page is then mapped whole. Where the
// kernel can collapse file pages (READ_ONLY_THP_FOR_FS, or Linux 7.2), it is
// asked to; elsewhere it says EINVAL at once.
bool bl_remap_is_huge_already(struct bl_remap *r) {
    if ((r->start - r->offset) % BL_HUGE_SIZE != 0)
        return false;
    for (uint64_t unit = r->start; unit < r->end; unit += BL_HUGE_SIZE)
        (void)*(volatile const char *)(uintptr_t)unit;
    read_huge(r);
    if (r->huge == length(r))
        return true;
    if (bl_os.collapse(address(r), length(r)) < 0)
        return false;
    read_huge(r);
    return r->huge == length(r);
}
