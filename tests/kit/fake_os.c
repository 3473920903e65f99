// SPDX-License-Identifier: MIT
//
// The simulated kernel (fake_os.h). Invariant: `ranges` is sorted, its ranges
// are disjoint and not empty, and real memory lies under exactly these.
//
#include "fake_os.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define MAX_RANGES 65536

struct range {
    uintptr_t start;
    uintptr_t end;
    bool pool;
};

static struct range ranges[MAX_RANGES];
static size_t range_count;
static size_t mapped_bytes;
static size_t limit = SIZE_MAX; // of them
static size_t pool_pages;
static uint64_t clock_ms = 1000;
static uint64_t cpu_ns;
static bool reports;
static bool shared;
static uint64_t touch_ns;    // what the first touch of a huge page takes
static uint64_t collapse_ns; // and a collapse, or its refusal
static bool last_advice_huge;

static unsigned long counts[FAKE_CALLS];
static unsigned long calls_seen;
static unsigned long fail_at;
static int fail_error;
static unsigned fail_mask;
static bool fail_on;

static const char *const names[FAKE_CALLS] = {
    "map",         "unmap",    "discard",  "advise_huge",
    "advise_base", "collapse", "populate", "move"};

static _Noreturn void broken(enum fake_call call, const void *at, size_t bytes,
                             const char *what) {
    dprintf(STDOUT_FILENO, "  fake_os: %s(%p, %zu): %s\n", names[call], at,
            bytes, what);
    abort();
}

// Counts the call; true where it has to fail.
static bool fails(enum fake_call call) {
    counts[call]++;
    if (!(fail_mask & FAKE_BIT(call)))
        return false;
    calls_seen++;
    return fail_at != 0 &&
           (calls_seen == fail_at || (fail_on && calls_seen > fail_at));
}

