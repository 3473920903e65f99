// SPDX-License-Identifier: MIT
#include "tlb/tracker.h"

#include <stdlib.h>
#include <string.h>

// Sites are found by object and place in one word.
enum { OBJECT_SHIFT = 48 };

static uint64_t hash_path(const char *path) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *path; path++)
        h = (h ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
    return h == BL_MAP_NO_KEY ? 0 : h;
}

static bool add_call(struct bl_tracker *t, uint32_t caller, uint32_t site,
                     uint32_t *index) {
    uint8_t *depths = realloc(t->call_depths, t->call_count + 1);
    if (depths)
        t->call_depths = depths;
    uint32_t *sites =
        realloc(t->call_sites, (t->call_count + 1) * sizeof *sites);
    if (sites)
        t->call_sites = sites;
    struct bl_profile_call *c =
        depths && sites ? bl_recorder_add(&t->recorder, BL_PROFILE_CALLS, index)
                        : NULL;
    if (!c)
        return false;
    BL_ASSERT(*index == t->call_count);
    *c = (struct bl_profile_call){caller, site};
    sites[*index] = site;
    depths[*index] = *index ? (uint8_t)(depths[caller] + 1) : 0;
    t->call_count++;
    return true;
}

void bl_tracker_start(struct bl_tracker *t, const char *directory) {
    uint32_t root;
    pthread_mutex_init(&t->lock, NULL);
    bl_recorder_start(&t->recorder, directory);
    add_call(t, 0, UINT32_MAX, &root);
}

void bl_tracker_after_fork(struct bl_tracker *t) {
    pthread_mutex_init(&t->lock, NULL);
    bl_recorder_restart(&t->recorder);
    bl_map_clear(&t->misses);
    for (size_t i = 0; i < t->site_count; i++) {
        for (int side = 0; side < BL_TLB_SIDES; side++)
            bl_store_relaxed(&t->site_list[i]->recent[side], NULL);
    }
}

void bl_tracker_lock(struct bl_tracker *t) { pthread_mutex_lock(&t->lock); }
void bl_tracker_unlock(struct bl_tracker *t) { pthread_mutex_unlock(&t->lock); }

// UINT32_MAX: no room.
static uint32_t object_of(struct bl_tracker *t, const char *path) {
    const uint64_t key = hash_path(path);
    const uint64_t *known = bl_map_find(&t->objects, key);
    if (known)
        return (uint32_t)*known;
    uint32_t index = UINT32_MAX;
    struct bl_profile_object *o =
        bl_recorder_add(&t->recorder, BL_PROFILE_OBJECTS, &index);
    if (!o)
        return UINT32_MAX;
    struct bl_text text;
    bl_text_init(&text, o->path, sizeof o->path);
    bl_text_str(&text, path);
    bl_map_add(&t->objects, key, index);
    return index;
}

static struct bl_site *new_site(struct bl_tracker *t, uint32_t object,
                                uint64_t offset, uint32_t size) {
    struct bl_site **list =
        realloc(t->site_list, (t->site_count + 1) * sizeof(void *));
    if (list)
        t->site_list = list;
    struct bl_site *site = list ? calloc(1, sizeof *site) : NULL;
    if (!site)
        return NULL;
    struct bl_profile_site *record =
        bl_recorder_add(&t->recorder, BL_PROFILE_SITES, &site->index);
    if (record)
        *record = (struct bl_profile_site){offset, object, size};
    else
        site->index = UINT32_MAX; // counted as lost
    list[t->site_count++] = site;
    bl_map_add(&t->sites, (uint64_t)object << OBJECT_SHIFT | offset,
               (uint64_t)(uintptr_t)site);
    return site;
}

struct bl_site *bl_tracker_site(struct bl_tracker *t, uint64_t address,
                                uint32_t size) {
    bl_tracker_lock(t);
    const struct bl_area a = bl_areas_find(&t->areas, address);
    const uint32_t object = object_of(t, a.path ? a.path : "");
    const uint64_t offset = a.path ? address - a.start + a.offset : address;
    const uint64_t *known =
        bl_map_find(&t->sites, (uint64_t)object << OBJECT_SHIFT | offset);
    struct bl_site *site = known ? (struct bl_site *)(uintptr_t)*known
                                 : new_site(t, object, offset, size);
    bl_tracker_unlock(t);
    return site;
}

