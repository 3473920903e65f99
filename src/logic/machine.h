// SPDX-License-Identifier: MIT
//
// One machine: the stacks and registers with which one thread runs goals.
//
// Four areas, each a range of addresses that grows in place: the heap (terms),
// the environments, the choice points and the trail. A machine belongs to one
// thread; only `interrupt` and `heap_soft` are written by others. Code runs in
// `bl_machine_run` without recursion on the C stack, however deep the program
// calls: what a program nests lies in the areas.
//
#ifndef BL_LOGIC_MACHINE_H
#define BL_LOGIC_MACHINE_H

#include "logic/atom.h"
#include "logic/term.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

struct bl_clause;
struct bl_record;
struct bl_worker;

enum { BL_REGISTERS = 1024 };

// What a builtin answers.
enum { BL_FAIL = 0, BL_TRUE = 1, BL_THROW = 2, BL_MORE = 3 };

// An environment: the variables of one running clause.
struct bl_env {
    struct bl_env *parent;
    const bl_word *cp; // where the clause goes on when it is through
    uint64_t n;
    bl_word y[];
};

// A choice point: what backtracking restores, and the code it then runs. The
// `n` words behind it are that code's own (saved arguments first).
struct bl_choice {
    struct bl_choice *prev;
    const bl_word *alt;
    struct bl_env *e;
    const bl_word *cp;
    bl_word *h;
    bl_word *tr;
    bl_word *env_top;
    uint64_t n;
    bl_word arg[];
};

// A range of addresses of which [base, end) is mapped.
struct bl_area {
    char *base;
    char *end;
    char *limit; // const: growth ends here
};

struct bl_machine {
    bl_word *h;
    bl_word *hb; // heap top at the newest choice point: older cells are trailed
    bl_word *tr;
    struct bl_env *e;
    struct bl_choice *b;
    struct bl_choice *b0; // choice point at the call, for cut
    const bl_word *cp;
    const bl_word *pc;
    _Atomic(bl_word *) heap_soft; // heap_end, or NULL to be interrupted
    bl_word *heap_end;            // of what is mapped, less the margin
    bl_word *trail_end;
    bl_word *heap_mark; // past these a cut looks what it has left to collect
    bl_word *trail_mark;
    char *env_end;
    char *choice_end;
    struct bl_tabler *tabler; // see tabling.h
    struct bl_record *ball;   // the error under way after BL_THROW
    bl_word x[BL_REGISTERS];

    struct bl_area heap_area, env_area, choice_area, trail_area;
    size_t memory_limit; // bytes all four areas may take together
    uint64_t deadline_ns;
    _Atomic(uint32_t) interrupt; // bits BL_INT_*
    uint32_t thrown; // for which of these the last poll threw; 0: none
    int area_slot;
    struct bl_worker *worker;
    struct bl_io *io;
    struct bl_globals *globals;
    struct bl_findall *findall;
    void *scratch; // words for copying and comparing, see scratch.h
    size_t scratch_words;
    uint64_t cleanups; // choice points that run one, see cleanup.c
    uint64_t inferences;
    uint64_t collections;
    uint64_t collect_every; // calls; 0: when the heap is full
    bool collect_soon;      // at the next call
    uint64_t random_state;
    bool halting; // halt/1 was called; no catcher stops that
    int halt_code;
    uint64_t shielded_ns; // until then interrupts wait; 0: they do not
    int cleanups_deep;    // those that run, one within another
};

enum { BL_INT_SIGNAL = 1, BL_INT_TIME = 2, BL_INT_ABORT = 4 };

// How a run of the machine ended.
enum { BL_RUN_FAIL, BL_RUN_TRUE, BL_RUN_ERROR, BL_RUN_HALT };

struct bl_machine *bl_machine_new(void); // NULL without memory
// The calling thread's machine, where the process has no other; else NULL.
const struct bl_machine *bl_machine_alone(void);
void bl_machine_delete(struct bl_machine *m);

