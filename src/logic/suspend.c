// SPDX-License-Identifier: MIT
//
// Suspension: what remains to be done after a call, as a record, and back.
//
// The environments from the call out to the generator around it are walked
// once; of each, the slots that live where it goes on (the compiler noted
// them in front of that place) are copied, together with the variables of the
// call and the template of the generator's answer, so that what these share
// stays shared. Levels for cuts are words without meaning elsewhere: resumed,
// a cut reaches to the choice point of the resumption.
//
#include "logic/tabling.h"

#include "logic/error.h"
#include "logic/join.h"
#include "logic/record.h"

#include <stdlib.h>
#include <string.h>

static bool push_root(struct bl_machine *m, bl_word w) {
    struct bl_tabler *const t = m->tabler;
    if (t->roots == t->root_capacity) {
        const size_t size = t->root_capacity * 2 + 64;
        bl_word *const p = realloc(t->root, size * sizeof *p);
        if (p == NULL) {
            bl_throw_resource(m, "memory");
            return false;
        }
        t->root = p;
        t->root_capacity = size;
    }
    t->root[t->roots++] = w;
    return true;
}

static bool push_frame(struct bl_machine *m, struct bl_frame_code f) {
    struct bl_tabler *const t = m->tabler;
    if (t->frames == t->frame_capacity) {
        const size_t size = t->frame_capacity * 2 + 16;
        struct bl_frame_code *const p = realloc(t->frame, size * sizeof *p);
        if (p == NULL) {
            bl_throw_resource(m, "memory");
            return false;
        }
        t->frame = p;
        t->frame_capacity = size;
    }
    t->frame[t->frames++] = f;
    return true;
}

static bool gather_frame(struct bl_machine *m, const struct bl_env *e,
                         const bl_word *cp) {
    const bl_word live = cp[-1];
    const size_t before = m->tabler->roots;
    for (uint64_t i = 0; i < e->n; i++) {
        if (bl_is_live(live, i) && !push_root(m, e->y[i]))
            return false;
    }
    const struct bl_frame_code f = {cp, (uint32_t)e->n,
                                    (uint32_t)(m->tabler->roots - before)};
    return push_frame(m, f);
}

// Gathers roots and frames; NULL: ball set.
static struct bl_goal *gather(struct bl_machine *m, const struct bl_goal *of,
                              const struct bl_env *e, const bl_word *cp) {
    while (cp != bl_code_new_answer) {
        if (cp == bl_code_catch_exit) {
            bl_not_stratified(m, of, "catch/3");
            return NULL;
        }
        if (cp == bl_code_query_true || (cp[-1] & BL_LIVE_BARRIER)) {
            bl_not_stratified(m, of, "a condition or a collection");
            return NULL;
        }
        if (!gather_frame(m, e, cp))
            return NULL;
        cp = e->cp;
        e = e->parent;
    }
    for (uint64_t i = 1; i < e->n; i++) {
        if (!push_root(m, e->y[i]))
            return NULL;
    }
    return (struct bl_goal *)(void *)bl_ptr(e->y[0]);
}

// NULL: ball set.
static struct bl_consumer *make_consumer(struct bl_machine *m,
                                         struct bl_goal *of, const bl_word *var,
                                         size_t n, const struct bl_env *e,
                                         const bl_word *cp) {
    struct bl_tabler *const t = m->tabler;
    t->roots = 0;
    t->frames = 0;
    for (size_t i = 0; i < n; i++) {
        if (!push_root(m, var[i]))
            return NULL;
    }
    struct bl_goal *const producer = gather(m, of, e, cp);
    if (producer == NULL)
        return NULL;
    const size_t bytes = t->frames * sizeof(struct bl_frame_code);
    struct bl_consumer *const c = malloc(sizeof *c + bytes);
    struct bl_record *const r =
        c != NULL ? bl_record_make(m, t->root, t->roots) : NULL;
    if (r == NULL) {
        if (c == NULL)
            bl_throw_resource(m, "memory");
        free(c);
        return NULL;
    }
    *c = (struct bl_consumer){.of = of,
                              .producer = producer,
                              .record = r,
                              .vars = (uint32_t)n,
                              .frames = (uint32_t)t->frames};
    if (bytes > 0)
        memcpy(c->frame, t->frame, bytes);
    t->suspensions++;
    return c;
}

