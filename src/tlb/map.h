// SPDX-License-Identifier: MIT
//
// A hash map from numbers to numbers, for what the plug-in looks up in its
// slow paths: open addressing, linear probing, at most half full, nothing is
// ever taken out. The caller holds a lock.
//
#ifndef BL_TLB_MAP_H
#define BL_TLB_MAP_H

#include "base/base.h"

#define BL_MAP_NO_KEY UINT64_MAX // a key that nothing has

struct bl_map_entry {
    uint64_t key;
    uint64_t value;
};

struct bl_map {
    struct bl_map_entry *entries;
    size_t capacity; // 0 or a power of two
    size_t count;
};

// The value of `key`; NULL: there is none.
const uint64_t *bl_map_find(const struct bl_map *map, uint64_t key);
// `key` must be new. False: no memory, and nothing has changed.
bool bl_map_add(struct bl_map *map, uint64_t key, uint64_t value);
void bl_map_clear(struct bl_map *map);

#endif