// Solves `goal`, a term of this machine's heap. On BL_RUN_TRUE its bindings
// stand and `bl_query_next` looks for the next answer; on BL_RUN_ERROR
// `m->ball` is the error. `bl_query_close` undoes what the query did,
// `bl_query_cut` keeps its bindings. Queries nest: the inner one ends before
// the outer one goes on.
struct bl_query {
    struct bl_choice *base;
    struct bl_env *e;
    const bl_word *cp;
    struct bl_choice *b0;
    struct bl_clause *clause; // the goal compiled, or NULL
};
int bl_query_open(struct bl_machine *m, struct bl_query *q, bl_word goal);
int bl_query_next(struct bl_machine *m, struct bl_query *q);
void bl_query_cut(struct bl_machine *m, struct bl_query *q); // keep bindings
void bl_query_close(struct bl_machine *m, struct bl_query *q);

int bl_machine_run(struct bl_machine *m);

// Code that is no clause's: see run.c.
extern const bl_word bl_code_fail[];
extern const bl_word *bl_code_call; // call x[0] and go on at `cp`
extern const bl_word bl_code_catch[];
extern const bl_word *const bl_code_catch_exit;
extern const bl_word *const bl_code_query_true;
extern const bl_word bl_code_query_failed[];
extern const bl_word *const bl_code_new_answer;
extern const bl_word bl_code_generator[];
extern const bl_word bl_code_answer[];
extern const bl_word bl_code_kept[];
extern const bl_word bl_code_resume[];
extern const bl_word bl_code_cleanup[];

// A choice point with `n` words of its own, which the caller fills; NULL with
// the ball set where there is no room.
struct bl_choice *bl_choice_push(struct bl_machine *m, const bl_word *alt,
                                 size_t n);
void bl_choice_pop(struct bl_machine *m);
// An environment of `n` slots above everything that must stay; NULL as above.
struct bl_env *bl_env_push(struct bl_machine *m, size_t n);

// Finds who catches the ball: restores the machine to there and returns the
// code to go on with, or NULL where the query ends with the error.
const bl_word *bl_unwind(struct bl_machine *m);
// What a builtin, and a call with its arguments in the registers, do when a
// soft limit was met: grow, stop, or throw. A call may collect the heap.
BL_MUST_USE bool bl_machine_event(struct bl_machine *m);
// Only stops: for those who walk a term, which may have no end. Leaves the
// heap and the scratch memory alone.
BL_MUST_USE bool bl_machine_poll(struct bl_machine *m);
BL_MUST_USE bool bl_machine_call_event(struct bl_machine *m, uint32_t arity);
// Looks whether what lies above the newest choice point is worth collecting.
void bl_machine_cut_event(struct bl_machine *m);
void bl_machine_interrupt(struct bl_machine *m, uint32_t why); // any thread
// An interrupt that is not answered yet came too late.
void bl_machine_forget(struct bl_machine *m, uint32_t why);
uint64_t bl_now_ns(void);
#define BL_LOOK_NS 20000000
// Until when a waiting thread sleeps before it looks for interrupts, by
// CLOCK_REALTIME. For tables it rests from now on.
struct timespec bl_next_look(const struct bl_machine *m);
// Waits in short pieces, so that an interrupt or a deadline ends the wait:
// then false, with the ball.
BL_MUST_USE bool bl_machine_lock(struct bl_machine *m, pthread_mutex_t *lock);

// Undoes bindings back to the trail mark.
BL_INLINE void bl_untrail(struct bl_machine *m, bl_word *mark) {
    bl_word *tr = m->tr;
    while (tr > mark) {
        const bl_word w = *--tr;
        if (BL_LIKELY(bl_tag(w) == BL_REF)) {
            *bl_ptr(w) = w;
        } else { // an assignment: the old value lies below
            *bl_ptr(w) = *--tr;
        }
    }
    m->tr = mark;
}

// Room for `words` on the heap; false with the ball set where there is none.
BL_MUST_USE bool bl_heap_ensure(struct bl_machine *m, size_t words);
// The same for the result of arithmetic, which a clause has many of: those that
// fit go into the margin.
BL_MUST_USE bool bl_heap_ensure_number(struct bl_machine *m, size_t words);
BL_MUST_USE bool bl_trail_grow(struct bl_machine *m);
BL_MUST_USE bool bl_trail_ensure_many(struct bl_machine *m, size_t words);
// Room to bind `n` variables, which for few there always is; false with the
// ball set where there is none.
BL_INLINE bool bl_trail_ensure(struct bl_machine *m, size_t n) {
    return BL_LIKELY(n <= BL_REGISTERS) || bl_trail_ensure_many(m, n);
}
BL_MUST_USE bool bl_env_ensure(struct bl_machine *m, const char *top);
BL_MUST_USE bool bl_choice_ensure(struct bl_machine *m, const char *top);

