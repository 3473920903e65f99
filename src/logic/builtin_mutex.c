// SPDX-License-Identifier: MIT
//
// Mutexes of programs, by name; the same thread may lock one repeatedly. Each
// lock of one, and each builtin that is at work on it, counts as a user; one
// that was destroyed keeps its name as long as it has users, and the last one
// frees it. A thread that ends gives back what it has.
//
#include "logic/builtin.h"
#include "logic/engine.h"
#include "logic/guard.h"
#include "logic/queue.h"

#include <pthread.h>
#include <stdlib.h>

struct mutex {
    struct mutex *next;                 // mutexes_lock
    bl_word name;                       // const
    pthread_mutex_t lock;               // the program's
    _Atomic(struct bl_machine *) owner; // who has it; or NULL
    uint64_t depth;                     // lock: how often
    uint64_t users;                     // mutexes_lock
    bool destroyed;                     // mutexes_lock
};

static pthread_mutex_t mutexes_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mutex *mutexes; // mutexes_lock

static struct mutex **find(bl_word name) {
    struct mutex **at = &mutexes;
    while (*at != NULL && (*at)->name != name)
        at = &(*at)->next;
    return at;
}

static struct mutex *add(bl_word name) {
    struct mutex *const x = calloc(1, sizeof *x);
    if (x == NULL)
        return NULL;
    pthread_mutex_init(&x->lock, NULL);
    x->name = name;
    x->next = mutexes;
    mutexes = x;
    return x;
}

// One user less.
static void drop(struct mutex *x) {
    pthread_mutex_lock(&mutexes_lock);
    BL_ASSERT(x->users > 0);
    x->users--;
    const bool last = x->destroyed && x->users == 0;
    if (last)
        *find(x->name) = x->next;
    pthread_mutex_unlock(&mutexes_lock);
    if (last) {
        pthread_mutex_destroy(&x->lock);
        free(x);
    }
}

// One user more. An atom that names none yet is a new one if `make`.
static int take(struct bl_machine *m, bl_word a, bool make,
                struct mutex **out) {
    a = bl_deref(a);
    if (bl_is_var(a))
        return bl_throw_instantiation(m);
    if (!bl_is_atom(a) && !bl_is_int(a))
        return bl_throw_type(m, BL_ATOM_mutex, a);
    pthread_mutex_lock(&mutexes_lock);
    struct mutex *x = *find(a);
    if (x == NULL && make && bl_is_atom(a))
        x = add(a);
    if (x != NULL)
        x->users++;
    pthread_mutex_unlock(&mutexes_lock);
    *out = x;
    if (x != NULL)
        return BL_TRUE;
    return make && bl_is_atom(a) ? bl_throw_resource(m, "memory")
                                 : bl_throw_existence(m, BL_ATOM_mutex, a);
}

static int create_1(struct bl_machine *m, bl_word *a) {
    const bl_word t = bl_deref(a[0]);
    const bl_word name = bl_is_var(t) ? bl_fresh_id() : t;
    if (!bl_is_var(t) && !bl_is_atom(t))
        return bl_throw_type(m, BL_ATOM_mutex, t);
    pthread_mutex_lock(&mutexes_lock);
    const bool exists = *find(name) != NULL;
    const bool made = !exists && add(name) != NULL;
    pthread_mutex_unlock(&mutexes_lock);
    if (exists)
        return bl_throw_permission(m, BL_ATOM_create, BL_ATOM_mutex, name);
    return made ? bl_answer(m, t, name) : bl_throw_resource(m, "memory");
}

static int destroy_1(struct bl_machine *m, bl_word *a) {
    struct mutex *x;
    if (take(m, a[0], false, &x) != BL_TRUE)
        return BL_THROW;
    pthread_mutex_lock(&mutexes_lock);
    x->destroyed = true;
    pthread_mutex_unlock(&mutexes_lock);
    drop(x);
    return BL_TRUE;
}

static bool has(const struct bl_machine *m, const struct mutex *x) {
    return bl_load_relaxed(&x->owner) == m;
}

static int lock(struct bl_machine *m, bl_word a, struct mutex **out) {
    struct mutex *x;
    if (take(m, a, true, &x) != BL_TRUE)
        return BL_THROW;
    if (!has(m, x) && !bl_machine_lock(m, &x->lock)) {
        drop(x);
        return BL_THROW;
    }
    bl_store_relaxed(&x->owner, m);
    x->depth++;
    *out = x;
    return BL_TRUE;
}

