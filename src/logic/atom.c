// SPDX-License-Identifier: MIT
//
// The two hash tables behind `atom.h`. Open addressing over indices; entries
// in chunks of 4096 that never move. Looking up what is there takes no lock: a
// slot is filled after its entry, and a table that was outgrown stays readable
// (all of them together are as large again as the one in use).
//
#include "logic/atom.h"

#include "logic/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_SHIFT 12
#define CHUNK_ENTRIES ((uint32_t)1 << CHUNK_SHIFT)
#define MAX_CHUNKS 16384u // 67 million atoms

struct atom_entry {
    const char *text; // const
    uint32_t bytes;   // const
    uint32_t hash;    // const
};

struct functor_entry {
    bl_word name; // const
    uint32_t arity;
    uint32_t hash;
    _Atomic(struct bl_pred *) pred; // set once
};

struct index_table {
    uint32_t mask;            // const
    _Atomic(uint32_t) slot[]; // index + 1; 0 is free
};

static pthread_mutex_t tables_lock = PTHREAD_MUTEX_INITIALIZER;
static struct atom_entry *atom_chunks[MAX_CHUNKS];
static struct functor_entry *functor_chunks[MAX_CHUNKS];
static _Atomic(struct index_table *) atoms;
static _Atomic(struct index_table *) functors;
static uint32_t atoms_used;    // tables_lock
static uint32_t functors_used; // tables_lock

static void *allocate(size_t count, size_t size) {
    void *const p = calloc(count, size);
    bl_must_have(p);
    return p;
}

static struct atom_entry *atom_at(uint32_t i) {
    return &atom_chunks[i >> CHUNK_SHIFT][i & (CHUNK_ENTRIES - 1)];
}

static struct functor_entry *functor_at(uint32_t i) {
    return &functor_chunks[i >> CHUNK_SHIFT][i & (CHUNK_ENTRIES - 1)];
}

static uint32_t hash_bytes(const char *text, size_t bytes) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    return (uint32_t)(h ^ (h >> 32));
}

static uint32_t hash_functor(bl_word name, uint32_t arity) {
    const uint64_t h = (name + arity) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32);
}

static struct index_table *new_table(uint32_t slots) {
    struct index_table *const t =
        allocate(1, sizeof *t + slots * sizeof t->slot[0]);
    t->mask = slots - 1;
    return t;
}

static void table_put(struct index_table *t, uint32_t hash, uint32_t index) {
    uint32_t i = hash & t->mask;
    while (bl_load_relaxed(&t->slot[i]) != 0)
        i = (i + 1) & t->mask;
    // pairs with the acquire of a lookup: the entry is complete
    bl_store_release(&t->slot[i], index + 1);
}

static void add_atom_slot(uint32_t hash) {
    struct index_table *t = bl_load_relaxed(&atoms);
    if (atoms_used * 2 > t->mask) {
        t = new_table((t->mask + 1) * 2);
        for (uint32_t i = 0; i < atoms_used; i++)
            table_put(t, atom_at(i)->hash, i);
        bl_store_release(&atoms, t);
    }
    table_put(t, hash, atoms_used++);
}

static void add_functor_slot(uint32_t hash) {
    struct index_table *t = bl_load_relaxed(&functors);
    if (functors_used * 2 > t->mask) {
        t = new_table((t->mask + 1) * 2);
        for (uint32_t i = 0; i < functors_used; i++)
            table_put(t, functor_at(i)->hash, i);
        bl_store_release(&functors, t);
    }
    table_put(t, hash, functors_used++);
}

static uint32_t find_atom(const char *text, size_t bytes, uint32_t hash) {
    const struct index_table *const t = bl_load_acquire(&atoms);
    for (uint32_t i = hash & t->mask;; i = (i + 1) & t->mask) {
        const uint32_t s = bl_load_acquire(&t->slot[i]);
        if (s == 0)
            return UINT32_MAX;
        const struct atom_entry *const a = atom_at(s - 1);
        if (a->hash == hash && a->bytes == bytes &&
            memcmp(a->text, text, bytes) == 0)
            return s - 1;
    }
}

static uint32_t add_atom(const char *text, size_t bytes, uint32_t hash) {
    const uint32_t i = atoms_used;
    BL_CHECK(i >> CHUNK_SHIFT < MAX_CHUNKS);
    if (atom_chunks[i >> CHUNK_SHIFT] == NULL)
        atom_chunks[i >> CHUNK_SHIFT] =
            allocate(CHUNK_ENTRIES, sizeof(struct atom_entry));
    char *const copy = allocate(bytes + 1, 1);
    memcpy(copy, text, bytes);
    *atom_at(i) = (struct atom_entry){copy, (uint32_t)bytes, hash};
    add_atom_slot(hash);
    return i;
}

