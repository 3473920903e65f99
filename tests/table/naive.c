// SPDX-License-Identifier: MIT
//
// The plain set; see naive.h.
//
#include "naive.h"

#include <stdlib.h>
#include <string.h>

void naive_init(struct naive_set *set) { memset(set, 0, sizeof(*set)); }

void naive_free(struct naive_set *set) {
    for (size_t i = 0; i < set->count; i++)
        free(set->items[i].tokens);
    free(set->items);
    naive_init(set);
}

static size_t bucket_of(const uint64_t *tokens, size_t n) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ tokens[i] ^ tokens[i] >> 31) * 0x100000001b3ull;
    return (hash ^ hash >> 29) % 4096;
}

bool naive_has(const struct naive_set *set, const uint64_t *tokens, size_t n) {
    size_t at = set->heads[bucket_of(tokens, n)];
    for (; at != 0; at = set->items[at - 1].chain) {
        const struct naive_item *const item = &set->items[at - 1];
        if (item->length == n &&
            (n == 0 || memcmp(item->tokens, tokens, n * sizeof(*tokens)) == 0))
            return true;
    }
    return false;
}

bool naive_insert(struct naive_set *set, const uint64_t *tokens, size_t n) {
    if (naive_has(set, tokens, n))
        return false;
    if (set->count == set->capacity) {
        set->capacity = set->capacity == 0 ? 64 : set->capacity * 2;
        set->items = realloc(set->items, set->capacity * sizeof(*set->items));
        if (set->items == NULL)
            abort();
    }
    struct naive_item *const item = &set->items[set->count++];
    size_t *const head = &set->heads[bucket_of(tokens, n)];
    item->length = n;
    item->tokens = malloc((n + 1) * sizeof(*tokens));
    memcpy(item->tokens, tokens, n * sizeof(*tokens));
    item->chain = *head;
    *head = set->count;
    return true;
}

// Kinds: 1 a number, 2 a functor whose value's lowest bits are its arity.
static size_t random_term(struct bl_random *random,
                          const struct naive_shape *shape, unsigned depth,
                          uint64_t *out) {
    if (depth == 0 || bl_random_below(random, 3) != 0) {
        const uint64_t value =
            bl_random_below(random, shape->values) * shape->stride;
        out[0] = value << 3 | 1;
        return 1;
    }
    const uint64_t arity = bl_random_below(random, 3);
    out[0] = (bl_random_below(random, 4) << 2 | arity) << 3 | 2;
    size_t length = 1;
    for (uint64_t i = 0; i < arity; i++)
        length += random_term(random, shape, depth - 1, out + length);
    return length;
}

size_t naive_random(struct bl_random *random, const struct naive_shape *shape,
                    uint64_t *out) {
    size_t length = 0;
    for (unsigned i = 0; i < shape->terms; i++)
        length += random_term(random, shape, shape->depth, out + length);
    return length;
}
