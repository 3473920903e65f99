// SPDX-License-Identifier: MIT
//
// The values that one argument of a predicate of plain facts has beside each
// value of another: what a join reads, in a tenth of the memory in which index
// and clauses lie. A column belongs to the index over the other argument, which
// is dropped with it when the clauses change. It never changes itself and is
// read without a lock.
//
#ifndef BL_LOGIC_COLUMN_H
#define BL_LOGIC_COLUMN_H

#include "logic/clause.h"

// Keys that follow each other lie in slots that do, eight in a row: a join
// often asks for them in that order. The golden ratio spreads the rows evenly.
struct bl_column {
    uint32_t out; // the argument whose values are here
    uint32_t mask;
    uint32_t shift;
    bl_word *value;
    struct bl_column_slot {
        bl_word key;    // 0: free
        uint32_t at, n; // of `value`; none in a free slot
    } slot[];
};

// The slot of the key, or a free one.
BL_INLINE const struct bl_column_slot *bl_column_find(const struct bl_column *c,
                                                      bl_word key) {
    const uint64_t value = key >> BL_TAG_BITS;
    const uint64_t row = (value >> 3) * UINT64_C(0x9E3779B97F4A7C15);
    uint64_t i = (row >> c->shift) << 3 | (value & 7);
    for (;; i++) {
        const struct bl_column_slot *const s = &c->slot[i & c->mask];
        if (BL_LIKELY(s->key == key || s->key == 0))
            return s;
    }
}

// The column of argument `out` by argument `by`, or NULL while it has not been
// asked for so often that it is worth the time to make it.
const struct bl_column *bl_column_of(struct bl_pred *p, uint32_t by,
                                     uint32_t out);

#endif
