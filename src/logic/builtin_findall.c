// SPDX-License-Identifier: MIT
//
// Collecting solutions. A collection lives outside the heap while its goal
// backtracks; collections form a stack per machine. Those that an error leaves
// go when it is caught.
//
#include "logic/builtin.h"
#include "logic/engine.h"

#include <stdlib.h>

struct bl_findall {
    struct bl_findall *below;
    const struct bl_choice *since; // the newest choice point when it began
    struct bl_record *first, *last;
    int64_t count;
};

static void drop_records(struct bl_findall *f) {
    struct bl_record *r = f->first;
    while (r != NULL) {
        struct bl_record *const next = r->next;
        bl_record_free(r);
        r = next;
    }
    f->first = f->last = NULL;
}

static void pop(struct bl_machine *m) {
    struct bl_findall *const f = m->findall;
    m->findall = f->below;
    drop_records(f);
    free(f);
}

void bl_findall_drop_all(struct bl_machine *m) {
    while (m->findall != NULL)
        pop(m);
}

void bl_findall_drop_since(struct bl_machine *m, const struct bl_choice *b) {
    while (m->findall != NULL && m->findall->since >= b)
        pop(m);
}

static int start(struct bl_machine *m, const struct bl_choice *since,
                 bl_word ref) {
    struct bl_findall *const f = calloc(1, sizeof *f);
    if (f == NULL)
        return bl_throw_resource(m, "memory");
    f->below = m->findall;
    f->since = since;
    m->findall = f;
    return bl_answer(m, ref, bl_int((int64_t)((uintptr_t)f >> 3)));
}

static int start_1(struct bl_machine *m, bl_word *a) {
    return start(m, m->b, a[0]);
}

// '$findall_resume'(Choice, R): a collection for more solutions of a goal that
// began when the choice point that '$choice'/1 told was the newest.
static int resume_2(struct bl_machine *m, bl_word *a) {
    const char *const since =
        m->choice_area.base + bl_int_value(bl_deref(a[0]));
    return start(m, (const struct bl_choice *)(const void *)since, a[1]);
}

static struct bl_findall *collection(bl_word ref) {
    const int64_t i = bl_int_value(bl_deref(ref));
    return (struct bl_findall *)((uintptr_t)i << 3);
}

static int add_2(struct bl_machine *m, bl_word *a) {
    struct bl_findall *const f = collection(a[0]);
    const bl_word t = bl_deref(a[1]);
    struct bl_record *const r = bl_record_make(m, &t, 1);
    if (r == NULL)
        return BL_THROW;
    if (f->last != NULL)
        f->last->next = r;
    else
        f->first = r;
    f->last = r;
    f->count++;
    return BL_TRUE;
}

// '$findall_has'(R, N): it has just got its Nth.
static int has_2(struct bl_machine *m, bl_word *a) {
    (void)m;
    return bl_deref(a[1]) == bl_int(collection(a[0])->count) ? BL_TRUE
                                                             : BL_FAIL;
}

static int count_1(struct bl_machine *m, bl_word *a) {
    (void)m;
    collection(a[0])->count++;
    return BL_TRUE;
}

static void drop_above(struct bl_machine *m, const struct bl_findall *f) {
    while (m->findall != f)
        pop(m);
}

static int take_count_2(struct bl_machine *m, bl_word *a) {
    struct bl_findall *const f = collection(a[0]);
    drop_above(m, f);
    const int64_t n = f->count;
    pop(m);
    return bl_answer(m, a[1], bl_int(n));
}

static int take_3(struct bl_machine *m, bl_word *a) {
    struct bl_findall *const f = collection(a[0]);
    drop_above(m, f);
    bl_word list = a[2];
    bl_word *hole = NULL;
    size_t words = 0;
    for (const struct bl_record *r = f->first; r != NULL; r = r->next)
        words += r->words + 2;
    if (!bl_heap_ensure(m, words + 2)) {
        pop(m);
        return BL_THROW;
    }
    for (const struct bl_record *r = f->first; r != NULL; r = r->next) {
        bl_word t;
        if (!bl_record_load(m, r, &t)) {
            pop(m);
            return BL_THROW;
        }
        const bl_word cell = bl_list_cell(m, t, a[2]);
        if (hole == NULL)
            list = cell;
        else
            *hole = cell;
        hole = bl_ptr(cell) + 1;
    }
    pop(m);
    return bl_answer(m, a[1], list);
}

// '$partial_list'(L): where solutions go must be able to be a list.
static int partial_list_1(struct bl_machine *m, bl_word *a) {
    return bl_take_partial_list(m, a[0]);
}

void bl_builtins_findall(void) {
    static const struct bl_builtin_row rows[] = {
        {"$partial_list", 1, partial_list_1},
        {"$findall_start", 1, start_1},
        {"$findall_add", 2, add_2},
        {"$findall_count", 1, count_1},
        {"$findall_has", 2, has_2},
        {"$findall_resume", 2, resume_2},
        {"$findall_take_count", 2, take_count_2},
        {"$findall_take", 3, take_3},
    };
    BL_DEFINE(rows);
}
