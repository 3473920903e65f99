// SPDX-License-Identifier: MIT
//
// What the plug-in believes of the emulated program's memory: which addresses
// would lie on huge pages, across maps, unmaps, moves and brk; and the maps
// and opcodes it works with.
//
#include "bl_test.h"
#include "tlb/areas.h"
#include "tlb/branch.h"
#include "tlb/map.h"

#define MIB ((uint64_t)1 << 20)
#define BASE (UINT64_C(0x7f0000000000))

static const struct bl_guest_map_flags anonymous = {.private_memory = true,
                                                    .writable = true};
static const struct bl_guest_map_flags text = {
    .file = true, .private_memory = true, .executable = true};

static bool is_huge(const struct bl_areas *as, uint64_t address) {
    const struct bl_area a = bl_areas_find(as, address);
    return bl_area_page(&a, address).huge;
}

static uint64_t number(const struct bl_areas *as, uint64_t address) {
    const struct bl_area a = bl_areas_find(as, address);
    return bl_area_page(&a, address).number;
}

static void map(struct bl_areas *as, uint64_t at, uint64_t bytes,
                struct bl_guest_map_flags flags, uint64_t offset) {
    const struct bl_area_map m = {.address = at,
                                  .bytes = bytes,
                                  .flags = flags,
                                  .path = flags.file ? "/lib/x.so" : NULL,
                                  .offset = offset};
    bl_areas_map(as, &m);
}

// Areas are in order, do not overlap, and are not empty.
static void check(const struct bl_areas *as) {
    for (size_t i = 0; i < as->count; i++) {
        expect_size_lt(as->list[i].start, as->list[i].end);
        if (i > 0)
            expect_size_le(as->list[i - 1].end, as->list[i].start);
    }
}

TEST(what_nobody_mapped_is_on_base_pages) {
    struct bl_areas as = {0};
    const struct bl_area a = bl_areas_find(&as, BASE + 5000);
    expect_size_eq(a.start, BASE + 4096);
    expect_size_eq(a.end, BASE + 8192);
    expect_false(is_huge(&as, BASE));
    expect_size_eq(number(&as, BASE + 4096), (BASE >> 12) + 1);
}

TEST(large_anonymous_memory_is_heap) {
    struct bl_areas as = {0};
    struct bl_guest_map_flags stack = anonymous;
    struct bl_guest_map_flags shared = anonymous;
    stack.stack = true;
    shared.private_memory = false;
    map(&as, BASE, 1 * MIB, anonymous, 0);
    map(&as, BASE + 4 * MIB, 64 << 10, anonymous, 0);
    map(&as, BASE + 8 * MIB, 8 * MIB, stack, 0);
    map(&as, BASE + 16 * MIB, 8 * MIB, shared, 0);
    expect_true(is_huge(&as, BASE + 4097));
    expect_size_eq(number(&as, BASE + 4097), BASE >> 21);
    expect_false(is_huge(&as, BASE + 4 * MIB));
    expect_false(is_huge(&as, BASE + 8 * MIB));
    expect_false(is_huge(&as, BASE + 16 * MIB));
    check(&as);
}

TEST(text_is_huge_in_whole_units_of_the_file) {
    struct bl_areas as = {0};
    // 7 MiB from offset 1 MiB: the file's units at 2 and 4 MiB are whole,
    // the one at 6 MiB ends with the segment, at 8 MiB.
    map(&as, BASE + 4096, 7 * MIB, text, 1 * MIB);
    const uint64_t first = BASE + 4096 + 1 * MIB;
    expect_false(is_huge(&as, first - 1));
    expect_true(is_huge(&as, first));
    expect_true(is_huge(&as, first + 6 * MIB - 1));
    expect_false(is_huge(&as, first + 6 * MIB));
    // One number for each unit, whatever the addresses' own alignment.
    expect_size_eq(number(&as, first), number(&as, first + 2 * MIB - 1));
    expect_size_eq(number(&as, first) + 1, number(&as, first + 2 * MIB));
    map(&as, BASE + 64 * MIB, 1 * MIB, text, 0);
    expect_false(is_huge(&as, BASE + 64 * MIB));
}

TEST(brk_grows_and_shrinks) {
    struct bl_areas as = {0};
    bl_areas_break(&as, BASE + 4096);
    expect_false(is_huge(&as, BASE + 4096));
    bl_areas_break(&as, BASE + 3 * MIB);
    expect_true(is_huge(&as, BASE + 4096));
    expect_true(is_huge(&as, BASE + 3 * MIB - 1));
    bl_areas_break(&as, BASE + 2 * MIB);
    expect_false(is_huge(&as, BASE + 2 * MIB));
    check(&as);
}

