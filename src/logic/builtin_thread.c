// SPDX-License-Identifier: MIT
//
// Threads for programs: each runs a copy of its goal on a machine of its own.
// Predicates and clauses are shared; stacks, global variables and private
// tables are not. A thread lives until it is joined; a detached one until it
// ends.
//
#include "logic/builtin.h"
#include "logic/engine.h"
#include "logic/limit.h"
#include "logic/memory.h"
#include "logic/message.h"
#include "logic/queue.h"
#include "logic/stream.h"
#include "logic/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct bl_worker {
    struct bl_worker *next; // workers_lock
    bl_word name;           // alias, or an integer word
    bl_word crew;           // const: where those who work together send what
                            // they have; or 0
    pthread_t thread;
    struct bl_record *goal;
    struct bl_record *result; // ball, or NULL
    int status;               // workers_lock; -1: running
    bool detached;            // workers_lock
    bool ended;               // workers_lock: to be joined
    bool joining;             // workers_lock: somebody does
    bool is_thread;           // workers_lock: false for the main thread, and
                              // before there is one
    struct bl_queue *queue;
    struct bl_machine *machine; // workers_lock; NULL: not yet, or no longer
    uint32_t interrupt;         // workers_lock: for the machine to come
    struct bl_worker_report *report;
};

enum {
    THREADS = 256, // at once: each needs addresses for its stacks
    PATIENCE = 100 // looks for one that ends, before that is an error
};

static pthread_mutex_t workers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct bl_worker *workers;
static int alive; // workers_lock: threads that have, or will have, a machine

// ---- threads

// NULL: the alias is in use. 0 stands for no alias, and for no crew.
static struct bl_worker *new_worker(bl_word alias, bl_word crew) {
    const bl_word name = alias != 0 ? alias : bl_fresh_id();
    struct bl_queue *const q = bl_queue_new(name, 0, true);
    if (q == NULL)
        return NULL;
    struct bl_worker *const w = calloc(1, sizeof *w);
    bl_must_have(w);
    w->name = name;
    w->crew = crew;
    w->status = -1;
    w->queue = q;
    pthread_mutex_lock(&workers_lock);
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
    pthread_mutex_unlock(&workers_lock);
    bl_queue_destroy(w->queue);
    bl_record_free(w->goal);
    if (w->result != NULL)
        bl_record_free(w->result);
    free(w);
}

void bl_worker_adopt(struct bl_machine *m) {
    m->worker = new_worker(bl_atom_str("main"), 0);
    m->worker->machine = m;
}

// `result`: of an error, or NULL.
static void set_status(struct bl_worker *w, int status,
                       struct bl_record *result) {
    pthread_mutex_lock(&workers_lock);
    w->status = status;
    w->result = result;
    pthread_mutex_unlock(&workers_lock);
}

static void run_goal(struct bl_worker *w, struct bl_machine *m) {
    bl_word goal;
    struct bl_query q;
    if (!bl_record_load(m, w->goal, &goal)) {
        set_status(w, BL_RUN_ERROR, NULL);
        return;
    }
    struct bl_record *result = NULL;
    const int status = bl_query_open(m, &q, goal);
    if (status == BL_RUN_ERROR) {
        result = m->ball;
        m->ball = NULL;
    }
    if (status != BL_RUN_HALT)
        bl_query_close(m, &q);
    set_status(w, status, result);
}

static void interrupt_locked(struct bl_worker *w, uint32_t why) {
    w->interrupt = why;
    if (w->machine != NULL)
        bl_machine_interrupt(w->machine, why);
}

// From now on others may interrupt the worker's machine, or no longer.
static void show_machine(struct bl_worker *w, struct bl_machine *m) {
    pthread_mutex_lock(&workers_lock);
    w->machine = m;
    if (m != NULL && w->interrupt != 0)
        bl_machine_interrupt(m, w->interrupt);
    pthread_mutex_unlock(&workers_lock);
}

// The argument of the ball unwind(thread_exit(T)), or 0.
static bl_word exit_of(bl_word ball) {
    ball = bl_deref(ball);
    if (bl_tag(ball) != BL_STR ||
        *bl_ptr(ball) != bl_functor(BL_ATOM(unwind), 1))
        return 0;
    const bl_word t = bl_deref(bl_ptr(ball)[1]);
    return bl_tag(t) == BL_STR &&
                   *bl_ptr(t) == bl_functor(BL_ATOM(thread_exit), 1)
               ? bl_ptr(t)[1]
               : 0;
}

// Nobody will join the thread to see its error; one of a crew was to end.
static bool is_alone(struct bl_worker *w) {
    pthread_mutex_lock(&workers_lock);
    const bool detached = w->detached;
    pthread_mutex_unlock(&workers_lock);
    return detached && w->report == NULL && w->crew == 0;
}