static int lock_1(struct bl_machine *m, bl_word *a) {
    struct mutex *x;
    return lock(m, a[0], &x);
}

static int trylock_1(struct bl_machine *m, bl_word *a) {
    struct mutex *x;
    if (take(m, a[0], true, &x) != BL_TRUE)
        return BL_THROW;
    if (!has(m, x) && pthread_mutex_trylock(&x->lock) != 0) {
        drop(x);
        return BL_FAIL;
    }
    bl_store_relaxed(&x->owner, m);
    x->depth++;
    return BL_TRUE;
}

// Of one that the machine has: once, and one use of it less.
static void unlock(struct mutex *x) {
    BL_ASSERT(x->depth > 0);
    if (--x->depth == 0) {
        bl_store_relaxed(&x->owner, NULL);
        pthread_mutex_unlock(&x->lock);
    }
    drop(x);
}

static int unlock_1(struct bl_machine *m, bl_word *a) {
    struct mutex *x;
    if (take(m, a[0], false, &x) != BL_TRUE)
        return BL_THROW;
    const bl_word name = x->name;
    const bool was_ours = has(m, x);
    if (was_ours)
        unlock(x);
    drop(x);
    return was_ours
               ? BL_TRUE
               : bl_throw_permission(m, BL_ATOM_modify, BL_ATOM_mutex, name);
}

// ---- while a goal runs

// One user more: the choice point.
static struct mutex *keep(struct mutex *x) {
    pthread_mutex_lock(&mutexes_lock);
    x->users++;
    pthread_mutex_unlock(&mutexes_lock);
    return x;
}

static bool give_back(const struct bl_machine *m, const bl_word *word) {
    struct mutex *const x = bl_guard_pointer(word[1]);
    const bool was_ours = has(m, x);
    if (was_ours)
        unlock(x);
    drop(x);
    return was_ours;
}

void bl_mutex_undo(struct bl_machine *m, const bl_word *word) {
    (void)give_back(m, word);
}

// '$mutex_hold'(Mutex): until '$mutex_release'.
static int hold_1(struct bl_machine *m, bl_word *a) {
    struct mutex *x;
    struct bl_choice *const guard = bl_guard_push(m, BL_GUARD_MUTEX);
    if (guard == NULL)
        return BL_THROW;
    if (lock(m, a[0], &x) == BL_TRUE) {
        guard->arg[1] = bl_guard_word(keep(x));
        return BL_TRUE;
    }
    bl_choice_pop(m);
    return BL_THROW;
}

static int release_0(struct bl_machine *m, bl_word *a) {
    const struct bl_choice *const guard = m->b;
    const struct mutex *const x = bl_guard_pointer(guard->arg[1]);
    const bl_word name = x->name;
    (void)a;
    BL_ASSERT(guard->alt == bl_code_guard);
    bl_choice_pop(m);
    bl_after_cut(m);
    return give_back(m, guard->arg)
               ? BL_TRUE
               : bl_throw_permission(m, BL_ATOM_modify, BL_ATOM_mutex, name);
}

// ---- all that a thread has

static struct mutex *one_of(const struct bl_machine *m) {
    pthread_mutex_lock(&mutexes_lock);
    struct mutex *x = mutexes;
    while (x != NULL && !has(m, x))
        x = x->next;
    pthread_mutex_unlock(&mutexes_lock);
    return x;
}

void bl_mutexes_unlock(struct bl_machine *m) {
    for (struct mutex *x = one_of(m); x != NULL; x = one_of(m))
        unlock(x);
}

static int unlock_all_0(struct bl_machine *m, bl_word *a) {
    (void)a;
    bl_mutexes_unlock(m);
    return BL_TRUE;
}

void bl_builtins_mutex(void) {
    static const struct bl_builtin_row rows[] = {
        {"mutex_create", 1, create_1}, {"mutex_destroy", 1, destroy_1},
        {"mutex_lock", 1, lock_1},     {"mutex_trylock", 1, trylock_1},
        {"mutex_unlock", 1, unlock_1}, {"mutex_unlock_all", 0, unlock_all_0},
        {"$mutex_hold", 1, hold_1},    {"$mutex_release", 0, release_0},
    };
    BL_DEFINE(rows);
}
