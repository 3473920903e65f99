// SPDX-License-Identifier: MIT
//
// Mutexes of programs, by name; the same thread may lock one repeatedly.
//
#include "logic/builtin.h"
#include "logic/queue.h"

#include <pthread.h>
#include <stdlib.h>

struct mutex {
    struct mutex *next;
    bl_word name;
    pthread_mutex_t lock;
};

static pthread_mutex_t mutexes_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mutex *mutexes; // mutexes_lock

static struct mutex *ensure_mutex(bl_word name) {
    pthread_mutex_lock(&mutexes_lock);
    struct mutex *x = mutexes;
    while (x != NULL && x->name != name)
        x = x->next;
    if (x == NULL) {
        x = calloc(1, sizeof *x);
        BL_CHECK(x != NULL);
        pthread_mutexattr_t how;
        pthread_mutexattr_init(&how);
        pthread_mutexattr_settype(&how, PTHREAD_MUTEX_RECURSIVE);
        pthread_mutex_init(&x->lock, &how);
        x->name = name;
        x->next = mutexes;
        mutexes = x;
    }
    pthread_mutex_unlock(&mutexes_lock);
    return x;
}

static int take_mutex(struct bl_machine *m, bl_word a, struct mutex **out) {
    a = bl_deref(a);
    if (bl_is_var(a))
        return bl_throw_instantiation(m);
    if (!bl_is_atom(a) && !bl_is_int(a))
        return bl_throw_type(m, BL_ATOM_mutex, a);
    *out = ensure_mutex(a);
    return BL_TRUE;
}

static int create_1(struct bl_machine *m, bl_word *a) {
    struct mutex *x;
    if (bl_is_var(bl_deref(a[0])))
        return bl_answer(m, a[0], ensure_mutex(bl_fresh_id())->name);
    return take_mutex(m, a[0], &x);
}

// In short pieces, so that an interrupt or a deadline ends the wait.
static int lock_1(struct bl_machine *m, bl_word *a) {
    struct mutex *x;
    if (take_mutex(m, a[0], &x) != BL_TRUE)
        return BL_THROW;
    int r = pthread_mutex_trylock(&x->lock);
    while (r != 0) {
        const struct timespec t = bl_next_look();
        r = pthread_mutex_timedlock(&x->lock, &t);
        if (r != 0 && bl_load_acquire(&m->interrupt) != 0 &&
            !bl_machine_event(m))
            return BL_THROW;
    }
    return BL_TRUE;
}

static int trylock_1(struct bl_machine *m, bl_word *a) {
    struct mutex *x;
    if (take_mutex(m, a[0], &x) != BL_TRUE)
        return BL_THROW;
    return pthread_mutex_trylock(&x->lock) == 0 ? BL_TRUE : BL_FAIL;
}

static int unlock_1(struct bl_machine *m, bl_word *a) {
    struct mutex *x;
    if (take_mutex(m, a[0], &x) != BL_TRUE)
        return BL_THROW;
    return pthread_mutex_unlock(&x->lock) == 0
               ? BL_TRUE
               : bl_throw_permission(m, BL_ATOM_modify, BL_ATOM_mutex, x->name);
}

void bl_builtins_mutex(void) {
    static const struct bl_builtin_row rows[] = {
        {"mutex_create", 1, create_1},
        {"mutex_lock", 1, lock_1},
        {"mutex_trylock", 1, trylock_1},
        {"mutex_unlock", 1, unlock_1},
    };
    BL_DEFINE(rows);
}
