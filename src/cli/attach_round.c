// SPDX-License-Identifier: MIT
//
// One round of `bigleaf attach`. The kernel may always say no: no huge page
// free, a limit reached, a page in use. That is noted and shown, and the round
// goes on or ends.
//
#include "cli/attach.h"

#include "os/file.h"
#include "os/machine.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define UNIT_PAGES (BL_HUGE_SIZE / BL_BASE_SIZE)
#define ENOUGH_PAGES (UNIT_PAGES / 2)
#define STOP_NS 3000000 // after this no further call, of 10 ms allowed
#define LEAST_UNIT_NS 250000
#define MOST_UNITS 8 // in one call
#define MOST_SHORTAGES 4
#define BATCH_UNITS 512
#define MOST_AGAIN 20 // a program flooded by signals

struct areas {
    struct bl_attach *job;
    bool mark; // marks have an effect here
    struct bl_attach_area *at;
    size_t count;
};

bool bl_attach_interrupted(void) {
    sigset_t pending;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) ||
            sigismember(&pending, SIGHUP));
}

static void wrong(struct bl_attach *a, const char *text) {
    if (!a->wrong)
        a->wrong = bl_xstrdup(text);
}

static bool goes_on(const struct bl_attach *a) {
    return !a->wrong && !a->ended && !bl_attach_interrupted();
}

// Private anonymous memory that the program writes, stacks left out.
static bool is_writable_area(const struct bl_mapping *m) {
    return m->writable && !m->executable && m->inode == 0 && m->hugetlb == 0 &&
           m->region != BL_REGION_STACK && m->rss >= BL_HUGE_SIZE / 2;
}

static void visit(const struct bl_mapping *m, void *context) {
    struct areas *areas = context;
    uint64_t *left = areas->job->left;
    const struct bl_attach_area area = {
        .start = bl_align_up(m->start, BL_HUGE_SIZE),
        .end = bl_align_down(m->end, BL_HUGE_SIZE),
        .from = m->start,
        .to = m->end,
        .mark = areas->mark && !m->advised && !m->eligible &&
                m->rss >= BL_HUGE_SIZE,
        .collapse = m->rss - m->huge >= BL_HUGE_SIZE / 2,
    };
    if (!is_writable_area(m) || area.start >= area.end)
        return;
    if (m->refused) {
        left[BL_LEFT_REFUSED] += m->rss - m->huge;
        return;
    }
    if (!area.mark && !area.collapse)
        return;
    areas->at = bl_xrealloc(areas->at, (areas->count + 1) * sizeof *areas->at);
    areas->at[areas->count++] = area;
}

// What the result of a hold means for the round; true: try again.
static bool take_hold_result(struct bl_attach *a, enum bl_hold_result result) {
    switch (result) {
    case BL_HOLD_OK:
    case BL_HOLD_AGAIN:
        return true;
    case BL_HOLD_GONE:
        a->ended = true;
        break;
    case BL_HOLD_DENIED:
        wrong(a, "may not be traced (kernel.yama.ptrace_scope, another tracer, "
                 "or a security module); run bigleaf as root");
        break;
    case BL_HOLD_DEEP:
        wrong(a, "is in uninterruptible sleep; try again later");
        break;
    case BL_HOLD_STOPPED:
        wrong(a, "has been stopped; let it go on first (kill -CONT)");
        break;
    case BL_HOLD_STUCK:
        wrong(a, "does not come to a stop; it was let go");
        break;
    case BL_HOLD_UNFIT:
        wrong(a, "cannot be made to call: no free bytes in its vdso, or code "
                 "of a special kind");
        break;
    }
    return false;
}

// Pauses for longer than the program was held just now.
static void let_run(uint64_t held_ns) {
    const uint64_t ms = 1 + 2 * held_ns / 1000000;
    bl_file_sleep_ms((uint32_t)(ms < 50 ? ms : 50));
}

static uint64_t held_for(const struct bl_attach *a) {
    return bl_hold_now_ns() - a->hold.stopped_ns;
}

// As many as fit the time that is left of a stop.
static uint64_t units_at_once(const struct bl_attach *a, uint64_t held_ns) {
    const uint64_t left = STOP_NS > held_ns ? STOP_NS - held_ns : 0;
    const uint64_t units = left / a->unit_ns;
    return units < 1 ? 1 : units > MOST_UNITS ? MOST_UNITS : units;
}

