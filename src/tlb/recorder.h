// SPDX-License-Identifier: MIT
//
// Writes a profile. Records never move, so pointers to them stay good until
// `bl_recorder_restart`. The caller holds a lock around everything but the
// counting in records that it was given.
//
// Nothing here fails loudly: a program must not end because a disk is full.
// What cannot be recorded is NULL, and the caller counts it as lost.
//
#ifndef BL_TLB_RECORDER_H
#define BL_TLB_RECORDER_H

#include "tlb/profile.h"

struct bl_recorder {
    struct bl_profile_head *head; // NULL: nothing can be recorded
    const char *directory;        // const
    char file[4200];
    uint32_t file_chunks;
    struct bl_profile_chunk **chunks[BL_PROFILE_KINDS];
    uint32_t chunk_count[BL_PROFILE_KINDS];
    uint32_t record_count[BL_PROFILE_KINDS];
};

// A new file in `directory` (which the recorder borrows) for this process.
void bl_recorder_start(struct bl_recorder *r, const char *directory);
// Says which program it is, once that is known.
void bl_recorder_name(struct bl_recorder *r, const char *program);
// In a forked child: the same sites, objects and contexts under the same
// numbers, in a file of its own; misses and threads from nothing.
void bl_recorder_restart(struct bl_recorder *r);
// A new record, all zero; NULL where there is no room.
void *bl_recorder_add(struct bl_recorder *r, enum bl_profile_kind kind,
                      uint32_t *index);

#endif
