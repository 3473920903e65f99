// SPDX-License-Identifier: MIT
//
// Just-in-time indexing. A call with bound arguments asks for the index of the
// first of them; where that leaves many clauses, for the next ones, and at
// last for one over the first two bound arguments together. What was replaced
// stays readable, since a running call may be going through it; as arrays
// double, that is at most as much again as what is in use.
// Source: the multi-argument indexing of YAP [SantosCosta-2007].
//
#include "logic/index.h"

#include <stdlib.h>
#include <string.h>

enum {
    GOOD_ENOUGH = 4, // clauses left: no further argument is looked at
    PAIR_FROM = 16   // clauses left by one argument: try two
};

#define NO_ARG UINT32_MAX

// ---- arrays

static struct bl_clauses *new_clauses(uint32_t capacity) {
    struct bl_clauses *const l =
        calloc(1, sizeof *l + capacity * sizeof l->item[0]);
    BL_CHECK(l != NULL);
    l->capacity = capacity;
    return l;
}

static struct bl_clauses *grown_copy(const struct bl_clauses *list,
                                     bool at_end) {
    const uint32_t start = bl_load_relaxed(&list->start);
    const uint32_t n = bl_load_relaxed(&list->end) - start;
    struct bl_clauses *const new = new_clauses(2 * n + 4);
    const uint32_t first = at_end ? 0 : n + 2;
    memcpy(new->item + first, list->item + start, n * sizeof new->item[0]);
    new->start = first;
    new->floor = first;
    new->end = first + n;
    return new;
}

// How many erased clauses at the front were left out.
static uint32_t drop_front(struct bl_clauses *list) {
    const uint32_t start = bl_load_relaxed(&list->start);
    const uint32_t end = bl_load_relaxed(&list->end);
    uint32_t i = start;
    while (i < end && bl_load_relaxed(&list->item[i]->death) != UINT64_MAX)
        i++;
    bl_store_release(&list->start, i);
    return i - start;
}

struct bl_clauses *bl_clauses_add(struct bl_clauses *list, struct bl_clause *c,
                                  bool at_end) {
    if (list == NULL)
        list = new_clauses(4);
    const uint32_t end = bl_load_relaxed(&list->end);
    const uint32_t start = bl_load_relaxed(&list->start);
    // a place in front that was in use may still be looked at
    if (at_end ? end == list->capacity : start == 0 || start > list->floor)
        list = grown_copy(list, at_end);
    if (at_end) {
        const uint32_t at = bl_load_relaxed(&list->end);
        BL_ASSERT(at < list->capacity);
        list->item[at] = c;
        // pairs with the acquire in bl_clauses_run
        bl_store_release(&list->end, at + 1);
    } else {
        const uint32_t at = bl_load_relaxed(&list->start) - 1;
        list->item[at] = c;
        list->floor = at;
        bl_store_release(&list->start, at);
    }
    return list;
}

// ---- hash tables

static bl_word pair_key(bl_word a, bl_word b) {
    if (a == 0 || b == 0)
        return 0;
    const bl_word k = bl_index_hash(a) * 31 + b;
    return k == 0 ? 1 : k;
}

static bl_word clause_key(const struct bl_index *ix,
                          const struct bl_clause *c) {
    if (ix->arg2 == NO_ARG)
        return c->key[ix->arg];
    return pair_key(c->key[ix->arg], c->key[ix->arg2]);
}

static void slot_add(struct bl_index *ix, bl_word key, struct bl_clause *c,
                     bool at_end) {
    struct bl_index_slot *const s = bl_index_slot_of(ix, key);
    if (bl_load_relaxed(&s->key) == 0) {
        s->single = c;
        if (ix->otherwise != NULL) {
            struct bl_clauses *l = NULL;
            struct bl_clause_run r = bl_clauses_run(ix->otherwise);
            for (; r.at < r.end; r.at++)
                l = bl_clauses_add(l, *r.at, true);
            bl_store_relaxed(&s->list, bl_clauses_add(l, c, at_end));
        }
        ix->keys++;
        bl_store_release(&s->key, key);
        return;
    }
    struct bl_clauses *list = bl_load_relaxed(&s->list);
    if (list == NULL)
        list = bl_clauses_add(NULL, s->single, true);
    list = bl_clauses_add(list, c, at_end);
    bl_store_release(&s->list, list);
}

