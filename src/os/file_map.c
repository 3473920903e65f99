// SPDX-License-Identifier: MIT
//
// Mappings of files, and what the kernel says of their pages.
//
// A mapping is laid over another with MAP_FIXED, and a mapping moved over
// another with MREMAP_FIXED: both replace under the kernel's own lock, so code
// that another thread (or this one) runs from the range goes on, provided that
// the bytes are the same.
//
#include "os/file.h"

#include "os/backing.h"
#include "os/os.h"
#include "os/pagemap.h"
#include "os/syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/personality.h>

#define PAGEMAP_BATCH 512

static int native_protection(unsigned protection) {
    return (protection & BL_FILE_READ ? PROT_READ : 0) |
           (protection & BL_FILE_WRITE ? PROT_WRITE : 0) |
           (protection & BL_FILE_EXECUTE ? PROT_EXEC : 0);
}

static bool is_error(long result) { return result < 0 && result > -4096; }

void *bl_file_scratch(size_t bytes) {
    const size_t slack = bytes >= BL_HUGE_SIZE ? BL_HUGE_SIZE : 0;
    const long got =
        bl_syscall6(SYS_mmap, 0, (long)(bytes + slack), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (is_error(got))
        return NULL;
    if (slack == 0)
        return (void *)got;
    const size_t low = (size_t)got;
    const size_t start = bl_align_up(low, BL_HUGE_SIZE);
    const size_t end = bl_align_up(start + bytes, BL_BASE_SIZE);
    if (start > low)
        bl_syscall2(SYS_munmap, low, start - low);
    const size_t high = bl_align_up(low + bytes + slack, BL_BASE_SIZE);
    if (high > end)
        bl_syscall2(SYS_munmap, end, high - end);
    return (void *)start;
}

void bl_file_scratch_free(void *at, size_t bytes) {
    if (at)
        bl_syscall2(SYS_munmap, at, bytes);
}

int bl_file_map_over(void *at, size_t bytes, unsigned protection, int fd,
                     uint64_t offset, bool populate) {
    const long got = bl_syscall6(
        SYS_mmap, (long)at, (long)bytes, native_protection(protection),
        MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE | (populate ? MAP_POPULATE : 0),
        fd, (long)offset);
    return is_error(got) ? (int)got : 0;
}

void *bl_file_map_shared(size_t bytes, int fd, uint64_t offset) {
    // Aligned scratch memory first: it gives the mapping its place.
    void *const at = bl_file_scratch(bl_align_up(bytes, BL_HUGE_SIZE));
    if (!at)
        return NULL;
    const long got =
        bl_syscall6(SYS_mmap, (long)at, (long)bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED, fd, (long)offset);
    if (is_error(got)) {
        bl_file_scratch_free(at, bl_align_up(bytes, BL_HUGE_SIZE));
        return NULL;
    }
    return at;
}

int bl_file_write_mapped(int fd, const void *buffer, size_t bytes,
                         uint64_t offset) {
    const uint64_t start = bl_align_down(offset, BL_HUGE_SIZE);
    const uint64_t end = bl_align_up(offset + bytes, BL_HUGE_SIZE);
    // A page that is not to be had is a result here, and a signal below.
    const int room = bl_file_reserve(fd, start, end - start);
    if (room < 0)
        return room;
    unsigned char *const at = bl_file_map_shared(end - start, fd, start);
    if (!at)
        return -ENOMEM;
    __builtin_memcpy(at + (offset - start), buffer, bytes);
    bl_file_scratch_free(at, end - start);
    return 0;
}

int bl_file_move_over(void *from, size_t bytes, void *to) {
    const long got = bl_syscall5(SYS_mremap, from, bytes, bytes,
                                 MREMAP_MAYMOVE | MREMAP_FIXED, to);
    return is_error(got) ? (int)got : 0;
}

int bl_file_protect(void *at, size_t bytes, unsigned protection) {
    return (int)bl_syscall3(SYS_mprotect, at, bytes,
                            native_protection(protection));
}

// mincore fails where part of the range is not mapped; one byte per base page.
bool bl_file_is_mapped(void *at, size_t bytes) {
    unsigned char resident[512];
    const size_t step = sizeof resident * BL_BASE_SIZE;
    for (size_t done = 0; done < bytes; done += step) {
        const size_t n = bytes - done < step ? bytes - done : step;
        if (bl_syscall3(SYS_mincore, (char *)at + done, n, resident) < 0)
            return false;
    }
    return true;
}

struct private_range {
    uint64_t start;
    uint64_t end;
    bool found;
};

static void look_for_private(const struct bl_mapping *m, void *context) {
    struct private_range *r = context;
    r->found |= m->start < r->end && m->end > r->start && m->anonymous;
}

// Where the program's file may not be read, pagemap may not either.
static int has_private_mappings(const void *at, size_t bytes) {
    struct private_range range = {(uintptr_t)at, (uintptr_t)at + bytes, false};
    struct bl_backing all;
    const int error = bl_backing_read(0, &all, look_for_private, &range);
    return error < 0 ? error : range.found;
}

int bl_file_has_private_pages(const void *at, size_t bytes) {
    uint64_t entries[PAGEMAP_BATCH];
    const int fd = bl_file_open("/proc/self/pagemap");
    if (fd < 0)
        return has_private_mappings(at, bytes);
    const uint64_t first = (uintptr_t)at / BL_BASE_SIZE;
    const uint64_t count = bytes / BL_BASE_SIZE;
    int result = 0;
    for (uint64_t done = 0; done < count && result == 0;) {
        const uint64_t n =
            count - done < PAGEMAP_BATCH ? count - done : PAGEMAP_BATCH;
        result = bl_file_read_at(fd, entries, n * sizeof entries[0],
                                 (first + done) * sizeof entries[0]);
        for (uint64_t i = 0; i < n && result == 0; i++) {
            const bool own = (entries[i] & PAGEMAP_SWAPPED) ||
                             ((entries[i] & PAGEMAP_PRESENT) &&
                              !(entries[i] & PAGEMAP_FILE));
            result = own ? 1 : 0;
        }
        done += n;
    }
    bl_os_close(fd);
    return result;
}

struct huge_range {
    uint64_t start;
    uint64_t end;
    uint64_t huge;
    bool unclear; // of some mapping, where in it its huge pages lie
};

// The kernel counts by mappings. Only their whole units can be huge: where all
// of these lie in the range, or all are huge, or none is, the count tells.
static void add_mapping(const struct bl_mapping *m, void *context) {
    struct huge_range *r = context;
    const uint64_t first = bl_align_up(m->start, BL_HUGE_SIZE);
    const uint64_t last = bl_align_down(m->end, BL_HUGE_SIZE);
    const uint64_t start = first > r->start ? first : r->start;
    const uint64_t end = last < r->end ? last : r->end;
    const uint64_t huge = m->huge + m->hugetlb;
    if (start >= end || huge == 0)
        return;
    if (start == first && end == last)
        r->huge += huge;
    else if (huge == last - first)
        r->huge += end - start;
    else
        r->unclear = true;
}

static int64_t huge_bytes_of_mappings(uint64_t start, uint64_t end) {
    struct huge_range range = {.start = start, .end = end};
    struct bl_backing all;
    const int error = bl_backing_read(0, &all, add_mapping, &range);
    if (error < 0)
        return error;
    return range.unclear ? -ENODATA : (int64_t)range.huge;
}

// Before Linux 6.7, or where a filter refuses the scan, by the list of all
// mappings.
int64_t bl_file_huge_bytes(const void *at, size_t bytes) {
    struct scan_region regions[SCAN_REGIONS];
    const uint64_t end = (uintptr_t)at + bytes;
    struct scan_arguments scan = {
        .size = sizeof scan,
        .start = (uintptr_t)at,
        .end = end,
        .regions = (uintptr_t)regions,
        .region_count = SCAN_REGIONS,
        .category_mask = SCAN_HUGE,
        .return_mask = SCAN_HUGE,
    };
    const int fd = bl_file_open("/proc/self/pagemap");
    if (fd < 0)
        return huge_bytes_of_mappings((uintptr_t)at, end);
    int64_t sum = 0;
    long found = 0;
    do {
        found = bl_syscall3(SYS_ioctl, fd, SCAN_REQUEST, &scan);
        for (long i = 0; i < found; i++)
            sum += (int64_t)(regions[i].end - regions[i].start);
        scan.start = scan.walk_end;
    } while (found > 0 && scan.start < end);
    bl_os_close(fd);
    return found < 0 ? huge_bytes_of_mappings((uintptr_t)at, end) : sum;
}

long bl_file_read_maps(int pid, char *buffer, size_t capacity) {
    char path[BL_PROC_PATH];
    return bl_os_read_file(bl_os_proc_path(path, pid, 0, "/maps"), buffer,
                           capacity);
}

bool bl_file_addresses_are_random(void) {
    const long persona = bl_syscall1(SYS_personality, 0xffffffff);
    if (persona >= 0 && (persona & ADDR_NO_RANDOMIZE))
        return false;
    char text[16];
    const long got = bl_os_read_file("/proc/sys/kernel/randomize_va_space",
                                     text, sizeof text);
    return got <= 0 || text[0] != '0';
}
