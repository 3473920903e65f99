// SPDX-License-Identifier: MIT
//
// Slots of addresses, and growth in pieces of a doubling size.
//
#include "logic/area.h"

#include "logic/engine.h"
#include "os/os.h"

#include <errno.h>
#include <pthread.h>

// Between the places where the kernel puts programs and libraries, and among
// those that the thread sanitizer knows as the program's own.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define FIRST_SLOT ((uintptr_t)0x7e8000000000)
#define SLOT_BYTES (1536 * BL_MIB) // libraries may begin 512 GiB behind
#else
#define FIRST_SLOT ((uintptr_t)0x600000000000)
#define SLOT_BYTES (64 * BL_GIB)
#endif

enum { SLOTS = 320, AREAS = 4 };

static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static bool slot_taken[SLOTS];

static int take_slot(int from) {
    pthread_mutex_lock(&slots_lock);
    int i = from;
    while (i < SLOTS && slot_taken[i])
        i++;
    if (i < SLOTS)
        slot_taken[i] = true;
    pthread_mutex_unlock(&slots_lock);
    return i;
}

static void give_slot(int i) {
    pthread_mutex_lock(&slots_lock);
    slot_taken[i] = false;
    pthread_mutex_unlock(&slots_lock);
}

size_t bl_areas_bytes(const struct bl_machine *m) {
    return (size_t)(m->heap_area.end - m->heap_area.base) +
           (size_t)(m->env_area.end - m->env_area.base) +
           (size_t)(m->choice_area.end - m->choice_area.base) +
           (size_t)(m->trail_area.end - m->trail_area.base);
}

bool bl_area_grow(struct bl_machine *m, struct bl_area *area, const char *top) {
    const size_t have = (size_t)(area->end - area->base);
    const size_t need = (size_t)(top - area->base) + 2 * BL_MIB;
    size_t want = have < 64 * BL_MIB ? 2 * have : have + 64 * BL_MIB;
    if (want < need)
        want = need;
    want = bl_align_up(want, BL_HUGE_SIZE);
    const size_t room = (size_t)(area->limit - area->base);
    if (want > room)
        want = room;
    if (want < need || bl_areas_bytes(m) + want - have > m->memory_limit)
        return false;
    if (bl_os.map(area->end, want - have, BL_OS_BASE_PAGES) != 0)
        return false;
    if (!bl_engine.on_base_pages)
        (void)bl_os.advise_huge(area->end, want - have);
    area->end = area->base + want;
    return true;
}

static struct bl_area *area_of(struct bl_machine *m, int i) {
    struct bl_area *const areas[AREAS] = {&m->heap_area, &m->env_area,
                                          &m->choice_area, &m->trail_area};
    return areas[i];
}

static void unmap_areas(struct bl_machine *m) {
    for (int i = 0; i < AREAS; i++) {
        struct bl_area *const a = area_of(m, i);
        if (a->end != a->base)
            (void)bl_os.unmap(a->base, (size_t)(a->end - a->base));
    }
}

// 0, or why not.
static int map_areas(struct bl_machine *m, char *base) {
    const size_t each = SLOT_BYTES / AREAS;
    int error = 0;
    for (int i = 0; i < AREAS; i++) {
        struct bl_area *const a = area_of(m, i);
        a->base = base + (size_t)i * each;
        a->limit = a->base + each;
        a->end = a->base;
        if (error == 0)
            error = bl_os.map(a->base, BL_HUGE_SIZE, BL_OS_BASE_PAGES);
        if (error == 0)
            a->end = a->base + BL_HUGE_SIZE;
    }
    if (error != 0)
        unmap_areas(m);
    return error;
}

// A slot in which somebody else has something stays taken; one for which there
// is no memory now may serve another time.
bool bl_areas_open(struct bl_machine *m) {
    int error = -EEXIST;
    int i = 0;
    while (error == -EEXIST && (i = take_slot(i)) < SLOTS)
        error = map_areas(m, (char *)(FIRST_SLOT + (size_t)i * SLOT_BYTES));
    m->area_slot = i;
    if (error != 0 && i < SLOTS)
        give_slot(i);
    return error == 0;
}

void bl_areas_close(struct bl_machine *m) {
    unmap_areas(m);
    give_slot(m->area_slot);
}
