// SPDX-License-Identifier: MIT
#include "tlb/map.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST = 1024 };

// Where `key` is, or where it would go. Multiplies by 2^64 over the golden
// ratio: the upper bits depend on all bits of the key.
static struct bl_map_entry *place(struct bl_map_entry *entries, size_t capacity,
                                  uint64_t key) {
    size_t i = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >>
                        (64 - bl_log2_floor(capacity)));
    while (entries[i].key != key && entries[i].key != BL_MAP_NO_KEY)
        i = (i + 1) & (capacity - 1);
    return &entries[i];
}

const uint64_t *bl_map_find(const struct bl_map *m, uint64_t key) {
    if (m->capacity == 0)
        return NULL;
    const struct bl_map_entry *e = place(m->entries, m->capacity, key);
    return e->key == key ? &e->value : NULL;
}

static bool grow(struct bl_map *m) {
    const size_t capacity = m->capacity ? 2 * m->capacity : LEAST;
    struct bl_map_entry *entries = malloc(capacity * sizeof *entries);
    if (!entries)
        return false;
    memset(entries, 0xff, capacity * sizeof *entries);
    for (size_t i = 0; i < m->capacity; i++) {
        if (m->entries[i].key != BL_MAP_NO_KEY)
            *place(entries, capacity, m->entries[i].key) = m->entries[i];
    }
    free(m->entries);
    m->entries = entries;
    m->capacity = capacity;
    return true;
}

bool bl_map_add(struct bl_map *m, uint64_t key, uint64_t value) {
    if (2 * (m->count + 1) > m->capacity && !grow(m))
        return false;
    struct bl_map_entry *e = place(m->entries, m->capacity, key);
    BL_ASSERT(e->key == BL_MAP_NO_KEY);
    *e = (struct bl_map_entry){key, value};
    m->count++;
    return true;
}

void bl_map_clear(struct bl_map *m) {
    free(m->entries);
    *m = (struct bl_map){0};
}
