// SPDX-License-Identifier: MIT
#include "tlb/profile.h"

#include <stdlib.h>

size_t bl_profile_record_size(uint32_t kind) {
    static const size_t sizes[BL_PROFILE_KINDS] = {
        [BL_PROFILE_OBJECTS] = sizeof(struct bl_profile_object),
        [BL_PROFILE_SITES] = sizeof(struct bl_profile_site),
        [BL_PROFILE_CALLS] = sizeof(struct bl_profile_call),
        [BL_PROFILE_MISSES] = sizeof(struct bl_profile_miss),
        [BL_PROFILE_THREADS] = sizeof(struct bl_profile_thread)};
    return kind < BL_PROFILE_KINDS ? sizes[kind] : 0;
}

size_t bl_profile_per_chunk(uint32_t kind) {
    BL_REQUIRE(bl_profile_record_size(kind) != 0);
    return (BL_PROFILE_CHUNK - sizeof(struct bl_profile_chunk)) /
           bl_profile_record_size(kind);
}

static struct bl_profile_chunk *chunk_at(const struct bl_profile *p,
                                         uint32_t index) {
    return (struct bl_profile_chunk *)(void *)(p->bytes +
                                               index * BL_PROFILE_CHUNK);
}

// All chunks of a kind but the last are full.
static void add_chunk(struct bl_profile *p, uint32_t index) {
    const struct bl_profile_chunk *c = chunk_at(p, index);
    const uint32_t kind = c->kind;
    if (bl_profile_record_size(kind) == 0)
        return; // grown, and not begun when the process ended
    const size_t most = bl_profile_per_chunk(kind);
    const uint32_t count = bl_load_acquire(&c->count);
    uint32_t *list =
        realloc(p->chunks[kind], (p->chunk_count[kind] + 1) * sizeof *list);
    BL_CHECK(list);
    p->chunks[kind] = list;
    list[p->chunk_count[kind]++] = index;
    p->record_count[kind] += count < most ? count : (uint32_t)most;
}

bool bl_profile_open(struct bl_profile *p, char *bytes, size_t size) {
    *p = (struct bl_profile){.bytes = bytes, .size = size};
    p->head = (const struct bl_profile_head *)(const void *)bytes;
    if (size < BL_PROFILE_CHUNK || p->head->magic != BL_PROFILE_MAGIC) {
        bl_profile_close(p);
        return false;
    }
    for (uint32_t i = 1; i < size / BL_PROFILE_CHUNK; i++)
        add_chunk(p, i);
    return true;
}

void bl_profile_close(struct bl_profile *p) {
    for (int kind = 0; kind < BL_PROFILE_KINDS; kind++)
        free(p->chunks[kind]);
    free(p->bytes);
    *p = (struct bl_profile){0};
}

const void *bl_profile_record(const struct bl_profile *p,
                              enum bl_profile_kind kind, uint32_t index) {
    if (index >= p->record_count[kind])
        return NULL;
    const size_t each = bl_profile_per_chunk(kind);
    const struct bl_profile_chunk *c =
        chunk_at(p, p->chunks[kind][index / each]);
    return (const char *)(c + 1) + index % each * bl_profile_record_size(kind);
}
