// SPDX-License-Identifier: MIT
#include "tlb/lane.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FRAMES = 1 << 20 };

struct bl_lane *bl_lane_new(struct bl_tracker *tracker,
                            const struct bl_tlb_geometry *geometry) {
    struct bl_lane *l = calloc(1, sizeof *l);
    uint64_t *words = calloc(bl_tlb_core_words(geometry), sizeof(uint64_t));
    if (!l || !words) {
        free(l);
        free(words);
        return NULL;
    }
    l->tracker = tracker;
    l->words = words;
    l->code_page = UINT64_MAX;
    l->counting = true;
    bl_tlb_core_init(&l->core, geometry, words);
    l->record = bl_tracker_thread(tracker);
    return l;
}

void bl_lane_free(struct bl_lane *l) {
    bl_lane_publish(l);
    free(l->frames);
    free(l->words);
    free(l);
}

static uint64_t data_accesses(const struct bl_lane *l) {
    return l->core.clock - l->code_accesses;
}

void bl_lane_publish(struct bl_lane *l) {
    const uint64_t on = l->counting ? 1 : 0;
    if (!l->record)
        return;
    l->record->instructions = l->instructions;
    l->record->counted_accesses =
        l->counted_accesses + on * (data_accesses(l) - l->window_accesses);
    l->record->counted_instructions =
        l->counted_instructions +
        on * (l->instructions - l->window_instructions);
}

void bl_lane_count(struct bl_lane *l, bool counting) {
    if (l->counting && !counting) {
        l->counted_accesses += data_accesses(l) - l->window_accesses;
        l->counted_instructions += l->instructions - l->window_instructions;
    }
    l->counting = counting;
    l->window_accesses = data_accesses(l);
    l->window_instructions = l->instructions;
    bl_lane_publish(l);
}

void bl_lane_after_fork(struct bl_lane *l) {
    l->record = bl_tracker_thread(l->tracker);
    bl_tlb_core_flush(&l->core);
    l->code_page = UINT64_MAX;
    l->core.clock = l->code_accesses = l->instructions = 0;
    l->counted_accesses = l->counted_instructions = 0;
    l->window_accesses = l->window_instructions = 0;
}

// What other threads have unmapped is gone from this core's TLBs too.
static void follow_changes(struct bl_lane *l) {
    struct bl_tracker *t = l->tracker;
    // Acquire: pairs with the release that follows a change of the areas.
    const uint32_t flush = bl_load_acquire(&t->flush_version);
    const uint32_t version = bl_load_acquire(&t->area_version);
    if (flush != l->flush_version) {
        l->flush_version = flush;
        bl_tlb_core_flush(&l->core);
        l->code_page = UINT64_MAX;
    }
    if (version != l->area_version) {
        l->area_version = version;
        memset(l->areas, 0, sizeof l->areas);
    }
}

static const struct bl_area *area_of(struct bl_lane *l, uint64_t address) {
    struct bl_area *a = &l->areas[(address >> BL_HUGE_SHIFT) % BL_LANE_AREAS];
    if (BL_UNLIKELY(address < a->start || address >= a->end)) {
        bl_tracker_lock(l->tracker);
        *a = bl_areas_find(&l->tracker->areas, address);
        bl_tracker_unlock(l->tracker);
    }
    return a;
}

BL_NOINLINE void bl_lane_miss(struct bl_lane *l, struct bl_site *site,
                              enum bl_tlb_side side, uint64_t address) {
    struct bl_tlb_outcome out[BL_TLB_POLICIES];
    follow_changes(l);
    const struct bl_tlb_page backed =
        bl_area_page(area_of(l, address), address);
    bl_tlb_core_miss(&l->core, side, address, backed, out);
    const bool hit = out[BL_TLB_ALL_BASE].level == BL_TLB_FIRST &&
                     out[BL_TLB_ALL_HUGE].level == BL_TLB_FIRST &&
                     out[BL_TLB_AS_BACKED].level == BL_TLB_FIRST;
    if (hit || !l->counting)
        return;
    bl_tracker_count(l->tracker, l->call, site, side, out);
    bl_lane_publish(l);
}

static bool room_for_frame(struct bl_lane *l) {
    if (l->frame_count < l->frame_capacity)
        return true;
    const size_t capacity = l->frame_capacity ? 2 * l->frame_capacity : 256;
    struct bl_lane_frame *frames =
        capacity <= MOST_FRAMES ? realloc(l->frames, capacity * sizeof *frames)
                                : NULL;
    if (!frames)
        return false;
    l->frames = frames;
    l->frame_capacity = capacity;
    return true;
}

// Takes away what lies below `stack`: left by a jump over it.
static void drop_below(struct bl_lane *l, uint64_t stack) {
    while (l->frame_count && l->frames[l->frame_count - 1].stack < stack) {
        l->frame_count--;
        l->call = l->frames[l->frame_count].call;
    }
}

void bl_lane_call(struct bl_lane *l, struct bl_site *site, uint64_t stack) {
    drop_below(l, stack + 1);
    if (!room_for_frame(l))
        return;
    l->frames[l->frame_count++] = (struct bl_lane_frame){stack, l->call};
    l->call = bl_tracker_call(l->tracker, l->call, site);
}

void bl_lane_return(struct bl_lane *l, uint64_t stack) {
    drop_below(l, stack + 1);
}
