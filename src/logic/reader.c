// SPDX-License-Identifier: MIT
//
// Operator precedence parsing with two stacks and no recursion: operands, and
// what waits for operands (operators and open brackets). A bracket's entry
// remembers how many operands lay below it.
//
// Where ISO is silent or where programs disagree with it, this reader is
// lenient: an operator as an operand needs no brackets when what follows
// cannot begin a term, and neither does an argument such as `a :- b`.
//
#include "logic/reader.h"

#include "logic/bigint.h"
#include "logic/error.h"
#include "logic/memory.h"
#include "logic/op.h"
#include "logic/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum bl_double_quotes bl_double_quotes = BL_QUOTES_CODES;

enum waiting_kind { OPERATOR, PAREN, FUNCTION, LIST, LIST_TAIL, BRACE };

struct waiting {
    enum waiting_kind kind;
    bl_word name; // of the operator or function
    struct bl_op op;
    bool prefix;
    size_t operands; // below
    size_t bracket;  // entries up to and with the innermost open one
    uint32_t line, column;
};

struct operand {
    bl_word term;
    uint32_t priority;
};

struct parser {
    struct bl_machine *m;
    struct bl_lexer lexer;
    struct bl_token token;
    char *text; // of `token`: the lexer's own is overwritten by looking ahead
    size_t text_capacity;
    struct bl_token ahead;
    struct operand *operand;
    size_t operands, operand_capacity;
    struct waiting *wait;
    size_t waits, wait_capacity;
    struct bl_read_result *out;
    uint32_t *slot; // of a hash table: number of a variable of `out` from 1; 0
    size_t slots;   // a power of two
    bool failed;
};

// ---- errors

static void fail_at(struct parser *p, uint32_t line, uint32_t column,
                    const char *what, const char *name) {
    if (p->failed)
        return;
    p->failed = true;
    struct bl_read_error *const e = &p->out->error;
    e->line = line;
    e->column = column;
    e->incomplete = false;
    snprintf(e->message, sizeof e->message, "%s%s%.60s%s", what,
             name ? " `" : "", name ? name : "", name ? "'" : "");
}

static void fail_here(struct parser *p, const char *what) {
    fail_at(p, p->token.line, p->token.column, what, NULL);
}

static const char *show(const struct parser *p, char *buffer) {
    const struct bl_token *const t = &p->token;
    if (t->kind == BL_TOKEN_END)
        return ".";
    size_t n = t->length < 60 ? t->length : 60;
    memcpy(buffer, p->lexer.source->text + t->start, n);
    buffer[n] = 0;
    return buffer;
}

static void unexpected(struct parser *p, const char *what) {
    char buffer[64];
    fail_at(p, p->token.line, p->token.column, what, show(p, buffer));
}

// ---- tokens, with one ahead

static void keep_text(struct parser *p) {
    if (p->ahead.bytes + 1 > p->text_capacity) {
        p->text_capacity = p->ahead.bytes * 2 + 64;
        p->text = realloc(p->text, p->text_capacity);
        bl_must_have(p->text);
    }
    if (p->ahead.text != NULL)
        memcpy(p->text, p->ahead.text, p->ahead.bytes + 1);
    p->token.text = p->text;
}

static bool ends_clause(const struct bl_token *t) {
    return t->kind == BL_TOKEN_END || t->kind == BL_TOKEN_EOF ||
           t->kind == BL_TOKEN_BAD;
}

static void advance(struct parser *p) {
    p->token = p->ahead;
    keep_text(p);
    if (!ends_clause(&p->token))
        bl_token_read(&p->lexer, &p->ahead);
    if (p->token.kind == BL_TOKEN_BAD) {
        fail_here(p, p->token.error);
        p->out->error.incomplete = p->token.incomplete;
    }
}

static bool is_punct(const struct bl_token *t, char c) {
    return t->kind == BL_TOKEN_PUNCT && t->punct == c;
}

// ---- stacks

static void push_operand(struct parser *p, bl_word term, uint32_t priority) {
    if (p->operands == p->operand_capacity) {
        p->operand_capacity = p->operand_capacity * 2 + 32;
        p->operand =
            realloc(p->operand, p->operand_capacity * sizeof *p->operand);
        bl_must_have(p->operand);
    }
    p->operand[p->operands++] = (struct operand){term, priority};
}

static size_t innermost(const struct parser *p) {
    return p->waits == 0 ? 0 : p->wait[p->waits - 1].bracket;
}

