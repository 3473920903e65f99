// SPDX-License-Identifier: MIT
//
// At a terminal lines are edited by libedit where the system has it (opened at
// run time: nothing is needed to build), and answers are paged: `;` or space
// for the next one, `a` for all, anything else to stop. From a pipe all
// answers are printed.
//
#include "logic/toplevel.h"

#include "logic/acyclic.h"
#include "logic/engine.h"
#include "logic/json.h"
#include "logic/limit.h"
#include "logic/memory.h"
#include "logic/message.h"
#include "logic/record.h"
#include "logic/statistics.h"
#include "logic/stream.h"
#include "logic/worker.h"
#include "reservoir/reservoir.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

struct terminal {
    bool interactive;
    char *(*edit)(const char *prompt); // of libedit, or NULL
    void (*remember)(const char *line);
};

// ---- lines

static void find_editor(struct terminal *t) {
    static const char *const names[] = {"libedit.so.2", "libedit.so.0",
                                        "libedit.so"};
    void *lib = NULL;
    for (size_t i = 0; lib == NULL && i < BL_ARRAY_LEN(names); i++)
        lib = dlopen(names[i], RTLD_NOW);
    if (lib == NULL)
        return;
    void *const edit = dlsym(lib, "readline");
    void *const remember = dlsym(lib, "add_history");
    if (edit == NULL || remember == NULL)
        return;
    memcpy(&t->edit, &edit, sizeof edit);
    memcpy(&t->remember, &remember, sizeof remember);
}

// A line with its end, or NULL at the end of input; the caller's to free.
static char *read_line(struct terminal *t, const char *prompt) {
    if (t->edit != NULL) {
        char *const text = t->edit(prompt);
        if (text == NULL)
            return NULL;
        if (text[0] != 0)
            t->remember(text);
        char *const line = realloc(text, strlen(text) + 2);
        bl_must_have(line);
        strcat(line, "\n");
        return line;
    }
    if (t->interactive) {
        fputs(prompt, stdout);
        bl_flush_output();
    }
    char *line = NULL;
    size_t capacity = 0;
    if (getline(&line, &capacity, stdin) < 0) {
        clearerr(stdin); // it may have been Ctrl-C
        free(line);
        return NULL;
    }
    return line;
}

static int read_key(void) {
    struct termios old;
    if (tcgetattr(0, &old) != 0)
        return getchar();
    struct termios raw = old;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    tcsetattr(0, TCSADRAIN, &raw);
    char c = 0;
    const ssize_t n = read(0, &c, 1);
    tcsetattr(0, TCSADRAIN, &old);
    return n == 1 ? c : EOF;
}

// ---- answers

static bool print_bindings(struct bl_machine *m,
                           const struct bl_read_result *q) {
    struct bl_out o = {0};
    bool any = false;
    for (size_t i = 0; i < q->n_vars; i++) {
        const struct bl_read_var *const v = &q->vars[i];
        const bl_word value = bl_deref(v->var);
        if (v->name[0] == '_' || value == v->var)
            continue;
        if (any)
            bl_out_str(&o, ",\n");
        any = true;
        const struct bl_write_options w = {.quoted = true,
                                           .numbervars = true,
                                           .priority = 699,
                                           .vars = q->vars,
                                           .n_vars = q->n_vars};
        bl_out_str(&o, v->name);
        bl_out_str(&o, " = ");
        if (bl_is_acyclic(m, value) == BL_FAIL)
            bl_out_str(&o, "<a term that contains itself>");
        else
            bl_write_term(m, &o, value, &w);
    }
    if (m->ball == NULL)
        fputs(any ? o.text : "true", stdout);
    bl_out_fini(&o);
    return any;
}

static void print_json(struct bl_machine *m, const struct bl_read_result *q) {
    struct bl_out o = {0};
    bl_json_answer(m, &o, q);
    if (m->ball == NULL)
        fputs(o.text, stdout);
    bl_out_fini(&o);
}

enum wish { NEXT, ALL, STOP };

static enum wish ask(void) {
    bl_flush_output();
    for (;;) {
        const int c = read_key();
        if (c == ';' || c == ' ' || c == 'n')
            return NEXT;
        if (c == 'a')
            return ALL;
        if (c == 'h' || c == '?') {
            fputs("  [; next, a all, Enter stop] ", stdout);
            bl_flush_output();
            continue;
        }
        return STOP;
    }
}

