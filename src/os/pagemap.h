// SPDX-License-Identifier: MIT
//
// /proc/PID/pagemap, whose header the C library may lack: bits of an entry
// (Documentation/admin-guide/mm), and the ioctl PAGEMAP_SCAN, Linux 6.7.
// Private to `os`.
//
#ifndef BL_OS_PAGEMAP_H
#define BL_OS_PAGEMAP_H

#include "base/base.h"

#include <sys/ioctl.h>

#define PAGEMAP_PRESENT (UINT64_C(1) << 63)
#define PAGEMAP_SWAPPED (UINT64_C(1) << 62)
#define PAGEMAP_FILE (UINT64_C(1) << 61)
#define PAGEMAP_OWN (UINT64_C(1) << 56) // mapped once

struct scan_region {
    uint64_t start;
    uint64_t end;
    uint64_t categories;
};
struct scan_arguments {
    uint64_t size;
    uint64_t flags;
    uint64_t start;
    uint64_t end;
    uint64_t walk_end;
    uint64_t regions;
    uint64_t region_count;
    uint64_t max_pages;
    uint64_t category_inverted;
    uint64_t category_mask;
    uint64_t category_anyof_mask;
    uint64_t return_mask;
};
#define SCAN_REQUEST _IOWR('f', 16, struct scan_arguments)
#define SCAN_HUGE (UINT64_C(1) << 6)
#define SCAN_REGIONS 64

#endif
