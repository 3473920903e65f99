// SPDX-License-Identifier: MIT
//
// Threads for programs: each runs a copy of its goal on a machine of its own.
// Predicates and clauses are shared; stacks, global variables and private
// tables are not. Messages are records: they are copied when sent and when
// taken. A thread lives until it is joined; a detached one until it ends.
//
#include "logic/builtin.h"
#include "logic/engine.h"
#include "logic/limit.h"
#include "logic/message.h"
#include "logic/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct queue {
    struct queue *next; // all queues; workers_lock
    bl_word name;       // alias, or an integer word
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct bl_record *first, *last; // lock
};

struct bl_worker {
    struct bl_worker *next; // workers_lock
    bl_word name;           // alias, or an integer word
    pthread_t thread;
    struct bl_record *goal;
    struct bl_record *result; // ball, or NULL
    int status;               // workers_lock; -1: running
    bool detached;
    bool is_thread; // false for the main thread
    struct queue *queue;
    struct bl_machine *machine; // workers_lock; NULL: not yet, or no longer
    uint32_t interrupt;         // workers_lock: for the machine to come
    struct bl_worker_report *report;
};

static pthread_mutex_t workers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct bl_worker *workers;
static struct queue *queues;
static int64_t next_id = 1;

// ---- queues

static struct queue *new_queue(bl_word name) {
    struct queue *const q = calloc(1, sizeof *q);
    BL_CHECK(q != NULL);
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->arrived, NULL);
    q->name = name;
    return q;
}

static void free_queue(struct queue *q) {
    while (q->first != NULL) {
        struct bl_record *const next = q->first->next;
        bl_record_free(q->first);
        q->first = next;
    }
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->arrived);
    free(q);
}

static void link_queue(struct queue *q) {
    q->next = queues;
    queues = q;
}

static void unlink_queue(struct queue *q) {
    struct queue **p = &queues;
    while (*p != NULL && *p != q)
        p = &(*p)->next;
    if (*p != NULL)
        *p = q->next;
}

static int find_queue(struct bl_machine *m, bl_word name, struct queue **out) {
    name = bl_deref(name);
    if (bl_is_var(name))
        return bl_throw_instantiation(m);
    pthread_mutex_lock(&workers_lock);
    struct queue *q = queues;
    while (q != NULL && q->name != name)
        q = q->next;
    pthread_mutex_unlock(&workers_lock);
    if (q == NULL)
        return bl_throw_existence(m, BL_ATOM_message_queue, name);
    *out = q;
    return BL_TRUE;
}

static int send_message(struct bl_machine *m, struct queue *q, bl_word t) {
    t = bl_deref(t);
    struct bl_record *const r = bl_record_make(m, &t, 1);
    if (r == NULL)
        return BL_THROW;
    pthread_mutex_lock(&q->lock);
    if (q->last != NULL)
        q->last->next = r;
    else
        q->first = r;
    q->last = r;
    pthread_cond_broadcast(&q->arrived);
    pthread_mutex_unlock(&q->lock);
    return BL_TRUE;
}

// Looks for a message that unifies, from *from on; BL_FAIL: none so far. The
// queue's lock is held.
static int match(struct bl_machine *m, struct queue *q, bl_word pattern,
                 bool take) {
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
            continue;
        }
        if (take) {
            *(before != NULL ? &before->next : &q->first) = r->next;
            if (q->last == r)
                q->last = before;
            bl_record_free(r);
        }
        return BL_TRUE;
    }
    return BL_FAIL;
}

static struct timespec in_ms(long ms) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += ms % 1000 * 1000000;
    t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

// Waits in short pieces, so that an interrupt or a deadline ends the wait.
static int receive(struct bl_machine *m, struct queue *q, bl_word pattern,
                   int64_t timeout_ms) {
    const uint64_t end = bl_now_ns() + (uint64_t)timeout_ms * 1000000u;
    pthread_mutex_lock(&q->lock);
    int r;
    while ((r = match(m, q, pattern, true)) == BL_FAIL) {
        if (timeout_ms >= 0 && bl_now_ns() >= end)
            break;
        const struct timespec t = in_ms(20);
        pthread_cond_timedwait(&q->arrived, &q->lock, &t);
        if (bl_load_acquire(&m->interrupt) != 0 && !bl_machine_event(m)) {
            r = BL_THROW;
            break;
        }
    }
    pthread_mutex_unlock(&q->lock);
    return r;
}

static int send_2(struct bl_machine *m, bl_word *a) {
    struct queue *q;
    if (find_queue(m, a[0], &q) != BL_TRUE)
        return BL_THROW;
    return send_message(m, q, a[1]);
}

