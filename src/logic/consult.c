// SPDX-License-Identifier: MIT
//
// Loading programs: clauses and directives in order. An error does not end the
// loading; each one is shown with file, line, column and the text it stands
// in, and counted.
//
#include "logic/builtin.h"
#include "logic/clause.h"
#include "logic/engine.h"
#include "logic/error.h"
#include "logic/goal.h"
#include "logic/memory.h"
#include "logic/reader.h"
#include "logic/record.h"
#include "logic/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_CONDITIONS = 64, MAX_INCLUDES = 32 };

struct loading {
    struct loading *outer; // the load that this one interrupts, or NULL
    struct bl_machine *m;
    struct bl_source source;
    // of each if/1 around the text at hand
    enum taking { TAKEN, NOT_YET, NO_MORE } condition[MAX_CONDITIONS];
    unsigned conditions;
    unsigned includes;
    uint32_t line; // of the clause at hand
    bool library;
    bool again;     // clauses from the source may be there
    bool stale;     // tables may show what was before
    uint32_t id;    // of this load
    uint64_t since; // the generation when it began
    int errors;
    struct bl_record *first_goal, **last_goal; // initialization/1
};

static _Atomic(uint32_t) load_ids;
static _Thread_local struct loading *newest;

const char *bl_loading_file(uint32_t *line) {
    if (newest == NULL)
        return NULL;
    *line = newest->line;
    return newest->source.name;
}

// ---- files

static bool is_file(const char *path) {
    struct stat info;
    return strcmp(path, "-") == 0 ||
           (stat(path, &info) == 0 && !S_ISDIR(info.st_mode));
}

// As it is, or beside the file being loaded; with a usual suffix, or without.
bool bl_find_source(const char *name, char *path, size_t size) {
    static const char *const suffixes[] = {"", ".pl", ".P", ".pro"};
    const char *const from = newest != NULL ? newest->source.name : "";
    const char *const slash = strrchr(from, '/');
    const int folder =
        slash != NULL && name[0] != '/' ? (int)(slash - from) + 1 : 0;
    for (int beside = 1; beside >= 0; beside--) {
        for (size_t i = 0; i < BL_ARRAY_LEN(suffixes); i++) {
            snprintf(path, size, "%.*s%s%s", beside ? folder : 0, from, name,
                     suffixes[i]);
            if (is_file(path))
                return true;
        }
    }
    return false;
}

// Whether one of that name was begun before: then predicates may have clauses
// from it, which are looked for among all that they have.
static bool begun_before(const char *name) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const char **names; // lock; texts of atoms
    static size_t n;           // lock
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (i < n && names[i] != name)
        i++;
    const bool before = i < n;
    if (!before && (n & (n + 1)) == 0) { // full: 1, 3, 7 and so on
        names = realloc(names, 2 * (n + 1) * sizeof *names);
        bl_must_have(names);
    }
    if (!before)
        names[n++] = name;
    pthread_mutex_unlock(&lock);
    return before;
}

// ---- messages

enum { SHOWN = 160 }; // bytes of a line

static void show_line(const struct loading *l, size_t at, uint32_t column) {
    const char *const text = l->source.text;
    size_t start = at;
    while (start > 0 && text[start - 1] != '\n')
        start--;
    size_t end = at;
    while (end < l->source.length && text[end] != '\n')
        end++;
    if (column > SHOWN * 3 / 4) { // of a long line, what is around the column
        start += column - SHOWN / 2;
        column = SHOWN / 2;
        while (start < end && ((unsigned char)text[start] & 0xc0) == 0x80) {
            start++; // not within a character
            column--;
        }
    }
    if (start > end)
        start = end;
    const int width = end - start > SHOWN ? SHOWN : (int)(end - start);
    fprintf(stderr, "    %.*s\n    ", width, text + start);
    for (uint32_t i = 1; i < column; i++)
        fputc(text[start + i - 1] == '\t' ? '\t' : ' ', stderr);
    fputs("^\n", stderr);
}

static size_t line_position(const struct loading *l, uint32_t line) {
    const char *p = l->source.text;
    const char *const end = p + l->source.length;
    for (uint32_t i = 1; i < line && p < end; i++) {
        const char *const next = memchr(p, '\n', (size_t)(end - p));
        p = next == NULL ? end : next + 1;
    }
    return (size_t)(p - l->source.text);
}

