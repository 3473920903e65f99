// SPDX-License-Identifier: MIT
//
// Predicates, and clauses entering and leaving them.
//
#include "logic/clause.h"

#include "logic/engine.h"
#include "logic/memory.h"
#include "logic/moded.h"
#include "logic/index.h"
#include "logic/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 256 }; // erased and replaced things before they are looked after

_Atomic(uint64_t) bl_generation = 1;

static pthread_mutex_t preds_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct bl_pred *) all_preds; // written under preds_lock

static struct bl_pred *new_pred(bl_word functor) {
    struct bl_pred *const p = calloc(1, sizeof *p);
    bl_must_have(p);
    p->functor = functor;
    p->arity = bl_functor_arity(functor);
    p->table_design = -1;
    p->entry = BL_OP_E_UNDEFINED;
    pthread_mutex_init(&p->lock, NULL);
    p->next = bl_load_relaxed(&all_preds);
    bl_store_release(&all_preds, p);
    return p;
}

struct bl_pred *bl_pred_ensure(bl_word functor) {
    struct bl_pred *p = bl_functor_pred(functor);
    if (p != NULL)
        return p;
    pthread_mutex_lock(&preds_lock);
    p = bl_functor_pred(functor);
    if (p == NULL) {
        p = new_pred(functor);
        bl_functor_set_pred(functor, p);
    }
    pthread_mutex_unlock(&preds_lock);
    return p;
}

struct bl_pred *bl_pred_first(void) {
    return bl_load_acquire(&all_preds); // pairs with new_pred
}

void bl_pred_set_entry(struct bl_pred *p) {
    if (p->flags & BL_PRED_SYSTEM)
        return;
    enum bl_opcode entry = BL_OP_E_UNDEFINED;
    if (p->flags & BL_PRED_TABLED)
        entry = BL_OP_E_TABLED;
    else if (p->flags & BL_PRED_DYNAMIC)
        entry = BL_OP_E_DYNAMIC;
    else if (p->flags & BL_PRED_DEFINED)
        entry = BL_OP_E_CLAUSES;
    bl_store_release(&p->entry, entry);
}

void bl_pred_make_dynamic(struct bl_pred *p) {
    pthread_mutex_lock(&p->lock);
    p->flags |= BL_PRED_DYNAMIC | BL_PRED_DEFINED;
    bl_pred_set_entry(p);
    pthread_mutex_unlock(&p->lock);
}

static enum bl_table_design design_of(int design) {
    return design >= 0 ? (enum bl_table_design)design
                       : bl_engine.table_options.design;
}

static struct bl_table *make_table(struct bl_pred *p, int design) {
    char name[128];
    snprintf(name, sizeof name, "%.100s/%u",
             bl_atom_text(bl_functor_name(p->functor)), p->arity);
    struct bl_table *const table =
        bl_table_new(bl_engine.space, name, design_of(design), p);
    bl_must_have(table);
    return table;
}

struct bl_table *bl_pred_table(const struct bl_pred *p) {
    return bl_modes_table(p, bl_load_acquire(&p->modes));
}

bool bl_pred_changes_table(const struct bl_pred *p, int design,
                           const struct bl_modes *modes) {
    return bl_pred_table(p) != NULL &&
           (modes != NULL || bl_load_relaxed(&p->modes) != NULL ||
            design_of(design) != design_of(p->table_design));
}

void bl_pred_make_tabled(struct bl_pred *p, int design,
                         struct bl_modes *modes) {
    pthread_mutex_lock(&p->lock);
    struct bl_modes *const old = bl_load_relaxed(&p->modes);
    // no new call reads the answers of the old one
    if (modes != NULL)
        modes->table =
            make_table(p, bl_has_modes(modes) ? BL_TABLE_NS : design);
    else if (bl_pred_table(p) == NULL || bl_pred_changes_table(p, design, NULL))
        bl_store_release(&p->table, make_table(p, design));
    if (old != NULL) { // calls may still look at them
        old->next = p->old_modes;
        p->old_modes = old;
    }
    bl_store_release(&p->modes, modes);
    const uint32_t flags = p->flags | BL_PRED_TABLED | BL_PRED_DEFINED;
    if (flags != p->flags) // else others may be calling it
        p->flags = flags;
    p->table_design = design;
    bl_pred_set_entry(p);
    pthread_mutex_unlock(&p->lock);
}

void bl_pred_untable(struct bl_pred *p) {
    pthread_mutex_lock(&p->lock);
    p->flags &= ~(uint32_t)BL_PRED_TABLED;
    bl_pred_set_entry(p);
    pthread_mutex_unlock(&p->lock);
}

struct bl_pred *bl_pred_define_builtin(const char *name, uint32_t arity,
                                       bl_builtin f, enum bl_opcode entry) {
    struct bl_pred *const p =
        bl_pred_ensure(bl_functor(bl_atom_str(name), arity));
    p->builtin = f;
    p->flags |= BL_PRED_SYSTEM | BL_PRED_DEFINED;
    if (entry != BL_OP_E_BUILTIN && entry != BL_OP_E_MORE)
        p->flags |= BL_PRED_CONTROL;
    bl_store_release(&p->entry, entry);
    return p;
}