static int get_1(struct bl_machine *m, bl_word *a) {
    return receive(m, m->worker->queue, a[0], -1);
}

static int get_2(struct bl_machine *m, bl_word *a) {
    struct queue *q;
    if (find_queue(m, a[0], &q) != BL_TRUE)
        return BL_THROW;
    return receive(m, q, a[1], -1);
}

// '$thread_get_message'(Queue, Message, Milliseconds): fails when time is up.
static int get_3(struct bl_machine *m, bl_word *a) {
    struct queue *q;
    int64_t ms;
    if (find_queue(m, a[0], &q) != BL_TRUE ||
        bl_take_size(m, a[2], &ms) != BL_TRUE)
        return BL_THROW;
    return receive(m, q, a[1], ms);
}

static int peek(struct bl_machine *m, struct queue *q, bl_word pattern) {
    pthread_mutex_lock(&q->lock);
    const int r = match(m, q, pattern, false);
    pthread_mutex_unlock(&q->lock);
    return r;
}

static int peek_1(struct bl_machine *m, bl_word *a) {
    return peek(m, m->worker->queue, a[0]);
}

static int peek_2(struct bl_machine *m, bl_word *a) {
    struct queue *q;
    if (find_queue(m, a[0], &q) != BL_TRUE)
        return BL_THROW;
    return peek(m, q, a[1]);
}

static int queue_create_1(struct bl_machine *m, bl_word *a) {
    bl_word name = bl_deref(a[0]);
    pthread_mutex_lock(&workers_lock);
    if (bl_is_var(name))
        name = bl_int(next_id++);
    struct queue *q = queues;
    while (q != NULL && q->name != name)
        q = q->next;
    if (q == NULL)
        link_queue(new_queue(name));
    pthread_mutex_unlock(&workers_lock);
    if (q != NULL)
        return bl_throw_permission(m, BL_ATOM_create, BL_ATOM_message_queue,
                                   name);
    return bl_answer(m, a[0], name);
}

static int queue_destroy_1(struct bl_machine *m, bl_word *a) {
    struct queue *q;
    if (find_queue(m, a[0], &q) != BL_TRUE)
        return BL_THROW;
    pthread_mutex_lock(&workers_lock);
    unlink_queue(q);
    pthread_mutex_unlock(&workers_lock);
    free_queue(q);
    return BL_TRUE;
}

// ---- threads

static struct bl_worker *new_worker(bl_word name) {
    struct bl_worker *const w = calloc(1, sizeof *w);
    BL_CHECK(w != NULL);
    pthread_mutex_lock(&workers_lock);
    w->name = name != 0 ? name : bl_int(next_id++);
    w->status = -1;
    w->queue = new_queue(w->name);
    link_queue(w->queue);
    w->next = workers;
    workers = w;
    pthread_mutex_unlock(&workers_lock);
    return w;
}

static void free_worker(struct bl_worker *w) {
    pthread_mutex_lock(&workers_lock);
    struct bl_worker **p = &workers;
    while (*p != w)
        p = &(*p)->next;
    *p = w->next;
    unlink_queue(w->queue);
    pthread_mutex_unlock(&workers_lock);
    free_queue(w->queue);
    bl_record_free(w->goal);
    if (w->result != NULL)
        bl_record_free(w->result);
    free(w);
}

void bl_worker_adopt(struct bl_machine *m) {
    m->worker = new_worker(bl_atom_str("main"));
    m->worker->machine = m;
}

static void run_goal(struct bl_worker *w, struct bl_machine *m) {
    bl_word goal;
    struct bl_query q;
    w->status = BL_RUN_ERROR;
    if (!bl_record_load(m, w->goal, &goal))
        return;
    const int status = bl_query_open(m, &q, goal);
    if (status == BL_RUN_ERROR) {
        w->result = m->ball;
        m->ball = NULL;
    }
    if (status != BL_RUN_HALT)
        bl_query_close(m, &q);
    pthread_mutex_lock(&workers_lock);
    w->status = status;
    pthread_mutex_unlock(&workers_lock);
}

// From now on others may interrupt the worker's machine, or no longer.
static void show_machine(struct bl_worker *w, struct bl_machine *m) {
    pthread_mutex_lock(&workers_lock);
    w->machine = m;
    if (m != NULL && w->interrupt != 0)
        bl_machine_interrupt(m, w->interrupt);
    pthread_mutex_unlock(&workers_lock);
}

static void *thread_main(void *arg) {
    struct bl_worker *const w = arg;
    struct bl_machine *const m = bl_engine_machine();
    BL_CHECK(m != NULL);
    m->worker = w;
    show_machine(w, m);
    run_goal(w, m);
    if (w->report != NULL) {
        struct timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        w->report->cpu_seconds = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
        w->report->halt_code = m->halt_code;
    }
    if (m->halting && w->report == NULL)
        exit(m->halt_code);
    show_machine(w, NULL);
    bl_engine_machine_end(m);
    if (w->detached)
        free_worker(w);
    return NULL;
}

