// SPDX-License-Identifier: MIT
//
// Flags, global variables, statistics.
//
#include "logic/builtin.h"
#include "logic/engine.h"
#include "logic/area.h"
#include "logic/memory.h"
#include "logic/moded.h"
#include "logic/reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

// ---- global variables: per machine. A value is a record, or, where b_setval/2
// set it, a term of the heap: in a list from the oldest cell, so that
// backtracking takes it back. A value that is a level is none: the record holds
// a newer one.

struct bl_globals {
    struct bl_globals *next;
    bl_word name;
    struct bl_record *value;
};

static struct bl_globals *find_global(const struct bl_machine *m,
                                      bl_word name) {
    struct bl_globals *g = m->globals;
    while (g != NULL && g->name != name)
        g = g->next;
    return g;
}

// The value's cell in the list, or NULL.
static bl_word *find_term(const struct bl_machine *m, bl_word name) {
    bl_word list = *bl_global_list(m);
    for (; bl_tag(list) == BL_LST; list = bl_ptr(list)[1]) {
        bl_word *const pair = bl_ptr(bl_ptr(list)[0]);
        if (pair[1] == name)
            return &pair[2];
    }
    return NULL;
}

static int nb_setval_2(struct bl_machine *m, bl_word *a) {
    bl_word name;
    if (bl_take_atom(m, a[0], &name) != BL_TRUE)
        return BL_THROW;
    const bl_word t = bl_deref(a[1]);
    struct bl_record *const r = bl_record_make(m, &t, 1);
    if (r == NULL)
        return BL_THROW;
    struct bl_globals *g = find_global(m, name);
    if (g == NULL) {
        g = calloc(1, sizeof *g);
        bl_must_have(g);
        g->name = name;
        g->next = m->globals;
        m->globals = g;
    } else {
        bl_record_free(g->value);
    }
    g->value = r;
    bl_word *const cell = find_term(m, name);
    if (cell != NULL)
        *cell = bl_level(0); // not on the trail: this stays
    return BL_TRUE;
}

static int getval_2(struct bl_machine *m, bl_word *a) {
    bl_word name;
    bl_word value;
    if (bl_take_atom(m, a[0], &name) != BL_TRUE)
        return BL_THROW;
    const bl_word *const cell = find_term(m, name);
    if (cell != NULL && bl_tag(*cell) != BL_LVL)
        return bl_answer(m, a[1], *cell);
    const struct bl_globals *const g = find_global(m, name);
    if (g == NULL)
        return bl_throw_existence(m, BL_ATOM_variable, name);
    if (!bl_record_load(m, g->value, &value))
        return BL_THROW;
    return bl_answer(m, a[1], value);
}

static int b_setval_2(struct bl_machine *m, bl_word *a) {
    bl_word name;
    if (bl_take_atom(m, a[0], &name) != BL_TRUE)
        return BL_THROW;
    const bl_word value = bl_deref(a[1]);
    bl_word *const cell = find_term(m, name);
    if (cell != NULL) {
        bl_assign(m, cell, value);
        return BL_TRUE;
    }
    const bl_word pair = bl_struct2(m, BL_ATOM(minus), name, value);
    bl_word *const list = bl_global_list(m);
    bl_assign(m, list, bl_list_cell(m, pair, *list));
    return BL_TRUE;
}

void bl_globals_drop(struct bl_machine *m) {
    while (m->globals != NULL) {
        struct bl_globals *const g = m->globals;
        m->globals = g->next;
        bl_record_free(g->value);
        free(g);
    }
}

// ---- flags

static const char *const quotes_names[] = {"codes", "chars", "atom"};

// In the order of the engine's field.
static const char *const unknown_names[] = {"error", "fail", "warning"};
static const char *const fixed_flags[] = {
    "bounded",   "max_tagged_integer",        "min_tagged_integer",
    "max_arity", "integer_rounding_function", "threads"};

// Of other engines: taken, and without effect here.
static const char *const ignored_flags[] = {"occurs_check",
                                            "gc",
                                            "verbose",
                                            "character_escapes",
                                            "toplevel_prompt",
                                            "optimise",
                                            "stack_limit",
                                            "table_space",
                                            "max_tabled_subgoals",
                                            "unify_with_occurs_check",
                                            "max_table_answer_size_action",
                                            "max_answers_for_subgoal",
                                            "max_answers_for_subgoal_action",
                                            "table_subsumptive",
                                            "table_incremental",
                                            "table_shared",
                                            "shared_table_space",
                                            "multi_arity_warnings",
                                            "single_var_warnings",
                                            "discontiguous_warnings",
                                            "agc_margin",
                                            "answer_format",
                                            "answer_write_options",
                                            "autoload",
                                            "encoding",
                                            "generate_debug_info",
                                            "last_call_optimisation",
                                            "report_error",
                                            "signals",
                                            "verbose_autoload",
                                            "verbose_load"};

