// SPDX-License-Identifier: MIT
//
// A machine's stacks: making and growing them, choice points, queries, and
// finding the catcher of an error.
//
#include "logic/machine.h"

#include "logic/area.h"
#include "logic/clause.h"
#include "logic/cleanup.h"
#include "logic/collect.h"
#include "logic/engine.h"
#include "logic/error.h"
#include "logic/guard.h"
#include "logic/record.h"
#include "logic/kept.h"
#include "logic/tabling.h"
#include "reservoir/reservoir.h"

#include "os/os.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRAIL_MARGIN ((size_t)16 * 1024) // words
#define ENV_MARGIN ((size_t)64 * 1024)   // bytes

static void set_ends(struct bl_machine *m) {
    m->heap_end = (bl_word *)(void *)m->heap_area.end - BL_HEAP_MARGIN;
    m->trail_end = (bl_word *)(void *)m->trail_area.end - TRAIL_MARGIN;
    m->env_end = m->env_area.end - ENV_MARGIN;
    m->choice_end = m->choice_area.end - ENV_MARGIN;
    // An interrupt that came meanwhile must not be lost: its bit was set
    // before its store to heap_soft, which this store may have undone.
    bl_store_release(&m->heap_soft, m->heap_end);
    if (bl_load_acquire(&m->interrupt) != 0)
        bl_store_release(&m->heap_soft, NULL);
}

// Three quarters of the way: a goal in a condition has the rest before the
// memory must grow.
static bl_word *mark_between(bl_word *top, bl_word *end) {
    return top < end ? top + (end - top) / 4 * 3 : end;
}

// The first choice point and environment, below every query.
static void lay_ground(struct bl_machine *m) {
    m->h = (bl_word *)(void *)m->heap_area.base;
    *m->h++ = BL_ATOM(nil); // `bl_global_list`
    m->tr = (bl_word *)(void *)m->trail_area.base;
    m->e = (struct bl_env *)(void *)m->env_area.base;
    memset(m->e, 0, sizeof *m->e);
    m->b = (struct bl_choice *)(void *)m->choice_area.base;
    memset(m->b, 0, sizeof *m->b);
    m->b->alt = bl_code_query_failed;
    m->b->e = m->e;
    m->b->h = m->h;
    m->b->tr = m->tr;
    m->b->env_top = m->e->y;
    m->b0 = m->b;
    m->hb = m->h;
    m->cp = bl_code_query_true;
}

static _Atomic(int) machines;
static _Thread_local struct bl_machine *own_machine; // the last one made here

const struct bl_machine *bl_machine_alone(void) {
    // Acquire pairs with the decrement of a machine that ends. Another one can
    // only come from this thread, or from one that has a machine.
    return bl_load_acquire(&machines) == 1 ? own_machine : NULL;
}

struct bl_machine *bl_machine_new(void) {
    struct bl_machine *const m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    m->memory_limit = SIZE_MAX;
    if (!bl_areas_open(m)) {
        free(m);
        return NULL;
    }
    set_ends(m);
    lay_ground(m);
    m->heap_mark = mark_between(m->h, m->heap_end);
    m->trail_mark = mark_between(m->tr, m->trail_end);
    m->random_state = bl_os_random();
    bl_add_relaxed(&machines, 1);
    own_machine = m;
    return m;
}

void bl_machine_delete(struct bl_machine *m) {
    (void)bl_sub_acq_rel(&machines, 1);
    if (own_machine == m)
        own_machine = NULL;
    bl_areas_close(m);
    if (m->ball != NULL)
        bl_record_free(m->ball);
    free(m->scratch);
    free(m);
}

// ---- growth

static bool grow_heap(struct bl_machine *m, size_t words) {
    const char *const top = (const char *)(m->h + words + 2 * BL_HEAP_MARGIN);
    if (words > SIZE_MAX / 32 || !bl_area_grow(m, &m->heap_area, top)) {
        bl_throw_resource(m, "memory");
        return false;
    }
    set_ends(m);
    return true;
}