static int start(struct bl_machine *m, bl_word goal, bl_word alias,
                 bool detached, bl_word *name) {
    struct bl_record *const r = bl_record_make(m, &goal, 1);
    if (r == NULL)
        return BL_THROW;
    struct bl_worker *const w = new_worker(alias);
    w->goal = r;
    w->is_thread = true;
    w->detached = detached;
    *name = w->name;
    if (pthread_create(&w->thread, NULL, thread_main, w) != 0) {
        free_worker(w);
        return bl_throw_resource(m, "threads");
    }
    if (detached)
        pthread_detach(w->thread);
    return BL_TRUE;
}

// '$thread_create'(Goal, Id, Alias, Detached): Alias is [] for none.
static int thread_create_4(struct bl_machine *m, bl_word *a) {
    bl_word goal;
    bl_word name;
    if (bl_take_callable(m, a[0], &goal) != BL_TRUE)
        return BL_THROW;
    const bl_word alias = bl_deref(a[2]);
    const bool detached = bl_deref(a[3]) == BL_ATOM(true);
    const int r =
        start(m, goal, alias == BL_ATOM(nil) ? 0 : alias, detached, &name);
    return r == BL_TRUE ? bl_answer(m, a[1], name) : r;
}

static int find_worker(struct bl_machine *m, bl_word name,
                       struct bl_worker **out) {
    name = bl_deref(name);
    if (bl_is_var(name))
        return bl_throw_instantiation(m);
    pthread_mutex_lock(&workers_lock);
    struct bl_worker *w = workers;
    while (w != NULL && (w->name != name || !w->is_thread))
        w = w->next;
    pthread_mutex_unlock(&workers_lock);
    if (w == NULL)
        return bl_throw_existence(m, BL_ATOM_thread, name);
    *out = w;
    return BL_TRUE;
}

static bl_word status_term(struct bl_machine *m, const struct bl_worker *w) {
    bl_word ball;
    if (w->status < 0)
        return BL_ATOM(running);
    if (w->status == BL_RUN_TRUE)
        return BL_ATOM(true);
    if (w->status == BL_RUN_FAIL || w->result == NULL)
        return BL_ATOM(false);
    if (!bl_record_load(m, w->result, &ball))
        return BL_ATOM(false);
    return bl_struct1(m, BL_ATOM(exception), ball);
}

static int thread_join_2(struct bl_machine *m, bl_word *a) {
    struct bl_worker *w = NULL;
    if (find_worker(m, a[0], &w) != BL_TRUE)
        return BL_THROW;
    pthread_join(w->thread, NULL);
    const bl_word status = status_term(m, w);
    free_worker(w);
    return bl_answer(m, a[1], status);
}

static int thread_self_1(struct bl_machine *m, bl_word *a) {
    return bl_answer(m, a[0], m->worker->name);
}

static int thread_list_1(struct bl_machine *m, bl_word *a) {
    bl_word list = BL_ATOM(nil);
    pthread_mutex_lock(&workers_lock);
    for (const struct bl_worker *w = workers; w != NULL; w = w->next)
        list = bl_list_cell(m,
                            bl_struct2(m, BL_ATOM(minus), w->name,
                                       w->status < 0 ? BL_ATOM(running)
                                       : w->status == BL_RUN_TRUE
                                           ? BL_ATOM(true)
                                           : BL_ATOM(false)),
                            list);
    pthread_mutex_unlock(&workers_lock);
    return bl_answer(m, a[0], list);
}

// ---- mutexes

struct mutex {
    struct mutex *next;
    bl_word name;
    pthread_mutex_t lock;
};

static struct mutex *mutexes; // workers_lock

static struct mutex *ensure_mutex(bl_word name) {
    pthread_mutex_lock(&workers_lock);
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
    pthread_mutex_unlock(&workers_lock);
    return x;
}

static int mutex_create_1(struct bl_machine *m, bl_word *a) {
    bl_word name = bl_deref(a[0]);
    if (bl_is_var(name)) {
        pthread_mutex_lock(&workers_lock);
        name = bl_int(next_id++);
        pthread_mutex_unlock(&workers_lock);
    }
    (void)ensure_mutex(name);
    return bl_answer(m, a[0], name);
}

static int mutex_lock_1(struct bl_machine *m, bl_word *a) {
    const bl_word name = bl_deref(a[0]);
    if (bl_is_var(name))
        return bl_throw_instantiation(m);
    pthread_mutex_lock(&ensure_mutex(name)->lock);
    return BL_TRUE;
}