static void push_wait(struct parser *p, struct waiting w) {
    if (p->waits == p->wait_capacity) {
        p->wait_capacity = p->wait_capacity * 2 + 32;
        p->wait = realloc(p->wait, p->wait_capacity * sizeof *p->wait);
        bl_must_have(p->wait);
    }
    w.operands = p->operands;
    w.bracket = w.kind == OPERATOR ? innermost(p) : p->waits + 1;
    w.line = p->token.line;
    w.column = p->token.column;
    p->wait[p->waits++] = w;
}

static bool has_room(struct parser *p, size_t words) {
    if (bl_heap_ensure(p->m, words))
        return true;
    fail_here(p, "no memory for this term");
    return false;
}

static void clash(struct parser *p, const struct waiting *w) {
    fail_at(p, w->line, w->column,
            "operator priority clash: brackets are needed around an operand of",
            bl_atom_text(w->name));
}

// The topmost operator takes its operands.
static void reduce(struct parser *p) {
    const struct waiting w = p->wait[--p->waits];
    if (!has_room(p, 4))
        return;
    const struct operand right = p->operand[--p->operands];
    if (right.priority > w.op.right) {
        clash(p, &w);
        return;
    }
    if (w.prefix) {
        push_operand(p, bl_struct1(p->m, w.name, right.term), w.op.priority);
        return;
    }
    const struct operand left = p->operand[--p->operands];
    if (left.priority > w.op.left) {
        clash(p, &w);
        return;
    }
    push_operand(p, bl_struct2(p->m, w.name, left.term, right.term),
                 w.op.priority);
}

static bool operator_on_top(const struct parser *p) {
    return p->waits > 0 && p->wait[p->waits - 1].kind == OPERATOR;
}

static void reduce_all(struct parser *p) {
    while (!p->failed && operator_on_top(p))
        reduce(p);
}

// ---- variables and constants

// Where the variable stands, or will.
static uint32_t *slot_of(struct parser *p, const char *name) {
    uint32_t i = 2166136261u; // FNV-1a, as in atom.c
    for (const char *s = name; *s != 0; s++)
        i = (i ^ (unsigned char)*s) * 16777619u;
    for (;; i++) {
        uint32_t *const at = &p->slot[i & (p->slots - 1)];
        if (*at == 0 || strcmp(p->out->vars[*at - 1].name, name) == 0)
            return at;
    }
}

// Room for one variable more, with half of the slots free.
static void ensure_slot(struct parser *p) {
    const struct bl_read_result *const r = p->out;
    if (2 * (r->n_vars + 1) <= p->slots)
        return;
    free(p->slot);
    p->slots = p->slots == 0 ? 32 : p->slots * 2;
    p->slot = calloc(p->slots, sizeof *p->slot);
    bl_must_have(p->slot);
    for (size_t i = 0; i < r->n_vars; i++)
        *slot_of(p, r->vars[i].name) = (uint32_t)i + 1;
}

static bl_word variable(struct parser *p, const char *name) {
    struct bl_read_result *const r = p->out;
    if (!has_room(p, 1))
        return BL_ATOM(nil);
    if (strcmp(name, "_") == 0)
        return bl_new_var(p->m);
    ensure_slot(p);
    uint32_t *const at = slot_of(p, name);
    if (*at != 0) {
        r->vars[*at - 1].times++;
        return r->vars[*at - 1].var;
    }
    if (r->n_vars == r->var_capacity) {
        r->var_capacity = r->var_capacity * 2 + 8;
        r->vars = realloc(r->vars, r->var_capacity * sizeof *r->vars);
        bl_must_have(r->vars);
    }
    char *const copy = strdup(name);
    bl_must_have(copy);
    r->vars[r->n_vars++] = (struct bl_read_var){copy, bl_new_var(p->m), 1,
                                                p->token.line, p->token.column};
    *at = (uint32_t)r->n_vars;
    return r->vars[r->n_vars - 1].var;
}

bl_word bl_text_codes(struct bl_machine *m, const char *text, size_t bytes,
                      bl_word tail) {
    const char *const end = text + bytes;
    bl_word list = tail;
    bl_word *hole = &list;
    while (text < end) {
        const uint32_t code = bl_utf8_get(&text, end);
        *hole = bl_list_cell(m, bl_int(code), tail);
        hole = bl_ptr(*hole) + 1;
    }
    return list;
}