static void syntax_error(struct loading *l, const struct bl_read_error *e) {
    l->errors++;
    fprintf(stderr, "%s:%u:%u: error: %s\n", l->source.name, e->line, e->column,
            e->message);
    show_line(l, line_position(l, e->line), e->column);
}

static void clause_error(struct loading *l, uint32_t line) {
    char where[512];
    l->errors++;
    snprintf(where, sizeof where, "%s:%u", l->source.name, line);
    bl_print_ball(l->m, where);
}

static void warn(const struct loading *l, uint32_t line, const char *what) {
    fprintf(stderr, "%s:%u: warning: %s\n", l->source.name, line, what);
}

static void refuse(struct loading *l, uint32_t line, const char *what) {
    l->errors++;
    fprintf(stderr, "%s:%u: error: %s\n", l->source.name, line, what);
}

// ---- directives

// Tables made of clauses that this load has replaced, or has added to.
static void drop_tables(struct loading *l) {
    if (!l->stale)
        return;
    l->stale = false;
    if (bl_abolish_tables(l->m) != BL_TRUE)
        clause_error(l, l->line);
}

static int open_query(struct loading *l, struct bl_query *q, bl_word goal) {
    drop_tables(l);
    return bl_query_open(l->m, q, goal);
}

static bool run(struct loading *l, bl_word goal, uint32_t line) {
    struct bl_query q;
    const int status = open_query(l, &q, goal);
    if (status == BL_RUN_HALT)
        return false;
    if (status == BL_RUN_ERROR)
        clause_error(l, line);
    if (status == BL_RUN_FAIL)
        warn(l, line, "directive failed");
    bl_query_close(l->m, &q);
    return true;
}

// initialization(G, When): with `main` the program is G and nothing else.
static bl_word main_goal(struct bl_machine *m, bl_word d) {
    const bl_word when = bl_deref(bl_ptr(d)[2]);
    const bool is_main =
        bl_is_atom(when) && strcmp(bl_atom_text(when), "main") == 0;
    const bl_word goal = is_main
                             ? bl_struct1(m, bl_atom_str("$main"), bl_ptr(d)[1])
                             : bl_ptr(d)[1];
    return bl_struct1(m, BL_ATOM(initialization), goal);
}

static bool initialization(struct loading *l, bl_word goal, uint32_t line) {
    const bl_word kept[2] = {goal, bl_int((int64_t)line)};
    struct bl_record *const r = bl_record_make(l->m, kept, 2);
    if (r == NULL)
        return false;
    *l->last_goal = r;
    l->last_goal = &r->next;
    return true;
}

// ---- conditional compilation

static bool skips(const struct loading *l) {
    return l->conditions > 0 && l->condition[l->conditions - 1] != TAKEN;
}

static enum taking evaluate(struct loading *l, bl_word goal, uint32_t line) {
    struct bl_query q;
    const int status = open_query(l, &q, goal);
    if (status == BL_RUN_ERROR)
        clause_error(l, line);
    bl_query_close(l->m, &q);
    return status == BL_RUN_TRUE ? TAKEN : NOT_YET;
}

static bool open_condition(struct loading *l, bl_word goal, uint32_t line) {
    if (l->conditions == MAX_CONDITIONS) {
        warn(l, line, "too many nested conditions; this one is ignored");
        return true;
    }
    const bool hidden = skips(l);
    l->condition[l->conditions++] = hidden ? NO_MORE : evaluate(l, goal, line);
    return true;
}