bl_word bl_atom(const char *text, size_t bytes) {
    const uint32_t hash = hash_bytes(text, bytes);
    uint32_t i = find_atom(text, bytes, hash);
    if (i != UINT32_MAX)
        return bl_atom_word(i);
    pthread_mutex_lock(&tables_lock);
    i = find_atom(text, bytes, hash);
    if (i == UINT32_MAX)
        i = add_atom(text, bytes, hash);
    pthread_mutex_unlock(&tables_lock);
    return bl_atom_word(i);
}

bl_word bl_atom_str(const char *text) { return bl_atom(text, strlen(text)); }

const char *bl_atom_text(bl_word atom) {
    BL_ASSERT(bl_is_atom(atom));
    return atom_at(bl_index_of(atom))->text;
}

size_t bl_atom_bytes(bl_word atom) {
    BL_ASSERT(bl_is_atom(atom));
    return atom_at(bl_index_of(atom))->bytes;
}

size_t bl_atom_count(void) {
    pthread_mutex_lock(&tables_lock);
    const size_t n = atoms_used;
    pthread_mutex_unlock(&tables_lock);
    return n;
}

static uint32_t find_functor(bl_word name, uint32_t arity, uint32_t hash) {
    const struct index_table *const t = bl_load_acquire(&functors);
    for (uint32_t i = hash & t->mask;; i = (i + 1) & t->mask) {
        const uint32_t s = bl_load_acquire(&t->slot[i]);
        if (s == 0)
            return UINT32_MAX;
        const struct functor_entry *const f = functor_at(s - 1);
        if (f->name == name && f->arity == arity)
            return s - 1;
    }
}

static uint32_t add_functor(bl_word name, uint32_t arity, uint32_t hash) {
    const uint32_t i = functors_used;
    BL_CHECK(i >> CHUNK_SHIFT < MAX_CHUNKS);
    if (functor_chunks[i >> CHUNK_SHIFT] == NULL)
        functor_chunks[i >> CHUNK_SHIFT] =
            allocate(CHUNK_ENTRIES, sizeof(struct functor_entry));
    struct functor_entry *const f = functor_at(i);
    f->name = name;
    f->arity = arity;
    f->hash = hash;
    add_functor_slot(hash);
    return i;
}

bl_word bl_functor(bl_word atom, uint32_t arity) {
    BL_ASSERT(bl_is_atom(atom));
    const uint32_t hash = hash_functor(atom, arity);
    uint32_t i = find_functor(atom, arity, hash);
    if (i != UINT32_MAX)
        return bl_functor_word(i);
    pthread_mutex_lock(&tables_lock);
    i = find_functor(atom, arity, hash);
    if (i == UINT32_MAX)
        i = add_functor(atom, arity, hash);
    pthread_mutex_unlock(&tables_lock);
    return bl_functor_word(i);
}

bl_word bl_functor_name(bl_word functor) {
    BL_ASSERT(bl_tag(functor) == BL_FUN);
    return functor_at(bl_index_of(functor))->name;
}

uint32_t bl_functor_arity(bl_word functor) {
    BL_ASSERT(bl_tag(functor) == BL_FUN);
    return functor_at(bl_index_of(functor))->arity;
}

struct bl_pred *bl_functor_pred(bl_word functor) {
    // pairs with the release store in bl_functor_set_pred
    return bl_load_acquire(&functor_at(bl_index_of(functor))->pred);
}

void bl_functor_set_pred(bl_word functor, struct bl_pred *pred) {
    bl_store_release(&functor_at(bl_index_of(functor))->pred, pred);
}

void bl_atoms_init(void) {
    bl_store_release(&atoms, new_table(8192));
    bl_store_release(&functors, new_table(8192));
#define X(name, text)                                                          \
    {                                                                          \
        const bl_word w = bl_atom_str(text);                                   \
        BL_CHECK_EQ(bl_index_of(w), BL_ATOM_##name);                           \
    }
#include "logic/atom.def"
#undef X
#define X(name, atom, arity)                                                   \
    BL_CHECK_EQ(bl_functor(BL_ATOM(atom), arity), BL_FN(name));
#include "logic/functor.def"
#undef X
    BL_CHECK_EQ(BL_FN(float_header), BL_FLOAT_HEADER);
}