struct session {
    struct bl_machine *m;
    const struct bl_toplevel_options *options;
    struct terminal terminal;
    bool all; // answers are not asked for one by one
};

// Prints answers as long as they are wanted; how the query stands at the end.
static int show_answers(struct session *s, struct bl_query *q,
                        const struct bl_read_result *r, int status) {
    struct bl_machine *const m = s->m;
    while (status == BL_RUN_TRUE) {
        if (s->options->json)
            print_json(m, r);
        else
            print_bindings(m, r);
        if (m->ball != NULL)
            return BL_RUN_ERROR;
        if (!s->options->json) {
            if (m->b == q->base) { // no choice is left
                puts(".");
                return status;
            }
            if (!s->all) {
                const enum wish w = ask();
                s->all = w == ALL;
                puts(w == STOP ? "." : " ;");
                if (w == STOP)
                    return status;
            } else {
                puts(" ;");
            }
        }
        status = bl_query_next(m, q);
    }
    if (status == BL_RUN_FAIL && !s->options->json)
        puts("false.");
    return status;
}

static void print_statistics(struct bl_machine *m,
                             const struct bl_toplevel_options *o) {
    if (o->json)
        bl_statistics_json(m, stdout);
    else
        bl_statistics_print(m, NULL);
}

static int run_query(struct session *s, const struct bl_read_result *r) {
    struct bl_machine *const m = s->m;
    struct bl_query q;
    s->all = !s->terminal.interactive;
    bl_limit_catch_interrupts(m);
    int status = bl_query_open(m, &q, r->term);
    status = show_answers(s, &q, r, status);
    bl_limit_catch_interrupts(NULL);
    if (status == BL_RUN_HALT)
        return status;
    if (status == BL_RUN_ERROR)
        bl_print_ball(m, NULL);
    bl_query_close(m, &q);
    if (s->options->stats)
        print_statistics(m, s->options);
    bl_flush_output();
    return status;
}

static void syntax_error(const char *name, const struct bl_read_error *e,
                         const struct bl_source *s) {
    const char *p = s->text;
    for (uint32_t i = 1; i < e->line; i++)
        p = strchr(p, '\n') + 1;
    const size_t n = strcspn(p, "\n");
    bl_flush_output();
    fprintf(stderr, "%s:%u:%u: error: %s\n    %.*s\n    ", name, e->line,
            e->column, e->message, (int)n, p);
    for (uint32_t i = 1; i < e->column; i++)
        fputc(p[i - 1] == '\t' ? '\t' : ' ', stderr);
    fputs("^\n", stderr);
}

// Runs all goals of the text; false where the last one is not complete yet
// (then *text holds it) or, with *halted, where the session is over.
static bool run_text(struct session *s, struct bl_out *text, bool last,
                     bool *halted) {
    struct bl_machine *const m = s->m;
    struct bl_source source;
    bl_source_init(&source, "input", text->text, text->bytes);
    for (;;) {
        const size_t start = source.at;
        struct bl_read_result r;
        bl_word *const h = m->h;
        const enum bl_read_status status = bl_read_term(m, &source, &r);
        const bool wait =
            status == BL_READ_ERROR && r.error.incomplete && !last;
        if (status == BL_READ_TERM)
            *halted = run_query(s, &r) == BL_RUN_HALT;
        else if (status == BL_READ_ERROR && !wait)
            syntax_error("input", &r.error, &source);
        const bool over = status == BL_READ_EOF ||
                          (status == BL_READ_ERROR && r.error.incomplete);
        bl_read_result_fini(&r);
        m->h = h;
        if (*halted)
            return false;
        if (wait) {
            memmove(text->text, text->text + start, text->bytes - start + 1);
            text->bytes -= start;
            return false;
        }
        if (over) {
            text->bytes = 0;
            return true;
        }
    }
}

bool bl_toplevel_is_interactive(void) { return isatty(0) && isatty(1); }

