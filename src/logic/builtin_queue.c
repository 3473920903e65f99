// SPDX-License-Identifier: MIT
//
// Message queues. Messages are records: they are copied when sent and when
// taken. Whoever works on a queue holds a reference, so that one that is
// destroyed goes when the last of them has left; those that wait there are
// told.
//
#include "logic/queue.h"

#include "logic/builtin.h"
#include "logic/memory.h"

#include <pthread.h>
#include <stdlib.h>

struct bl_queue {
    struct bl_queue *next; // queues_lock
    bl_word name;          // const: alias, or an integer word
    int64_t max;           // const: messages it may hold; 0: any number
    bool of_thread;        // const: the thread has it as long as it lives
    int users;             // queues_lock; itself one until it is destroyed
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct bl_record *first, *last; // lock
    int64_t size;                   // lock
    bool gone;                      // lock
};

static pthread_mutex_t queues_lock = PTHREAD_MUTEX_INITIALIZER;
static struct bl_queue *queues;
static int64_t next_id = 1; // queues_lock

bl_word bl_fresh_id(void) {
    pthread_mutex_lock(&queues_lock);
    const bl_word id = bl_int(next_id++);
    pthread_mutex_unlock(&queues_lock);
    return id;
}

static struct bl_queue *find_locked(bl_word name) {
    struct bl_queue *q = queues;
    while (q != NULL && q->name != name)
        q = q->next;
    return q;
}

struct bl_queue *bl_queue_new(bl_word name, int64_t max, bool of_thread) {
    pthread_mutex_lock(&queues_lock);
    struct bl_queue *q = find_locked(name);
    const bool exists = q != NULL;
    if (!exists) {
        q = calloc(1, sizeof *q);
        bl_must_have(q);
        pthread_mutex_init(&q->lock, NULL);
        pthread_cond_init(&q->changed, NULL);
        q->name = name;
        q->max = max;
        q->of_thread = of_thread;
        q->users = 1;
        q->next = queues;
        queues = q;
    }
    pthread_mutex_unlock(&queues_lock);
    return exists ? NULL : q;
}

static void leave(struct bl_queue *q) {
    pthread_mutex_lock(&queues_lock);
    const bool last = --q->users == 0;
    pthread_mutex_unlock(&queues_lock);
    if (!last)
        return;
    while (q->first != NULL) {
        struct bl_record *const next = q->first->next;
        bl_record_free(q->first);
        q->first = next;
    }
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->changed);
    free(q);
}

// False where somebody has unlinked it before.
static bool unlink_queue(struct bl_queue *q) {
    pthread_mutex_lock(&queues_lock);
    struct bl_queue **p = &queues;
    while (*p != NULL && *p != q)
        p = &(*p)->next;
    const bool found = *p != NULL;
    if (found)
        *p = q->next;
    pthread_mutex_unlock(&queues_lock);
    return found;
}

void bl_queue_destroy(struct bl_queue *q) {
    if (!unlink_queue(q))
        return;
    pthread_mutex_lock(&q->lock);
    q->gone = true;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    leave(q);
}

static int no_queue(struct bl_machine *m, bl_word name) {
    return bl_throw_existence(m, BL_ATOM_message_queue, name);
}

// NULL: there is none. The caller leaves it in the end.
static struct bl_queue *find(bl_word name) {
    pthread_mutex_lock(&queues_lock);
    struct bl_queue *const q = find_locked(name);
    if (q != NULL)
        q->users++;
    pthread_mutex_unlock(&queues_lock);
    return q;
}

static int enter(struct bl_machine *m, bl_word name, struct bl_queue **out) {
    name = bl_deref(name);
    if (bl_is_var(name))
        return bl_throw_instantiation(m);
    struct bl_queue *const q = find(name);
    if (q == NULL)
        return no_queue(m, name);
    *out = q;
    return BL_TRUE;
}

// Waits for a change in short pieces, so that an interrupt or a deadline ends
// the wait: BL_THROW then. The queue's lock is held.
static int wait_for_change(struct bl_machine *m, struct bl_queue *q) {
    const struct timespec t = bl_next_look(m);
    pthread_cond_timedwait(&q->changed, &q->lock, &t);
    if (q->gone)
        return no_queue(m, q->name);
    return bl_load_acquire(&m->interrupt) == 0 || bl_machine_event(m)
               ? BL_TRUE
               : BL_THROW;
}

static void append(struct bl_queue *q, struct bl_record *r) {
    if (q->last != NULL)
        q->last->next = r;
    else
        q->first = r;
    q->last = r;
    q->size++;
    pthread_cond_broadcast(&q->changed);
}

static int send(struct bl_machine *m, struct bl_queue *q, bl_word t) {
    t = bl_deref(t);
    struct bl_record *const message = bl_record_make(m, &t, 1);
    if (message == NULL)
        return BL_THROW;
    int r = BL_TRUE;
    pthread_mutex_lock(&q->lock);
    while (r == BL_TRUE && q->max > 0 && q->size >= q->max)
        r = wait_for_change(m, q);
    if (r == BL_TRUE)
        append(q, message);
    pthread_mutex_unlock(&q->lock);
    if (r != BL_TRUE)
        bl_record_free(message);
    return r;
}

void bl_queue_send_atom(bl_word name, bl_word atom) {
    struct bl_queue *const q = find(name);
    if (q == NULL)
        return;
    pthread_mutex_lock(&q->lock);
    append(q, bl_record_make_atom(atom));
    pthread_mutex_unlock(&q->lock);
    leave(q);
}