struct bl_clause *bl_clause_new(struct bl_pred *p, uint8_t inner) {
    const size_t keys =
        p->arity + BL_INNER * (uint32_t)__builtin_popcount(inner);
    struct bl_clause *const c = calloc(1, sizeof *c + keys * sizeof(bl_word));
    if (c == NULL)
        return NULL;
    c->pred = p;
    c->inner = inner;
    c->death = UINT64_MAX;
    return c;
}

struct bl_clause *bl_clause_new_fact(struct bl_pred *p, const bl_word *keys) {
    struct bl_clause *const c = bl_clause_new(p, 0);
    if (c == NULL)
        return NULL;
    c->kind = BL_CLAUSE_FACT;
    memcpy(c->key, keys, p->arity * sizeof(bl_word));
    return c;
}

static void list_append(struct bl_pred *p, struct bl_clause *c, bool at_end) {
    struct bl_clauses *const old = bl_load_relaxed(&p->clauses);
    struct bl_clauses *const new = bl_clauses_add(old, c, at_end);
    if (new == old)
        return;
    bl_store_release(&p->clauses, new);
    bl_keep_clauses(p, old);
}

void bl_clause_add(struct bl_clause *c, bool at_end) {
    struct bl_pred *const p = c->pred;
    pthread_mutex_lock(&p->lock);
    c->birth = bl_add_acq_rel(&bl_generation, 1) + 1;
    list_append(p, c, at_end);
    p->count++;
    // relaxed: join.c reads it behind an acquire of the list
    if (c->kind == BL_CLAUSE_CODE)
        bl_add_relaxed(&p->rules, 1);
    if (!(p->flags & BL_PRED_DEFINED)) {
        p->flags |= BL_PRED_DEFINED;
        bl_pred_set_entry(p);
    }
    bl_index_add(p, c, at_end);
    if (p->old > KEPT && p->old > p->count)
        bl_reclaim(p);
    pthread_mutex_unlock(&p->lock);
}

bool bl_clause_erase(struct bl_clause *c) {
    struct bl_pred *const p = c->pred;
    pthread_mutex_lock(&p->lock);
    const bool alive = bl_load_relaxed(&c->death) == UINT64_MAX;
    if (alive) {
        bl_store_release(&c->death, bl_add_acq_rel(&bl_generation, 1) + 1);
        p->count--;
        p->dead++;
        bl_index_erase(p, c);
        if (p->dead > 8 && p->dead > p->count)
            bl_pred_sweep(p);
    }
    pthread_mutex_unlock(&p->lock);
    return alive;
}

void bl_pred_wipe(struct bl_pred *p) {
    pthread_mutex_lock(&p->lock);
    struct bl_clauses *const list = bl_load_relaxed(&p->clauses);
    const uint64_t now = bl_add_acq_rel(&bl_generation, 1) + 1;
    if (list != NULL) {
        const uint32_t end = bl_load_relaxed(&list->end);
        for (uint32_t i = bl_load_relaxed(&list->start); i < end; i++) {
            if (bl_load_relaxed(&list->item[i]->death) == UINT64_MAX)
                bl_store_release(&list->item[i]->death, now);
        }
    }
    p->count = 0;
    p->dead = 0;
    bl_store_relaxed(&p->rules, 0);
    bl_store_release(&p->clauses, NULL);
    bl_keep_clauses(p, list);
    bl_index_drop(p);
    pthread_mutex_unlock(&p->lock);
}

bool bl_pred_wipe_file(struct bl_pred *p, const char *file,
                       uint64_t generation) {
    pthread_mutex_lock(&p->lock);
    const struct bl_clause_run run =
        bl_clauses_run(bl_load_relaxed(&p->clauses));
    const uint64_t now = bl_add_acq_rel(&bl_generation, 1) + 1;
    uint32_t n = 0;
    for (struct bl_clause **i = run.at; i < run.end; i++) {
        struct bl_clause *const c = *i;
        if (c->file != file || c->birth > generation ||
            bl_load_relaxed(&c->death) != UINT64_MAX)
            continue;
        bl_store_release(&c->death, now);
        n++;
    }
    p->count -= n;
    if (n > 0) // static ones are not asked whether they are alive
        bl_pred_sweep(p);
    pthread_mutex_unlock(&p->lock);
    return n > 0;
}

// ---- predicates of ours that become the program's

// A predicate of no name with what `p` has: its clauses, indexes, or builtin.
static struct bl_pred *new_twin(struct bl_pred *p) {
    struct bl_pred *const twin = new_pred(p->functor);
    twin->flags = p->flags | BL_PRED_LIBRARY;
    twin->builtin = p->builtin;
    bl_store_relaxed(&twin->entry, bl_load_relaxed(&p->entry));
    twin->count = p->count;
    bl_store_relaxed(&twin->rules, bl_load_relaxed(&p->rules));
    struct bl_clauses *const list = bl_load_relaxed(&p->clauses);
    const uint32_t end = list == NULL ? 0 : bl_load_relaxed(&list->end);
    for (uint32_t i = 0; i < end; i++)
        list->item[i]->pred = twin;
    bl_store_release(&twin->clauses, list);
    return twin;
}