bool bl_suspend(struct bl_machine *m, struct bl_goal *of, const bl_word *var,
                size_t n, const struct bl_env *e, const bl_word *cp) {
    struct bl_consumer *const c = make_consumer(m, of, var, n, e, cp);
    if (c == NULL)
        return false;
    struct bl_join j;
    if (bl_join_find(&j, of->sg, var, n, e, cp)) {
        c->join = malloc(sizeof j);
        if (c->join != NULL) // else the machine does it
            *c->join = j;
    }
    of->calls = of->calls || c->join == NULL;
    if (of->last_consumer != NULL)
        of->last_consumer->next = c;
    else
        of->consumers = c;
    of->last_consumer = c;
    if (of->unvisited == NULL)
        of->unvisited = c;
    if (bl_answer_any(of->sg))
        bl_goal_queue(m->tabler, of);
    return true;
}

bool bl_suspend_absent(struct bl_machine *m, struct bl_goal *of,
                       const struct bl_env *e, const bl_word *cp) {
    struct bl_consumer *const c = make_consumer(m, of, NULL, 0, e, cp);
    if (c == NULL)
        return false;
    c->next = of->waiters;
    of->waiters = c;
    m->tabler->waiting++;
    return true;
}

uint64_t bl_consumers_free(struct bl_consumer *c) {
    uint64_t n = 0;
    for (; c != NULL; n++) {
        struct bl_consumer *const next = c->next;
        bl_record_free(c->record);
        free(c->join);
        free(c);
        c = next;
    }
    return n;
}

// ---- back

static bool push_base(struct bl_machine *m, const struct bl_consumer *c,
                      const bl_word *template, size_t n) {
    struct bl_env *const base = bl_env_push(m, n + 1);
    if (base == NULL)
        return false;
    base->y[0] = bl_make(c->producer, BL_REF);
    if (n > 0) // no variables: the vector may be NULL
        memcpy(base->y + 1, template, n * sizeof(bl_word));
    m->cp = bl_code_new_answer;
    return true;
}

static bool push_environment(struct bl_machine *m,
                             const struct bl_frame_code *f,
                             const bl_word *value, bl_word level) {
    struct bl_env *const e = bl_env_push(m, f->slots);
    if (e == NULL)
        return false;
    const bl_word live = f->cp[-1];
    for (uint64_t i = 0; i < f->slots; i++) {
        if (!bl_is_live(live, i))
            continue;
        e->y[i] = bl_tag(*value) == BL_LVL ? level : *value;
        value++;
    }
    m->cp = f->cp;
    return true;
}

bool bl_resume(struct bl_machine *m, const struct bl_consumer *c) {
    struct bl_tabler *const t = m->tabler;
    const struct bl_record *const r = c->record;
    t->roots = 0;
    while (t->root_capacity < r->roots) {
        if (!push_root(m, 0))
            return false;
    }
    bl_word *const root = t->root;
    if (!bl_record_load(m, r, root))
        return false;
    size_t template = c->vars;
    for (uint32_t i = 0; i < c->frames; i++)
        template += c->frame[i].live;
    if (!push_base(m, c, root + template, r->roots - template))
        return false;
    // the choice point that the caller is going to push comes next
    const bl_word level = bl_level_of(m, bl_choice_end(m->b));
    size_t at = template;
    for (uint32_t i = c->frames; i-- > 0;) {
        at -= c->frame[i].live;
        if (!push_environment(m, &c->frame[i], root + at, level))
            return false;
    }
    return true;
}