static void take(struct bl_queue *q, struct bl_record *r,
                 struct bl_record *before) {
    *(before != NULL ? &before->next : &q->first) = r->next;
    if (q->last == r)
        q->last = before;
    q->size--;
    bl_record_free(r);
    if (q->max > 0)
        pthread_cond_broadcast(&q->changed);
}

// Looks for a message that unifies; BL_FAIL: none so far. The lock is held.
static int match(struct bl_machine *m, struct bl_queue *q, bl_word pattern,
                 bool taking) {
    struct bl_record *before = NULL;
    for (struct bl_record *r = q->first; r != NULL; before = r, r = r->next) {
        bl_word *const mark = m->tr;
        bl_word *const h = m->h;
        bl_word *const hb = m->hb;
        bl_word t;
        if (!bl_record_load(m, r, &t))
            return BL_THROW;
        m->hb = m->h;
        const bool same = bl_unify(m, pattern, t);
        m->hb = hb;
        if (!same) {
            bl_untrail(m, mark);
            m->h = h;
            if (m->ball != NULL) // an interrupt, and not another message
                return BL_THROW;
            continue;
        }
        if (taking)
            take(q, r, before);
        return BL_TRUE;
    }
    return BL_FAIL;
}

static int receive(struct bl_machine *m, struct bl_queue *q, bl_word pattern,
                   int64_t timeout_ms) {
    const uint64_t end = bl_now_ns() + (uint64_t)timeout_ms * 1000000u;
    int r;
    pthread_mutex_lock(&q->lock);
    while ((r = match(m, q, pattern, true)) == BL_FAIL) {
        if (timeout_ms >= 0 && bl_now_ns() >= end)
            break;
        if (wait_for_change(m, q) != BL_TRUE) {
            r = BL_THROW;
            break;
        }
    }
    pthread_mutex_unlock(&q->lock);
    return r;
}

int bl_queue_receive(struct bl_machine *m, struct bl_queue *q,
                     bl_word pattern) {
    return receive(m, q, pattern, -1);
}

int bl_queue_peek(struct bl_machine *m, struct bl_queue *q, bl_word pattern) {
    pthread_mutex_lock(&q->lock);
    const int r = match(m, q, pattern, false);
    pthread_mutex_unlock(&q->lock);
    return r;
}

static int send_2(struct bl_machine *m, bl_word *a) {
    struct bl_queue *q;
    if (enter(m, a[0], &q) != BL_TRUE)
        return BL_THROW;
    const int r = send(m, q, a[1]);
    leave(q);
    return r;
}

static int get_2(struct bl_machine *m, bl_word *a) {
    struct bl_queue *q;
    if (enter(m, a[0], &q) != BL_TRUE)
        return BL_THROW;
    const int r = receive(m, q, a[1], -1);
    leave(q);
    return r;
}

// '$thread_get_message'(Queue, Message, Milliseconds): fails when time is up.
static int get_3(struct bl_machine *m, bl_word *a) {
    struct bl_queue *q;
    int64_t ms;
    if (bl_take_size(m, a[2], &ms) != BL_TRUE || enter(m, a[0], &q) != BL_TRUE)
        return BL_THROW;
    const int r = receive(m, q, a[1], ms);
    leave(q);
    return r;
}

static int peek_2(struct bl_machine *m, bl_word *a) {
    struct bl_queue *q;
    if (enter(m, a[0], &q) != BL_TRUE)
        return BL_THROW;
    const int r = bl_queue_peek(m, q, a[1]);
    leave(q);
    return r;
}

// '$queue_create'(Queue, Max). A name is an atom: numbers are for what has
// none, and other terms lie on the heap of one machine.
static int create_2(struct bl_machine *m, bl_word *a) {
    const bool named = !bl_is_var(bl_deref(a[0]));
    bl_word name = 0;
    int64_t max;
    if (bl_take_size(m, a[1], &max) != BL_TRUE ||
        (named && bl_take_atom(m, a[0], &name) != BL_TRUE))
        return BL_THROW;
    if (!named)
        name = bl_fresh_id();
    if (bl_queue_new(name, max, false) == NULL)
        return bl_throw_permission(m, BL_ATOM_create, BL_ATOM_message_queue,
                                   name);
    return bl_answer(m, a[0], name);
}

static int destroy_1(struct bl_machine *m, bl_word *a) {
    struct bl_queue *q;
    if (enter(m, a[0], &q) != BL_TRUE)
        return BL_THROW;
    const bool fine = !q->of_thread;
    const bl_word name = q->name;
    if (fine)
        bl_queue_destroy(q);
    leave(q);
    return fine ? BL_TRUE
                : bl_throw_permission(m, BL_ATOM_destroy, BL_ATOM_message_queue,
                                      name);
}

// '$queue_size'(Queue, Size).
static int size_2(struct bl_machine *m, bl_word *a) {
    struct bl_queue *q;
    if (enter(m, a[0], &q) != BL_TRUE)
        return BL_THROW;
    pthread_mutex_lock(&q->lock);
    const int64_t size = q->size;
    pthread_mutex_unlock(&q->lock);
    leave(q);
    return bl_answer(m, a[1], bl_int(size));
}

void bl_builtins_queue(void) {
    static const struct bl_builtin_row rows[] = {
        {"thread_send_message", 2, send_2},
        {"thread_get_message", 2, get_2},
        {"$thread_get_message", 3, get_3},
        {"thread_peek_message", 2, peek_2},
        {"$queue_create", 2, create_2},
        {"message_queue_destroy", 1, destroy_1},
        {"$queue_size", 2, size_2},
    };
    BL_DEFINE(rows);
}
