// SPDX-License-Identifier: MIT
//
// A thread that sleeps until the next deadline, started with the first one.
// Machines with a deadline stand in a list; the lock guards it and their
// `deadline_ns`.
//
#include "logic/limit.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_TIMED = 4096 };

static pthread_mutex_t limit_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static struct bl_machine *timed[MAX_TIMED];
static int timed_count;
static bool watching;

static uint64_t fire_due(uint64_t now) {
    uint64_t next = UINT64_MAX;
    for (int i = timed_count; i-- > 0;) {
        struct bl_machine *const m = timed[i];
        if (m->deadline_ns <= now) {
            m->deadline_ns = 0;
            timed[i] = timed[--timed_count];
            bl_machine_interrupt(m, BL_INT_TIME);
        } else if (m->deadline_ns < next) {
            next = m->deadline_ns;
        }
    }
    return next;
}

static void *watch(void *unused) {
    (void)unused;
    pthread_mutex_lock(&limit_lock);
    for (;;) {
        const uint64_t next = fire_due(bl_now_ns());
        if (next == UINT64_MAX) {
            pthread_cond_wait(&changed, &limit_lock);
            continue;
        }
        const struct timespec t = {(time_t)(next / 1000000000u),
                                   (long)(next % 1000000000u)};
        pthread_cond_timedwait(&changed, &limit_lock, &t);
    }
    return NULL;
}

static bool start_watching(void) {
    pthread_condattr_t how;
    pthread_condattr_init(&how);
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &how);
    pthread_condattr_destroy(&how);
    pthread_t t;
    if (pthread_create(&t, NULL, watch, NULL) != 0) {
        pthread_cond_destroy(&changed);
        return false;
    }
    pthread_detach(t);
    return true;
}

bool bl_limit_set_deadline(struct bl_machine *m, uint64_t at_ns) {
    pthread_mutex_lock(&limit_lock);
    if (!watching && at_ns != 0)
        watching = start_watching();
    if (!watching) {
        pthread_mutex_unlock(&limit_lock);
        return at_ns == 0;
    }
    int i = 0;
    while (i < timed_count && timed[i] != m)
        i++;
    m->deadline_ns = at_ns;
    if (at_ns == 0 && i < timed_count)
        timed[i] = timed[--timed_count];
    if (at_ns != 0 && i == timed_count && timed_count < MAX_TIMED)
        timed[timed_count++] = m;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&limit_lock);
    return true;
}

uint64_t bl_limit_deadline(struct bl_machine *m) {
    pthread_mutex_lock(&limit_lock);
    const bool passed = (bl_load_relaxed(&m->interrupt) & BL_INT_TIME) != 0;
    const uint64_t at_ns = passed ? 1 : m->deadline_ns;
    pthread_mutex_unlock(&limit_lock);
    return at_ns;
}

// ---- Ctrl-C

static _Atomic(struct bl_machine *) interruptible;
static bool session;                 // someone sits at a terminal
static _Atomic(bool) idle_interrupt; // Ctrl-C while no goal was running

static void on_interrupt(int signal) {
    (void)signal;
    // pairs with the store in bl_limit_catch_interrupts
    struct bl_machine *const m = bl_load_acquire(&interruptible);
    if (m == NULL || (bl_load_relaxed(&m->interrupt) & BL_INT_SIGNAL))
        _exit(130);
    bl_machine_interrupt(m, BL_INT_SIGNAL);
}

static void on_idle_interrupt(int signal) {
    (void)signal;
    // relaxed: read by the thread that the signal interrupted, or later
    bl_store_relaxed(&idle_interrupt, true);
}

static void handle(void (*handler)(int), int flags) {
    struct sigaction how;
    memset(&how, 0, sizeof how);
    how.sa_handler = handler;
    how.sa_flags = flags;
    sigaction(SIGINT, &how, NULL);
}

void bl_limit_catch_interrupts(struct bl_machine *m) {
    if (m != NULL) // it was for the goal before
        bl_machine_forget(m, BL_INT_SIGNAL);
    bl_store_release(&interruptible, m);
    if (m != NULL)
        handle(on_interrupt, 0); // a sleeping builtin is to wake up
    else if (session)
        handle(on_idle_interrupt, SA_RESTART);
    else
        handle(SIG_DFL, 0);
}

void bl_limit_begin_session(void) {
    session = true;
    bl_limit_catch_interrupts(NULL);
}

bool bl_limit_was_idle_interrupt(void) {
    return bl_exchange_acq_rel(&idle_interrupt, false);
}
