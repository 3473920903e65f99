// SPDX-License-Identifier: MIT
//
// Tabled evaluation: SLG resolution with local scheduling.
//
// The first call of a variant makes a *generator*: a choice point that runs
// the predicate's clauses, collects their answers in the table and lets none
// out before its component is complete. A call of a variant that is being
// evaluated becomes a *consumer*: what remains to be done after the call, up
// to the generator around it, is copied into a record, and the call fails.
// When a generator has run out of clauses and depends on nothing older it is a
// *leader*: it resumes the consumers of its component for their unread answers
// until none is left, marks the component complete, and returns answers. If
// it does depend on something older, its caller becomes its consumer.
//
// Generators are numbered in order of creation (dfn); `low` is the oldest one
// a generator is known to depend on. Incomplete goals with new answers stand
// in one of two queues of work, so that completion costs what changed; a leader
// goes through what was queued since it was made. Each machine has
// its own; tables may be shared, see <bigleaf/table.h>.
//
// The negation of a goal that is being evaluated waits until the goal is
// *settled*, see `absence.c`.
// Source: [ChenWarren-1996], and delimited continuations after
// [Desouter-2015].
//
#ifndef BL_LOGIC_TABLING_H
#define BL_LOGIC_TABLING_H

#include "logic/clause.h"
#include "table/table.h"

struct bl_best;
struct bl_consumer;
struct bl_kept;
struct bl_modes;

// An incomplete tabled goal; `user` of its subgoal frame.
struct bl_goal {
    struct bl_subgoal *sg;
    struct bl_pred *pred;
    const struct bl_modes *modes; // of its table; NULL: none
    uint64_t dfn;
    uint64_t low;
    struct bl_goal *below;      // next older incomplete goal
    struct bl_goal *work_next;  // queued before it
    struct bl_goal *work_prev;  // queued after it
    struct bl_goal *joins_mark; // the newest of both queues when the goal
    struct bl_goal *calls_mark; // was made
    struct bl_goal *parent;     // generator that was running when it was called
    struct bl_consumer *consumers;
    struct bl_consumer *last_consumer;
    struct bl_consumer *unvisited;  // first one added since the last pass
    struct bl_consumer *waiters;    // for the goal to have no answer
    struct bl_consumer *ready_mark; // the tabler's `ready` and `waiting` when
    uint64_t waiting_mark;          // the goal was made
    struct bl_best *best;           // its current answers by key, see moded.h
    uint32_t node;                  // its number while absence.c is at work
    uint32_t vars;                  // free variables of the call
    bool queued;                    // stands in a queue of work
    bool grown;   // has answers since the last pass over its consumers
    bool shared;  // others add answers too (FS)
    bool calls;   // some consumer is no join
    bool negated; // its caller wants to know that there is no answer
    bool settled; // has all its answers, though its component goes on
};

// What is left to do after a call that has to wait: for answers, or, among a
// goal's `waiters`, for their absence.
struct bl_consumer {
    struct bl_consumer *next;
    struct bl_goal *of;       // whose answers it reads
    struct bl_goal *producer; // for whom the continuation finds answers
    struct bl_answer_cursor cursor;
    struct bl_record *record; // call variables, live slots, template
    uint32_t vars;            // words of the call's variables in the record
    uint32_t frames;          // environments between call and generator
    struct bl_join *join;     // the continuation as a join, or NULL
    struct bl_frame_code {
        const bl_word *cp;
        uint32_t slots;
        uint32_t live; // words in the record
    } frame[];
};

struct bl_tabler {
    struct bl_table_thread *thread;
    struct bl_goal *top; // newest incomplete goal
    // Goals with answers that may be unread: with joins as consumers, and with
    // others too.
    struct bl_work {
        struct bl_goal *newest, *oldest;
    } joins, calls;
    struct bl_goal *generator; // the goal whose clauses or consumers run
    uint64_t next_dfn;
    const struct bl_modes *modes; // of the newest call
    bl_word *token;
    size_t token_capacity;
    size_t token_limit; // of what is being encoded; 0: none
    bl_word *var;       // variables met while encoding
    size_t vars, var_capacity;
    bl_word *decoded_var; // variables met while decoding
    size_t decoded, decoded_capacity;
    bl_word *term; // an answer's terms
    size_t term_capacity;
    bl_word *root; // words gathered for a continuation
    size_t roots, root_capacity;
    struct bl_frame_code *frame;
    size_t frames, frame_capacity;
    struct bl_goal *free_goals;
    struct bl_consumer *ready; // waiters whose goals turned out to have none
    uint64_t waiting;          // waiters of all goals
    struct bl_kept *kept;      // answers whose tables are gone, see kept.h
    bool abolish_soon;         // all tables, once nothing is being evaluated
    int asking;                // queries of modes that run, see moded.c
    uint64_t suspensions, resumptions;
    uint64_t inserted; // what was put into tables, see tabling.c
};