bl_word bl_text_chars(struct bl_machine *m, const char *text, size_t bytes,
                      bl_word tail) {
    const char *const end = text + bytes;
    bl_word list = tail;
    bl_word *hole = &list;
    while (text < end) {
        const char *const start = text;
        (void)bl_utf8_get(&text, end);
        *hole = bl_list_cell(m, bl_atom(start, (size_t)(text - start)), tail);
        hole = bl_ptr(*hole) + 1;
    }
    return list;
}

static bl_word string(struct parser *p) {
    const struct bl_token *const t = &p->token;
    if (!has_room(p, 2 * t->bytes + 2))
        return BL_ATOM(nil);
    if (t->kind == BL_TOKEN_STRING && bl_double_quotes == BL_QUOTES_ATOM)
        return bl_atom(t->text, t->bytes);
    if (t->kind == BL_TOKEN_STRING && bl_double_quotes == BL_QUOTES_CHARS)
        return bl_text_chars(p->m, t->text, t->bytes, BL_ATOM(nil));
    return bl_text_codes(p->m, t->text, t->bytes, BL_ATOM(nil));
}

static bl_word integer(struct parser *p, bool negative) {
    const struct bl_token *const t = &p->token;
    if (t->radix == 0)
        return bl_int(negative ? -t->i : t->i);
    const bl_word w = bl_big_read(p->m, t->text, t->bytes, t->radix, negative);
    if (w == 0)
        fail_here(p, "no memory for this integer");
    return w != 0 ? w : bl_int(0);
}

// ---- where an operand is expected

// Whether the token cannot begin an operand, so that an operator in front of
// it must be an atom itself.
static bool cannot_begin(const struct bl_token *t) {
    if (t->kind == BL_TOKEN_PUNCT)
        return t->punct != '(' && t->punct != '[' && t->punct != '{';
    if (t->kind == BL_TOKEN_END || t->kind == BL_TOKEN_EOF)
        return true;
    if (t->kind != BL_TOKEN_ATOM || t->open_after)
        return false;
    const bl_word a = bl_atom(t->text, t->bytes);
    struct bl_op o;
    return !bl_op_find(a, BL_PREFIX, &o) &&
           (bl_op_find(a, BL_INFIX, &o) || bl_op_find(a, BL_POSTFIX, &o));
}

// True where an operand is still expected afterwards.
static bool atom_as_operand(struct parser *p, bl_word a) {
    struct bl_op o;
    if (p->token.open_after) {
        advance(p); // to the bracket
        push_wait(p, (struct waiting){.kind = FUNCTION, .name = a});
        return true;
    }
    const bool number_next =
        (p->ahead.kind == BL_TOKEN_INT || p->ahead.kind == BL_TOKEN_FLOAT) &&
        !p->ahead.layout_before;
    if (p->token.kind == BL_TOKEN_ATOM && a == BL_ATOM(minus) && number_next) {
        advance(p);
        if (p->failed || !has_room(p, 2))
            return false;
        push_operand(p,
                     p->token.kind == BL_TOKEN_INT
                         ? integer(p, true)
                         : bl_float(p->m, -p->token.d),
                     0);
        return false;
    }
    if (bl_op_find(a, BL_PREFIX, &o) && !cannot_begin(&p->ahead)) {
        push_wait(p, (struct waiting){
                         .kind = OPERATOR, .name = a, .op = o, .prefix = true});
        return true;
    }
    push_operand(p, a, 0);
    return false;
}

static bool bracket_as_operand(struct parser *p) {
    const char c = p->token.punct;
    if (c == '(') {
        push_wait(p, (struct waiting){.kind = PAREN});
        return true;
    }
    if (c == '[' || c == '{') {
        const bool list = c == '[';
        if (!is_punct(&p->ahead, list ? ']' : '}')) {
            push_wait(p, (struct waiting){.kind = list ? LIST : BRACE});
            return true;
        }
        advance(p);
        return atom_as_operand(p, list ? BL_ATOM(nil) : BL_ATOM(braces));
    }
    unexpected(p, "a term is expected, not");
    return false;
}