// In the middle of a clause nothing can be collected, so what takes much there
// is noticed before the heap is full: the next call looks.
static bool take_room(struct bl_machine *m, size_t words, bool enough) {
    if (!enough && !grow_heap(m, words))
        return false;
    if (!enough || (words > BL_HEAP_MARGIN &&
                    m->h + 2 * words + BL_HEAP_MARGIN > m->heap_end)) {
        m->collect_soon = true;
        bl_store_release(&m->heap_soft, NULL);
    }
    return true;
}

bool bl_heap_ensure(struct bl_machine *m, size_t words) {
    return take_room(
        m, words,
        words < (size_t)(m->heap_end + BL_HEAP_MARGIN / 2 - m->h) &&
            m->h < m->heap_end);
}

bool bl_heap_ensure_number(struct bl_machine *m, size_t words) {
    return take_room(m, words,
                     m->h + words <= m->heap_end + BL_HEAP_MARGIN / 2);
}

static bool grow_trail(struct bl_machine *m, size_t words) {
    const char *const top = (const char *)(m->tr + words + 2 * TRAIL_MARGIN);
    if (!bl_area_grow(m, &m->trail_area, top)) {
        bl_throw_resource(m, "memory");
        return false;
    }
    set_ends(m);
    return true;
}

bool bl_trail_grow(struct bl_machine *m) { return grow_trail(m, 0); }

bool bl_trail_ensure_many(struct bl_machine *m, size_t words) {
    return (size_t)(m->trail_area.end - (const char *)m->tr) >
               (words + TRAIL_MARGIN) * sizeof(bl_word) ||
           grow_trail(m, words);
}

bool bl_env_ensure(struct bl_machine *m, const char *top) {
    if (top < m->env_end)
        return true;
    if (!bl_area_grow(m, &m->env_area, top + ENV_MARGIN)) {
        bl_throw_resource(m, "memory");
        return false;
    }
    set_ends(m);
    return true;
}

bool bl_choice_ensure(struct bl_machine *m, const char *top) {
    if (top < m->choice_end)
        return true;
    if (!bl_area_grow(m, &m->choice_area, top + ENV_MARGIN)) {
        bl_throw_resource(m, "memory");
        return false;
    }
    set_ends(m);
    return true;
}

