// SPDX-License-Identifier: MIT
//
// The file that one emulated process leaves behind: chunks of equal records
// in a file that grows, written through shared mappings, so that whatever ends
// the process - kill -9 too - what it counted until then is there to be read.
// The plug-in writes it (recorder.c), the command reads it; both are of one
// build, so the form is that of these structs.
//
// Numbers of records count from 0 over all chunks of a kind, in the order of
// the chunks in the file. A record is complete before its chunk's `count`
// covers it.
//
#ifndef BL_TLB_PROFILE_H
#define BL_TLB_PROFILE_H

#include "tlb/tlb.h"

#define BL_PROFILE_MAGIC UINT64_C(0x62694c54620a0001)
#define BL_PROFILE_CHUNK ((size_t)64 * BL_KIB)

enum bl_profile_kind {
    BL_PROFILE_OBJECTS = 1,
    BL_PROFILE_SITES,
    BL_PROFILE_CALLS,
    BL_PROFILE_MISSES,
    BL_PROFILE_THREADS,
    BL_PROFILE_KINDS
};

// The first chunk.
struct bl_profile_head {
    uint64_t magic;
    int32_t pid;
    int32_t parent;
    uint64_t start_us;      // on the clock that never goes back
    _Atomic(uint64_t) lost; // misses for which there was no room
    char program[4096];
};

struct bl_profile_chunk {
    uint32_t kind;
    _Atomic(uint32_t) count;
    uint64_t unused; // keeps records aligned to 16
};

// A file with code in it; "" is memory that no file stands behind.
struct bl_profile_object {
    char path[1024];
};

// One instruction: of a file by its place in it, else by its address.
struct bl_profile_site {
    uint64_t offset;
    uint32_t object;
    uint32_t size; // bytes of the instruction
};

// A calling context: `site` was called from by context `caller`. Context 0 is
// that of no known caller.
struct bl_profile_call {
    uint32_t caller;
    uint32_t site;
};

// What the accesses of one instruction in one context missed, by policy.
struct bl_profile_cost {
    _Atomic(uint64_t) first;  // not in the first level
    _Atomic(uint64_t) walks;  // nor in the second
    _Atomic(uint64_t) cycles; // spent translating, estimated
};

struct bl_profile_miss {
    uint32_t call;
    uint32_t site;
    uint32_t side; // enum bl_tlb_side
    uint32_t unused;
    struct bl_profile_cost cost[BL_TLB_POLICIES];
};

// Counted are the windows that were measured: all, without sampling.
struct bl_profile_thread {
    uint64_t instructions;
    uint64_t counted_instructions;
    uint64_t counted_accesses; // of data
};

// Bytes of one record; 0: no such kind.
size_t bl_profile_record_size(uint32_t kind);
// Records that a chunk holds.
size_t bl_profile_per_chunk(uint32_t kind);

// A whole file in memory.
struct bl_profile {
    char *bytes;
    size_t size;
    const struct bl_profile_head *head;
    uint32_t *chunks[BL_PROFILE_KINDS]; // indexes of chunks in the file
    uint32_t chunk_count[BL_PROFILE_KINDS];
    uint32_t record_count[BL_PROFILE_KINDS];
};

// Takes `bytes` (of malloc) over. False: no profile, and nothing is held.
bool bl_profile_open(struct bl_profile *profile, char *bytes, size_t size);
void bl_profile_close(struct bl_profile *profile);
// Record `index` of a kind; NULL: there is none.
const void *bl_profile_record(const struct bl_profile *profile,
                              enum bl_profile_kind kind, uint32_t index);

#endif
