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