uint64_t bl_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct timespec bl_next_look(const struct bl_machine *m) {
    struct timespec t;
    bl_table_rest(m->tabler->thread);
    (void)bl_reservoir_purge(false); // nobody else may be at work
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += BL_LOOK_NS;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

bool bl_machine_lock(struct bl_machine *m, pthread_mutex_t *lock) {
    int r = pthread_mutex_trylock(lock);
    while (r != 0) {
        const struct timespec t = bl_next_look(m);
        r = pthread_mutex_timedlock(lock, &t);
        if (r != 0 && bl_load_acquire(&m->interrupt) != 0 &&
            !bl_machine_event(m))
            return false;
    }
    return true;
}

void bl_machine_interrupt(struct bl_machine *m, uint32_t why) {
    (void)atomic_fetch_or_explicit(&m->interrupt, why, memory_order_release);
    bl_store_release(&m->heap_soft, NULL);
}

void bl_machine_forget(struct bl_machine *m, uint32_t why) {
    (void)atomic_fetch_and_explicit(&m->interrupt, ~why, memory_order_relaxed);
}

bool bl_machine_poll(struct bl_machine *m) {
    if (m->shielded_ns != 0 && bl_now_ns() < m->shielded_ns) {
        set_ends(m); // the next call asks again
        return true;
    }
    const uint32_t why = bl_exchange_acq_rel(&m->interrupt, 0);
    set_ends(m); // pairs with bl_machine_interrupt
    m->thrown = why & (BL_INT_TIME | BL_INT_SIGNAL | BL_INT_ABORT);
    if (why & BL_INT_TIME) {
        bl_throw_resource(m, "time");
        return false;
    }
    if (why & (BL_INT_SIGNAL | BL_INT_ABORT)) {
        bl_throw_interrupt(m);
        return false;
    }
    return true;
}

bool bl_machine_event(struct bl_machine *m) {
    if (!bl_machine_poll(m))
        return false;
    if (m->tr >= m->trail_end && !bl_trail_grow(m))
        return false;
    return m->h < m->heap_end || grow_heap(m, BL_HEAP_MARGIN);
}

enum { SCRATCH_KEPT = 1 << 20 }; // words, after an error

// A segment so small is not worth the work.
#define COLLECT_FROM ((size_t)512 * 1024)
#define TIDY_FROM ((size_t)64 * 1024)

static size_t heap_segment(const struct bl_machine *m) {
    return (size_t)(m->h - m->b->h);
}

static size_t trail_segment(const struct bl_machine *m) {
    return (size_t)(m->tr - m->b->tr);
}

// The heap waits for the next call, the trail does not. Where little of it is
// freed the next attempt waits until it has grown.
void bl_machine_cut_event(struct bl_machine *m) {
    const size_t trailed = trail_segment(m);
    if (m->tr >= m->trail_mark && trailed >= TIDY_FROM)
        m->trail_mark = bl_tidy_trail(m) > trailed / 4
                            ? mark_between(m->tr, m->trail_end)
                            : m->trail_end;
    if (m->h >= m->heap_mark && heap_segment(m) >= COLLECT_FROM)
        bl_store_release(&m->heap_soft, NULL);
}

// As with the heap: where little was freed the trail grows as well.
static bool tidy_trail(struct bl_machine *m) {
    const size_t segment = trail_segment(m);
    const size_t freed = bl_tidy_trail(m);
    const char *const top = (const char *)(m->tr + 2 * TRAIL_MARGIN);
    if (freed > segment / 4 || bl_area_grow(m, &m->trail_area, top) ||
        freed > segment / 16)
        return true;
    bl_throw_resource(m, "memory");
    return false;
}

bool bl_machine_call_event(struct bl_machine *m, uint32_t arity) {
    const size_t segment = heap_segment(m);
    const bool needed = m->h >= m->heap_end || m->collect_soon;
    const bool full =
        (needed || m->h >= m->heap_mark) && segment >= COLLECT_FROM;
    const bool asked =
        m->collect_every != 0 && m->inferences % m->collect_every == 0;
    size_t freed = 0;
    m->collect_soon = false;
    if (m->tr >= m->trail_end && !tidy_trail(m))
        return false;
    if (full || asked)
        freed = bl_collect(m, arity);
    // little was freed: grow as well, so that collections stay rare
    const bool stays =
        full && freed < segment / 2 &&
        !(needed &&
          bl_area_grow(m, &m->heap_area,
                       (const char *)(m->h + segment / 2 + BL_HEAP_MARGIN)));
    if (stays && freed < segment / 16 && m->h >= m->heap_end) {
        bl_throw_resource(m, "memory");
        return false;
    }
    if (!bl_machine_event(m))
        return false;
    if (full)
        m->heap_mark = stays ? m->heap_end : mark_between(m->h, m->heap_end);
    if (m->collect_every != 0)
        bl_store_release(&m->heap_soft, NULL);
    return true;
}

// ---- choice points and environments

struct bl_choice *bl_choice_push(struct bl_machine *m, const bl_word *alt,
                                 size_t n) {
    struct bl_choice *const b = bl_choice_end(m->b);
    if (BL_UNLIKELY((const char *)(b->arg + n) >= m->choice_end) &&
        !bl_choice_ensure(m, (const char *)(b->arg + n)))
        return NULL;
    b->env_top = bl_env_top(m);
    b->prev = m->b;
    b->alt = alt;
    b->e = m->e;
    b->cp = m->cp;
    b->h = m->h;
    b->tr = m->tr;
    b->n = n;
    m->b = b;
    m->hb = m->h;
    return b;
}

void bl_choice_pop(struct bl_machine *m) {
    m->b = m->b->prev;
    m->hb = m->b->h;
}

struct bl_env *bl_env_push(struct bl_machine *m, size_t n) {
    struct bl_env *const e = (struct bl_env *)(void *)bl_env_top(m);
    if (BL_UNLIKELY((const char *)(e->y + n) >= m->env_end) &&
        !bl_env_ensure(m, (const char *)(e->y + n)))
        return NULL;
    e->parent = m->e;
    e->cp = m->cp;
    e->n = n;
    m->e = e;
    return e;
}

// ---- errors on their way

// A catch is active while its goal runs: while its environment is among those
// that the running clause will return to.
static bool is_active(const struct bl_machine *m, const struct bl_choice *b) {
    const struct bl_env *const wanted =
        (const struct bl_env *)(const void *)bl_ptr(b->arg[3]);
    const struct bl_env *e = m->e;
    while (e > wanted)
        e = e->parent;
    return e == wanted;
}

static void restore_from(struct bl_machine *m, const struct bl_choice *b) {
    bl_findall_drop_since(m, b);
    bl_untrail(m, b->tr);
    m->h = b->h;
    m->e = b->e;
    m->cp = b->cp;
    m->b = b->prev;
    m->hb = m->b->h;
    m->b0 = m->b;
}

// Whether the catcher takes the ball; then x[0] is the recovery goal.
static bool takes_ball(struct bl_machine *m, bl_word catcher,
                       bl_word recovery) {
    bl_word ball;
    bl_word *const mark = m->tr;
    struct bl_record *const r = m->ball;
    bl_word *const hb = m->hb;
    if (!bl_record_load(m, r, &ball))
        return false;
    m->hb = m->h; // trail everything: the bindings may have to go again
    const bool taken = bl_unify(m, catcher, ball);
    m->hb = hb;
    if (!taken) {
        bl_untrail(m, mark);
        return false;
    }
    m->ball = NULL;
    bl_record_free(r);
    m->x[0] = recovery;
    return true;
}

// The ball passes a choice point with a cleanup. The environments stay: they
// tell which catchers are active.
static void clean_up(struct bl_machine *m, struct bl_choice *b) {
    struct bl_env *const e = m->e;
    restore_from(m, b);
    m->e = e;
    bl_cleanup_in_error(m, b);
}

// The ball passes a generator. Where memory for answers that somebody still
// reads is missing, that is the ball now.
static void abandon(struct bl_machine *m, struct bl_choice *b) {
    bl_tabling_abandon(m, b);
    struct bl_choice *const newest = m->b;
    m->b = b->prev;
    (void)!bl_abolish_if_idle(m);
    m->b = newest;
}

const bl_word *bl_unwind(struct bl_machine *m) {
    if (m->scratch_words > SCRATCH_KEPT) {
        free(m->scratch);
        m->scratch = NULL;
        m->scratch_words = 0;
    }
    struct bl_choice *next;
    for (struct bl_choice *b = m->b;; b = next) {
        next = b->prev;
        if (b->alt == bl_code_query_failed) {
            bl_findall_drop_since(m, b);
            m->b = b;
            return NULL;
        }
        if (b->alt == bl_code_generator)
            abandon(m, b);
        if (b->alt == bl_code_cleanup) {
            clean_up(m, b);
            continue;
        }
        if (b->alt == bl_code_guard)
            bl_guard_undo(m, b);
        if (b->alt != bl_code_catch || !is_active(m, b))
            continue;
        const bl_word catcher = b->arg[1];
        const bl_word recovery = b->arg[2];
        restore_from(m, b);
        if (takes_ball(m, catcher, recovery))
            return bl_code_call;
        m->e = b->e;
    }
}