TEST(holes_split_areas) {
    struct bl_areas as = {0};
    map(&as, BASE, 8 * MIB, anonymous, 0);
    bl_areas_unmap(&as, BASE + 2 * MIB, BASE + 4 * MIB);
    expect_size_eq(as.count, 2);
    expect_false(is_huge(&as, BASE + 3 * MIB));
    expect_true(is_huge(&as, BASE + 5 * MIB));
    map(&as, BASE + 1 * MIB, 4 * MIB, text, 0);
    expect_size_eq(as.count, 3);
    expect_size_eq(bl_areas_find(&as, BASE + 6 * MIB).start, BASE + 5 * MIB);
    bl_areas_unmap(&as, BASE, BASE + 8 * MIB);
    expect_size_eq(as.count, 0);
    check(&as);
}

TEST(moved_heap_stays_heap) {
    struct bl_areas as = {0};
    map(&as, BASE, 1 * MIB, anonymous, 0);
    bl_areas_move(&as, BASE, 1 * MIB, BASE + 64 * MIB, 4 * MIB);
    expect_false(is_huge(&as, BASE));
    expect_true(is_huge(&as, BASE + 67 * MIB));
    check(&as);
}

TEST(random_maps_keep_their_order) {
    struct bl_areas as = {0};
    struct bl_random r = {bl_test_seed()};
    for (int i = 0; i < 20000; i++) {
        const uint64_t start = BASE + 4096 * bl_random_below(&r, 4096);
        const uint64_t bytes = 4096 * (1 + bl_random_below(&r, 256));
        switch (bl_random_below(&r, 4)) {
        case 0:
            bl_areas_unmap(&as, start, start + bytes);
            expect_size_eq(bl_areas_find(&as, start).end, start + 4096);
            break;
        case 1:
            map(&as, start, bytes, text, 4096);
            expect_size_eq(bl_areas_find(&as, start + bytes - 1).end,
                           start + bytes);
            break;
        default:
            map(&as, start, bytes, anonymous, 0);
            expect_size_eq(bl_areas_find(&as, start).start, start);
        }
    }
    check(&as);
}

TEST(maps_find_what_was_added) {
    struct bl_map m = {0};
    for (uint64_t i = 0; i < 100000; i++)
        assert_true(bl_map_add(&m, i * 0x10001, ~i));
    for (uint64_t i = 0; i < 100000; i++) {
        const uint64_t *value = bl_map_find(&m, i * 0x10001);
        if (!value || *value != ~i)
            fail_test("key %llu", (unsigned long long)i);
    }
    expect_true(!bl_map_find(&m, 0x10000));
    bl_map_clear(&m);
    expect_true(!bl_map_find(&m, 0x10001));
}

TEST(calls_and_returns_are_known_by_their_bytes) {
    static const struct {
        unsigned char bytes[8];
        size_t n;
        enum bl_branch kind;
    } cases[] = {{{0xe8, 1, 2, 3, 4}, 5, BL_BRANCH_CALL},
                 {{0xff, 0xd0}, 2, BL_BRANCH_CALL},             // call *%rax
                 {{0x41, 0xff, 0xd4}, 3, BL_BRANCH_CALL},       // call *%r12
                 {{0xff, 0x15, 1, 2, 3, 4}, 6, BL_BRANCH_CALL}, // call *m
                 {{0xf2, 0xff, 0x15, 1, 2, 3, 4}, 7, BL_BRANCH_CALL},
                 {{0xff, 0xe0}, 2, BL_BRANCH_OTHER},       // jmp *%rax
                 {{0xff, 0x30}, 2, BL_BRANCH_OTHER},       // push m
                 {{0xe9, 1, 2, 3, 4}, 5, BL_BRANCH_OTHER}, // jmp
                 {{0xc3}, 1, BL_BRANCH_RETURN},
                 {{0xf3, 0xc3}, 2, BL_BRANCH_RETURN},
                 {{0xc2, 8, 0}, 3, BL_BRANCH_RETURN},
                 {{0x48, 0x8b, 0xc3}, 3, BL_BRANCH_OTHER},
                 {{0x66}, 1, BL_BRANCH_OTHER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_int_eq(bl_branch_kind(cases[i].bytes, cases[i].n),
                      cases[i].kind);
}