static int index_of(bl_word value, const char *const *names, size_t n) {
    for (size_t i = 0; i < n && bl_is_atom(value); i++) {
        if (strcmp(bl_atom_text(value), names[i]) == 0)
            return (int)i;
    }
    return -1;
}

static int bad_value(struct bl_machine *m, bl_word flag, bl_word value) {
    return bl_throw_domain(m, "flag_value",
                           bl_struct2(m, BL_ATOM(plus), flag, value));
}

// Limits on answers and on calls, in the order of the engine's field.
static const char *const size_flags[] = {"max_table_answer_size",
                                         "max_table_subgoal_size"};
static const char action_flag[] = "max_table_subgoal_size_action";

static size_t size_limit[2]; // what the flags say; 0: infinite
static bool abstracts;       // calls above the limit

static void apply_size_limits(void) {
    const size_t calls = size_limit[1];
    const size_t depth = calls < BL_DEPTH_MAX ? calls : BL_DEPTH_MAX;
    // relaxed: who calls and encodes needs nothing else
    bl_store_relaxed(&bl_engine.flag_limit[0], size_limit[0]);
    bl_store_relaxed(&bl_engine.flag_limit[1], abstracts ? 0 : calls);
    bl_store_relaxed(&bl_engine.call_depth, abstracts ? (uint32_t)depth : 0);
}

static int set_size_limit(struct bl_machine *m, int which, bl_word value) {
    int64_t n = 0;
    if ((!bl_is_atom(value) || strcmp(bl_atom_text(value), "infinite") != 0) &&
        bl_take_size(m, value, &n) != BL_TRUE)
        return BL_THROW;
    size_limit[which] = (size_t)n;
    apply_size_limits();
    return BL_TRUE;
}

static int set_size_action(bl_word value) {
    abstracts =
        bl_is_atom(value) && strcmp(bl_atom_text(value), "abstract") == 0;
    apply_size_limits();
    return BL_TRUE;
}

static bl_word read_size_limit(int which) {
    return size_limit[which] == 0 ? bl_atom_str("infinite")
                                  : bl_int((int64_t)size_limit[which]);
}

static int set_flag_2(struct bl_machine *m, bl_word *a) {
    bl_word flag;
    const bl_word value = bl_deref(a[1]);
    if (bl_take_atom(m, a[0], &flag) != BL_TRUE)
        return BL_THROW;
    if (bl_is_var(value))
        return bl_throw_instantiation(m);
    const char *const name = bl_atom_text(flag);
    if (strcmp(name, "double_quotes") == 0) {
        const int i = index_of(value, quotes_names, 3);
        if (i < 0)
            return bad_value(m, flag, value);
        bl_double_quotes = (enum bl_double_quotes)i;
        return BL_TRUE;
    }
    if (strcmp(name, "unknown") == 0) {
        const int i = index_of(value, unknown_names, 3);
        if (i < 0)
            return bad_value(m, flag, value);
        bl_engine.unknown = i;
        return BL_TRUE;
    }
    if (strcmp(name, "debug") == 0) {
        if (value != BL_ATOM(on) && value != BL_ATOM(off) &&
            value != BL_ATOM(true) && value != BL_ATOM(false))
            return bad_value(m, flag, value);
        bl_engine.debug = value == BL_ATOM(on) || value == BL_ATOM(true);
        return BL_TRUE;
    }
    const int limit = index_of(flag, size_flags, BL_ARRAY_LEN(size_flags));
    if (limit >= 0)
        return set_size_limit(m, limit, value);
    if (strcmp(name, action_flag) == 0)
        return set_size_action(value);
    if (index_of(flag, ignored_flags, BL_ARRAY_LEN(ignored_flags)) >= 0)
        return BL_TRUE;
    if (index_of(flag, fixed_flags, BL_ARRAY_LEN(fixed_flags)) >= 0)
        return bl_throw_permission(m, BL_ATOM_modify, BL_ATOM_flag, flag);
    return bl_throw_domain(m, "prolog_flag", flag);
}