int bl_toplevel(struct bl_machine *m, const struct bl_toplevel_options *o) {
    struct session s = {.m = m, .options = o};
    s.terminal.interactive = bl_toplevel_is_interactive();
    if (s.terminal.interactive)
        find_editor(&s.terminal);
    if (s.terminal.interactive)
        bl_limit_begin_session();
    struct bl_out text = {0};
    bool halted = false;
    bool fresh = true;
    while (!halted) {
        (void)bl_reservoir_trim();
        char *const line = read_line(&s.terminal, fresh ? "?- " : "|  ");
        const bool interrupted = bl_limit_was_idle_interrupt();
        if (interrupted)
            text.bytes = 0; // what was typed until then is given up
        if (line == NULL && !interrupted)
            break;
        bl_out_str(&text, line != NULL ? line : "\n");
        free(line);
        fresh = run_text(&s, &text, false, &halted);
    }
    if (!halted && text.bytes > 0)
        (void)run_text(&s, &text, true, &halted);
    bl_out_fini(&text);
    if (s.terminal.interactive && !halted)
        puts("");
    return halted ? m->halt_code : 0;
}

// ---- goals of the command line

static int exit_code(const struct bl_machine *m, int status) {
    if (status == BL_RUN_HALT)
        return m->halt_code;
    return status == BL_RUN_TRUE ? 0 : status == BL_RUN_FAIL ? 1 : 2;
}

static int run_in_threads(struct bl_machine *m, bl_word goal, int threads,
                          bool stats) {
    struct bl_record *const r = bl_record_make(m, &goal, 1);
    if (r == NULL) {
        bl_print_ball(m, NULL);
        return 2;
    }
    const struct bl_worker_report w = bl_workers_run(m, r, threads);
    bl_record_free(r);
    if (stats)
        fprintf(stderr,
                "%d threads: %.3f seconds of processor time, %.3f seconds\n",
                threads, w.cpu_seconds, w.wall_seconds);
    m->halt_code = w.halt_code;
    return exit_code(m, w.status);
}

static int run_alone(struct bl_machine *m, const struct bl_read_result *r,
                     bool json) {
    struct bl_query q;
    int answers = 0;
    bl_limit_catch_interrupts(m);
    int status = bl_query_open(m, &q, r->term);
    while (json && status == BL_RUN_TRUE) {
        print_json(m, r);
        answers++;
        status = bl_query_next(m, &q);
    }
    bl_limit_catch_interrupts(NULL);
    if (status == BL_RUN_ERROR)
        bl_print_ball(m, NULL);
    if (status == BL_RUN_HALT)
        return m->halt_code;
    bl_query_close(m, &q);
    return answers > 0 && status == BL_RUN_FAIL ? 0 : exit_code(m, status);
}

// Whether the goal has a full stop of its own, with more behind it.
static bool goes_on(struct bl_machine *m, const struct bl_source *s,
                    size_t goal_bytes) {
    if (s->at >= goal_bytes)
        return false;
    struct bl_source rest;
    struct bl_read_result r;
    bl_source_init(&rest, "goal", s->text + s->at, goal_bytes - s->at);
    const enum bl_read_status status = bl_read_term(m, &rest, &r);
    bl_read_result_fini(&r);
    return status != BL_READ_EOF;
}

int bl_run_goal(struct bl_machine *m, const char *goal,
                const struct bl_toplevel_options *o) {
    struct bl_out text = {0};
    bl_out_str(&text, goal);
    const size_t bytes = text.bytes;
    bl_out_str(&text, " .");
    struct bl_source s;
    bl_source_init(&s, "goal", text.text, text.bytes);
    struct bl_read_result r;
    int code = 2;
    enum bl_read_status status = bl_read_term(m, &s, &r);
    if (status == BL_READ_ERROR) {
        syntax_error("goal", &r.error, &s);
    } else if (status == BL_READ_EOF) {
        fputs("leaflog: the goal is empty\n", stderr);
    } else if (goes_on(m, &s, bytes)) {
        status = BL_READ_ERROR;
        fputs("leaflog: -g takes one goal, and more follows its full stop; "
              "join goals by commas\n",
              stderr);
    } else if (o->threads > 1) {
        code = run_in_threads(m, r.term, o->threads, o->stats);
    } else {
        code = run_alone(m, &r, o->json);
    }
    if (o->stats && o->threads <= 1 && status == BL_READ_TERM)
        print_statistics(m, o);
    bl_read_result_fini(&r);
    bl_out_fini(&text);
    bl_flush_output();
    return code;
}