// if/1, elif/1, else/0, endif/0; false where the directive is none of them.
static bool condition(struct loading *l, bl_word d, uint32_t line) {
    const bool compound = bl_tag(d) == BL_STR;
    if (!compound && !bl_is_atom(d))
        return false;
    const bl_word f = compound ? *bl_ptr(d) : 0;
    const char *const name = bl_atom_text(compound ? bl_functor_name(f) : d);
    const uint32_t arity = compound ? bl_functor_arity(f) : 0;
    const bool is_else = arity == 0 && strcmp(name, "else") == 0;
    const bool is_elif = arity == 1 && strcmp(name, "elif") == 0;
    const bool is_endif = arity == 0 && strcmp(name, "endif") == 0;
    if (arity == 1 && strcmp(name, "if") == 0)
        return open_condition(l, bl_ptr(d)[1], line);
    if (!is_else && !is_elif && !is_endif)
        return false;
    if (l->conditions == 0) {
        refuse(l, line, "no if/1 in front of this");
        return true;
    }
    enum taking *const now = &l->condition[l->conditions - 1];
    if (is_endif)
        l->conditions--;
    else if (*now != NOT_YET)
        *now = NO_MORE;
    else
        *now = is_else ? TAKEN : evaluate(l, bl_ptr(d)[1], line);
    return true;
}

static bool include(struct loading *l, bl_word file, uint32_t line);

static bool directive(struct loading *l, bl_word goal, uint32_t line) {
    goal = bl_deref(goal);
    if (bl_tag(goal) == BL_STR && *bl_ptr(goal) == BL_FN(include_1))
        return include(l, bl_deref(bl_ptr(goal)[1]), line);
    if (bl_tag(goal) == BL_STR && *bl_ptr(goal) == BL_FN(initialization_2))
        goal = main_goal(l->m, goal);
    if (bl_tag(goal) == BL_STR && *bl_ptr(goal) == BL_FN(initialization_1)) {
        if (!initialization(l, bl_ptr(goal)[1], line))
            clause_error(l, line);
        return true;
    }
    return run(l, goal, line);
}

// A place on the heap to go back to, unless what nb_setarg/3 made must stay.
static bl_word *back_to(const struct bl_machine *m, bl_word *h) {
    return h > m->b->h ? h : m->b->h;
}

static bool run_initializations(struct loading *l) {
    bool go_on = true;
    struct bl_record *r = l->first_goal;
    while (r != NULL) {
        struct bl_record *const next = r->next;
        bl_word *const h = l->m->h;
        bl_word kept[2];
        if (go_on && bl_record_load(l->m, r, kept))
            go_on = run(l, kept[0], (uint32_t)bl_int_value(kept[1]));
        l->m->h = back_to(l->m, h);
        bl_record_free(r);
        r = next;
    }
    return go_on;
}

// ---- clauses

// The first clause of a predicate in a load replaces what was there before; of
// one that several files add to, what was there from the same file.
static void begin_predicate(struct loading *l, struct bl_pred *p) {
    // tables may have been made of what is there, and more comes
    if (!(p->flags & BL_PRED_DYNAMIC) && p->count > 0)
        l->stale = true;
    if (p->flags & (BL_PRED_DYNAMIC | BL_PRED_MULTIFILE)) {
        if (l->again && bl_pred_wipe_file(p, l->source.name, l->since))
            l->stale = true;
    } else if (p->file_id != 0 && p->file_id != l->id) {
        bl_pred_wipe(p);
        l->stale = true;
    }
    p->file_id = l->id;
    p->file = l->source.name;
}

static bool may_define(struct loading *l, struct bl_pred *p, uint32_t line) {
    if (l->library) {
        BL_CHECK((p->flags & BL_PRED_SYSTEM) == 0); // the name is taken
        p->flags |= BL_PRED_LIBRARY;
        return true;
    }
    if (!bl_pred_take_over(l->m, p)) {
        bl_throw_permission(l->m, BL_ATOM_modify, BL_ATOM_static_procedure,
                            bl_indicator(l->m, p->functor));
        clause_error(l, line);
        return false;
    }
    if (p->file_id != l->id || p->file != l->source.name)
        begin_predicate(l, p);
    return true;
}

static bl_word head_of(bl_word t) {
    const bool rule = bl_tag(t) == BL_STR && *bl_ptr(t) == BL_FN(neck_2);
    return bl_goal_plain(rule ? bl_ptr(t)[1] : t);
}

static void add_clause(struct loading *l, bl_word t, uint32_t line) {
    const bl_word head = head_of(t);
    if (bl_is_callable(head)) {
        struct bl_pred *const p = bl_pred_ensure(bl_term_functor(head));
        if (!may_define(l, p, line))
            return;
    }
    struct bl_clause *const c = bl_clause_compile(l->m, t);
    if (c == NULL) {
        clause_error(l, line);
        return;
    }
    c->file = l->source.name;
    c->line = line;
    bl_clause_add(c, true);
    if (c->pred->flags & BL_PRED_INCREMENTAL)
        l->stale = true;
}