// What a step of tabling tells the machine to do.
enum bl_tabling_step {
    BL_STEP_FAIL,
    BL_STEP_PROCEED, // go on at `cp`
    BL_STEP_CLAUSES, // run the clauses of the predicate that was called
    BL_STEP_MODED,   // call it by '$moded'/1, see moded.h
    BL_STEP_THROW
};

bool bl_tabling_open(struct bl_machine *m, struct bl_table_space *space);
void bl_tabling_close(struct bl_machine *m);

// A call with its arguments in the registers.
enum bl_tabling_step bl_tabling_call(struct bl_machine *m, struct bl_pred *p);
// As above, of a negated goal: BL_STEP_PROCEED if it has no answer.
enum bl_tabling_step bl_tabling_call_absent(struct bl_machine *m,
                                            struct bl_pred *p);
// A clause of the generator whose environment is `m->e` came to its end.
enum bl_tabling_step bl_tabling_new_answer(struct bl_machine *m);
// Answers went to `g`, `fresh` of them new. `n` of them, or for large ones
// their tokens, count for the limit of the tables.
enum bl_tabling_step bl_tabling_passed(struct bl_machine *m, struct bl_goal *g,
                                       size_t n, uint64_t fresh);
// Backtracking into the choice points of tabling; `m->b` is the one.
enum bl_tabling_step bl_tabling_retry_generator(struct bl_machine *m);
enum bl_tabling_step bl_tabling_retry_answer(struct bl_machine *m);
enum bl_tabling_step bl_tabling_retry_resume(struct bl_machine *m);
// An error passes a generator: all goals made since are as never called.
void bl_tabling_abandon(struct bl_machine *m, struct bl_choice *generator);

// suspend.c: the continuation of a call that has to wait for answers of `of`.
// The variables of the call are `var[0..n)`. False: ball set.
BL_MUST_USE bool bl_suspend(struct bl_machine *m, struct bl_goal *of,
                            const bl_word *var, size_t n,
                            const struct bl_env *e, const bl_word *cp);
// The same for a negation, which waits for `of` to be settled.
BL_MUST_USE bool bl_suspend_absent(struct bl_machine *m, struct bl_goal *of,
                                   const struct bl_env *e, const bl_word *cp);
// Puts the continuation back on the stacks; the tabler's roots begin with the
// call's variables then.
BL_MUST_USE bool bl_resume(struct bl_machine *m, const struct bl_consumer *c);
uint64_t bl_consumers_free(struct bl_consumer *list); // how many there were

// absence.c: settles what can be settled of the component of `leader`, whose
// consumers have read all answers there are. The waiters that may go on are
// then `ready`. False: ball set; the program is not stratified.
BL_MUST_USE bool bl_absence_settle(struct bl_machine *m,
                                   struct bl_goal *leader);

// encode.c: terms as tokens and back.
// Returns the number of tokens in `tabler->token`, or -1 with the ball set.
long bl_encode(struct bl_machine *m, const bl_word *terms, size_t n,
               bool keep_vars);
// One more variable behind those of the call; false: ball set.
BL_MUST_USE bool bl_tabler_add_var(struct bl_machine *m, bl_word v);
// Terms from tokens, onto the heap; false: ball set.
BL_MUST_USE bool bl_decode(struct bl_machine *m, const uint64_t *token,
                           size_t tokens, bl_word *terms, size_t n);
// Unifies variables with an answer; 1, 0, or -1 with the ball set.
int bl_unify_answer(struct bl_machine *m, const struct bl_answer *answer,
                    const struct bl_subgoal *sg, const bl_word *vars, size_t n);
int bl_unify_tokens(struct bl_machine *m, const uint64_t *token, size_t tokens,
                    const bl_word *vars, size_t n);

// Throws; always false. `place` says what would have to wait.
bool bl_not_stratified(struct bl_machine *m, const struct bl_goal *of,
                       const char *place);

// Consumers of `g` have something to read.
void bl_goal_queue(struct bl_tabler *t, struct bl_goal *g);

// The call of a subgoal frame, of a table with these modes, as a term on the
// heap, for messages.
BL_MUST_USE bool bl_goal_term(struct bl_machine *m, const struct bl_subgoal *sg,
                              const struct bl_modes *modes, bl_word *out);

#endif