// The heap a clause or a builtin may use without asking: what the check at
// every call leaves free.
#define BL_HEAP_MARGIN ((size_t)32 * 1024)

// The oldest cell of the heap: a list of Name-Value, see builtin_flag.c.
BL_INLINE bl_word *bl_global_list(const struct bl_machine *m) {
    return (bl_word *)(void *)m->heap_area.base;
}

BL_INLINE struct bl_choice *bl_choice_end(const struct bl_choice *b) {
    return (struct bl_choice *)(uintptr_t)(b->arg + b->n);
}

// A level is a choice point by its distance from the first.
BL_INLINE bl_word bl_level_of(const struct bl_machine *m,
                              const struct bl_choice *b) {
    return bl_level((uint64_t)((const char *)b - m->choice_area.base));
}

BL_INLINE struct bl_choice *bl_level_choice(const struct bl_machine *m,
                                            bl_word level) {
    BL_ASSERT(bl_tag(level) == BL_LVL);
    return (struct bl_choice *)(void *)(m->choice_area.base +
                                        (level >> BL_TAG_BITS));
}

BL_INLINE bl_word *bl_env_top(const struct bl_machine *m) {
    bl_word *const top = m->e->y + m->e->n;
    return top < m->b->env_top ? m->b->env_top : top;
}

// After choice points went without backtracking: the collector sees what lay
// below them. A loop through conditions gives it no other occasion: each call
// but the last one has a choice point just below it.
BL_INLINE void bl_after_cut(struct bl_machine *m) {
    if (BL_UNLIKELY(m->h >= m->heap_mark || m->tr >= m->trail_mark))
        bl_machine_cut_event(m);
}

BL_INLINE void bl_trail(struct bl_machine *m, bl_word *cell) {
    // The trail's end is checked at every call; a clause binds fewer
    // variables between two calls than the margin holds.
    if (cell < m->hb)
        *m->tr++ = bl_ref(cell);
}

// Assigns to a cell; on the trail are the old value, then the cell marked.
BL_INLINE void bl_assign(struct bl_machine *m, bl_word *cell, bl_word value) {
    if (cell < m->hb) {
        *m->tr++ = *cell;
        *m->tr++ = bl_make(cell, BL_STR);
    }
    *cell = value;
}

BL_INLINE void bl_bind(struct bl_machine *m, bl_word var, bl_word value) {
    bl_word *const cell = bl_ptr(var);
    BL_ASSERT(*cell == var);
    *cell = value;
    bl_trail(m, cell);
}

// Binds one of two variables to the other: the younger to the older, so that
// no reference points to a cell that backtracking takes away first.
BL_INLINE void bl_bind_vars(struct bl_machine *m, bl_word a, bl_word b) {
    if (a < b)
        bl_bind(m, b, a);
    else if (a > b)
        bl_bind(m, a, b);
}

BL_INLINE bl_word bl_new_var(struct bl_machine *m) {
    const bl_word v = bl_ref(m->h);
    *m->h++ = v;
    return v;
}

// Whether two terms are one and the same (==).
bool bl_identical(struct bl_machine *m, bl_word a, bl_word b);

BL_MUST_USE bool bl_unify(struct bl_machine *m, bl_word a, bl_word b);

// How long a list is, and what ends it in *list; -1: nothing, it is a cycle.
int64_t bl_list_length(bl_word *list);

// Term construction on the heap; the caller has ensured the room.
bl_word bl_list_cell(struct bl_machine *m, bl_word head, bl_word tail);
bl_word bl_struct(struct bl_machine *m, bl_word functor, const bl_word *args);
bl_word bl_struct1(struct bl_machine *m, bl_word name, bl_word a);
bl_word bl_struct2(struct bl_machine *m, bl_word name, bl_word a, bl_word b);
bl_word bl_float(struct bl_machine *m, double d);

// Whether two boxes hold the same number.
bool bl_same_box(bl_word a, bl_word b);

// The name and arity of a callable term, and where its arguments are.
bl_word bl_term_functor(bl_word t);
bl_word *bl_term_args(bl_word t);

#endif