// Makes one call of the work; false: all is done.
typedef bool step_fn(struct bl_attach *a, void *work,
                     enum bl_hold_result *result);

// Holds the program for one slice: calls of `step` until it says that all is
// done, or the time is up. False: the round is over.
static bool slice(struct bl_attach *a, step_fn *step, void *work, bool *more) {
    bl_target_prepare(MOST_UNITS);
    enum bl_hold_result result = bl_hold_begin(&a->hold, a->target.pid);
    if (result != BL_HOLD_OK)
        return take_hold_result(a, result);
    do
        *more = step(a, work, &result);
    while (*more && result == BL_HOLD_OK && held_for(a) < STOP_NS);
    const uint64_t held = held_for(a);
    if (result == BL_HOLD_OK)
        bl_hold_end(&a->hold);
    let_run(held);
    return take_hold_result(a, result);
}

static void slices(struct bl_attach *a, step_fn *step, void *work) {
    bool more = true;
    unsigned idle = 0;
    while (more && goes_on(a)) {
        const uint64_t before = a->hold.calls;
        if (!slice(a, step, work, &more))
            return;
        idle = a->hold.calls == before ? idle + 1 : 0;
        if (idle > MOST_AGAIN) {
            wrong(a, "has so many signals to take that no call gets through");
            return;
        }
    }
}

struct marks {
    const struct areas *areas;
    size_t next;
};

static bool mark_next(struct bl_attach *a, void *work,
                      enum bl_hold_result *result) {
    struct marks *m = work;
    long got = 0;
    while (m->next < m->areas->count && !m->areas->at[m->next].mark)
        m->next++;
    if (m->next == m->areas->count)
        return false;
    const struct bl_attach_area *area = &m->areas->at[m->next];
    *result = bl_hold_madvise(&a->hold, area->from, area->to - area->from,
                              BL_HOLD_HUGEPAGE, &got);
    if (*result != BL_HOLD_OK)
        return true;
    m->next++;
    if (got == 0) {
        a->marked_areas++;
        a->marked += area->to - area->from;
    }
    return true;
}

static void mark(struct bl_attach *a, const struct areas *areas) {
    struct marks m = {.areas = areas};
    bool any = false;
    for (size_t i = 0; i < areas->count; i++)
        any |= areas->at[i].mark;
    if (any && a->may_inject)
        slices(a, mark_next, &m);
}

// Of a range that is gone the kernel says ENOMEM, too.
static bool is_there(const struct bl_attach *a, uint64_t at, uint64_t bytes) {
    uint16_t own[MOST_UNITS] = {0};
    const size_t units = bytes / BL_HUGE_SIZE;
    if (bl_target_resident(a->target.pid, at, units, own) < 0)
        return false;
    for (size_t i = 0; i < units; i++) {
        if (own[i] >= ENOUGH_PAGES)
            return true;
    }
    return false;
}

// Notes what the kernel said of `bytes`.
static void note_collapse(struct bl_attach *a, uint64_t at, uint64_t bytes,
                          int error) {
    if (error == 0) {
        a->shortages = 0;
        return;
    }
    if (error == -ESRCH) {
        a->ended = true;
        return;
    }
    if (error == -ENOMEM && !is_there(a, at, bytes))
        return;
    a->left[BL_LEFT_FAILED] += bytes;
    a->last_errno = -error;
    const bool short_of_memory = error == -ENOMEM || error == -EBUSY;
    a->shortages = short_of_memory ? a->shortages + 1 : 0;
    if (a->shortages < MOST_SHORTAGES)
        return;
    wrong(a, error == -EBUSY
                 ? "goes no further: its memory cgroup has reached its limit"
                 : "goes no further: the kernel has no huge page left (memory "
                   "is full or fragmented)");
}

// Rises at once and falls slowly: a stop that is too long cannot be undone.
static void note_pace(struct bl_attach *a, uint64_t each) {
    const uint64_t lower = (3 * a->unit_ns + each) / 4;
    a->unit_ns = each > lower ? each : lower;
    if (a->unit_ns < LEAST_UNIT_NS)
        a->unit_ns = LEAST_UNIT_NS;
}

struct stretch {
    uint64_t at, end;
};