#define X(name, words) words,
static const uint8_t op_words[BL_OPCODES] = {
#include "logic/opcode.def"
};
#undef X

// The next operand from `at` on that is the predicate, or NULL.
static bl_word *next_use(const struct bl_clause *c, bl_word pred, size_t *at) {
    bl_word *const code = bl_load_acquire(&c->code);
    while (*at < c->code_words) {
        const bl_word op = code[*at];
        bl_word *const operand = &code[*at + 1];
        *at += op_words[op];
        if ((op == BL_OP_CALL || op == BL_OP_EXECUTE || op == BL_OP_BUILTIN) &&
            *operand == pred)
            return operand;
    }
    return NULL;
}

static void relink_clause(struct bl_clause *c, bl_word from, bl_word to) {
    size_t at = 0;
    void *operand;
    while ((operand = next_use(c, from, &at)) != NULL)
        // pairs with the acquire of bl_code_pred
        bl_store_release((_Atomic(bl_word) *)operand, to);
}

// Our own clauses that call `p` call `twin` from now on.
static void relink(struct bl_pred *p, struct bl_pred *twin) {
    for (struct bl_pred *q = bl_pred_first(); q != NULL; q = q->next) {
        struct bl_clauses *const list = bl_load_relaxed(&q->clauses);
        if ((q->flags & BL_PRED_LIBRARY) == 0 || list == NULL)
            continue;
        for (uint32_t i = 0; i < bl_load_relaxed(&list->end); i++)
            relink_clause(list->item[i], bl_make(p, BL_REF),
                          bl_make(twin, BL_REF));
    }
}

// The clause's code calls what its code ran as a builtin. The old code stays,
// for who is running it; so does what it refers to.
static void compile_anew(struct bl_machine *m, struct bl_clause *c) {
    bl_word *const h = m->h;
    bl_word t[2];
    struct bl_clause *new = NULL;
    if (bl_record_load(m, c->source, t) && bl_heap_ensure(m, 3))
        new = bl_clause_compile(m, bl_struct2(m, BL_ATOM(neck), t[0], t[1]));
    m->h = h;
    if (new == NULL) { // no memory: it goes on with the builtin
        bl_record_free(m->ball);
        m->ball = NULL;
        return;
    }
    struct bl_literal **last = &c->literals;
    while (*last != NULL)
        last = &(*last)->next;
    *last = new->literals;
    new->literals = NULL;
    c->code_words = new->code_words;
    // pairs with the acquire where a clause is entered
    bl_store_release(&c->code, bl_load_relaxed(&new->code));
    bl_store_relaxed(&new->code, NULL);
    bl_clause_free(new);
}

// The program's clauses that run builtin `p`, which it has defined anew.
static void compile_users(struct bl_machine *m, struct bl_pred *p) {
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one);
    for (struct bl_pred *q = bl_pred_first(); q != NULL; q = q->next) {
        struct bl_clauses *const list = bl_load_acquire(&q->clauses);
        const bool ours = (q->flags & BL_PRED_LIBRARY) != 0;
        const uint32_t n =
            ours || list == NULL ? 0 : bl_load_acquire(&list->end);
        uint32_t i = n == 0 ? 0 : bl_load_acquire(&list->start);
        for (; i < n; i++) {
            size_t at = 0;
            struct bl_clause *const c = list->item[i];
            // a clause without its source calls it as any predicate
            if (c->source != NULL && next_use(c, bl_make(p, BL_REF), &at))
                compile_anew(m, c);
        }
    }
    pthread_mutex_unlock(&one);
}

// What the compiler knows by name: control, and [File|Files].
static bool is_control(bl_word functor) {
    static const char *const names[] = {",",   ";", "|", "->", "*->",
                                        "\\+", "!", ":", "."};
    const char *const name = bl_atom_text(bl_functor_name(functor));
    for (size_t i = 0; i < BL_ARRAY_LEN(names); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

bool bl_pred_take_over(struct bl_machine *m, struct bl_pred *p) {
    if ((p->flags & BL_PRED_LIBRARY) != 0 && is_control(p->functor))
        return false;
    if ((p->flags & (BL_PRED_SYSTEM | BL_PRED_OPEN)) == BL_PRED_SYSTEM)
        return false;
    if ((p->flags & (BL_PRED_LIBRARY | BL_PRED_OPEN)) == 0)
        return true;
    const bool open = (p->flags & BL_PRED_OPEN) != 0;
    pthread_mutex_lock(&preds_lock);
    relink(p, new_twin(p));
    pthread_mutex_unlock(&preds_lock);
    pthread_mutex_lock(&p->lock);
    p->flags &= BL_PRED_MULTIFILE;
    p->count = 0;
    bl_store_relaxed(&p->rules, 0);
    bl_store_release(&p->clauses, NULL);
    bl_index_drop(p);
    bl_pred_set_entry(p);
    pthread_mutex_unlock(&p->lock);
    if (open)
        compile_users(m, p);
    return true;
}