// Index of the first range that ends behind `at`.
static size_t first_behind(uintptr_t at) {
    size_t low = 0;
    size_t high = range_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (ranges[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert_range(size_t i, struct range r) {
    if (range_count == MAX_RANGES)
        broken(FAKE_MAP, (void *)r.start, r.end - r.start, "too many ranges");
    memmove(&ranges[i + 1], &ranges[i], (range_count - i) * sizeof r);
    ranges[i] = r;
    range_count++;
}

static bool is_free(uintptr_t start, uintptr_t end) {
    const size_t i = first_behind(start);
    return i == range_count || ranges[i].start >= end;
}

bool fake_os_is_mapped(const void *at, size_t bytes) {
    uintptr_t p = (uintptr_t)at;
    const uintptr_t end = p + bytes;
    for (size_t i = first_behind(p); p < end; i++) {
        if (i == range_count || ranges[i].start > p)
            return false;
        p = ranges[i].end;
    }
    return true;
}

size_t fake_os_pool_bytes(const void *at, size_t bytes) {
    const uintptr_t start = (uintptr_t)at;
    const uintptr_t end = start + bytes;
    size_t sum = 0;
    for (size_t i = first_behind(start); i < range_count; i++) {
        const struct range *const r = &ranges[i];
        if (r->start >= end)
            break;
        if (r->pool)
            sum += (r->end < end ? r->end : end) -
                   (r->start > start ? r->start : start);
    }
    return sum;
}

// Makes `at` a boundary between ranges, where it lies inside one.
static void split_at(uintptr_t at) {
    const size_t i = first_behind(at);
    if (i == range_count || ranges[i].start >= at)
        return;
    struct range right = ranges[i];
    right.start = at;
    ranges[i].end = at;
    insert_range(i + 1, right);
}

static bool exceeds_limit(size_t bytes) {
    return mapped_bytes > limit || bytes > limit - mapped_bytes;
}

static void check_arguments(enum fake_call call, const void *at, size_t bytes) {
    if ((uintptr_t)at % BL_BASE_SIZE != 0 || bytes % BL_BASE_SIZE != 0)
        broken(call, at, bytes, "not of whole base pages");
    if (bytes == 0)
        broken(call, at, bytes, "of no bytes");
}

static void check_mapped(enum fake_call call, const void *at, size_t bytes) {
    check_arguments(call, at, bytes);
    if (!fake_os_is_mapped(at, bytes))
        broken(call, at, bytes, "not all of it is mapped");
}

static int fake_map(void *at, size_t bytes, enum bl_os_page_kind kind) {
    const uintptr_t start = (uintptr_t)at;
    const bool pool = kind == BL_OS_HUGETLB_PAGES;
    check_arguments(FAKE_MAP, at, bytes);
    if (pool && (start % BL_HUGE_SIZE != 0 || bytes % BL_HUGE_SIZE != 0))
        broken(FAKE_MAP, at, bytes, "pool pages not of whole huge pages");
    if (fails(FAKE_MAP))
        return -fail_error;
    if (!is_free(start, start + bytes))
        return -EEXIST;
    if (exceeds_limit(bytes))
        return -ENOMEM;
    if (pool && bytes / BL_HUGE_SIZE > pool_pages)
        return -ENOMEM;
    void *const got =
        mmap(at, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
             -1, 0);
    if (got == MAP_FAILED)
        return -errno;
    if (pool)
        pool_pages -= bytes / BL_HUGE_SIZE;
    insert_range(first_behind(start),
                 (struct range){start, start + bytes, pool});
    mapped_bytes += bytes;
    return 0;
}

// Takes the ranges between two boundaries out of the map.
static void forget(uintptr_t start, uintptr_t end) {
    const size_t from = first_behind(start);
    size_t to = from;
    while (to < range_count && ranges[to].start < end) {
        mapped_bytes -= ranges[to].end - ranges[to].start;
        to++;
    }
    memmove(&ranges[from], &ranges[to], (range_count - to) * sizeof ranges[0]);
    range_count -= to - from;
}

static int fake_unmap(void *at, size_t bytes) {
    const uintptr_t start = (uintptr_t)at;
    check_mapped(FAKE_UNMAP, at, bytes);
    if (fails(FAKE_UNMAP))
        return -fail_error;
    const size_t pool = fake_os_pool_bytes(at, bytes);
    if (pool % BL_HUGE_SIZE != 0)
        broken(FAKE_UNMAP, at, bytes, "part of a page of the pool");
    split_at(start);
    split_at(start + bytes);
    forget(start, start + bytes);
    pool_pages += pool / BL_HUGE_SIZE;
    if (munmap(at, bytes) != 0)
        broken(FAKE_UNMAP, at, bytes, strerror(errno));
    return 0;
}

static int fake_discard(void *at, size_t bytes) {
    check_mapped(FAKE_DISCARD, at, bytes);
    if (fails(FAKE_DISCARD))
        return -fail_error;
    return madvise(at, bytes, MADV_DONTNEED) == 0 ? 0 : -errno;
}

static int fake_advise_huge(void *at, size_t bytes) {
    check_mapped(FAKE_ADVISE_HUGE, at, bytes);
    last_advice_huge = true;
    return fails(FAKE_ADVISE_HUGE) ? -fail_error : 0;
}

static int fake_advise_base(void *at, size_t bytes) {
    check_mapped(FAKE_ADVISE_BASE, at, bytes);
    last_advice_huge = false;
    return fails(FAKE_ADVISE_BASE) ? -fail_error : 0;
}

static int fake_collapse(void *at, size_t bytes) {
    check_mapped(FAKE_COLLAPSE, at, bytes);
    cpu_ns += collapse_ns;
    return fails(FAKE_COLLAPSE) ? -fail_error : 0;
}

static int fake_populate(void *at, size_t bytes) {
    check_mapped(FAKE_POPULATE, at, bytes);
    if (last_advice_huge)
        cpu_ns += touch_ns;
    return fails(FAKE_POPULATE) ? -fail_error : 0;
}

// One mapping after the other, as an older kernel wants it.
static void move_range(struct range r, uintptr_t to) {
    const size_t bytes = r.end - r.start;
    void *const got = mremap((void *)r.start, bytes, bytes,
                             MREMAP_MAYMOVE | MREMAP_FIXED, (void *)to);
    if (got != (void *)to)
        broken(FAKE_MOVE, (void *)r.start, bytes, strerror(errno));
    forget(r.start, r.end);
    insert_range(first_behind(to), (struct range){to, to + bytes, r.pool});
    mapped_bytes += bytes;
}

static int fake_move(void *from, size_t bytes, void *to) {
    const uintptr_t start = (uintptr_t)from;
    const uintptr_t end = start + bytes;
    const uintptr_t target = (uintptr_t)to;
    check_mapped(FAKE_MOVE, from, bytes);
    check_arguments(FAKE_MOVE, to, bytes);
    if (fails(FAKE_MOVE))
        return -fail_error;
    if (!is_free(target, target + bytes))
        return -EEXIST;
    if (exceeds_limit(bytes))
        return -ENOMEM;
    split_at(start);
    split_at(end);
    for (uintptr_t at = start; at < end;) {
        const struct range r = ranges[first_behind(at)];
        if (r.pool && (r.start % BL_HUGE_SIZE != 0 ||
                       (target + (r.start - start)) % BL_HUGE_SIZE != 0))
            broken(FAKE_MOVE, from, bytes, "part of a page of the pool");
        move_range(r, target + (r.start - start));
        at = r.end;
    }
    return 0;
}

static uint64_t fake_now_ms(void) { return clock_ms; }
static uint64_t fake_cpu_ns(void) { return cpu_ns; }
static bool fake_reports(void) { return reports; }
static bool fake_is_shared(const void *at, size_t bytes) {
    (void)at;
    (void)bytes;
    return shared;
}

void fake_os_install(void) {
    fail_mask = FAKE_MAY_FAIL;
    bl_os = (struct bl_os_hooks){
        .map = fake_map,
        .unmap = fake_unmap,
        .discard = fake_discard,
        .advise_huge = fake_advise_huge,
        .advise_base = fake_advise_base,
        .is_shared = fake_is_shared,
        .pool_free = fake_os_pool,
        .reports_free_pages = fake_reports,
        .collapse = fake_collapse,
        .populate = fake_populate,
        .move = fake_move,
        .now_ms = fake_now_ms,
        .process_ns = fake_cpu_ns,
        .thread_ns = fake_cpu_ns,
    };
}

void fake_os_fail(unsigned long n, int error, unsigned mask,
                  bool from_then_on) {
    fail_at = n;
    fail_error = error;
    fail_mask = mask;
    fail_on = from_then_on;
    calls_seen = 0;
}

unsigned long fake_os_calls(void) { return calls_seen; }
unsigned long fake_os_count(enum fake_call call) { return counts[call]; }
void fake_os_set_limit(size_t bytes) { limit = bytes; }
void fake_os_set_pool(size_t huge_pages) { pool_pages = huge_pages; }
size_t fake_os_pool(void) { return pool_pages; }
void fake_os_advance_ms(uint64_t ms) { clock_ms += ms; }
void fake_os_run_ms(uint64_t ms) { cpu_ns += ms * 1000000; }
void fake_os_begin_cpu(void) { cpu_ns = 0; }
void fake_os_set_reporting(bool on) { reports = on; }
void fake_os_set_shared(bool yes) { shared = yes; }
void fake_os_set_price_us(uint64_t us) { touch_ns = collapse_ns = us * 1000; }
void fake_os_set_collapse_us(uint64_t us) { collapse_ns = us * 1000; }
size_t fake_os_mapped_bytes(void) { return mapped_bytes; }