static bool collapse_next(struct bl_attach *a, void *work,
                          enum bl_hold_result *result) {
    struct stretch *s = work;
    long got = 0;
    const uint64_t most = (s->end - s->at) / BL_HUGE_SIZE;
    uint64_t units = units_at_once(a, held_for(a));
    units = units < most ? units : most;
    const uint64_t before = bl_hold_now_ns();
    *result = bl_hold_madvise(&a->hold, s->at, units * BL_HUGE_SIZE,
                              BL_HOLD_COLLAPSE, &got);
    if (*result != BL_HOLD_OK)
        return true;
    note_pace(a, (bl_hold_now_ns() - before) / units);
    note_collapse(a, s->at, units * BL_HUGE_SIZE, (int)got);
    s->at += units * BL_HUGE_SIZE;
    return s->at < s->end && goes_on(a);
}

// From outside; false where that is not allowed.
static bool collapse_outside(struct bl_attach *a, struct stretch *s) {
    while (s->at < s->end && goes_on(a)) {
        const uint64_t most = MOST_UNITS * BL_HUGE_SIZE;
        const uint64_t bytes = s->end - s->at < most ? s->end - s->at : most;
        bl_target_prepare(bytes / BL_HUGE_SIZE);
        const uint64_t before = bl_hold_now_ns();
        const int error = bl_target_collapse(a->handle, s->at, bytes);
        const uint64_t ns =
            (bl_hold_now_ns() - before) / (bytes / BL_HUGE_SIZE);
        if (error == -EPERM || error == -ENOSYS)
            return false;
        if (ns > a->longest_call_ns)
            a->longest_call_ns = ns;
        note_collapse(a, s->at, bytes, error);
        s->at += bytes;
    }
    return true;
}

static void collapse(struct bl_attach *a, struct stretch s) {
    if (a->handle >= 0 && a->outside && collapse_outside(a, &s))
        return;
    a->outside = false;
    if (a->may_inject)
        slices(a, collapse_next, &s);
    else
        wrong(a, "runs under a seccomp filter that might end it for a call of "
                 "ours; run bigleaf as root");
}

// Collapses what is dense in units [first, first + count) of an area.
static void collapse_dense(struct bl_attach *a, uint64_t first,
                           const uint16_t *own, size_t count) {
    for (size_t i = 0; i < count && goes_on(a);) {
        size_t n = 0;
        while (i + n < count && own[i + n] >= ENOUGH_PAGES)
            n++;
        if (n) {
            const uint64_t at = first + i * BL_HUGE_SIZE;
            collapse(a, (struct stretch){at, at + n * BL_HUGE_SIZE});
        } else {
            a->left[BL_LEFT_SPARSE] += own[i] * BL_BASE_SIZE;
        }
        i += n ? n : 1;
    }
}

static void collapse_area(struct bl_attach *a,
                          const struct bl_attach_area *area) {
    static uint16_t own[BATCH_UNITS];
    for (uint64_t at = area->start; at < area->end && goes_on(a);) {
        const uint64_t units = (area->end - at) / BL_HUGE_SIZE;
        const size_t n = units < BATCH_UNITS ? (size_t)units : BATCH_UNITS;
        if (bl_target_resident(a->target.pid, at, n, own) < 0) {
            wrong(a, "does not show which of its memory is resident; run "
                     "bigleaf as root");
            return;
        }
        collapse_dense(a, at, own, n);
        at += n * BL_HUGE_SIZE;
    }
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void bl_attach_round(struct bl_attach *a) {
    const enum bl_thp_mode mode = bl_machine_thp_mode();
    struct areas areas = {
        .job = a, .mark = mode != BL_THP_NEVER && mode != BL_THP_ABSENT};
    struct bl_backing now;
    memset(a->left, 0, sizeof a->left);
    a->rounds++;
    if (a->rounds == 1)
        a->outside = true;
    if (bl_backing_read(a->target.pid, &now, visit, &areas) < 0)
        a->ended = true;
    mark(a, &areas);
    for (size_t i = 0; i < areas.count && goes_on(a); i++) {
        if (areas.at[i].collapse)
            collapse_area(a, &areas.at[i]);
    }
    free(areas.at);
    if (bl_backing_read(a->target.pid, &now, NULL, NULL) == 0)
        a->after = now;
    else
        a->ended = true;
    a->seconds = (double)(bl_hold_now_ns() - a->begin_ns) / 1e9;
    a->cpu_seconds = cpu_seconds();
}
