// SPDX-License-Identifier: MIT
//
// One round of `bigleaf attach`. The kernel may always say no: no huge page
// free, a limit reached, a page in use. That is noted and shown, and the round
// goes on or ends.
//
#include "cli/attach.h"

#include "cli/clock.h"
#include "os/file.h"
#include "os/machine.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define UNIT_PAGES (BL_HUGE_SIZE / BL_BASE_SIZE)
#define ENOUGH_PAGES (UNIT_PAGES / 2)
#define MOST_SHORTAGES 4
#define BATCH_UNITS 512

struct areas {
    struct bl_attach *job;
    bool mark; // marks have an effect here
    struct bl_attach_area *at;
    size_t count;
};

static bool one_waits(const int *signals, size_t count) {
    sigset_t pending;
    if (sigpending(&pending) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (sigismember(&pending, signals[i]))
            return true;
    }
    return false;
}

bool bl_attach_interrupted(void) {
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    return one_waits(ends, BL_ARRAY_LEN(ends));
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
    struct bl_attach *a = areas->job;
    const bool plain = m->rss - m->huge >= BL_HUGE_SIZE / 2;
    const struct bl_attach_area area = {
        .start = bl_align_up(m->start, BL_HUGE_SIZE),
        .end = bl_align_down(m->end, BL_HUGE_SIZE),
        .from = m->start,
        .to = m->end,
        .mark = areas->mark && !m->advised && !m->eligible &&
                m->rss >= BL_HUGE_SIZE,
        .collapse = plain && a->may_collapse,
    };
    if (!is_writable_area(m) || area.start >= area.end)
        return;
    if (m->refused) {
        a->left[BL_LEFT_REFUSED] += m->rss - m->huge;
        return;
    }
    if (plain && !a->may_collapse) {
        a->left[BL_LEFT_FAILED] += m->rss - m->huge;
        a->last_errno = EINVAL; // as such a kernel says
    }
    if (!area.mark && !area.collapse)
        return;
    areas->at = bl_xrealloc(areas->at, (areas->count + 1) * sizeof *areas->at);
    areas->at[areas->count++] = area;
}

// Why there can be no visitor; NULL: the process has ended.
static const char *no_visitor(enum bl_hold_result result) {
    switch (result) {
    case BL_HOLD_AGAIN:
        return "has so many signals to take that no call gets through";
    case BL_HOLD_DENIED:
        return "may not be traced (kernel.yama.ptrace_scope, another tracer, "
               "or a security module); run bigleaf as root";
    case BL_HOLD_DEEP:
        return "is in uninterruptible sleep; try again later";
    case BL_HOLD_STOPPED:
        return "has been stopped; let it go on first (kill -CONT)";
    case BL_HOLD_STUCK:
        return "does not come to a stop; try again later";
    case BL_HOLD_FROZEN:
        return "is frozen with its cgroup (docker pause, systemctl freeze), or "
               "gets no processor; let it go on first";
    case BL_HOLD_UNFIT:
        return "cannot be made to call: no free bytes in its vdso, or code of "
               "a special kind";
    case BL_HOLD_FULL:
        return "may have no further thread (ulimit -u, or pids.max of its "
               "cgroup); raise that limit";
    case BL_HOLD_BUSY:
        return "still makes a call for a bigleaf that was killed; try again "
               "later";
    case BL_HOLD_OK:
    case BL_HOLD_GONE:
        break;
    }
    return NULL;
}

// There is no visitor, or it makes no call.
static void note_no_visitor(struct bl_attach *a, enum bl_hold_result result) {
    const char *why = no_visitor(result);
    if (why)
        wrong(a, why);
    else
        a->ended = true;
    a->passing = result == BL_HOLD_AGAIN || result == BL_HOLD_DEEP ||
                 result == BL_HOLD_STOPPED || result == BL_HOLD_BUSY ||
                 result == BL_HOLD_STUCK || result == BL_HOLD_FROZEN;
}

// Lets a visitor in, if none is there: the one stop of a round.
static bool has_visitor(struct bl_attach *a) {
    if (a->visited)
        return true;
    if (!a->may_inject) {
        wrong(a, "runs under a seccomp filter that might end it for a call of "
                 "ours; run bigleaf as root");
        return false;
    }
    const enum bl_hold_result result =
        bl_visitor_begin(&a->visitor, a->target.pid);
    a->visited = result == BL_HOLD_OK;
    if (!a->visited)
        note_no_visitor(a, result);
    return a->visited;
}

// By the visitor. The kernel's result.
static int advise(struct bl_attach *a, uint64_t at, uint64_t bytes,
                  int advice) {
    long result = 0;
    if (!has_visitor(a))
        return -ESRCH;
    const enum bl_hold_result made =
        bl_visitor_madvise(&a->visitor, at, bytes, advice, &result);
    if (made == BL_HOLD_OK)
        return (int)result;
    note_no_visitor(a, made);
    return -ESRCH;
}

