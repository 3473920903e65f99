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

// A text as the kernel writes it tells of these two units of the heap, in
// whatever mappings, and of nothing else.
static void expect_two_units(const char *smaps) {
    struct bl_backing all;
    const struct bl_region_backing *const heap = &all.region[BL_REGION_HEAP];
    int ends[2];
    assert_int_eq(pipe(ends), 0);
    expect_true(write(ends[1], smaps, strlen(smaps)) == (ssize_t)strlen(smaps));
    close(ends[1]);
    expect_int_eq(bl_backing_read_from(ends[0], &all, NULL, NULL), 0);
    close(ends[0]);
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
