// SPDX-License-Identifier: MIT
#include "os/backing.h"
#include "os/os.h"

#include "bl_test.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLACES ((size_t)16)
#define PART ((size_t)512 * 1024)
#define GAP ((size_t)4096)
#define STRIDE (3 * PART) // two parts with a gap between them, and room
#define READS 300

static char *map(char *at, size_t bytes) {
    char *got = mmap(at, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    assert_true(got == at);
    memset(got, 1, bytes);
    return got;
}

// What is read of [start, end), and of nothing that a sanitizer maps beside it.
struct range {
    uint64_t start;
    uint64_t end;
    uint64_t bytes;
};

static void add_within(const struct bl_mapping *mapping, void *context) {
    struct range *r = context;
    if (mapping->start >= r->start && mapping->end <= r->end)
        r->bytes += mapping->rss;
}

static uint64_t bytes_within(int pid, struct range r) {
    struct bl_backing all;
    expect_int_eq(bl_backing_read(pid, &all, add_within, &r), 0);
    return r.bytes;
}

// Joins and parts neighbours for ever.
static _Noreturn void toggle(char *base) {
    for (;;) {
        for (size_t i = 0; i < PLACES; i++)
            map(base + i * STRIDE + PART, GAP);
        for (size_t i = 0; i < PLACES; i++)
            munmap(base + i * STRIDE + PART, GAP);
    }
}

// Mappings that become one while they are read count once.
TEST(joined_mappings_count_once) {
    struct bl_backing all;
    char *base = mmap(NULL, PART + PLACES * STRIDE, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(base != MAP_FAILED);
    base += PART; // no neighbour below is joined to the first
    for (size_t i = 0; i < PLACES; i++) {
        map(base + i * STRIDE, PART);
        map(base + i * STRIDE + PART + GAP, PART);
    }
    if (bl_backing_read(0, &all, NULL, NULL) < 0)
        bl_test_skip("no smaps to read here");
    const struct range places = {(uintptr_t)base,
                                 (uintptr_t)base + PLACES * STRIDE, 0};
    const uint64_t without_gaps = bytes_within(0, places);
    expect_size_eq(without_gaps, 2 * PLACES * PART);
    const pid_t child = fork();
    if (child == 0)
        toggle(base);
    uint64_t most = 0;
    for (int i = 0; i < READS; i++) {
        const uint64_t bytes = bytes_within(child, places);
        most = bytes > most ? bytes : most;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    expect_true(most < without_gaps + PLACES * GAP + PART / 2);
}

#define LINES(range, rss, huge)                                                \
    range " rw-p 00000000 00:00 0 \n"                                          \
          "Rss:            " rss " kB\n"                                       \
          "Pss:            " rss " kB\n"                                       \
          "AnonHugePages:  " huge " kB\n"
#define ONE_UNIT LINES("100000000000-100000200000", "2048", "2048")
#define NEXT_UNIT LINES("100000200000-100000400000", "1024", "0")
#define TWO_UNITS LINES("100000000000-100000400000", "3072", "2048")

// What is read of a text as the kernel writes it.
static struct bl_backing read_text_of(uint64_t program, const char *smaps,
                                      bl_mapping_fn *each, void *context) {
    struct bl_backing all;
    int ends[2];
    assert_int_eq(pipe(ends), 0);
    expect_true(write(ends[1], smaps, strlen(smaps)) == (ssize_t)strlen(smaps));
    close(ends[1]);
    expect_int_eq(bl_backing_read_from(ends[0], program, &all, each, context),
                  0);
    close(ends[0]);
    return all;
}

static struct bl_backing read_text(const char *smaps, bl_mapping_fn *each,
                                   void *context) {
    return read_text_of(0, smaps, each, context);
}

// It tells of these two units of the heap, in whatever mappings, and of nothing
// else.
static void expect_two_units(const char *smaps) {
    const struct bl_backing all = read_text(smaps, NULL, NULL);
    const struct bl_region_backing *const heap = &all.region[BL_REGION_HEAP];
    expect_size_eq(bl_backing_total(&all).bytes, 3072 * BL_KIB);
    expect_size_eq(heap->bytes, 3072 * BL_KIB);
    expect_size_eq(heap->huge, 2048 * BL_KIB);
    expect_size_eq(heap->pss, 3072 * BL_KIB);
}

// Which of these a reader meets is up to the kernel and to chance.
TEST(neighbours_both_count) { expect_two_units(ONE_UNIT NEXT_UNIT); }

TEST(one_that_has_met_its_neighbour_counts_whole_and_once) {
    expect_two_units(ONE_UNIT TWO_UNITS);
}

TEST(the_part_of_one_that_was_parted_does_not_count_again) {
    expect_two_units(TWO_UNITS NEXT_UNIT);
}

// The first table and the last that counts of a runtime, and of pools.
#define RUNTIME                                                                \
    LINES("100000000000-100000040000", "4", "0")                               \
    LINES("100440000000-100440010000", "4", "0")
#define POOLS                                                                  \
    LINES("4c0000000000-4c0000040000", "4", "0")                               \
    LINES("4c0440000000-4c0440010000", "4", "0")
#define FOREIGN(range) LINES(range, "8192", "0")
#define SEVEN "7f0000000000-7f0000800000"

static void add_own(const struct bl_mapping *mapping, void *context) {
    uint64_t *const sum = context;
    if (strcmp(mapping->object, BL_OWN_HEAP) == 0) {
        expect_int_eq(mapping->region, BL_REGION_HEAP);
        *sum += mapping->rss;
    }
}

static void expect_own(const char *smaps, uint64_t kib, bool territory) {
    uint64_t own = 0;
    const struct bl_backing all = read_text(smaps, add_own, &own);
    expect_size_eq(own, kib * BL_KIB);
    expect_int_eq(all.territory, territory);
    // What a program maps for itself beside a runtime is no heap, and without
    // one may be.
    const struct bl_region_backing total = bl_backing_total(&all);
    const enum bl_region rest = territory ? BL_REGION_OTHER : BL_REGION_HEAP;
    expect_size_eq(all.region[rest].bytes, total.bytes - (territory ? own : 0));
}

// With an unlimited stack the kernel puts a program's mappings here.
TEST(addresses_of_a_territory_are_none) {
    expect_own(FOREIGN("2ad80b400000-2ad80f400000"), 0, false);
    expect_own(RUNTIME FOREIGN("2ad80b400000-2ad80f400000"), 8, true);
}

TEST(a_reservation_at_its_start_is_none) {
    expect_own("100000000000-110000000000 ---p 00000000 00:00 0 \n"
               "Rss:          0 kB\n" FOREIGN("140000000000-140000800000"),
               0, false);
}

// As programs do that guard, share out or compile into their blocks.
TEST(protected_blocks_are_of_the_heap) {
    expect_own(RUNTIME "101000000000-101000200000 r--p 00000000 00:00 0 \n"
                       "Rss:          8 kB\n"
                       "101000200000-101000400000 r-xp 00000000 00:00 0 \n"
                       "Rss:          16 kB\n",
               32, true);
}

// 32 units of the small part, 1024 of the large one; and as many that may have
// come since the tables were read.
TEST(tables_bound_the_parts_of_a_territory) {
    expect_own(RUNTIME FOREIGN("101000000000-101000800000"), 8200, true);
    expect_own(RUNTIME FOREIGN("101007e00000-101020000000"), 8200, true);
    expect_own(RUNTIME FOREIGN("101008000000-101008800000"), 8, true);
    expect_own(RUNTIME FOREIGN("140fffe00000-141000000000"), 8, true);
    expect_own(RUNTIME FOREIGN("141000000000-141000800000"), 8200, true);
    expect_own(RUNTIME FOREIGN("1410ffe00000-141100000000"), 8200, true);
    expect_own(RUNTIME FOREIGN("141100000000-141100200000"), 8, true);
}

TEST(tables_in_several_mappings_reach_as_far) {
    expect_own(LINES("100000000000-100000200000", "4", "0") //
               LINES("100000200000-100000400000", "4", "0") //
               LINES("100440000000-100440010000", "4", "0") //
               LINES("100440020000-100440030000", "4", "0") //
               FOREIGN("10107fe00000-101090000000")         //
               FOREIGN("1010a0000000-1010a0800000"),
               8204, true);
}

TEST(pools_have_places_of_their_own) {
    expect_own(POOLS FOREIGN("4c1000000000-4c1000800000"), 8200, true);
    expect_own(POOLS FOREIGN("4e1000000000-4e1000800000"), 8200, true);
    expect_own(POOLS FOREIGN("4e0fffe00000-4e1000000000"), 8, true);
    // Behind the parts of one kind and not behind those of the other.
    expect_own(RUNTIME FOREIGN("121000000000-121000800000"), 8, true);
    // A place that only pools have, and one that nobody has.
    expect_own(LINES("140000000000-140000040000", "4", "0"), 0, false);
    expect_own(RUNTIME POOLS FOREIGN(SEVEN), 16, true);
}

// An object of a page of code and one of data, and 8 MiB right behind it.
#define OBJECT(at, inode)                                                      \
    at "0000000-" at "0001000 r-xp 00000000 fe:00 " inode " /object\n"         \
       "Rss:          4 kB\n" at "0001000-" at                                 \
       "0002000 rw-p 00001000 fe:00 " inode " /object\n"                       \
       "Rss:          4 kB\n" FOREIGN(at "0002000-" at "0802000")

static void expect_data(uint64_t program, uint64_t kib) {
    const struct bl_backing all = read_text_of(
        program, OBJECT("2ad8", "7") OBJECT("2ad9", "8") OBJECT("5555", "9"),
        NULL, NULL);
    expect_size_eq(all.region[BL_REGION_DATA].bytes, kib * BL_KIB);
}

// Of three objects the first, for want of better knowledge.
TEST(what_follows_the_program_is_its_own) {
    expect_data(0, 3 * 4 + 8192);
    expect_data(7, 3 * 4 + 8192);
    expect_data(9, 3 * 4 + 2 * 8192);
}

// Before Linux 5.0 smaps does not say which mappings may be huge.
TEST(cause_without_a_word_on_eligibility) {
    uint64_t plain;
    struct bl_mapping m = {.start = 0, .end = 8 * BL_HUGE_SIZE};
    m.rss = 4 * BL_HUGE_SIZE;
    expect_int_eq(bl_mapping_cause(&m, &plain), BL_CAUSE_UNADVISED);
    m.advised = true;
    expect_int_eq(bl_mapping_cause(&m, &plain), BL_CAUSE_SHORTAGE);
    m.told = true;
    expect_int_eq(bl_mapping_cause(&m, &plain), BL_CAUSE_UNADVISED);
}