static bool expand_grammar(struct loading *l, bl_word *t, uint32_t line) {
    struct bl_machine *const m = l->m;
    const bl_word clause = bl_new_var(m);
    const bl_word goal =
        bl_struct2(m, bl_atom_str("dcg_translate_rule"), *t, clause);
    struct bl_query q;
    const int status = bl_query_open(m, &q, goal);
    if (status == BL_RUN_TRUE) {
        bl_query_cut(m, &q);
        *t = bl_deref(clause);
        return true;
    }
    if (status == BL_RUN_ERROR)
        clause_error(l, line);
    else
        warn(l, line, "not a grammar rule");
    bl_query_close(m, &q);
    return false;
}

// What a program's own term_expansion/2 makes of a term; false: nothing.
static bool expand_by_program(struct loading *l, bl_word *t, uint32_t line) {
    struct bl_machine *const m = l->m;
    const struct bl_pred *const hook =
        bl_functor_pred(bl_functor(bl_atom_str("term_expansion"), 2));
    if (l->library || hook == NULL || (hook->flags & BL_PRED_DEFINED) == 0)
        return false;
    const bl_word result = bl_new_var(m);
    struct bl_query q;
    const int status = open_query(
        l, &q, bl_struct2(m, bl_atom_str("term_expansion"), *t, result));
    if (status == BL_RUN_TRUE) {
        bl_query_cut(m, &q);
        *t = bl_deref(result);
        return true;
    }
    if (status == BL_RUN_ERROR)
        clause_error(l, line);
    bl_query_close(m, &q);
    return false;
}

static bool handle_one(struct loading *l, bl_word t, uint32_t line) {
    t = bl_goal_plain(t); // there is one module
    if (bl_tag(t) == BL_STR) {
        const bl_word f = *bl_ptr(t);
        if (f == BL_FN(neck_1) || f == BL_FN(query_1))
            return directive(l, bl_ptr(t)[1], line);
        if (f == BL_FN(dcg_arrow_2) && !expand_grammar(l, &t, line))
            return true;
    }
    add_clause(l, t, line);
    return true;
}

static bool handle(struct loading *l, bl_word t, uint32_t line) {
    t = bl_deref(t);
    const bool is_directive =
        bl_tag(t) == BL_STR && *bl_ptr(t) == BL_FN(neck_1);
    if (is_directive && condition(l, bl_deref(bl_ptr(t)[1]), line))
        return true;
    if (skips(l))
        return true;
    if (t == BL_ATOM(end_of_file))
        return false;
    if (!expand_by_program(l, &t, line))
        return handle_one(l, t, line);
    bool go_on = true;
    for (; go_on && bl_tag(t) == BL_LST; t = bl_deref(bl_ptr(t)[1]))
        go_on = handle_one(l, bl_ptr(t)[0], line);
    return go_on && (t == BL_ATOM(nil) || handle_one(l, t, line));
}

static void singletons(const struct loading *l,
                       const struct bl_read_result *r) {
    if (l->library)
        return;
    for (size_t i = 0; i < r->n_vars; i++) {
        const struct bl_read_var *const v = &r->vars[i];
        if (v->times == 1 && v->name[0] != '_')
            fprintf(stderr, "%s:%u:%u: warning: variable %s occurs once\n",
                    l->source.name, v->line, v->column, v->name);
    }
}

static bool is_directive(bl_word t) {
    t = bl_deref(t);
    return bl_tag(t) == BL_STR && bl_functor_arity(*bl_ptr(t)) == 1;
}

// All terms of the source.
static void load_terms(struct loading *l) {
    struct bl_machine *const m = l->m;
    bl_word *const h = m->h;
    bl_word *const hb = m->hb;
    bl_word *const tr = m->tr;
    for (bool go_on = true; go_on;) {
        struct bl_read_result r;
        m->hb = m->h;
        const enum bl_read_status status = bl_read_term(m, &l->source, &r);
        if (status == BL_READ_ERROR) {
            if (!skips(l))
                syntax_error(l, &r.error);
            go_on = !r.error.incomplete;
        } else if (status == BL_READ_TERM) {
            l->line = r.line;
            if (!is_directive(r.term) && !skips(l))
                singletons(l, &r);
            go_on = handle(l, r.term, r.line);
        } else {
            go_on = false;
        }
        bl_read_result_fini(&r);
        bl_untrail(m, tr);
        m->h = back_to(m, h);
        m->hb = back_to(m, hb);
        if (m->halting)
            return;
    }
}