static bool operand(struct parser *p) {
    struct bl_token *const t = &p->token;
    switch (t->kind) {
    case BL_TOKEN_ATOM:
    case BL_TOKEN_QUOTED:
        return atom_as_operand(p, bl_atom(t->text, t->bytes));
    case BL_TOKEN_VAR:
        push_operand(p, variable(p, t->text), 0);
        if (t->open_after)
            fail_here(p, "a variable cannot have arguments");
        return false;
    case BL_TOKEN_INT:
        push_operand(p, integer(p, false), 0);
        return false;
    case BL_TOKEN_FLOAT:
        if (has_room(p, 2))
            push_operand(p, bl_float(p->m, t->d), 0);
        return false;
    case BL_TOKEN_STRING:
    case BL_TOKEN_BACKQUOTE:
        push_operand(p, string(p), 0);
        return false;
    case BL_TOKEN_PUNCT:
        return bracket_as_operand(p);
    case BL_TOKEN_END:
        fail_here(p, "the clause ends where a term is expected");
        return false;
    case BL_TOKEN_EOF:
        fail_here(p, "the text ends where a term is expected");
        p->out->error.incomplete = true;
        return false;
    case BL_TOKEN_BAD:
        return false;
    }
    return false;
}

// ---- where an operator is expected

static void make_function(struct parser *p, const struct waiting *w) {
    const size_t n = p->operands - w->operands;
    if (n > BL_MAX_ARGS) {
        fail_at(p, w->line, w->column, "too many arguments", NULL);
        return;
    }
    if (!has_room(p, n + 2))
        return;
    bl_word *const t = p->m->h;
    const bool list = n == 2 && w->name == BL_ATOM(dot);
    if (!list)
        *p->m->h++ = bl_functor(w->name, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        *p->m->h++ = p->operand[w->operands + i].term;
    p->operands = w->operands;
    push_operand(p, bl_make(t, list ? BL_LST : BL_STR), 0);
}

static void make_list(struct parser *p, const struct waiting *w) {
    const size_t n = p->operands - w->operands;
    if (!has_room(p, 2 * n + 2))
        return;
    bl_word list = BL_ATOM(nil);
    size_t i = n;
    if (w->kind == LIST_TAIL)
        list = p->operand[w->operands + --i].term;
    while (i-- > 0)
        list = bl_list_cell(p->m, p->operand[w->operands + i].term, list);
    p->operands = w->operands;
    push_operand(p, list, 0);
}

static void close_bracket(struct parser *p) {
    const char c = p->token.punct;
    reduce_all(p);
    if (p->failed)
        return;
    if (p->waits == 0) {
        unexpected(p, "nothing is open that would be closed by");
        return;
    }
    const struct waiting w = p->wait[p->waits - 1];
    const char open = w.kind == PAREN || w.kind == FUNCTION ? ')'
                      : w.kind == BRACE                     ? '}'
                                                            : ']';
    if (c != open) {
        char buffer[64];
        snprintf(buffer, sizeof buffer, "`%c' is expected, not", open);
        unexpected(p, buffer);
        return;
    }
    p->waits--;
    if (w.kind == FUNCTION)
        make_function(p, &w);
    else if (w.kind == LIST || w.kind == LIST_TAIL)
        make_list(p, &w);
    else if (w.kind == PAREN)
        p->operand[p->operands - 1].priority = 0;
    else if (has_room(p, 2))
        p->operand[p->operands - 1] = (struct operand){
            bl_struct1(p->m, BL_ATOM(braces), p->operand[p->operands - 1].term),
            0};
}

// True where an operand is expected next.
static bool infix(struct parser *p, bl_word name, struct bl_op o) {
    while (!p->failed && operator_on_top(p) &&
           p->wait[p->waits - 1].op.priority <= o.left)
        reduce(p);
    if (p->failed)
        return false;
    push_wait(p, (struct waiting){.kind = OPERATOR, .name = name, .op = o});
    return true;
}

static void postfix(struct parser *p, bl_word name, struct bl_op o) {
    while (!p->failed && operator_on_top(p) &&
           p->wait[p->waits - 1].op.priority <= o.left)
        reduce(p);
    struct operand *const left = &p->operand[p->operands - 1];
    if (p->failed || !has_room(p, 2))
        return;
    if (left->priority > o.left) {
        fail_here(p, "operator priority clash");
        return;
    }
    *left = (struct operand){bl_struct1(p->m, name, left->term), o.priority};
}

static bool atom_as_operator(struct parser *p) {
    const bl_word a = bl_atom(p->token.text, p->token.bytes);
    struct bl_op o;
    if (bl_op_find(a, BL_INFIX, &o))
        return infix(p, a, o);
    if (bl_op_find(a, BL_POSTFIX, &o)) {
        postfix(p, a, o);
        return false;
    }
    unexpected(p, "an operator or the end of the clause is expected, not");
    return false;
}

// The bracket around what is being read, or NULL.
static struct waiting *enclosing(struct parser *p) {
    const size_t i = innermost(p);
    return i == 0 ? NULL : &p->wait[i - 1];
}

static bool separator(struct parser *p) {
    struct waiting *w = enclosing(p);
    const bool comma = p->token.punct == ',';
    const bool in_list = w != NULL && w->kind == LIST;
    if (w != NULL && ((comma && w->kind == FUNCTION) || in_list)) {
        reduce_all(p);
        if (p->failed)
            return false;
        if (!comma)
            w->kind = LIST_TAIL;
        return true;
    }
    if (w != NULL && w->kind == LIST_TAIL) {
        unexpected(p, "`]' is expected, not");
        return false;
    }
    struct bl_op o;
    const bl_word name = comma ? BL_ATOM(comma) : BL_ATOM(bar);
    if (!bl_op_find(name, BL_INFIX, &o)) {
        unexpected(p, "an operator is expected, not");
        return false;
    }
    return infix(p, name, o);
}

static bool operator(struct parser *p) {
    const struct bl_token *const t = &p->token;
    if (t->kind == BL_TOKEN_ATOM || t->kind == BL_TOKEN_QUOTED)
        return atom_as_operator(p);
    if (t->kind == BL_TOKEN_PUNCT) {
        if (t->punct == ',' || t->punct == '|')
            return separator(p);
        if (t->punct == ')' || t->punct == ']' || t->punct == '}') {
            close_bracket(p);
            return false;
        }
    }
    if (t->kind == BL_TOKEN_EOF) {
        fail_here(p, "the text ends within a clause: a full stop is missing");
        p->out->error.incomplete = true;
        return false;
    }
    unexpected(p, "an operator or the end of the clause is expected, not");
    return false;
}

// ---- a clause

static void finish(struct parser *p) {
    reduce_all(p);
    if (p->failed)
        return;
    if (p->waits > 0) {
        const struct waiting *const w = &p->wait[p->waits - 1];
        const char *const what = w->kind == PAREN || w->kind == FUNCTION ? "("
                                 : w->kind == BRACE                      ? "{"
                                                                         : "[";
        fail_at(p, w->line, w->column,
                "not closed before the clause ends:", what);
        return;
    }
    BL_ASSERT(p->operands == 1);
    p->out->term = p->operand[0].term;
}

static void parse(struct parser *p) {
    bool want_operand = true;
    for (;;) {
        if (p->token.kind == BL_TOKEN_END && !want_operand)
            break;
        want_operand = want_operand ? operand(p) : operator(p);
        if (p->failed)
            return;
        advance(p);
        if (p->failed)
            return;
    }
    finish(p);
}

void bl_read_result_fini(struct bl_read_result *r) {
    for (size_t i = 0; i < r->n_vars; i++)
        free(r->vars[i].name);
    free(r->vars);
    *r = (struct bl_read_result){0};
}

// The message says it; a ball that stays would be taken for the next goal's.
static void drop_ball(struct parser *p) {
    struct bl_machine *const m = p->m;
    p->out->error.no_memory = m->ball != NULL;
    if (m->ball != NULL)
        bl_record_free(m->ball);
    m->ball = NULL;
}

static void recover(struct parser *p, struct bl_source *s) {
    if (p->out->error.incomplete || p->token.kind == BL_TOKEN_END)
        return;
    // the token ahead may be the final stop itself
    if (p->token.kind != BL_TOKEN_BAD && p->ahead.kind == BL_TOKEN_END)
        return;
    bl_source_skip_clause(s);
}

enum bl_read_status bl_read_term(struct bl_machine *m, struct bl_source *s,
                                 struct bl_read_result *out) {
    *out = (struct bl_read_result){0};
    struct parser p = {.m = m, .out = out};
    bl_lexer_init(&p.lexer, s);
    bl_token_read(&p.lexer, &p.ahead);
    out->line = p.ahead.line;
    out->column = p.ahead.column;
    out->start = p.ahead.start;
    advance(&p);
    enum bl_read_status status = BL_READ_EOF;
    if (p.failed || p.token.kind != BL_TOKEN_EOF) {
        if (!p.failed)
            parse(&p);
        status = p.failed ? BL_READ_ERROR : BL_READ_TERM;
        if (p.failed) {
            recover(&p, s);
            drop_ball(&p);
        }
    }
    bl_lexer_fini(&p.lexer);
    free(p.text);
    free(p.operand);
    free(p.wait);
    free(p.slot);
    return status;
}
