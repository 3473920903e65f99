// SPDX-License-Identifier: MIT
//
// Just-in-time indexing. A call with bound arguments asks for the index of the
// first of them, and where that leaves several clauses, for the next ones.
// Where calls had to look at more clauses than making an index costs, one over
// all that the call has bound is made: over several arguments together, and
// over what stands first and second in a compound one. What was replaced stays
// readable, since a running call may be going through it; as arrays double,
// that is at most as much again as what is in use.
// Source: the multi-argument indexing of YAP [SantosCosta-2007].
//
#include "logic/index.h"

#include "logic/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    GOOD_ENOUGH = 4,    // clauses left: no further argument is looked at
    WORTH = 4,          // an index costs as looking at each clause so often
    LEAST_VISITS = 1024 // before an index over several places is made
};

// What a clause can be chosen by: the key of an argument, or what stands first
// or second in a compound one. Sets of places are bits.
static uint32_t inner_place(uint32_t arg, uint32_t i) {
    return BL_INDEXED_ARGS + BL_INNER * arg + i;
}

// In place of what an atomic argument has not inside.
#define NOTHING_INSIDE ((bl_word)1 << 62 | BL_FUN)

// ---- arrays

static struct bl_clauses *new_clauses(uint32_t capacity) {
    struct bl_clauses *const l =
        calloc(1, sizeof *l + capacity * sizeof l->item[0]);
    bl_must_have(l);
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

static bl_word combine(bl_word sum, bl_word key) {
    const bl_word k = bl_index_hash(sum) * 31 + key;
    return k == 0 ? 1 : k;
}

static bl_word key_at(const struct bl_clause *c, uint32_t place) {
    if (place < BL_INDEXED_ARGS)
        return c->key[place];
    const uint32_t arg = (place - BL_INDEXED_ARGS) / BL_INNER;
    const uint32_t i = (place - BL_INDEXED_ARGS) % BL_INNER;
    if (c->inner >> arg & 1)
        return bl_clause_inner(c, arg)[i];
    return c->key[arg] == 0 ? 0 : NOTHING_INSIDE;
}

static bl_word clause_key(const struct bl_index *ix,
                          const struct bl_clause *c) {
    if (ix->places == 0)
        return c->key[ix->arg];
    bl_word sum = 0;
    for (uint32_t left = ix->places; left != 0; left &= left - 1) {
        const bl_word key = key_at(c, (uint32_t)__builtin_ctz(left));
        if (key == 0)
            return 0;
        sum = combine(sum, key);
    }
    return sum;
}

// As bl_clauses_add. What is replaced is kept for who may be reading it, or
// freed where `p` is NULL: then nobody has seen it.
static struct bl_clauses *add_to(struct bl_pred *p, struct bl_clauses *list,
                                 struct bl_clause *c, bool at_end) {
    struct bl_clauses *const new = bl_clauses_add(list, c, at_end);
    if (new != list && p != NULL)
        bl_keep_clauses(p, list);
    else if (new != list)
        free(list);
    return new;
}

// `p`: NULL while the index is being built.
static void slot_add(struct bl_pred *p, struct bl_index *ix, bl_word key,
                     struct bl_clause *c, bool at_end) {
    struct bl_index_slot *const s = bl_index_slot_of(ix, key);
    if (bl_load_relaxed(&s->key) == 0) {
        s->single = c;
        if (ix->otherwise != NULL) {
            struct bl_clauses *l = NULL;
            struct bl_clause_run r = bl_clauses_run(ix->otherwise);
            for (; r.at < r.end; r.at++)
                l = add_to(NULL, l, *r.at, true);
            bl_store_relaxed(&s->list, add_to(NULL, l, c, at_end));
        }
        ix->keys++;
        bl_store_release(&s->key, key);
        return;
    }
    struct bl_clauses *list = bl_load_relaxed(&s->list);
    if (list == NULL)
        list = bl_clauses_add(NULL, s->single, true);
    list = add_to(p, list, c, at_end);
    bl_store_release(&s->list, list);
}

// A clause that matches every key joins every list, and the keys to come; of an
// index that is being built.
static void add_to_all(struct bl_index *ix, struct bl_clause *c) {
    for (uint64_t i = 0; i <= ix->mask; i++) {
        const bl_word key = bl_load_relaxed(&ix->slot[i].key);
        if (key != 0)
            slot_add(NULL, ix, key, c, true);
    }
    ix->otherwise = add_to(NULL, ix->otherwise, c, true);
    ix->has_variables = true;
}

void bl_index_free(struct bl_index *ix) {
    for (uint64_t i = 0; i <= ix->mask; i++)
        free(bl_load_relaxed(&ix->slot[i].list));
    free(bl_load_relaxed(&ix->column));
    free(ix->otherwise);
    free(ix);
}

// A clause that matches every key stands in each key's list. Few such clauses
// do no harm, but in a large predicate the lists take no more than so many
// places beside those of an index without any.
#define SHARED_PLACES ((size_t)1 << 20)

static bool has_too_many(const struct bl_index *ix, size_t variables,
                         size_t clauses) {
    return variables > 4 &&
           (variables * 8 > clauses ||
            variables * ix->keys > SHARED_PLACES + 16 * clauses);
}

// NULL where the index would not tell clauses apart.
static struct bl_index *build(struct bl_pred *p, uint32_t arg,
                              uint32_t places) {
    const struct bl_clause_run run =
        bl_clauses_run(bl_load_relaxed(&p->clauses));
    const size_t n = (size_t)(run.end - run.at);
    const uint64_t slots = (uint64_t)1 << (bl_log2_ceil(n + 1) + 1);
    struct bl_index *const ix =
        calloc(1, sizeof *ix + slots * sizeof ix->slot[0]);
    if (ix == NULL)
        return NULL;
    ix->arg = arg;
    ix->places = places;
    ix->mask = (uint32_t)(slots - 1);
    size_t variables = 0;
    for (size_t i = 0; i < n; i++) {
        struct bl_clause *const c = run.at[i];
        if (bl_load_relaxed(&c->death) != UINT64_MAX)
            continue;
        const bl_word key = clause_key(ix, c);
        if (key != 0)
            slot_add(NULL, ix, key, c, true);
        else if (has_too_many(ix, ++variables, n))
            break;
        else
            add_to_all(ix, c);
    }
    if (ix->keys < 2 || has_too_many(ix, variables, n)) {
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
        ix = build(p, arg, 0);
        if (ix == NULL)
            bl_store_relaxed(&p->index_refused,
                             bl_load_relaxed(&p->index_refused) | 1u << arg);
        else
            bl_store_release(&p->index[arg], ix);
    }
    pthread_mutex_unlock(&p->lock);
    return ix;
}

// ---- several places

// What a call has bound.
struct bound {
    uint32_t places;
    uint32_t most; // keys that one argument tells apart
    bl_word inner[BL_INDEXED_ARGS * BL_INNER];
};

static struct bl_index *find_several(struct bl_pred *p, uint32_t places) {
    for (uint32_t i = 0; i < BL_SEVERAL; i++) {
        struct bl_index *const ix = bl_load_acquire(&p->several[i]);
        if (ix == NULL || ix->places == places)
            return ix;
    }
    return NULL;
}

// One that is not worth its memory becomes a note of that.
static struct bl_index *build_several(struct bl_pred *p,
                                      const struct bound *bound) {
    struct bl_index *ix = build(p, 0, bound->places);
    if (ix != NULL && ix->keys / 2 < bound->most) {
        bl_index_free(ix);
        ix = NULL;
    }
    if (ix == NULL)
        ix = calloc(1, sizeof *ix + sizeof ix->slot[0]);
    if (ix != NULL)
        ix->places = bound->places;
    return ix;
}

static struct bl_index *add_several(struct bl_pred *p,
                                    const struct bound *bound) {
    struct bl_index *ix = NULL;
    pthread_mutex_lock(&p->lock);
    for (uint32_t i = 0; i < BL_SEVERAL; i++) {
        ix = bl_load_relaxed(&p->several[i]);
        if (ix == NULL) {
            ix = build_several(p, bound);
            bl_store_release(&p->several[i], ix);
            break;
        }
        if (ix->places == bound->places) // by another thread
            break;
        ix = NULL;
    }
    bl_store_relaxed(&p->visits, 0);
    pthread_mutex_unlock(&p->lock);
    return ix;
}

// Whether clauses were looked at so often that an index would have cost less.
static bool is_worth_it(struct bl_pred *p, uint64_t more) {
    if (bl_load_relaxed(&p->several[BL_SEVERAL - 1]) != NULL)
        return false;
    const struct bl_clauses *const list = bl_load_acquire(&p->clauses);
    const uint64_t n = bl_load_relaxed(&list->end);
    // No addition in one step: a visit more or less is the same.
    const uint64_t visits = bl_load_relaxed(&p->visits) + more;
    bl_store_relaxed(&p->visits, visits);
    return visits > LEAST_VISITS && visits > WORTH * n;
}

static void look_inside(struct bound *bound, uint32_t arg, bl_word t) {
    if (!bl_is_compound(t))
        return;
    const uint32_t n = bl_functor_arity(bl_term_functor(t));
    for (uint32_t i = 0; i < BL_INNER && i < n; i++) {
        const bl_word key = bl_key_of(bl_deref(bl_term_args(t)[i]));
        const uint32_t place = inner_place(arg, i);
        bound->inner[place - BL_INDEXED_ARGS] = key;
        bound->places |= (uint32_t)(key != 0) << place;
    }
}

static bl_word bound_key(const struct bound *bound, const bl_word *key) {
    bl_word sum = 0;
    for (uint32_t left = bound->places; left != 0; left &= left - 1) {
        const uint32_t at = (uint32_t)__builtin_ctz(left);
        sum = combine(sum, at < BL_INDEXED_ARGS
                               ? key[at]
                               : bound->inner[at - BL_INDEXED_ARGS]);
    }
    return sum;
}

static struct bl_clause_run
best_of_several(struct bl_pred *p, struct bound *bound, const bl_word *key,
                const bl_word *args, struct bl_clause_run best) {
    for (uint32_t left = bound->places; args != NULL && left != 0;
         left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(left);
        if (bl_tag(key[i]) == BL_FUN)
            look_inside(bound, i, bl_deref(args[i]));
    }
    if ((bound->places & (bound->places - 1)) == 0) // one place at most
        return best;
    struct bl_index *ix = find_several(p, bound->places);
    if (ix == NULL && is_worth_it(p, (uint64_t)(best.end - best.at)))
        ix = add_several(p, bound);
    if (ix == NULL || ix->keys == 0)
        return best;
    const struct bl_clause_run r = bl_index_find(ix, bound_key(bound, key));
    return r.end - r.at < best.end - best.at ? r : best;
}

struct bl_clause_run bl_pred_match_keys(struct bl_pred *p, const bl_word *key,
                                        const bl_word *args) {
    struct bl_clause_run best = bl_clauses_run(bl_load_acquire(&p->clauses));
    if (best.end - best.at < BL_INDEX_FROM)
        return best;
    const uint32_t n = p->arity < BL_INDEXED_ARGS ? p->arity : BL_INDEXED_ARGS;
    struct bound bound;
    bound.places = 0;
    bound.most = 1;
    for (uint32_t i = 0; i < n; i++) {
        if (key[i] == 0)
            continue;
        bound.places |= 1u << i;
        struct bl_index *const ix = index_for(p, i);
        if (ix == NULL)
            continue;
        const struct bl_clause_run r = bl_index_find(ix, key[i]);
        if (r.end - r.at < best.end - best.at)
            best = r;
        if (best.end - best.at <= GOOD_ENOUGH)
            return best;
        if (ix->keys > bound.most)
            bound.most = ix->keys;
    }
    return best_of_several(p, &bound, key, args, best);
}

// ---- keeping them

static void drop(struct bl_pred *p, _Atomic(struct bl_index *) *where) {
    struct bl_index *const ix = bl_load_relaxed(where);
    if (ix == NULL)
        return;
    bl_store_release(where, NULL);
    bl_keep_index(p, ix);
}

// The last one takes its place: the first NULL ends them.
static void drop_several(struct bl_pred *p, uint32_t at) {
    struct bl_index *const ix = bl_load_relaxed(&p->several[at]);
    uint32_t last = at;
    while (last + 1 < BL_SEVERAL &&
           bl_load_relaxed(&p->several[last + 1]) != NULL)
        last++;
    bl_store_release(&p->several[at], bl_load_relaxed(&p->several[last]));
    bl_store_release(&p->several[last], NULL);
    bl_keep_index(p, ix);
}

void bl_index_drop(struct bl_pred *p) {
    for (uint32_t i = 0; i < BL_INDEXED_ARGS; i++)
        drop(p, &p->index[i]);
    while (bl_load_relaxed(&p->several[0]) != NULL)
        drop_several(p, 0);
    bl_store_relaxed(&p->index_refused, 0);
}

// Takes the clause into the index; false where it has to go.
static bool take_in(struct bl_pred *p, struct bl_index *ix, struct bl_clause *c,
                    bool at_end) {
    const bl_word key = clause_key(ix, c);
    if (key == 0 || ix->has_variables || ix->keys * 2 > ix->mask ||
        bl_load_relaxed(&ix->column) != NULL)
        return false;
    slot_add(p, ix, key, c, at_end);
    return true;
}

static void update_several(struct bl_pred *p, struct bl_clause *c,
                           bool at_end) {
    // a refusal may be wrong once there are twice as many clauses
    const bool anew = bl_is_pow2(p->count);
    for (uint32_t i = BL_SEVERAL; i-- > 0;) {
        struct bl_index *const ix = bl_load_relaxed(&p->several[i]);
        if (ix != NULL && (ix->keys > 0 ? !take_in(p, ix, c, at_end) : anew))
            drop_several(p, i);
    }
}

static void erase_from(struct bl_index *ix, const struct bl_clause *c) {
    if (ix == NULL || ix->keys == 0 || clause_key(ix, c) == 0)
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
    for (uint32_t i = 0; i < BL_SEVERAL; i++)
        erase_from(bl_load_relaxed(&p->several[i]), c);
}

void bl_index_add(struct bl_pred *p, struct bl_clause *c, bool at_end) {
    const uint32_t n = p->arity < BL_INDEXED_ARGS ? p->arity : BL_INDEXED_ARGS;
    for (uint32_t i = 0; i < n; i++) {
        struct bl_index *const ix = bl_load_relaxed(&p->index[i]);
        if (ix != NULL && !take_in(p, ix, c, at_end))
            drop(p, &p->index[i]);
    }
    update_several(p, c, at_end);
    // as there
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