// A clause that matches every key joins every list, and the keys to come.
static void add_to_all(struct bl_index *ix, struct bl_clause *c) {
    for (uint64_t i = 0; i <= ix->mask; i++) {
        const bl_word key = bl_load_relaxed(&ix->slot[i].key);
        if (key != 0)
            slot_add(ix, key, c, true);
    }
    ix->otherwise = bl_clauses_add(ix->otherwise, c, true);
    ix->has_variables = true;
}

void bl_index_free(struct bl_index *ix) {
    for (uint64_t i = 0; i <= ix->mask; i++)
        free(bl_load_relaxed(&ix->slot[i].list));
    free(bl_load_relaxed(&ix->column));
    free(ix->otherwise);
    free(ix);
}

// NULL where the index would not tell clauses apart.
static struct bl_index *build(struct bl_pred *p, uint32_t arg, uint32_t arg2) {
    const struct bl_clause_run run =
        bl_clauses_run(bl_load_relaxed(&p->clauses));
    const size_t n = (size_t)(run.end - run.at);
    const uint64_t slots = (uint64_t)1 << (bl_log2_ceil(n + 1) + 1);
    struct bl_index *const ix =
        calloc(1, sizeof *ix + slots * sizeof ix->slot[0]);
    if (ix == NULL)
        return NULL;
    ix->arg = arg;
    ix->arg2 = arg2;
    ix->mask = (uint32_t)(slots - 1);
    size_t variables = 0;
    for (size_t i = 0; i < n; i++) {
        struct bl_clause *const c = run.at[i];
        if (bl_load_relaxed(&c->death) != UINT64_MAX)
            continue;
        const bl_word key = clause_key(ix, c);
        if (key != 0)
            slot_add(ix, key, c, true);
        else if (++variables > 4 && variables * 8 > n)
            break;
        else
            add_to_all(ix, c);
    }
    if (ix->keys < 2 || (variables > 4 && variables * 8 > n)) {
        bl_index_free(ix);
        return NULL;
    }
    return ix;
}

static struct bl_index *index_for(struct bl_pred *p, uint32_t arg) {
    struct bl_index *ix = bl_load_acquire(&p->index[arg]);
    if (ix != NULL || (bl_load_relaxed(&p->index_refused) & (1u << arg)))
        return ix;
    pthread_mutex_lock(&p->lock);
    ix = bl_load_relaxed(&p->index[arg]);
    if (ix == NULL) {
        ix = build(p, arg, NO_ARG);
        if (ix == NULL)
            bl_store_relaxed(&p->index_refused,
                             bl_load_relaxed(&p->index_refused) | 1u << arg);
        else
            bl_store_release(&p->index[arg], ix);
    }
    pthread_mutex_unlock(&p->lock);
    return ix;
}

// There is one index over two arguments: over those that were first asked for.
static struct bl_index *pair_index(struct bl_pred *p, uint32_t a, uint32_t b) {
    struct bl_index *ix = bl_load_acquire(&p->pair);
    if (ix != NULL)
        return ix->arg == a && ix->arg2 == b ? ix : NULL;
    if (bl_load_relaxed(&p->index_refused) & 1u << 31)
        return NULL;
    pthread_mutex_lock(&p->lock);
    ix = bl_load_relaxed(&p->pair);
    if (ix == NULL) {
        ix = build(p, a, b);
        if (ix == NULL)
            bl_store_relaxed(&p->index_refused,
                             bl_load_relaxed(&p->index_refused) | 1u << 31);
        else
            bl_store_release(&p->pair, ix);
    }
    pthread_mutex_unlock(&p->lock);
    return ix != NULL && ix->arg == a && ix->arg2 == b ? ix : NULL;
}

static struct bl_clause_run best_of_pair(struct bl_pred *p, const uint32_t *arg,
                                         const bl_word *key,
                                         struct bl_clause_run best) {
    struct bl_index *const ix = pair_index(p, arg[0], arg[1]);
    if (ix == NULL)
        return best;
    const struct bl_clause_run r = bl_index_find(ix, pair_key(key[0], key[1]));
    return r.end - r.at < best.end - best.at ? r : best;
}

