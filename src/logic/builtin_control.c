// SPDX-License-Identifier: MIT
//
// Control: errors, halting, loading, and what call/1 needs for control
// constructs.
//
#include "logic/arith.h"
#include "logic/builtin.h"
#include "logic/engine.h"
#include "logic/limit.h"
#include "logic/message.h"
#include "logic/stream.h"
#include "logic/tabling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// '$body_kind'(Goal, Kind): which clause of '$body'/3 runs it.
enum body_kind {
    PLAIN,
    CONJUNCTION,
    CUT,
    IF_THEN_ELSE,
    SOFT_IF_THEN_ELSE,
    DISJUNCTION,
    IF_THEN,
    SOFT_IF_THEN,
    NEGATION,
    BAR
};

static enum body_kind kind_of(bl_word t) {
    if (t == BL_ATOM(cut))
        return CUT;
    if (bl_tag(t) != BL_STR)
        return PLAIN;
    const bl_word f = *bl_ptr(t);
    if (f == BL_FN(comma_2))
        return CONJUNCTION;
    if (f == BL_FN(arrow_2))
        return IF_THEN;
    if (f == BL_FN(softarrow_2))
        return SOFT_IF_THEN;
    if (f == BL_FN(not_provable_1) || f == BL_FN(not_1))
        return NEGATION;
    if (f == BL_FN(bar_2))
        return BAR;
    if (f != BL_FN(semicolon_2))
        return PLAIN;
    const bl_word left = bl_deref(bl_ptr(t)[1]);
    if (bl_tag(left) != BL_STR)
        return DISJUNCTION;
    if (*bl_ptr(left) == BL_FN(arrow_2))
        return IF_THEN_ELSE;
    if (*bl_ptr(left) == BL_FN(softarrow_2))
        return SOFT_IF_THEN_ELSE;
    return DISJUNCTION;
}

static int body_kind_2(struct bl_machine *m, bl_word *a) {
    return bl_answer(m, a[1], bl_int(kind_of(bl_deref(a[0]))));
}

static int throw_1(struct bl_machine *m, bl_word *a) {
    const bl_word ball = bl_deref(a[0]);
    if (bl_is_var(ball))
        return bl_throw_instantiation(m);
    return bl_throw_term(m, ball);
}

static int halt_1(struct bl_machine *m, bl_word *a) {
    int64_t code;
    if (bl_take_int(m, a[0], &code) != BL_TRUE)
        return BL_THROW;
    m->halting = true;
    m->halt_code = (int)code;
    return BL_THROW;
}

static int consult_1(struct bl_machine *m, bl_word *a) {
    bl_word file;
    if (bl_take_atom(m, a[0], &file) != BL_TRUE)
        return BL_THROW;
    char path[4096];
    if (!bl_find_source(bl_atom_text(file), path, sizeof path))
        return bl_throw_existence(m, BL_ATOM_source_sink, file);
    return bl_consult(m, path) == 0 ? BL_TRUE : BL_FAIL;
}

// '$source_path'(Name, Path): fails where there is no such file.
static int source_path_2(struct bl_machine *m, bl_word *a) {
    const bl_word name = bl_deref(a[0]);
    char path[4096];
    if (!bl_is_atom(name) ||
        !bl_find_source(bl_atom_text(name), path, sizeof path))
        return BL_FAIL;
    return bl_answer(m, a[1], bl_atom_str(path));
}

// '$deadline'(Old): what '$restore_deadline' takes.
static int deadline_1(struct bl_machine *m, bl_word *a) {
    return bl_answer(m, a[0], bl_int((int64_t)bl_limit_deadline(m)));
}

// '$set_deadline'(Seconds): the machine is interrupted then.
static int set_deadline_1(struct bl_machine *m, bl_word *a) {
    const bl_word t = bl_deref(a[0]);
    double seconds;
    if (!bl_is_number(t))
        return bl_throw_type(m, BL_ATOM_number, t);
    if (bl_arith_double(m, bl_num_of(t), &seconds) != BL_TRUE)
        return BL_THROW;
    const uint64_t old = bl_limit_deadline(m);
    const uint64_t ahead =
        seconds > 0 ? (uint64_t)(fmin(seconds, 1e9) * 1e9) : 0;
    const uint64_t new = bl_now_ns() + ahead;
    if ((old == 0 || new < old) && !bl_limit_set_deadline(m, new))
        return bl_throw_resource(m, "threads");
    return BL_TRUE;
}

static int restore_deadline_1(struct bl_machine *m, bl_word *a) {
    int64_t old;
    if (bl_take_int(m, a[0], &old) != BL_TRUE)
        return BL_THROW;
    (void)bl_limit_set_deadline(m, 0);
    bl_machine_forget(m, BL_INT_TIME);
    m->thrown &= ~(uint32_t)BL_INT_TIME;           // that was its own
    (void)bl_limit_set_deadline(m, (uint64_t)old); // watched since it began
    return BL_TRUE;
}

static int shell_2(struct bl_machine *m, bl_word *a) {
    bl_word command;
    if (bl_take_atom(m, a[0], &command) != BL_TRUE)
        return BL_THROW;
    bl_flush_output();
    fflush(NULL); // the other files
    bl_table_rest(m->tabler->thread);
    const int status = system(bl_atom_text(command));
    if (status == -1)
        return bl_throw_resource(m, "processes");
    // a signal that ended it, as a shell tells of one
    return bl_answer(m, a[1],
                     bl_int(WIFEXITED(status) ? WEXITSTATUS(status)
                                              : 128 + WTERMSIG(status)));
}

