// SPDX-License-Identifier: MIT
//
// Columns are made from an index, see `column.h`.
//
#include "logic/column.h"

#include "logic/index.h"

#include <stdlib.h>

enum { LEAST_SLOTS_LOG2 = 6 };

static struct bl_column *new_column(uint32_t keys, uint64_t values,
                                    uint32_t out) {
    const unsigned log2 = bl_log2_ceil(keys + (uint64_t)1) + 1;
    const unsigned bits = log2 < LEAST_SLOTS_LOG2 ? LEAST_SLOTS_LOG2 : log2;
    const uint64_t slots = (uint64_t)1 << bits;
    struct bl_column *const c = calloc(
        1, sizeof *c + slots * sizeof c->slot[0] + values * sizeof c->value[0]);
    if (c == NULL)
        return NULL;
    c->out = out;
    c->mask = (uint32_t)(slots - 1);
    c->shift = 64 - bits + 3; // a row has eight slots
    c->value = (bl_word *)(void *)&c->slot[slots];
    return c;
}

#define NOT_PLACED UINT32_MAX

static struct bl_column_slot *slot_of(const struct bl_column *c,
                                      const struct bl_clause *clause,
                                      uint32_t by) {
    const bl_word key = clause->key[by];
    struct bl_column_slot *const s =
        (struct bl_column_slot *)(uintptr_t)bl_column_find(c, key);
    if (s->key == 0)
        *s = (struct bl_column_slot){key, NOT_PLACED, 0};
    return s;
}

// Values are laid down in the order of the clauses, those of a key together
// where its first one is: neighbours there are neighbours in most joins.
// Under the predicate's lock; NULL without memory.
static struct bl_column *make(const struct bl_pred *p,
                              const struct bl_index *ix, uint32_t out) {
    const struct bl_clause_run all =
        bl_clauses_run(bl_load_relaxed(&p->clauses));
    struct bl_column *const c =
        new_column(ix->keys, (uint64_t)(all.end - all.at), out);
    uint32_t at = 0;
    if (c == NULL)
        return NULL;
    for (struct bl_clause **i = all.at; i < all.end; i++)
        slot_of(c, *i, ix->arg)->n++;
    for (struct bl_clause **i = all.at; i < all.end; i++) {
        struct bl_column_slot *const s = slot_of(c, *i, ix->arg);
        if (s->at == NOT_PLACED) {
            s->at = at;
            at += s->n;
            s->n = 0;
        }
        c->value[s->at + s->n++] = (*i)->key[out];
    }
    return c;
}

static bool is_worth_it(struct bl_index *ix) {
    // Relaxed, and no addition in one step: an asker more or less is the same.
    const uint32_t asked = bl_load_relaxed(&ix->asked) + 1;
    bl_store_relaxed(&ix->asked, asked);
    return asked > ix->keys;
}

const struct bl_column *bl_column_of(struct bl_pred *p, uint32_t by,
                                     uint32_t out) {
    struct bl_index *const ix = bl_load_acquire(&p->index[by]);
    if (ix == NULL)
        return NULL;
    const struct bl_column *c = bl_load_acquire(&ix->column);
    if (c == NULL && is_worth_it(ix)) {
        pthread_mutex_lock(&p->lock);
        c = bl_load_relaxed(&ix->column);
        if (c == NULL && bl_load_relaxed(&p->index[by]) == ix) {
            struct bl_column *const new = make(p, ix, out);
            // Release: pairs with the acquire above.
            bl_store_release(&ix->column, new);
            c = new;
        }
        pthread_mutex_unlock(&p->lock);
    }
    return c != NULL && c->out == out ? c : NULL;
}
