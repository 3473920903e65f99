// SPDX-License-Identifier: MIT
#include "tlb/recorder.h"

#include "os/guest.h"
#include "os/os.h"

#include <stdlib.h>
#include <string.h>

static void *map_chunk(struct bl_recorder *r) {
    void *chunk = bl_guest_extend(
        r->file, (uint64_t)r->file_chunks * BL_PROFILE_CHUNK, BL_PROFILE_CHUNK);
    if (chunk)
        r->file_chunks++;
    return chunk;
}

// A name that no process of this run has used: process numbers come again.
static void choose_name(struct bl_recorder *r) {
    struct bl_text t;
    bl_text_init(&t, r->file, sizeof r->file);
    bl_text_str(&t, r->directory);
    bl_text_char(&t, '/');
    bl_text_u64(&t, (uint64_t)bl_os_pid());
    bl_text_char(&t, '-');
    bl_text_u64(&t, bl_os_random());
}

static void begin_file(struct bl_recorder *r) {
    choose_name(r);
    r->file_chunks = 0;
    r->head = map_chunk(r);
    if (!r->head)
        return;
    r->head->pid = bl_os_pid();
    r->head->parent = bl_os_parent_pid();
    r->head->start_us = bl_os.now_ms() * 1000;
    r->head->magic = BL_PROFILE_MAGIC;
}

void bl_recorder_start(struct bl_recorder *r, const char *directory) {
    *r = (struct bl_recorder){.directory = directory};
    begin_file(r);
}

void bl_recorder_name(struct bl_recorder *r, const char *program) {
    struct bl_text t;
    if (!r->head)
        return;
    bl_text_init(&t, r->head->program, sizeof r->head->program);
    bl_text_str(&t, program);
}

static struct bl_profile_chunk *add_chunk(struct bl_recorder *r,
                                          enum bl_profile_kind kind) {
    struct bl_profile_chunk **list =
        realloc(r->chunks[kind], (r->chunk_count[kind] + 1) * sizeof(void *));
    if (!list)
        return NULL;
    r->chunks[kind] = list;
    struct bl_profile_chunk *chunk = map_chunk(r);
    if (!chunk)
        return NULL;
    chunk->kind = (uint32_t)kind;
    list[r->chunk_count[kind]++] = chunk;
    return chunk;
}

void *bl_recorder_add(struct bl_recorder *r, enum bl_profile_kind kind,
                      uint32_t *index) {
    const size_t each = bl_profile_per_chunk(kind);
    const size_t within = r->record_count[kind] % each;
    if (!r->head)
        return NULL;
    struct bl_profile_chunk *chunk =
        within == 0 ? add_chunk(r, kind)
                    : r->chunks[kind][r->chunk_count[kind] - 1];
    if (!chunk)
        return NULL;
    *index = r->record_count[kind]++;
    // The caller fills the record in: until then it is zeroes, which the
    // reader understands as well.
    bl_store_release(&chunk->count, (uint32_t)within + 1);
    return (char *)(chunk + 1) + within * bl_profile_record_size(kind);
}

static bool is_kept(int kind) {
    return kind != BL_PROFILE_MISSES && kind != BL_PROFILE_THREADS;
}

static void copy_chunks(struct bl_recorder *r, int kind) {
    for (uint32_t i = 0; i < r->chunk_count[kind]; i++) {
        struct bl_profile_chunk *copy = r->head ? map_chunk(r) : NULL;
        if (copy)
            memcpy(copy, r->chunks[kind][i], BL_PROFILE_CHUNK);
        else
            r->head = NULL;
        bl_guest_unmap(r->chunks[kind][i], BL_PROFILE_CHUNK);
        r->chunks[kind][i] = copy;
    }
}

void bl_recorder_restart(struct bl_recorder *r) {
    struct bl_profile_head *old = r->head;
    if (!old)
        return;
    begin_file(r);
    bl_recorder_name(r, old->program);
    bl_guest_unmap(old, BL_PROFILE_CHUNK);
    for (int kind = 0; kind < BL_PROFILE_KINDS; kind++) {
        if (is_kept(kind)) {
            copy_chunks(r, kind);
            continue;
        }
        for (uint32_t i = 0; i < r->chunk_count[kind]; i++)
            bl_guest_unmap(r->chunks[kind][i], BL_PROFILE_CHUNK);
        r->chunk_count[kind] = 0;
        r->record_count[kind] = 0;
    }
}