static int getenv_2(struct bl_machine *m, bl_word *a) {
    bl_word name;
    if (bl_take_atom(m, a[0], &name) != BL_TRUE)
        return BL_THROW;
    const char *const value = getenv(bl_atom_text(name));
    return value == NULL ? BL_FAIL : bl_answer(m, a[1], bl_atom_str(value));
}

// '$print_error'(Ball): as an error that nobody catches.
static int print_error_1(struct bl_machine *m, bl_word *a) {
    if (bl_throw_term(m, bl_deref(a[0])) == BL_THROW)
        bl_print_ball(m, NULL);
    return BL_TRUE;
}

// '$load_context'(Directory, File, Line): fails where nothing is being loaded.
static int load_context_3(struct bl_machine *m, bl_word *a) {
    uint32_t line;
    const char *const file = bl_loading_file(&line);
    if (file == NULL)
        return BL_FAIL;
    const char *const slash = strrchr(file, '/');
    const bl_word folder = slash != NULL ? bl_atom(file, (size_t)(slash - file))
                                         : bl_atom_str(".");
    const bool same = bl_unify(m, a[0], folder) &&
                      bl_unify(m, a[1], bl_atom_str(file)) &&
                      bl_unify(m, a[2], bl_int((int64_t)line));
    return same ? BL_TRUE : m->ball != NULL ? BL_THROW : BL_FAIL;
}

// In short pieces, so that an interrupt or a deadline ends it.
static int sleep_1(struct bl_machine *m, bl_word *a) {
    const bl_word t = bl_deref(a[0]);
    if (!bl_is_number(t))
        return bl_throw_type(m, BL_ATOM_number, t);
    double s;
    if (bl_arith_double(m, bl_num_of(t), &s) != BL_TRUE)
        return BL_THROW;
    if (s <= 0)
        return BL_TRUE;
    uint64_t now = bl_now_ns();
    const uint64_t end = now + (uint64_t)(fmin(s, 1e9) * 1e9);
    bl_table_rest(m->tabler->thread);
    for (; now < end; now = bl_now_ns()) {
        const uint64_t left = end - now;
        const struct timespec piece = {0, left < BL_LOOK_NS ? (long)left
                                                            : (long)BL_LOOK_NS};
        (void)nanosleep(&piece, NULL);
        if (bl_load_acquire(&m->interrupt) != 0 && !bl_machine_event(m))
            return BL_THROW;
    }
    return BL_TRUE;
}

// The newest choice point, as a number to compare with.
static int choice_1(struct bl_machine *m, bl_word *a) {
    const bl_word level = bl_level_of(m, m->b);
    return bl_answer(m, a[0], bl_int((int64_t)(level >> BL_TAG_BITS)));
}

// '$cleanup'(Goal): backtracking to here, a cut or an error runs it.
static int cleanup_1(struct bl_machine *m, bl_word *a) {
    bl_word goal;
    if (bl_take_callable(m, a[0], &goal) != BL_TRUE)
        return BL_THROW;
    struct bl_choice *const b = bl_choice_push(m, bl_code_cleanup, 1);
    if (b == NULL)
        return BL_THROW;
    b->arg[0] = a[0];
    m->cleanups++;
    return BL_TRUE;
}

static int nothing_0(struct bl_machine *m, bl_word *a) {
    (void)m;
    (void)a;
    return BL_TRUE;
}

void bl_builtins_control(void) {
    static const struct bl_builtin_row iso[] = {
        {"throw", 1, throw_1},
        {"halt", 1, halt_1},
    };
    static const struct bl_builtin_row rows[] = {
        {"$body_kind", 2, body_kind_2},
        {"$choice", 1, choice_1},
        {"$cleanup", 1, cleanup_1},
        {"$source_path", 2, source_path_2},
        {"$deadline", 1, deadline_1},
        {"$set_deadline", 1, set_deadline_1},
        {"$restore_deadline", 1, restore_deadline_1},
        {"shell", 2, shell_2},
        {"getenv", 2, getenv_2},
        {"garbage_collect", 0, nothing_0},
        {"$print_error", 1, print_error_1},
        {"$load_context", 3, load_context_3},
        {"sleep", 1, sleep_1},
    };
    // its goals use the registers: a call, behind which nobody expects them
    static const struct bl_builtin_row iso_calls[] = {
        {"consult", 1, consult_1},
    };
    BL_DEFINE_ISO(iso);
    BL_DEFINE(rows);
    BL_DEFINE_ISO_MORE(iso_calls);
    for (uint32_t i = 1; i <= 8; i++)
        bl_pred_define_builtin("call", i, NULL, BL_OP_E_CALL);
    bl_pred_define_builtin("tnot", 1, NULL, BL_OP_E_ABSENT);
    bl_pred_define_builtin("$cut", 1, NULL, BL_OP_E_CUT);
    bl_pred_ensure(bl_functor(bl_atom_str("throw"), 1))->flags |= BL_PRED_THROW;
    bl_pred_define_builtin("$catch", 3, NULL, BL_OP_E_CATCH);
}
