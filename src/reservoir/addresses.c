// SPDX-License-Identifier: MIT
//
// Addresses for runs: the binary buddy system [Knowlton-1965] over the units
// of the large part. Only addresses are dealt in, so generous blocks cost
// nothing but a record touched: a run gets at least twice its size, and grows
// into it.
//
// The system reaches from 0 to `frontier`; beyond lies what was never taken.
// A free block's record heads it: order, state, and links to its neighbours in
// the list of its order. Blocks of order k start at multiples of 2^k.
//
#include "reservoir/internal.h"

#define ORDERS 23
#define MAX_UNITS ((size_t)BL_LARGE_BYTES >> BL_HUGE_SHIFT)
_Static_assert(MAX_UNITS < (size_t)1 << ORDERS,
               "of the largest order there is no pair of buddies");

static uint32_t heads[ORDERS]; // 1 + index; 0: empty
static size_t frontier;

static struct bl_run *record(uint32_t index) {
    return &bl_run_records()[index];
}

static void list_push(uint32_t index, unsigned order) {
    struct bl_run *r = record(index);
    r->state = BL_RUN_FREE;
    r->order = (uint8_t)order;
    r->prev = 0;
    r->next = heads[order];
    if (r->next)
        record(r->next - 1)->prev = index + 1;
    heads[order] = index + 1;
}

static void list_remove(uint32_t index) {
    struct bl_run *r = record(index);
    if (r->prev)
        record(r->prev - 1)->next = r->next;
    else
        heads[r->order] = r->next;
    if (r->next)
        record(r->next - 1)->prev = r->prev;
    r->state = BL_RUN_NOWHERE;
}

// Moves the frontier to a multiple of 2^order and over one block of it; what
// it passes on the way becomes free blocks.
static uint32_t take_at_frontier(unsigned order) {
    const size_t block = (size_t)1 << order;
    const size_t at = bl_align_up(frontier, block);
    if (at + block > MAX_UNITS || !bl_territory_reach_large(at + block))
        return BL_NO_INDEX;
    while (frontier < at) {
        const unsigned k = bl_lowest_bit(frontier);
        list_push((uint32_t)frontier, k);
        frontier += (size_t)1 << k;
    }
    frontier = at + block;
    bl_store_release(&bl_territory.large_bytes, frontier << BL_HUGE_SHIFT);
    return (uint32_t)at;
}

uint32_t bl_addresses_take(unsigned order) {
    if (order >= ORDERS)
        return BL_NO_INDEX;
    unsigned k = order;
    while (k < ORDERS && heads[k] == 0)
        k++;
    if (k == ORDERS)
        return take_at_frontier(order);
    const uint32_t index = heads[k] - 1;
    list_remove(index);
    while (k > order) {
        k--;
        list_push(index + ((uint32_t)1 << k), k);
    }
    return index;
}

void bl_addresses_give(uint32_t index, unsigned order) {
    for (;;) {
        const uint32_t buddy = index ^ ((uint32_t)1 << order);
        if (buddy >= frontier) // it was never taken, and may have no record
            break;
        const struct bl_run *r = record(buddy);
        if (r->state != BL_RUN_FREE || r->order != order)
            break;
        list_remove(buddy);
        index &= ~((uint32_t)1 << order);
        order++;
    }
    list_push(index, order);
}

void bl_addresses_check(void) {
    for (unsigned k = 0; k < ORDERS; k++) {
        uint32_t prev = 0;
        for (uint32_t i = heads[k]; i; i = record(i - 1)->next) {
            const struct bl_run *r = record(i - 1);
            BL_CHECK_EQ(r->state, BL_RUN_FREE);
            BL_CHECK_EQ(r->order, k);
            BL_CHECK_EQ(r->prev, prev);
            BL_CHECK_EQ((i - 1) & (((uint32_t)1 << k) - 1), 0);
            prev = i;
        }
    }
}