static uint32_t find_call(struct bl_tracker *t, uint32_t caller,
                          uint32_t site) {
    const uint64_t key = (uint64_t)caller << 32 | site;
    const uint64_t *known = bl_map_find(&t->calls, key);
    uint32_t index;
    if (known)
        return (uint32_t)*known;
    if (caller >= t->call_count || t->call_sites[caller] == site ||
        t->call_depths[caller] >= BL_TRACKER_DEEPEST ||
        t->call_count >= BL_TRACKER_MOST_CALLS ||
        !add_call(t, caller, site, &index))
        return caller;
    bl_map_add(&t->calls, key, index);
    return index;
}

uint32_t bl_tracker_call(struct bl_tracker *t, uint32_t caller,
                         struct bl_site *site) {
    // Relaxed: one word that says both ends; contexts never change.
    const uint64_t note = bl_load_relaxed(&site->call);
    if (BL_LIKELY(note >> 32 == caller && note != 0))
        return (uint32_t)note;
    bl_tracker_lock(t);
    const uint32_t to = find_call(t, caller, site->index);
    bl_tracker_unlock(t);
    bl_store_relaxed(&site->call, (uint64_t)caller << 32 | to);
    return to;
}

static struct bl_profile_miss *find_miss(struct bl_tracker *t, uint32_t call,
                                         struct bl_site *site,
                                         enum bl_tlb_side side) {
    const uint64_t key =
        (uint64_t)call << 32 | (uint64_t)site->index << 1 | side;
    uint32_t index;
    bl_tracker_lock(t);
    const uint64_t *known = bl_map_find(&t->misses, key);
    struct bl_profile_miss *m =
        known ? (struct bl_profile_miss *)(uintptr_t)*known : NULL;
    if (!m && site->index != UINT32_MAX)
        m = bl_recorder_add(&t->recorder, BL_PROFILE_MISSES, &index);
    if (m && !known) {
        m->call = call;
        m->site = site->index;
        m->side = (uint32_t)side;
        bl_map_add(&t->misses, key, (uint64_t)(uintptr_t)m);
    }
    bl_tracker_unlock(t);
    return m;
}

// Relaxed: sums that are read when all is over.
static void add(_Atomic(uint64_t) *sum, uint64_t x, bool threads) {
    if (threads)
        bl_add_relaxed(sum, x);
    else
        bl_store_relaxed(sum, bl_load_relaxed(sum) + x);
}

static void add_costs(struct bl_profile_miss *m,
                      const struct bl_tlb_outcome out[BL_TLB_POLICIES],
                      bool threads) {
    for (int i = 0; i < BL_TLB_POLICIES; i++) {
        if (out[i].level == BL_TLB_FIRST)
            continue;
        add(&m->cost[i].first, 1, threads);
        add(&m->cost[i].cycles, out[i].cycles, threads);
        if (out[i].level == BL_TLB_WALK)
            add(&m->cost[i].walks, 1, threads);
    }
}

void bl_tracker_count(struct bl_tracker *t, uint32_t call, struct bl_site *site,
                      enum bl_tlb_side side,
                      const struct bl_tlb_outcome out[BL_TLB_POLICIES]) {
    // Relaxed: a record never moves, and says itself whose it is.
    struct bl_profile_miss *m = bl_load_relaxed(&site->recent[side]);
    const bool threads = bl_load_relaxed(&t->threads);
    if (BL_UNLIKELY(!m || m->call != call)) {
        m = find_miss(t, call, site, side);
        if (m)
            bl_store_relaxed(&site->recent[side], m);
        else if (t->recorder.head)
            bl_add_relaxed(&t->recorder.head->lost, 1);
    }
    if (BL_LIKELY(m))
        add_costs(m, out, threads);
}

struct bl_profile_thread *bl_tracker_thread(struct bl_tracker *t) {
    uint32_t index;
    bl_tracker_lock(t);
    struct bl_profile_thread *record =
        bl_recorder_add(&t->recorder, BL_PROFILE_THREADS, &index);
    bl_tracker_unlock(t);
    return record;
}