struct bl_clause_run bl_pred_match_keys(struct bl_pred *p, const bl_word *key) {
    struct bl_clause_run best = bl_clauses_run(bl_load_acquire(&p->clauses));
    if (best.end - best.at < BL_INDEX_FROM)
        return best;
    const uint32_t n = p->arity < BL_INDEXED_ARGS ? p->arity : BL_INDEXED_ARGS;
    uint32_t arg[BL_INDEXED_ARGS];
    bl_word keys[BL_INDEXED_ARGS];
    uint32_t bound = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (key[i] == 0)
            continue;
        arg[bound] = i;
        keys[bound++] = key[i];
        struct bl_index *const ix = index_for(p, i);
        if (ix == NULL)
            continue;
        const struct bl_clause_run r = bl_index_find(ix, key[i]);
        if (r.end - r.at < best.end - best.at)
            best = r;
        if (best.end - best.at <= GOOD_ENOUGH)
            return best;
    }
    if (bound >= 2 && best.end - best.at >= PAIR_FROM)
        return best_of_pair(p, arg, keys, best);
    return best;
}

// ---- keeping them

static void drop(struct bl_pred *p, _Atomic(struct bl_index *) *where) {
    struct bl_index *const ix = bl_load_relaxed(where);
    if (ix == NULL)
        return;
    bl_store_release(where, NULL);
    bl_keep_index(p, ix);
}

void bl_index_drop(struct bl_pred *p) {
    for (uint32_t i = 0; i < BL_INDEXED_ARGS; i++)
        drop(p, &p->index[i]);
    drop(p, &p->pair);
    bl_store_relaxed(&p->index_refused, 0);
}

static void update(struct bl_pred *p, _Atomic(struct bl_index *) *where,
                   struct bl_clause *c, bool at_end) {
    struct bl_index *const ix = bl_load_relaxed(where);
    if (ix == NULL)
        return;
    const bl_word key = clause_key(ix, c);
    if (key == 0 || ix->has_variables || ix->keys * 2 > ix->mask ||
        bl_load_relaxed(&ix->column) != NULL) {
        drop(p, where);
        return;
    }
    slot_add(ix, key, c, at_end);
}

static void erase_from(struct bl_index *ix, const struct bl_clause *c) {
    if (ix == NULL || clause_key(ix, c) == 0)
        return;
    struct bl_index_slot *const s = bl_index_slot_of(ix, clause_key(ix, c));
    struct bl_clauses *const list = bl_load_relaxed(&s->list);
    if (list != NULL)
        (void)drop_front(list);
}

void bl_index_erase(struct bl_pred *p, struct bl_clause *c) {
    struct bl_clauses *const list = bl_load_relaxed(&p->clauses);
    const uint32_t start = bl_load_relaxed(&list->start);
    const uint32_t dropped = drop_front(list);
    for (uint32_t i = start; i < start + dropped; i++)
        bl_keep_clause(p, list->item[i]);
    BL_ASSERT(p->dead >= dropped);
    p->dead -= dropped;
    for (uint32_t i = 0; i < BL_INDEXED_ARGS; i++)
        erase_from(bl_load_relaxed(&p->index[i]), c);
    erase_from(bl_load_relaxed(&p->pair), c);
}

void bl_index_add(struct bl_pred *p, struct bl_clause *c, bool at_end) {
    const uint32_t n = p->arity < BL_INDEXED_ARGS ? p->arity : BL_INDEXED_ARGS;
    for (uint32_t i = 0; i < n; i++)
        update(p, &p->index[i], c, at_end);
    update(p, &p->pair, c, at_end);
    // a refusal may be wrong once there are twice as many clauses
    if (bl_is_pow2(p->count))
        bl_store_relaxed(&p->index_refused, 0);
}

void bl_pred_sweep(struct bl_pred *p) {
    const struct bl_clause_run run =
        bl_clauses_run(bl_load_relaxed(&p->clauses));
    struct bl_clauses *const new = new_clauses(p->count + 4);
    uint32_t n = 0;
    for (struct bl_clause **i = run.at; i < run.end; i++) {
        if (bl_load_relaxed(&(*i)->death) == UINT64_MAX)
            new->item[n++] = *i;
        else
            bl_keep_clause(p, *i);
    }
    BL_CHECK_EQ(n, p->count);
    new->end = n;
    bl_keep_clauses(p, bl_load_relaxed(&p->clauses));
    bl_store_release(&p->clauses, new);
    bl_index_drop(p);
    p->dead = 0;
}