static void mark(struct bl_attach *a, const struct areas *areas) {
    for (size_t i = 0; i < areas->count && goes_on(a) && a->may_inject; i++) {
        const struct bl_attach_area *area = &areas->at[i];
        const uint64_t bytes = area->to - area->from;
        if (!area->mark ||
            advise(a, area->from, bytes, BL_VISITOR_HUGEPAGE) != 0)
            continue;
        a->marked_areas++;
        a->marked += bytes;
    }
}

// Of a unit that is gone the kernel says ENOMEM, too.
static bool is_there(const struct bl_attach *a, uint64_t at) {
    uint16_t own = 0;
    return bl_target_resident(a->target.pid, at, 1, &own) == 0 &&
           own >= ENOUGH_PAGES;
}

// Notes what the kernel said of a unit.
static void note_collapse(struct bl_attach *a, uint64_t at, int error) {
    if (error == 0) {
        a->shortages = 0;
        return;
    }
    if (error == -ESRCH) {
        a->ended = true;
        return;
    }
    if (error == -ENOMEM && !is_there(a, at))
        return;
    a->left[BL_LEFT_FAILED] += BL_HUGE_SIZE;
    a->last_errno = -error;
    const bool short_of_memory = error == -ENOMEM || error == -EBUSY;
    a->shortages = short_of_memory ? a->shortages + 1 : 0;
    if (a->shortages < MOST_SHORTAGES)
        return;
    a->passing = true;
    wrong(a, error == -EBUSY
                 ? "goes no further: its memory cgroup has reached its limit"
                 : "goes no further: the kernel has no huge page left (memory "
                   "is full or fragmented)");
}

// From outside where the kernel allows that, and else by the visitor.
static int collapse_unit(struct bl_attach *a, uint64_t at) {
    const uint64_t before = bl_hold_now_ns();
    int error = -EPERM;
    if (a->outside)
        error = bl_target_collapse(a->handle, at, BL_HUGE_SIZE);
    if (error == -EPERM || error == -ENOSYS) {
        a->outside = false;
        if (!has_visitor(a))
            return -ESRCH;
        error = advise(a, at, BL_HUGE_SIZE, BL_VISITOR_COLLAPSE);
    }
    const uint64_t ns = bl_hold_now_ns() - before;
    if (ns > a->longest_collapse_ns)
        a->longest_collapse_ns = ns;
    return error;
}

// Its end gives this command its signals back.
static void leave_process(struct bl_attach *a) {
    if (a->visited)
        bl_visitor_end(&a->visitor);
    a->visited = false;
}

// Job control (Ctrl-Z) has to wait while a visitor is there. Then the visitor
// leaves, and another one comes when this command goes on.
static void heed_job_control(struct bl_attach *a) {
    static const int stops[] = {SIGTSTP, SIGTTIN, SIGTTOU};
    if (a->visited && one_waits(stops, BL_ARRAY_LEN(stops)))
        leave_process(a);
}

static void collapse(struct bl_attach *a, uint64_t at, size_t units) {
    for (size_t i = 0; i < units && goes_on(a); i++, at += BL_HUGE_SIZE) {
        heed_job_control(a);
        bl_target_prepare();
        const int error = collapse_unit(a, at);
        if (goes_on(a))
            note_collapse(a, at, error);
    }
}

// Collapses what is dense in units [first, first + count) of an area.
static void collapse_dense(struct bl_attach *a, uint64_t first,
                           const uint16_t *own, size_t count) {
    for (size_t i = 0; i < count && goes_on(a);) {
        size_t n = 0;
        while (i + n < count && own[i + n] >= ENOUGH_PAGES)
            n++;
        if (n)
            collapse(a, first + i * BL_HUGE_SIZE, n);
        else
            a->left[BL_LEFT_SPARSE] += own[i] * BL_BASE_SIZE;
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

void bl_attach_round(struct bl_attach *a) {
    const enum bl_thp_mode mode = bl_machine_thp_mode();
    struct areas areas = {
        .job = a, .mark = mode != BL_THP_NEVER && mode != BL_THP_ABSENT};
    struct bl_backing now;
    memset(a->left, 0, sizeof a->left);
    a->shortages = 0;
    a->rounds++;
    int error = bl_backing_read(a->target.pid, &now, visit, &areas);
    if (error < 0)
        bl_attach_unseen(a, error);
    mark(a, &areas);
    for (size_t i = 0; i < areas.count && goes_on(a); i++) {
        if (areas.at[i].collapse)
            collapse_area(a, &areas.at[i]);
    }
    free(areas.at);
    leave_process(a);
    error = bl_backing_read(a->target.pid, &now, NULL, NULL);
    if (error == 0)
        a->after = now;
    else
        bl_attach_unseen(a, error);
    a->seconds = (double)(bl_hold_now_ns() - a->begin_ns) / 1e9;
    a->cpu_seconds = (double)bl_cpu_us() / 1e6;
}
