// SPDX-License-Identifier: MIT
//
// The hooks as the real kernel fills them.
//
// Placement: MAP_FIXED_NOREPLACE (Linux 4.17) maps at an address or fails.
// An older kernel takes the flag for a hint and may map elsewhere; then the
// mapping is undone and -EEXIST returned. MREMAP has no such flag: the target
// is first claimed by an inaccessible mapping, which the move then replaces.
//
#include "os/os.h"
#include "os/pagemap.h"
#include "os/syscall.h"

#include <errno.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#define MAP_HUGE_2MIB (21 << 26)

static int map_exactly(void *at, size_t bytes, int prot, int flags) {
    const long got = bl_syscall6(
        SYS_mmap, (long)at, (long)bytes, prot,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | flags, -1, 0);
    if (got < 0 && got > -4096)
        return (int)got;
    if (got != (long)at) {
        bl_syscall2(SYS_munmap, got, bytes);
        return -EEXIST;
    }
    return 0;
}

static int os_map(void *at, size_t bytes, enum bl_os_page_kind kind) {
    const int huge =
        kind == BL_OS_HUGETLB_PAGES ? MAP_HUGETLB | MAP_HUGE_2MIB : 0;
    return map_exactly(at, bytes, PROT_READ | PROT_WRITE, huge);
}

static int os_unmap(void *at, size_t bytes) {
    return (int)bl_syscall2(SYS_munmap, at, bytes);
}

static int advise(void *at, size_t bytes, int advice) {
    return (int)bl_syscall3(SYS_madvise, at, bytes, advice);
}

static int os_discard(void *at, size_t bytes) {
    return advise(at, bytes, MADV_DONTNEED);
}

static int os_advise_huge(void *at, size_t bytes) {
    return advise(at, bytes, MADV_HUGEPAGE);
}

static int os_advise_base(void *at, size_t bytes) {
    return advise(at, bytes, MADV_NOHUGEPAGE);
}

static int os_collapse(void *at, size_t bytes) {
    const int result = advise(at, bytes, MADV_COLLAPSE);
    return result == -EAGAIN ? advise(at, bytes, MADV_COLLAPSE) : result;
}

// Before Linux 5.14 there is no MADV_POPULATE_WRITE: let the kernel write a
// few bytes to each page itself, since a fault it cannot serve comes back as
// -EFAULT where ours would be a SIGBUS.
static int os_populate(void *at, size_t bytes) {
    const int result = advise(at, bytes, MADV_POPULATE_WRITE);
    if (result != -EINVAL)
        return result;
    for (size_t offset = 0; offset < bytes; offset += BL_BASE_SIZE) {
        const long wrote = bl_syscall2(SYS_clock_gettime, CLOCK_MONOTONIC,
                                       (char *)at + offset);
        if (wrote < 0)
            return (int)wrote;
        __builtin_memset((char *)at + offset, 0, sizeof(struct timespec));
    }
    return 0;
}

#define ENTRIES 64 // read at once: 512 bytes of the stack of who calls malloc

// Of `pages` pages from the one that `fd` stands at on.
static size_t count_shared(int fd, size_t pages) {
    uint64_t entries[ENTRIES];
    size_t shared = 0;
    for (size_t done = 0; done < pages; done += ENTRIES) {
        const size_t n = pages - done < ENTRIES ? pages - done : ENTRIES;
        if (bl_os_read(fd, entries, n * sizeof entries[0]) !=
            (long)(n * sizeof entries[0]))
            return 0;
        for (size_t i = 0; i < n; i++)
            shared +=
                (entries[i] & PAGEMAP_PRESENT) && !(entries[i] & PAGEMAP_OWN);
    }
    return shared;
}

static bool os_is_shared(const void *at, size_t bytes) {
    const size_t pages = bytes >> BL_BASE_SHIFT;
    const uint64_t offset = ((uintptr_t)at >> BL_BASE_SHIFT) * sizeof(uint64_t);
    const int fd = bl_os_open_read("/proc/self/pagemap");
    if (fd < 0)
        return false;
    const bool found =
        bl_syscall3(SYS_lseek, fd, offset, SEEK_SET) == (long)offset;
    const size_t shared = found ? count_shared(fd, pages) : 0;
    bl_os_close(fd);
    return shared > pages / 2;
}

static size_t read_count(const char *path) {
    char text[24];
    size_t count = 0;
    if (bl_os_read_file(path, text, sizeof text) < 0)
        return 0;
    for (const char *c = text; *c >= '0' && *c <= '9'; c++)
        count = count * 10 + (size_t)(*c - '0');
    return count;
}

#define POOL "/sys/kernel/mm/hugepages/hugepages-2048kB/"

static size_t os_pool_free(void) {
    const size_t free = read_count(POOL "free_hugepages");
    const size_t promised = free ? read_count(POOL "resv_hugepages") : 0;
    return free > promised ? free - promised : 0;
}

// The order from which on free blocks are reported. Without a device that takes
// reports it is -1 as an unsigned number, before Linux 6.1 that of a huge page.
// (The command has the time to ask the device itself: machine_facts.c.)
static bool os_reports_free_pages(void) {
    const size_t order = read_count(
        "/sys/module/page_reporting/parameters/page_reporting_order");
    return order > 0 && order < 64;
}

static int os_move(void *from, size_t bytes, void *to) {
    const int claimed = map_exactly(to, bytes, PROT_NONE, MAP_NORESERVE);
    if (claimed < 0)
        return claimed;
    const long got = bl_syscall5(SYS_mremap, from, bytes, bytes,
                                 MREMAP_MAYMOVE | MREMAP_FIXED, to);
    if (got == (long)to)
        return 0;
    bl_syscall2(SYS_munmap, to, bytes);
    return (int)got;
}

static uint64_t os_now_ms(void) {
    struct timespec t = {0};
    bl_syscall2(SYS_clock_gettime, CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint64_t cpu_ns(int clock) {
    struct timespec t = {0};
    bl_syscall2(SYS_clock_gettime, clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t os_process_ns(void) { return cpu_ns(CLOCK_PROCESS_CPUTIME_ID); }
static uint64_t os_thread_ns(void) { return cpu_ns(CLOCK_THREAD_CPUTIME_ID); }

struct bl_os_hooks bl_os = {
    .map = os_map,
    .unmap = os_unmap,
    .discard = os_discard,
    .advise_huge = os_advise_huge,
    .advise_base = os_advise_base,
    .collapse = os_collapse,
    .populate = os_populate,
    .is_shared = os_is_shared,
    .pool_free = os_pool_free,
    .reports_free_pages = os_reports_free_pages,
    .move = os_move,
    .now_ms = os_now_ms,
    .process_ns = os_process_ns,
    .thread_ns = os_thread_ns,
};
