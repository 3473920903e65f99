// SPDX-License-Identifier: MIT
//
// What the kernel says backs a process: every mapping of /proc/PID/smaps put
// into one of five regions, and how many of its resident bytes are huge.
//
// Huge are the bytes under AnonHugePages, ShmemPmdMapped, FilePmdMapped and
// the two hugetlb lines. KernelPageSize and THPeligible do not tell: they stay
// at 4 kB and 0 under file mappings that are huge throughout (Linux 6.18).
// Resident is Rss plus hugetlb, which Rss leaves out.
//
// Needs 4 KiB of stack, allocates nothing, keeps errno: it runs at the end of
// any program, on any thread, as well as in the `bigleaf` command.
//
#ifndef BL_OS_BACKING_H
#define BL_OS_BACKING_H

#include "base/base.h"

// heap   what malloc hands out: the runtime's territory and [heap]; without a
//        territory also the other private anonymous memory, which is where
//        glibc puts large blocks and its threads' arenas
// text   what a program or library never writes: code and read-only data,
//        and any executable memory
// data   what it writes: .data, relocated constants, .bss
// stack  the first thread's, and mappings behind a guard
// other  files, shared memory, and what the program maps for itself
enum bl_region {
    BL_REGION_HEAP,
    BL_REGION_TEXT,
    BL_REGION_DATA,
    BL_REGION_STACK,
    BL_REGION_OTHER,
    BL_REGIONS
};

extern const char *const bl_region_names[BL_REGIONS];

// All in bytes; huge counts hugetlb in, bytes too, pss does not.
struct bl_region_backing {
    uint64_t bytes;
    uint64_t huge;
    uint64_t hugetlb;
    uint64_t pss;
};

struct bl_backing {
    struct bl_region_backing region[BL_REGIONS];
    uint32_t mappings;
    bool territory; // the runtime's heap is there
};

// Why a mapping is not all huge, as far as the mapping itself shows.
enum bl_cause {
    BL_CAUSE_NONE,      // it is
    BL_CAUSE_SMALL,     // holds no whole aligned 2 MiB
    BL_CAUSE_REFUSED,   // MADV_NOHUGEPAGE
    BL_CAUSE_TAIL,      // the kernel would give more, less than 2 MiB is used
    BL_CAUSE_SHORTAGE,  // the kernel would give more, and did not
    BL_CAUSE_UNADVISED, // the kernel gives none here
    BL_CAUSES
};

extern const char *const bl_cause_names[BL_CAUSES];

// What the runtime's heap is called among objects.
#define BL_OWN_HEAP "bigleaf heap"

// One mapping as the kernel shows it; sizes in bytes.
struct bl_mapping {
    uint64_t start;
    uint64_t end;
    uint64_t offset;
    uint64_t inode;
    uint64_t rss;
    uint64_t pss;
    uint64_t anonymous; // of rss: pages of the process's own
    uint64_t huge;      // of rss: mapped by 2 MiB entries
    uint64_t hugetlb;
    enum bl_region region;
    bool writable;
    bool executable;
    bool advised;       // MADV_HUGEPAGE
    bool refused;       // MADV_NOHUGEPAGE
    bool eligible;      // THPeligible: 1
    bool told;          // whether it is (Linux 5.0)
    const char *path;   // "" for anonymous memory; cut at 255 bytes
    const char *object; // what to call it in a report
};

// Called once per mapping, in the order of addresses.
typedef void bl_mapping_fn(const struct bl_mapping *mapping, void *context);

// Reads process `pid` (0: this one); `each` may be NULL. 0, or -errno where
// the kernel does not tell, and then *out is all zero.
int bl_backing_read(int pid, struct bl_backing *out, bl_mapping_fn *each,
                    void *context);
// The same of an open file with such a text; it stays open. `program` is the
// inode of the program's file; 0: unknown.
int bl_backing_read_from(int fd, uint64_t program, struct bl_backing *out,
                         bl_mapping_fn *each, void *context);

// Why, and how many resident bytes of the mapping are not huge.
enum bl_cause bl_mapping_cause(const struct bl_mapping *mapping,
                               uint64_t *plain);

struct bl_region_backing bl_backing_total(const struct bl_backing *backing);

#endif