// include/1: the text of the file stands in place of the directive.
static bool include(struct loading *l, bl_word file, uint32_t line) {
    char path[4096];
    size_t length;
    char *text = NULL;
    if (l->includes == MAX_INCLUDES) {
        refuse(l, line, "files that include files, more than 32 deep");
        return true;
    }
    if (bl_is_atom(file) &&
        bl_find_source(bl_atom_text(file), path, sizeof path))
        text = bl_file_contents(path, &length);
    if (text == NULL) {
        bl_throw_existence(l->m, BL_ATOM_source_sink, file);
        clause_error(l, line);
        return true;
    }
    const struct bl_source source = l->source;
    const bool again = l->again;
    l->includes++;
    bl_source_init(&l->source, bl_atom_text(bl_atom_str(path)), text, length);
    l->again = begun_before(l->source.name);
    load_terms(l);
    l->includes--;
    l->source = source;
    l->again = again;
    free(text);
    return !l->m->halting;
}

static void load(struct loading *l) {
    l->outer = newest;
    newest = l;
    load_terms(l);
    if (l->conditions > 0)
        warn(l, l->line, "if/1 without endif/0");
    if (!l->m->halting) {
        drop_tables(l);
        (void)run_initializations(l);
    }
    newest = l->outer;
}

int bl_consult_text(struct bl_machine *m, const char *name, const char *text,
                    size_t length, bool is_library) {
    struct loading l = {.m = m, .library = is_library};
    l.id = bl_add_relaxed(&load_ids, 1) + 1;   // pairs with itself only
    l.since = bl_load_acquire(&bl_generation); // pairs with bl_clause_add
    l.last_goal = &l.first_goal;
    bl_source_init(&l.source, name, text, length);
    l.again = begun_before(name);
    if (length > 1 && text[0] == '#' && text[1] == '!') {
        const char *const end = memchr(text, '\n', length);
        l.source.at = end != NULL ? (size_t)(end - text) : length;
    }
    const enum bl_double_quotes quotes = bl_double_quotes;
    load(&l);
    bl_double_quotes = quotes;
    return l.errors;
}

// The mark of UTF-8 that some editors put first is no part of the text.
static size_t without_mark(char *text, size_t length) {
    if (length < 3 || memcmp(text, "\xef\xbb\xbf", 3) != 0)
        return length;
    memmove(text, text + 3, length - 3);
    return length - 3;
}

char *bl_file_contents(const char *path, size_t *length) {
    FILE *const f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (f == NULL)
        return NULL;
    size_t used = 0;
    size_t capacity = 65536;
    char *text = malloc(capacity + 1);
    bl_must_have(text);
    for (;;) {
        const size_t n = fread(text + used, 1, capacity - used, f);
        used += n;
        if (n == 0)
            break;
        if (used == capacity) {
            capacity *= 2;
            text = realloc(text, capacity + 1);
            bl_must_have(text);
        }
    }
    const int error = ferror(f) != 0 ? errno : 0; // a folder, say
    if (f != stdin)
        fclose(f);
    if (error != 0) {
        free(text);
        errno = error;
        return NULL;
    }
    *length = without_mark(text, used);
    text[*length] = 0;
    return text;
}

int bl_cannot_read(const char *path) {
    fprintf(stderr, "leaflog: cannot read %s: %s\n", path, strerror(errno));
    return 1;
}

int bl_consult(struct bl_machine *m, const char *path) {
    size_t length;
    char *const text = bl_file_contents(path, &length);
    if (text == NULL)
        return bl_cannot_read(path);
    // messages of clauses name the file for as long as the clauses live
    const bl_word name = bl_atom_str(path);
    const int errors =
        bl_consult_text(m, bl_atom_text(name), text, length, false);
    free(text);
    return errors;
}