// '$flags'(List): name-value pairs.
static int flags_1(struct bl_machine *m, bl_word *a) {
    static const char *const names[] = {"bounded",
                                        "max_tagged_integer",
                                        "min_tagged_integer",
                                        "double_quotes",
                                        "unknown",
                                        "max_arity",
                                        "char_conversion",
                                        "debug",
                                        "integer_rounding_function",
                                        "max_table_answer_size",
                                        "max_table_subgoal_size",
                                        action_flag,
                                        "threads"};
    const bl_word values[] = {BL_ATOM(false),
                              bl_int(BL_INT_MAX),
                              bl_int(BL_INT_MIN),
                              bl_atom_str(quotes_names[bl_double_quotes]),
                              bl_atom_str(unknown_names[bl_engine.unknown]),
                              bl_int((int64_t)BL_MAX_ARGS),
                              BL_ATOM(off),
                              bl_engine.debug ? BL_ATOM(on) : BL_ATOM(off),
                              BL_ATOM(integer_rounding),
                              read_size_limit(0),
                              read_size_limit(1),
                              bl_atom_str(abstracts ? "abstract" : "error"),
                              BL_ATOM(true)};
    bl_word list = BL_ATOM(nil);
    for (size_t i = BL_ARRAY_LEN(names); i-- > 0;)
        list = bl_list_cell(
            m, bl_struct2(m, BL_ATOM(minus), bl_atom_str(names[i]), values[i]),
            list);
    return bl_answer(m, a[0], list);
}

// ---- statistics

static int64_t cpu_ms(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (int64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
           (int64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}

static int64_t thread_cpu_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000 + (int64_t)t.tv_nsec / 1000000;
}

static bl_word with_delta(struct bl_machine *m, int64_t now, int64_t *last) {
    const bl_word items[2] = {bl_int(now), bl_int(now - *last)};
    *last = now;
    return bl_make_list(m, items, 2, BL_ATOM(nil));
}

static int statistics_2(struct bl_machine *m, bl_word *a) {
    static _Thread_local int64_t last_run;
    static _Thread_local int64_t last_wall;
    bl_word key;
    if (bl_take_atom(m, a[0], &key) != BL_TRUE)
        return BL_THROW;
    const char *const name = bl_atom_text(key);
    if (strcmp(name, "runtime") == 0 || strcmp(name, "process_cputime") == 0)
        return bl_answer(m, a[1], with_delta(m, cpu_ms(), &last_run));
    if (strcmp(name, "walltime") == 0 || strcmp(name, "real_time") == 0)
        return bl_answer(
            m, a[1],
            with_delta(m, (int64_t)(bl_now_ns() / 1000000), &last_wall));
    if (strcmp(name, "cputime") == 0)
        return bl_answer(m, a[1], bl_float(m, (double)cpu_ms() / 1000));
    if (strcmp(name, "thread_cputime") == 0)
        return bl_answer(m, a[1], bl_float(m, (double)thread_cpu_ms() / 1000));
    if (strcmp(name, "inferences") == 0)
        return bl_answer(m, a[1], bl_int((int64_t)m->inferences));
    if (strcmp(name, "atoms") == 0)
        return bl_answer(m, a[1], bl_int((int64_t)bl_atom_count()));
    if (strcmp(name, "globalused") == 0 || strcmp(name, "heapused") == 0)
        return bl_answer(m, a[1],
                         bl_int((const char *)m->h - m->heap_area.base));
    if (strcmp(name, "stack") == 0 || strcmp(name, "memory") == 0)
        return bl_answer(m, a[1], bl_int((int64_t)bl_areas_bytes(m)));
    return bl_throw_domain(m, "statistics_key", key);
}

static int get_time_1(struct bl_machine *m, bl_word *a) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return bl_answer(m, a[0],
                     bl_float(m, (double)t.tv_sec + (double)t.tv_nsec * 1e-9));
}

static int set_random_1(struct bl_machine *m, bl_word *a) {
    int64_t seed;
    const bl_word t = bl_deref(a[0]);
    if (bl_tag(t) == BL_STR && bl_functor_arity(*bl_ptr(t)) == 1 &&
        bl_take_int(m, bl_ptr(t)[1], &seed) == BL_TRUE) {
        m->random_state = (uint64_t)seed;
        return BL_TRUE;
    }
    return bl_throw_domain(m, "random_option", t);
}

void bl_builtins_flag(void) {
    static const struct bl_builtin_row iso[] = {
        {"set_prolog_flag", 2, set_flag_2},
    };
    static const struct bl_builtin_row rows[] = {
        {"b_setval", 2, b_setval_2},   {"b_getval", 2, getval_2},
        {"nb_setval", 2, nb_setval_2}, {"nb_getval", 2, getval_2},
        {"$flags", 1, flags_1},        {"statistics", 2, statistics_2},
        {"get_time", 1, get_time_1},   {"set_random", 1, set_random_1},
    };
    BL_DEFINE_ISO(iso);
    BL_DEFINE(rows);
}
