// SPDX-License-Identifier: MIT
//
// Operators by atom: a hash of fixed size, which is also the limit on how many
// atoms may be operators.
//
#include "logic/op.h"

#include <pthread.h>

enum { SLOT_BITS = 11, SLOTS = 1 << SLOT_BITS };

// priority | type << 16 per use; 0: none
struct slot {
    _Atomic(bl_word) atom;
    _Atomic(uint64_t) use[BL_OP_USES];
};

static struct slot table[SLOTS];
static pthread_mutex_t op_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t used;

static struct slot *slot_of(bl_word atom) {
    uint32_t i = (bl_index_of(atom) * 0x9e3779b1u) >> (32 - SLOT_BITS);
    for (;;) {
        const bl_word a = bl_load_acquire(&table[i].atom);
        if (a == atom || a == 0)
            return &table[i];
        i = (i + 1) % SLOTS;
    }
}

static struct bl_op unpack(uint64_t w) {
    struct bl_op o = {.priority = (uint32_t)(w & 0xffff),
                      .type = (enum bl_known_atom)(w >> 16)};
    o.left = o.right = o.priority;
    const enum bl_known_atom t = o.type;
    if (t == BL_ATOM_xfx || t == BL_ATOM_xfy || t == BL_ATOM_xf)
        o.left--;
    if (t == BL_ATOM_xfx || t == BL_ATOM_yfx || t == BL_ATOM_fx)
        o.right--;
    return o;
}

bool bl_op_find(bl_word atom, enum bl_op_use use, struct bl_op *out) {
    struct slot *const s = slot_of(atom);
    if (bl_load_relaxed(&s->atom) != atom)
        return false;
    const uint64_t w = bl_load_acquire(&s->use[use]);
    *out = unpack(w);
    return out->priority > 0;
}

bool bl_op_is_any(bl_word atom) {
    struct bl_op o;
    return bl_op_find(atom, BL_PREFIX, &o) || bl_op_find(atom, BL_INFIX, &o) ||
           bl_op_find(atom, BL_POSTFIX, &o);
}

// BL_OP_USES: none.
static enum bl_op_use use_of(enum bl_known_atom type) {
    if (type == BL_ATOM_fy || type == BL_ATOM_fx)
        return BL_PREFIX;
    if (type == BL_ATOM_xfx || type == BL_ATOM_xfy || type == BL_ATOM_yfx)
        return BL_INFIX;
    if (type == BL_ATOM_xf || type == BL_ATOM_yf)
        return BL_POSTFIX;
    return BL_OP_USES;
}

static bool is_used(struct slot *s, enum bl_op_use use) {
    return (bl_load_relaxed(&s->use[use]) & 0xffff) != 0;
}

// The lock is held.
static enum bl_op_result set_locked(bl_word atom, enum bl_op_use use,
                                    uint64_t value) {
    struct slot *const s = slot_of(atom);
    if ((value & 0xffff) != 0 && ((use == BL_INFIX && is_used(s, BL_POSTFIX)) ||
                                  (use == BL_POSTFIX && is_used(s, BL_INFIX))))
        return BL_OP_CLASH;
    if (bl_load_relaxed(&s->atom) == 0 && used == SLOTS / 2)
        return BL_OP_FULL;
    bl_store_release(&s->use[use], value);
    if (bl_load_relaxed(&s->atom) == 0) {
        used++;
        bl_store_release(&s->atom, atom);
    }
    return BL_OP_SET;
}

enum bl_op_result bl_op_set(bl_word atom, enum bl_known_atom type,
                            uint32_t priority) {
    const enum bl_op_use use = use_of(type);
    if (use == BL_OP_USES)
        return BL_OP_NO_TYPE;
    pthread_mutex_lock(&op_lock);
    const enum bl_op_result r =
        set_locked(atom, use, priority | (uint64_t)type << 16);
    pthread_mutex_unlock(&op_lock);
    return r;
}

void bl_op_each(void (*f)(bl_word atom, struct bl_op op, void *arg),
                void *arg) {
    for (int i = 0; i < SLOTS; i++) {
        const bl_word a = bl_load_acquire(&table[i].atom);
        for (int u = 0; a != 0 && u < BL_OP_USES; u++) {
            const struct bl_op o = unpack(bl_load_acquire(&table[i].use[u]));
            if (o.priority > 0)
                f(a, o, arg);
        }
    }
}

void bl_ops_init(void) {
    static const struct {
        uint32_t priority;
        enum bl_known_atom type;
        const char *names[20];
    } standard[] = {
        {1200, BL_ATOM_xfx, {":-", "-->"}},
        {1200, BL_ATOM_fx, {":-", "?-"}},
        {1150,
         BL_ATOM_fx,
         {"dynamic", "discontiguous", "initialization", "table",
          "module_transparent", "multifile", "meta_predicate", "public",
          "volatile", "thread_local", "mode", "index", "local",
          "use_variant_tabling", "use_subsumptive_tabling"}},
        {1100, BL_ATOM_xfy, {";", "|"}},
        {1050, BL_ATOM_xfy, {"->", "*->"}},
        {1000, BL_ATOM_xfy, {","}},
        {1050, BL_ATOM_xfx, {"from"}},
        {1100, BL_ATOM_fx, {"import", "export"}},
        {900, BL_ATOM_fy, {"\\+", "not", "tnot"}},
        {700,
         BL_ATOM_xfx,
         {"=", "\\=", "==", "\\==", "@<", "@>", "@=<", "@>=", "=..", "is",
          "=:=", "=\\=", "<", ">", "=<", ">=", "as", ">:<", "=@="}},
        {700, BL_ATOM_xfx, {"\\=@="}},
        {600, BL_ATOM_xfy, {":"}},
        {500, BL_ATOM_yfx, {"+", "-", "/\\", "\\/", "xor"}},
        {400,
         BL_ATOM_yfx,
         {"*", "/", "//", "rem", "mod", "div", "<<", ">>", "divmod", "rdiv"}},
        {200, BL_ATOM_xfx, {"**"}},
        {200, BL_ATOM_xfy, {"^"}},
        {200, BL_ATOM_fy, {"-", "+", "\\"}},
    };
    for (size_t i = 0; i < BL_ARRAY_LEN(standard); i++) {
        for (size_t k = 0; k < 20 && standard[i].names[k] != NULL; k++)
            (void)bl_op_set(bl_atom_str(standard[i].names[k]), standard[i].type,
                            standard[i].priority);
    }
}