static void report_error(struct bl_worker *w, struct bl_machine *m) {
    bl_word ball;
    if (is_alone(w) && w->result != NULL &&
        bl_record_load(m, w->result, &ball) && exit_of(ball) == 0)
        bl_print_record(m, w->result, NULL);
}

// A thread that had no memory for its machine: who joins it is told, and who
// waits for what its crew has.
static void never_begins(struct bl_worker *w) {
    set_status(w, BL_RUN_ERROR, NULL);
    if (w->crew != 0)
        bl_queue_send_atom(w->crew, BL_ATOM(resource_error));
    else if (is_alone(w))
        fputs("leaflog: error: out of memory: a thread could not begin\n",
              stderr);
}

static void finish(struct bl_worker *w) {
    pthread_mutex_lock(&workers_lock);
    alive--;
    w->ended = true;
    const bool detached = w->detached;
    pthread_mutex_unlock(&workers_lock);
    if (detached) // nobody will join it
        free_worker(w);
}

static void *thread_main(void *arg) {
    struct bl_worker *const w = arg;
    struct bl_machine *const m = bl_engine_machine();
    if (m == NULL) {
        never_begins(w);
        finish(w);
        return NULL;
    }
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
        exit(bl_end_output(m->halt_code));
    show_machine(w, NULL);
    report_error(w, m);
    bl_engine_machine_end(m);
    finish(w);
    return NULL;
}

// With the lock, so that nobody joins a thread before its id is there.
static bool launch(struct bl_worker *w) {
    pthread_mutex_lock(&workers_lock);
    const bool fine = alive < THREADS &&
                      pthread_create(&w->thread, NULL, thread_main, w) == 0;
    alive += fine;
    w->is_thread = fine;
    if (fine && w->detached)
        pthread_detach(w->thread);
    pthread_mutex_unlock(&workers_lock);
    return fine;
}

