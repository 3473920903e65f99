// SPDX-License-Identifier: MIT
//
// One emulated thread: a core's TLBs, the chain of calls it is in, and what it
// has counted. Owned by the host thread that emulates it; only
// `bl_lane_new` and `bl_lane_free` may be called by another.
//
// The chain of calls is kept beside the program's own: a call pushes where its
// return address lies, a return takes away all at or below the address it
// reads. So a longjmp, an exception or a switch of stacks loses callers, but
// never sets the chain wrong for longer than until the next return.
//
#ifndef BL_TLB_LANE_H
#define BL_TLB_LANE_H

#include "tlb/tracker.h"

enum { BL_LANE_AREAS = 16, BL_LANE_ARGUMENTS = 6 };

struct bl_lane_frame {
    uint64_t stack; // address of the return address
    uint32_t call;  // context that it returns to
};

struct bl_lane {
    struct bl_tlb_core core;
    struct bl_tracker *tracker; // const
    uint64_t code_page;         // that the last block began on
    uint64_t code_accesses;     // of `core.clock`
    uint64_t instructions;
    uint32_t call; // context
    bool counting; // misses are recorded
    bool idle;     // accesses are passed over
    uint32_t area_version;
    uint32_t flush_version;
    struct bl_area areas[BL_LANE_AREAS]; // by unit; as of `area_version`
    struct bl_lane_frame *frames;
    size_t frame_count;
    size_t frame_capacity;
    struct bl_profile_thread *record; // NULL: no room for one
    uint64_t counted_accesses;        // of windows that are over
    uint64_t counted_instructions;
    uint64_t window_accesses; // where the present window began to count
    uint64_t window_instructions;
    uint64_t *words;                       // the core's
    uint32_t windows;                      // that have begun
    uint64_t window;                       // instructions of the present one
    uint64_t arguments[BL_LANE_ARGUMENTS]; // of the system call it is in
};

// NULL: no memory.
struct bl_lane *bl_lane_new(struct bl_tracker *tracker,
                            const struct bl_tlb_geometry *geometry);
void bl_lane_free(struct bl_lane *lane);
// In a forked child: counts from nothing, on a core of its own.
void bl_lane_after_fork(struct bl_lane *lane);
// Brings the record up to date.
void bl_lane_publish(struct bl_lane *lane);
// Begins or ends to count.
void bl_lane_count(struct bl_lane *lane, bool counting);

void bl_lane_miss(struct bl_lane *lane, struct bl_site *site,
                  enum bl_tlb_side side, uint64_t address);
// The call at `site` has stored its return address at `stack`.
void bl_lane_call(struct bl_lane *lane, struct bl_site *site, uint64_t stack);
void bl_lane_return(struct bl_lane *lane, uint64_t stack);

BL_INLINE void bl_lane_access(struct bl_lane *lane, struct bl_site *site,
                              uint64_t address) {
    if (BL_UNLIKELY(!bl_tlb_core_hit(&lane->core, BL_TLB_DATA, address)))
        bl_lane_miss(lane, site, BL_TLB_DATA, address);
}

BL_INLINE void bl_lane_fetch(struct bl_lane *lane, struct bl_site *site,
                             uint64_t address) {
    // On the same page again: its entries are the last used ones.
    if (BL_LIKELY(address >> BL_BASE_SHIFT == lane->code_page))
        return;
    lane->code_page = address >> BL_BASE_SHIFT;
    lane->code_accesses++;
    if (BL_UNLIKELY(!bl_tlb_core_hit(&lane->core, BL_TLB_CODE, address)))
        bl_lane_miss(lane, site, BL_TLB_CODE, address);
}

#endif
