// SPDX-License-Identifier: MIT
//
// The shadow heap. Invariant: `order` lists the slots in use by growing
// address, and their blocks do not overlap. A block's bytes are a function of
// its tag and the offset; of large blocks some bytes stand for the rest.
//
#include "model.h"

#include <string.h>

static char message[200];

#define SAY(...) (snprintf(message, sizeof message, __VA_ARGS__), message)

static unsigned char byte_at(uint32_t tag, size_t offset) {
    return (unsigned char)((offset ^ (offset >> 8)) * 31 + tag * 101 + 7);
}

// Which offset follows: all below 2 KiB, then ever fewer, but two in each
// base page below 4 MiB and one in each beyond.
static size_t next_offset(size_t offset) {
    if (offset < 2 * MODEL_KIB)
        return offset + 1;
    if (offset < 64 * MODEL_KIB)
        return offset + 61;
    return offset + (offset < 4 * MODEL_MIB ? 2039 : 4093);
}

static void fill(unsigned char *at, size_t size, uint32_t tag) {
    for (size_t i = 0; i < size; i = next_offset(i))
        at[i] = byte_at(tag, i);
    if (size > 0)
        at[size - 1] = byte_at(tag, size - 1);
}

// The bytes below `size` of a block that was filled to `filled`.
static const char *compare(const unsigned char *at, size_t size, size_t filled,
                           uint32_t tag, unsigned slot) {
    for (size_t i = 0; i < size; i = next_offset(i))
        if (at[i] != byte_at(tag, i))
            return SAY("slot %u at %p: byte %zu of %zu is 0x%02x, not 0x%02x",
                       slot, (const void *)at, i, filled, at[i],
                       byte_at(tag, i));
    if (size == filled && size > 0 && at[size - 1] != byte_at(tag, size - 1))
        return SAY("slot %u at %p: the last byte, %zu, is not as written", slot,
                   (const void *)at, size - 1);
    return NULL;
}

// Where in `order` a block at this address stands or would stand.
static size_t place_of(const struct shadow *s, const unsigned char *at) {
    size_t low = 0;
    size_t high = s->in_use;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (s->block[s->order[middle]].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// A block of no bytes still has an address of its own.
static size_t extent(const struct shadow_block *b) {
    return b->size > 0 ? b->size : 1;
}

static const char *overlap(const struct shadow *s, size_t place,
                           const struct shadow_block *b) {
    if (place > 0) {
        const struct shadow_block *const left = &s->block[s->order[place - 1]];
        if (left->at + extent(left) > b->at)
            return SAY("%p (%zu bytes) lies in slot %u (%p, %zu bytes)",
                       (void *)b->at, b->size, s->order[place - 1],
                       (void *)left->at, left->size);
    }
    if (place < s->in_use) {
        const struct shadow_block *const right = &s->block[s->order[place]];
        if (b->at + extent(b) > right->at)
            return SAY("%p (%zu bytes) reaches into slot %u (%p, %zu bytes)",
                       (void *)b->at, b->size, s->order[place],
                       (void *)right->at, right->size);
    }
    return NULL;
}

static const char *zero_to(const unsigned char *at, size_t size) {
    for (size_t i = 0; i < size; i = i < 64 * MODEL_KIB ? i + 1 : i + 59)
        if (at[i] != 0)
            return SAY("%p: byte %zu of %zu is 0x%02x, not zero",
                       (const void *)at, i, size, at[i]);
    if (size > 0 && at[size - 1] != 0)
        return SAY("%p: the last byte, %zu, is not zero", (const void *)at,
                   size - 1);
    return NULL;
}

const char *shadow_add(struct shadow *s, unsigned slot, void *at, size_t size,
                       size_t align, bool zeroed) {
    struct shadow_block *const b = &s->block[slot];
    if (at == NULL)
        return SAY("no memory for %zu bytes with %zu bytes in use", size,
                   s->bytes);
    if ((uintptr_t)at % align != 0)
        return SAY("%p (%zu bytes) is not aligned to %zu", at, size, align);
    b->at = at;
    b->size = size;
    b->tag = s->next_tag++;
    const size_t place = place_of(s, b->at);
    const char *wrong = overlap(s, place, b);
    if (wrong == NULL && zeroed)
        wrong = zero_to(b->at, size);
    if (wrong != NULL)
        return wrong;
    memmove(&s->order[place + 1], &s->order[place],
            (s->in_use - place) * sizeof s->order[0]);
    s->order[place] = (uint16_t)slot;
    s->in_use++;
    s->bytes += size;
    fill(b->at, size, b->tag);
    return NULL;
}

const char *shadow_check(const struct shadow *s, unsigned slot) {
    const struct shadow_block *const b = &s->block[slot];
    return compare(b->at, b->size, b->size, b->tag, slot);
}

const char *shadow_check_all(const struct shadow *s) {
    for (size_t i = 0; i < s->in_use; i++) {
        const char *const wrong = shadow_check(s, s->order[i]);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

const char *shadow_check_prefix(const struct shadow *s, unsigned slot,
                                const void *at, size_t size) {
    const struct shadow_block *const b = &s->block[slot];
    return compare(at, size, b->size, b->tag, slot);
}

void shadow_remove(struct shadow *s, unsigned slot) {
    struct shadow_block *const b = &s->block[slot];
    const size_t place = place_of(s, b->at);
    s->in_use--;
    memmove(&s->order[place], &s->order[place + 1],
            (s->in_use - place) * sizeof s->order[0]);
    s->bytes -= b->size;
    *b = (struct shadow_block){0};
}