// Where there are too many, some may be about to end.
static bool launch_soon(struct bl_worker *w) {
    const struct timespec pause = {0, BL_LOOK_NS / 2};
    for (int i = 0; i < PATIENCE; i++) {
        if (launch(w))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static int start(struct bl_machine *m, bl_word goal, bl_word alias,
                 bl_word crew, bool detached, bl_word *name) {
    struct bl_record *const r = bl_record_make(m, &goal, 1);
    if (r == NULL)
        return BL_THROW;
    struct bl_worker *const w = new_worker(alias, crew);
    if (w == NULL) {
        bl_record_free(r);
        return bl_throw_permission(m, BL_ATOM_create, BL_ATOM_thread, alias);
    }
    w->goal = r;
    w->detached = detached;
    *name = w->name;
    if (launch_soon(w))
        return BL_TRUE;
    free_worker(w);
    return bl_throw_resource(m, "threads");
}

// '$thread_create'(Goal, Id, Alias, Detached): Alias is [] for none.
static int thread_create_4(struct bl_machine *m, bl_word *a) {
    bl_word goal;
    bl_word name = 0;
    bl_word alias;
    if (bl_take_callable(m, a[0], &goal) != BL_TRUE ||
        bl_take_atom(m, a[2], &alias) != BL_TRUE)
        return BL_THROW;
    const bool detached = bl_deref(a[3]) == BL_ATOM(true);
    const int r =
        start(m, goal, alias == BL_ATOM(nil) ? 0 : alias, 0, detached, &name);
    return r == BL_TRUE ? bl_answer(m, a[1], name) : r;
}

// A thread that the caller alone may join or detach: `joining` is set. Nobody
// joins himself.
static int claim(struct bl_machine *m, bl_word name, enum bl_known_atom what,
                 struct bl_worker **out) {
    name = bl_deref(name);
    if (bl_is_var(name))
        return bl_throw_instantiation(m);
    pthread_mutex_lock(&workers_lock);
    struct bl_worker *w = workers;
    while (w != NULL && w->name != name)
        w = w->next;
    const bool mine = w != NULL && w->is_thread &&
                      (w != m->worker || what == BL_ATOM_detach) &&
                      !w->joining && !w->detached;
    if (mine)
        w->joining = true;
    pthread_mutex_unlock(&workers_lock);
    *out = w;
    if (w == NULL)
        return bl_throw_existence(m, BL_ATOM_thread, name);
    return mine ? BL_TRUE : bl_throw_permission(m, what, BL_ATOM_thread, name);
}

static bl_word status_term(struct bl_machine *m, const struct bl_worker *w) {
    bl_word ball;
    if (w->status < 0)
        return BL_ATOM(running);
    if (w->status == BL_RUN_TRUE)
        return BL_ATOM(true);
    if (w->status == BL_RUN_FAIL)
        return BL_ATOM(false);
    if (w->result == NULL) // no memory to begin with
        return bl_struct1(m, BL_ATOM(exception), BL_ATOM(resource_error));
    if (!bl_record_load(m, w->result, &ball))
        return BL_ATOM(false);
    const bl_word exited = exit_of(ball);
    return exited != 0 ? bl_struct1(m, BL_ATOM(exited), exited)
                       : bl_struct1(m, BL_ATOM(exception), ball);
}

static void release(struct bl_worker *w) {
    pthread_mutex_lock(&workers_lock);
    w->joining = false;
    pthread_mutex_unlock(&workers_lock);
}

static int timed_join(const struct bl_machine *m, const struct bl_worker *w) {
    const struct timespec t = bl_next_look(m);
    return pthread_timedjoin_np(w->thread, NULL, &t);
}

static int thread_join_2(struct bl_machine *m, bl_word *a) {
    struct bl_worker *w = NULL;
    if (claim(m, a[0], BL_ATOM_join, &w) != BL_TRUE)
        return BL_THROW;
    while (timed_join(m, w) == ETIMEDOUT) {
        if (bl_load_acquire(&m->interrupt) != 0 && !bl_machine_event(m)) {
            release(w);
            return BL_THROW;
        }
    }
    const bl_word status = status_term(m, w);
    free_worker(w);
    return m->ball != NULL ? BL_THROW : bl_answer(m, a[1], status);
}

static int thread_detach_1(struct bl_machine *m, bl_word *a) {
    struct bl_worker *w = NULL;
    if (claim(m, a[0], BL_ATOM_detach, &w) != BL_TRUE)
        return BL_THROW;
    pthread_mutex_lock(&workers_lock);
    const bool ended = w->ended;
    w->detached = true;
    if (!ended)
        pthread_detach(w->thread);
    pthread_mutex_unlock(&workers_lock);
    if (ended) {
        pthread_join(w->thread, NULL);
        free_worker(w);
    }
    return BL_TRUE;
}

// ---- threads that do parts of one goal

enum {
    EVERY = 25,     // looks: who caught the interrupt is interrupted again
    CREW_WAITS = 50 // looks for all of them together: about a second
};

// '$crew_add'(Goal, Crew): a thread that '$crew_end' ends. Crew is a queue,
// which gets `resource_error` where the thread cannot begin.
static int crew_add_2(struct bl_machine *m, bl_word *a) {
    bl_word name;
    return start(m, bl_deref(a[0]), 0, bl_deref(a[1]), false, &name);
}

static void crew_interrupt(bl_word crew) {
    pthread_mutex_lock(&workers_lock);
    for (struct bl_worker *w = workers; w != NULL; w = w->next) {
        if (w->crew == crew)
            interrupt_locked(w, BL_INT_ABORT);
    }
    pthread_mutex_unlock(&workers_lock);
}

// The next to be joined, or NULL.
static struct bl_worker *crew_claim(bl_word crew) {
    pthread_mutex_lock(&workers_lock);
    struct bl_worker *w = workers;
    while (w != NULL && (w->crew != crew || w->joining || w->detached))
        w = w->next;
    if (w != NULL)
        w->joining = true;
    pthread_mutex_unlock(&workers_lock);
    return w;
}

// Those that still run, since they wait outside or catch every error, are left
// alone: they end by themselves, if at all.
static void crew_leave(bl_word crew) {
    pthread_mutex_lock(&workers_lock);
    for (struct bl_worker *w = workers; w != NULL; w = w->next) {
        if (w->crew != crew || w->joining || w->detached || w->ended)
            continue;
        w->detached = true;
        pthread_detach(w->thread);
    }
    pthread_mutex_unlock(&workers_lock);
}

// '$crew_end'(Crew): interrupts what they do, and joins them. No limit need end
// that: it is short.
static int crew_end_1(struct bl_machine *m, bl_word *a) {
    const bl_word crew = bl_deref(a[0]);
    unsigned looks = 0;
    struct bl_worker *w;
    crew_interrupt(crew);
    while ((w = crew_claim(crew)) != NULL) {
        if (timed_join(m, w) == 0) {
            free_worker(w);
            continue;
        }
        release(w);
        if (++looks % EVERY == 0)
            crew_interrupt(crew);
        if (looks >= CREW_WAITS)
            crew_leave(crew);
    }
    return BL_TRUE;
}

static int get_1(struct bl_machine *m, bl_word *a) {
    return bl_queue_receive(m, m->worker->queue, a[0]);
}

static int peek_1(struct bl_machine *m, bl_word *a) {
    return bl_queue_peek(m, m->worker->queue, a[0]);
}

static int thread_self_1(struct bl_machine *m, bl_word *a) {
    return bl_answer(m, a[0], m->worker->name);
}

// What the list of threads takes of the heap. The lock is held.
static size_t list_words(void) {
    size_t words = 0;
    for (const struct bl_worker *w = workers; w != NULL; w = w->next)
        words +=
            8 + (w->status >= 0 && w->result != NULL ? w->result->words : 0);
    return words;
}

// '$threads'(List) of Name-Status.
static int thread_list_1(struct bl_machine *m, bl_word *a) {
    bl_word list = BL_ATOM(nil);
    pthread_mutex_lock(&workers_lock);
    const bool room = bl_heap_ensure(m, list_words());
    for (const struct bl_worker *w = room ? workers : NULL; w != NULL;
         w = w->next) {
        const bl_word status = status_term(m, w);
        list = bl_list_cell(m, bl_struct2(m, BL_ATOM(minus), w->name, status),
                            list);
    }
    pthread_mutex_unlock(&workers_lock);
    return m->ball != NULL ? BL_THROW : bl_answer(m, a[0], list);
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
    bl_must_have(copy);
    memcpy(copy, r, bytes);
    return copy;
}

static void interrupt(struct bl_worker **w, int n, uint32_t why) {
    pthread_mutex_lock(&workers_lock);
    for (int i = 0; i < n; i++)
        interrupt_locked(w[i], why);
    pthread_mutex_unlock(&workers_lock);
}

// What interrupts the waiting machine interrupts the workers.
static void pass_on(struct bl_machine *m, struct bl_worker **w, int n) {
    const uint32_t why = bl_load_acquire(&m->interrupt);
    if (why == 0)
        return;
    bl_machine_forget(m, why);
    interrupt(w, n, why);
}

static void join_worker(struct bl_machine *m, struct bl_worker **w, int n,
                        int which) {
    int r = ETIMEDOUT;
    while (r == ETIMEDOUT) {
        r = timed_join(m, w[which]);
        if (r == ETIMEDOUT) // those joined are not looked at
            pass_on(m, w + which, n - which);
    }
    BL_CHECK(r == 0);
}

// How many there are: fewer than wanted where no more can be had.
static int launch_all(struct bl_worker **w, int n, const struct bl_record *goal,
                      struct bl_worker_report *report) {
    for (int i = 0; i < n; i++) {
        w[i] = new_worker(0, 0);
        w[i]->goal = copy_record(goal);
        w[i]->report = &report[i];
        if (!launch_soon(w[i])) {
            free_worker(w[i]);
            return i;
        }
    }
    return n;
}

// A thread that had no memory for its machine.
static bool never_ran(const struct bl_worker *w) {
    return w->status == BL_RUN_ERROR && w->result == NULL;
}

// The goal is one for all of them: where some are missing the rest is ended,
// and that is the only error.
static void too_few(struct bl_machine *m, struct bl_worker_report *all) {
    (void)bl_throw_resource(m, "threads");
    bl_print_ball(m, NULL);
    all->status = BL_RUN_ERROR;
}

struct bl_worker_report bl_workers_run(struct bl_machine *m,
                                       const struct bl_record *goal,
                                       int threads) {
    struct bl_worker_report all = {.status = BL_RUN_TRUE};
    struct bl_worker_report *const report =
        calloc((size_t)threads, sizeof *report);
    struct bl_worker **const w = calloc((size_t)threads, sizeof *w);
    bl_must_have(report);
    bl_must_have(w);
    const double start_time = now_seconds();
    bl_limit_catch_interrupts(m);
    const int n = launch_all(w, threads, goal, report);
    bool missing = n < threads;
    if (missing)
        interrupt(w, n, BL_INT_SIGNAL);
    for (int i = 0; i < n; i++) {
        join_worker(m, w, n, i);
        missing = missing || never_ran(w[i]);
        all.status = worse(all.status, w[i]->status);
        all.cpu_seconds += report[i].cpu_seconds;
        if (w[i]->status == BL_RUN_HALT)
            all.halt_code = report[i].halt_code;
        if (w[i]->result != NULL && !missing)
            bl_print_record(m, w[i]->result, NULL);
        free_worker(w[i]);
    }
    if (missing)
        too_few(m, &all);
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
        {"$crew_add", 2, crew_add_2},
        {"$crew_end", 1, crew_end_1},
        {"thread_self", 1, thread_self_1},
        {"$threads", 1, thread_list_1},
        {"thread_detach", 1, thread_detach_1},
        {"thread_get_message", 1, get_1},
        {"thread_peek_message", 1, peek_1},
    };
    BL_DEFINE(rows);
}