static int mutex_unlock_1(struct bl_machine *m, bl_word *a) {
    const bl_word name = bl_deref(a[0]);
    if (bl_is_var(name))
        return bl_throw_instantiation(m);
    if (pthread_mutex_unlock(&ensure_mutex(name)->lock) != 0)
        return bl_throw_permission(m, BL_ATOM_modify, BL_ATOM_mutex, name);
    return BL_TRUE;
}

// ---- the same goal in many threads

static double now_seconds(void) { return (double)bl_now_ns() * 1e-9; }

static int worse(int a, int b) {
    static const int order[] = {[BL_RUN_TRUE] = 0,
                                [BL_RUN_FAIL] = 1,
                                [BL_RUN_ERROR] = 2,
                                [BL_RUN_HALT] = 3};
    return order[a] > order[b] ? a : b;
}

static struct bl_record *copy_record(const struct bl_record *r) {
    const size_t bytes = sizeof *r + r->words * sizeof(bl_word);
    struct bl_record *const copy = malloc(bytes);
    BL_CHECK(copy != NULL);
    memcpy(copy, r, bytes);
    return copy;
}

// What interrupts the waiting machine interrupts the workers.
static void pass_on(struct bl_machine *m, struct bl_worker **w, int n) {
    const uint32_t why = bl_load_acquire(&m->interrupt);
    if (why == 0)
        return;
    bl_machine_forget(m, why);
    pthread_mutex_lock(&workers_lock);
    for (int i = 0; i < n; i++) {
        w[i]->interrupt = why;
        if (w[i]->machine != NULL)
            bl_machine_interrupt(w[i]->machine, why);
    }
    pthread_mutex_unlock(&workers_lock);
}

enum { LOOK_NS = 20000000 }; // how often a waiting thread looks for interrupts

static void join_worker(struct bl_machine *m, struct bl_worker **w, int n,
                        int which) {
    int r = ETIMEDOUT;
    while (r == ETIMEDOUT) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_nsec += LOOK_NS;
        t.tv_sec += t.tv_nsec / 1000000000;
        t.tv_nsec %= 1000000000;
        r = pthread_timedjoin_np(w[which]->thread, NULL, &t);
        if (r == ETIMEDOUT) // those joined are not looked at
            pass_on(m, w + which, n - which);
    }
    BL_CHECK(r == 0);
}

struct bl_worker_report bl_workers_run(struct bl_machine *m,
                                       const struct bl_record *goal,
                                       int threads) {
    struct bl_worker_report all = {.status = BL_RUN_TRUE};
    struct bl_worker_report *const report =
        calloc((size_t)threads, sizeof *report);
    struct bl_worker **const w = calloc((size_t)threads, sizeof *w);
    BL_CHECK(report != NULL && w != NULL);
    const double start_time = now_seconds();
    bl_limit_catch_interrupts(m);
    for (int i = 0; i < threads; i++) {
        w[i] = new_worker(0);
        w[i]->goal = copy_record(goal);
        w[i]->report = &report[i];
        w[i]->is_thread = true;
        BL_CHECK(pthread_create(&w[i]->thread, NULL, thread_main, w[i]) == 0);
    }
    for (int i = 0; i < threads; i++) {
        join_worker(m, w, threads, i);
        all.status = worse(all.status, w[i]->status);
        all.cpu_seconds += report[i].cpu_seconds;
        if (w[i]->status == BL_RUN_HALT)
            all.halt_code = report[i].halt_code;
        if (w[i]->result != NULL)
            bl_print_record(m, w[i]->result, NULL);
        free_worker(w[i]);
    }
    bl_limit_catch_interrupts(NULL);
    all.wall_seconds = now_seconds() - start_time;
    free(report);
    free(w);
    return all;
}

void bl_builtins_thread(void) {
    static const struct bl_builtin_row rows[] = {
        {"$thread_create", 4, thread_create_4},
        {"thread_join", 2, thread_join_2},
        {"thread_self", 1, thread_self_1},
        {"$threads", 1, thread_list_1},
        {"thread_send_message", 2, send_2},
        {"thread_get_message", 1, get_1},
        {"thread_get_message", 2, get_2},
        {"$thread_get_message", 3, get_3},
        {"thread_peek_message", 1, peek_1},
        {"thread_peek_message", 2, peek_2},
        {"message_queue_create", 1, queue_create_1},
        {"message_queue_destroy", 1, queue_destroy_1},
        {"mutex_create", 1, mutex_create_1},
        {"mutex_lock", 1, mutex_lock_1},
        {"mutex_unlock", 1, mutex_unlock_1},
    };
    BL_DEFINE(rows);
}
