// SPDX-License-Identifier: MIT
//
// What all threads of the emulated program share: where things lie, the
// instructions seen (sites), the calling contexts, and the misses of each
// instruction in each context. One lock guards all of it; threads come here
// only when an access missed and their own notes do not help.
//
// A context is the chain of call instructions that led here. Direct recursion
// and chains of more than `BL_TRACKER_DEEPEST` calls stay in one context, so
// that recursive programs have finitely many.
//
// Nobody is at work here while the program forks (plugin.c), so that a child
// finds all of it whole.
//
#ifndef BL_TLB_TRACKER_H
#define BL_TLB_TRACKER_H

#include "tlb/areas.h"
#include "tlb/map.h"
#include "tlb/recorder.h"

#include <pthread.h>

enum { BL_TRACKER_DEEPEST = 128, BL_TRACKER_MOST_CALLS = 1 << 20 };

// One instruction that may access memory, or begin a block. The notes spare a
// look into the maps; they are races by design: each is one pointer or one
// word, and what it says is checked before it is used.
struct bl_site {
    uint32_t index;
    _Atomic(struct bl_profile_miss *) recent[BL_TLB_SIDES];
    _Atomic(uint64_t) call; // context from << 32 | context to
};

struct bl_tracker {
    pthread_mutex_t lock;
    struct bl_recorder recorder;
    struct bl_areas areas;
    _Atomic(uint32_t) area_version;  // grows whenever `areas` changes
    _Atomic(uint32_t) flush_version; // ... whenever memory went away
    _Atomic(bool) threads;           // there has been a second one
    struct bl_map objects;           // hash of path -> index
    struct bl_map sites;             // object, place -> struct bl_site
    struct bl_site **site_list;
    size_t site_count;
    struct bl_map calls; // caller, site -> context
    struct bl_map misses;
    uint32_t *call_sites; // by context
    uint8_t *call_depths;
    uint32_t call_count;
};

void bl_tracker_start(struct bl_tracker *t, const char *directory);
// In a forked child.
void bl_tracker_after_fork(struct bl_tracker *t);

void bl_tracker_lock(struct bl_tracker *t);
void bl_tracker_unlock(struct bl_tracker *t);

// The site of an instruction; NULL: no memory. Takes the lock.
struct bl_site *bl_tracker_site(struct bl_tracker *t, uint64_t address,
                                uint32_t size);
// The context of a call at `site` made in context `caller`.
uint32_t bl_tracker_call(struct bl_tracker *t, uint32_t caller,
                         struct bl_site *site);
// Adds what an access cost.
void bl_tracker_count(struct bl_tracker *t, uint32_t call, struct bl_site *site,
                      enum bl_tlb_side side,
                      const struct bl_tlb_outcome out[BL_TLB_POLICIES]);
// A thread's record; NULL: no room.
struct bl_profile_thread *bl_tracker_thread(struct bl_tracker *t);

#endif
