// SPDX-License-Identifier: MIT
//
// Writing terms. The stack holds what is still to be written, a term with the
// priority of its place or a piece of text. Spaces are put where two tokens
// would otherwise run together: the writer remembers its last character.
//
#include "logic/writer.h"

#include "logic/bigint.h"
#include "logic/error.h"
#include "logic/memory.h"
#include "logic/op.h"
#include "logic/reader.h"
#include "logic/token.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
    bl_word term;     // when `text` is NULL
    const char *text; // "(" and the like, or NULL
    bl_word atom;     // an infix or postfix operator; 0: none
    uint32_t priority;
    bool operand; // of an operator: an atom that is one gets brackets
};

struct writer {
    struct bl_machine *m;
    struct bl_out *o;
    const struct bl_write_options *w;
    struct item *item;
    size_t items, capacity;
    size_t prefix_end; // of the prefix operator that was written last
    bool sign;         // it is - or +
};

// ---- text

void bl_out_fini(struct bl_out *o) {
    free(o->text);
    *o = (struct bl_out){0};
}

void bl_out_bytes(struct bl_out *o, const char *text, size_t bytes) {
    if (o->bytes + bytes + 1 > o->capacity) {
        o->capacity = (o->bytes + bytes) * 2 + 64;
        o->text = realloc(o->text, o->capacity);
        bl_must_have(o->text);
    }
    memcpy(o->text + o->bytes, text, bytes);
    o->bytes += bytes;
    o->text[o->bytes] = 0;
}

void bl_out_str(struct bl_out *o, const char *text) {
    bl_out_bytes(o, text, strlen(text));
}

void bl_out_char(struct bl_out *o, char c) { bl_out_bytes(o, &c, 1); }

// ---- atoms and numbers

static bool is_name(const char *s, size_t n) {
    if (n == 0 || !((s[0] >= 'a' && s[0] <= 'z') || (unsigned char)s[0] > 127))
        return false;
    for (size_t i = 1; i < n; i++) {
        if (!bl_is_alnum_char((unsigned char)s[i]))
            return false;
    }
    return true;
}

static bool is_symbol(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!bl_is_symbol_char((unsigned char)s[i]))
            return false;
    }
    return n > 0 && strcmp(s, ".") != 0 && strncmp(s, "/*", 2) != 0;
}

static bool is_solo(const char *s, size_t n) {
    if (n == 1)
        return s[0] == '!' || s[0] == ';';
    return n == 2 && (memcmp(s, "[]", 2) == 0 || memcmp(s, "{}", 2) == 0 ||
                      memcmp(s, "||", 2) == 0);
}

static bool needs_quotes(const char *s, size_t n) {
    return !is_name(s, n) && !is_symbol(s, n) && !is_solo(s, n);
}

static void write_quoted(struct bl_out *o, const char *s, size_t n) {
    bl_out_char(o, '\'');
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)s[i];
        char number[8];
        if (c == '\'' || c == '\\') {
            bl_out_char(o, '\\');
            bl_out_char(o, (char)c);
        } else if (c == '\n') {
            bl_out_str(o, "\\n");
        } else if (c == '\t') {
            bl_out_str(o, "\\t");
        } else if (c < 32 || c == 127) {
            snprintf(number, sizeof number, "\\x%x\\", c);
            bl_out_str(o, number);
        } else {
            bl_out_char(o, (char)c);
        }
    }
    bl_out_char(o, '\'');
}

void bl_write_atom(struct bl_out *o, bl_word atom, bool quoted) {
    const char *const s = bl_atom_text(atom);
    const size_t n = bl_atom_bytes(atom);
    if (quoted && needs_quotes(s, n))
        write_quoted(o, s, n);
    else
        bl_out_bytes(o, s, n);
}

void bl_write_float(struct bl_out *o, double d) {
    char text[40];
    if (!isfinite(d)) { // as the reader knows them
        bl_out_str(o, isnan(d) ? "1.5NaN" : d < 0 ? "-1.0Inf" : "1.0Inf");
        return;
    }
    // 15 digits name every double, but for those below the normal ones
    for (int digits = fabs(d) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, d);
        if (strtod(text, NULL) == d)
            break;
    }
    if (strpbrk(text, ".e") == NULL) {
        strcat(text, ".0");
    }
    char *const e = strchr(text, 'e');
    if (e == NULL) {
        bl_out_str(o, text);
        return;
    }
    // 1e+100 is 1.0e100, 1.5e-07 is 1.5e-7
    const long exponent = strtol(e + 1, NULL, 10);
    *e = 0;
    bl_out_str(o, text);
    if (strchr(text, '.') == NULL)
        bl_out_str(o, ".0");
    snprintf(text, sizeof text, "e%ld", exponent);
    bl_out_str(o, text);
}

static void write_small(struct bl_out *o, int64_t i, int radix) {
    static const char digits[2][37] = {"0123456789abcdefghijklmnopqrstuvwxyz",
                                       "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"};
    const uint64_t base = (uint64_t)abs(radix);
    char text[72];
    char *p = text + sizeof text;
    uint64_t rest = i < 0 ? -(uint64_t)i : (uint64_t)i;
    *--p = 0;
    do {
        *--p = digits[radix < 0][rest % base];
        rest /= base;
    } while (rest > 0);
    if (i < 0)
        *--p = '-';
    bl_out_str(o, p);
}

void bl_write_integer(struct bl_out *o, bl_word i, int radix) {
    if (bl_is_big(i))
        bl_big_write(o, i, radix);
    else
        write_small(o, bl_int_value(i), radix);
}

// ---- keeping tokens apart

static int kind_of(int c) {
    if (bl_is_alnum_char(c))
        return 1;
    if (bl_is_symbol_char(c))
        return 2;
    return 3;
}

// Puts a space where the last character and the next would be one token.
static void apart(struct writer *w, int next) {
    if (w->o->bytes == 0)
        return;
    const int last = (unsigned char)w->o->text[w->o->bytes - 1];
    const int a = kind_of(last);
    if (next == '\'' ? a == 1 || last == '\'' : a == kind_of(next) && a != 3)
        bl_out_char(w->o, ' ');
}

static bool follows_prefix(const struct writer *w) {
    return w->o->bytes == w->prefix_end && w->prefix_end > 0;
}

// A bracket around a term; behind a prefix operator it would open arguments.
static void open_bracket(struct writer *w) {
    if (follows_prefix(w))
        bl_out_char(w->o, ' ');
    bl_out_char(w->o, '(');
}

static void put_atom(struct writer *w, bl_word atom) {
    const char *const s = bl_atom_text(atom);
    const size_t n = bl_atom_bytes(atom);
    const bool quotes = w->w->quoted && needs_quotes(s, n);
    if (n > 0 || quotes)
        apart(w, quotes ? '\'' : (unsigned char)s[0]);
    bl_write_atom(w->o, atom, w->w->quoted);
}

static void put_variable(struct writer *w, bl_word v) {
    for (size_t i = 0; i < w->w->n_vars; i++) {
        if (bl_deref(w->w->vars[i].var) == v) {
            apart(w, 'A');
            bl_out_str(w->o, w->w->vars[i].name);
            return;
        }
    }
    char name[32];
    const size_t n =
        (size_t)(bl_ptr(v) - (bl_word *)(void *)w->m->heap_area.base);
    snprintf(name, sizeof name, "_G%zu", n);
    apart(w, '_');
    bl_out_str(w->o, name);
}

static void put_number(struct writer *w, bl_word t) {
    struct bl_out number = {0};
    if (bl_is_integer(t))
        bl_write_integer(&number, t, 10);
    else
        bl_write_float(&number, bl_float_value(t));
    apart(w, (unsigned char)number.text[0]);
    if (follows_prefix(w) && w->sign) // - 1^2 is not -1^2
        bl_out_char(w->o, ' ');
    bl_out_bytes(w->o, number.text, number.bytes);
    bl_out_fini(&number);
}

// ---- the stack

static void push(struct writer *w, struct item i) {
    if (w->items == w->capacity) {
        w->capacity = w->capacity * 2 + 64;
        w->item = realloc(w->item, w->capacity * sizeof *w->item);
        bl_must_have(w->item);
    }
    w->item[w->items++] = i;
}

static void push_text(struct writer *w, const char *text) {
    push(w, (struct item){.text = text});
}

static void push_term(struct writer *w, bl_word t, uint32_t priority) {
    push(w, (struct item){.term = t, .priority = priority});
}

static void push_operand(struct writer *w, bl_word t, uint32_t priority) {
    push(w, (struct item){.term = t, .priority = priority, .operand = true});
}

static void push_operator(struct writer *w, bl_word atom) {
    push(w, (struct item){.atom = atom});
}

// ---- compound terms

static void canonical(struct writer *w, bl_word t) {
    const bl_word f = bl_term_functor(t);
    const uint32_t n = bl_functor_arity(f);
    put_atom(w, bl_functor_name(f));
    bl_out_char(w->o, '(');
    push_text(w, ")");
    for (uint32_t i = n; i-- > 0;) {
        push_term(w, bl_term_args(t)[i], 999);
        if (i > 0)
            push_text(w, ",");
    }
}

// What follows the first element of a list.
static void list_rest(struct writer *w, bl_word t) {
    t = bl_deref(t);
    if (bl_tag(t) == BL_LST) {
        push(w, (struct item){.term = bl_ptr(t)[1], .text = "rest"});
        push_term(w, bl_ptr(t)[0], 999);
        bl_out_char(w->o, ',');
    } else if (t == BL_ATOM(nil)) {
        bl_out_char(w->o, ']');
    } else {
        push_text(w, "]");
        push_term(w, t, 999);
        bl_out_char(w->o, '|');
    }
}

static void list(struct writer *w, bl_word t) {
    apart(w, '[');
    bl_out_char(w->o, '[');
    push(w, (struct item){.term = bl_ptr(t)[1], .text = "rest"});
    push_term(w, bl_ptr(t)[0], 999);
}

// Brackets where the priority asks for them; what is in them is pushed next.
static void bracket(struct writer *w, uint32_t priority, uint32_t place) {
    if (priority <= place)
        return;
    open_bracket(w);
    push_text(w, ")");
}

static bool infix(struct writer *w, bl_word t, uint32_t place) {
    const bl_word *const args = bl_term_args(t);
    const bl_word name = bl_functor_name(bl_term_functor(t));
    struct bl_op o;
    if (!bl_op_find(name, BL_INFIX, &o))
        return false;
    bracket(w, o.priority, place);
    push_operand(w, args[1], o.right);
    push_operator(w, name);
    push_operand(w, args[0], o.left);
    return true;
}

static void prefix(struct writer *w, bl_word t, struct bl_op o,
                   uint32_t place) {
    const bl_word arg = bl_deref(bl_term_args(t)[0]);
    const bl_word name = bl_functor_name(bl_term_functor(t));
    const bool sign = name == BL_ATOM(minus) || name == BL_ATOM(plus);
    bracket(w, o.priority, place);
    put_atom(w, name);
    if (sign && bl_is_number(arg)) { // -(1) is not -1
        bl_out_char(w->o, '(');
        push_text(w, ")");
        push_term(w, arg, 999);
        return;
    }
    w->prefix_end = w->o->bytes;
    w->sign = sign;
    push_operand(w, arg, o.right);
}

static bool prefix_or_postfix(struct writer *w, bl_word t, uint32_t place) {
    const bl_word name = bl_functor_name(bl_term_functor(t));
    struct bl_op o;
    if (bl_op_find(name, BL_PREFIX, &o)) {
        prefix(w, t, o, place);
        return true;
    }
    if (!bl_op_find(name, BL_POSTFIX, &o))
        return false;
    bracket(w, o.priority, place);
    push(w, (struct item){.atom = name, .operand = true});
    push_operand(w, bl_term_args(t)[0], o.left);
    return true;
}

static bool is_variable_name(const char *s) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return (s[0] == '_' || (s[0] >= 'A' && s[0] <= 'Z')) &&
           s[strspn(s, letters)] == '\0';
}

// '$VAR'(3) as D, '$VAR'('Name') as Name.
static bool numbered(struct writer *w, bl_word t) {
    const bl_word n = bl_deref(bl_ptr(t)[1]);
    if (!w->w->numbervars)
        return false;
    if (bl_is_atom(n) && is_variable_name(bl_atom_text(n))) {
        apart(w, 'A');
        bl_out_str(w->o, bl_atom_text(n));
        return true;
    }
    if (!bl_is_int(n) || bl_int_value(n) < 0)
        return false;
    const int64_t i = bl_int_value(n);
    char name[32];
    if (i < 26)
        snprintf(name, sizeof name, "%c", (int)('A' + i));
    else
        snprintf(name, sizeof name, "%c%lld", (int)('A' + i % 26),
                 (long long)(i / 26));
    apart(w, 'A');
    bl_out_str(w->o, name);
    return true;
}

static void compound(struct writer *w, bl_word t, uint32_t place) {
    const bl_word f = *bl_ptr(t);
    const uint32_t n = bl_functor_arity(f);
    const bl_word name = bl_functor_name(f);
    if (n == 1 && name == BL_ATOM(var_functor) && numbered(w, t))
        return;
    if (!w->w->ignore_ops) {
        if (n == 1 && name == BL_ATOM(braces)) {
            bl_out_char(w->o, '{');
            push_text(w, "}");
            push_term(w, bl_ptr(t)[1], 1200);
            return;
        }
        if (n == 2 && infix(w, t, place))
            return;
        if (n == 1 && prefix_or_postfix(w, t, place))
            return;
    }
    canonical(w, t);
}

static void write_operator(struct writer *w, bl_word name, bool postfix) {
    if (name == BL_ATOM(comma) || name == BL_ATOM(bar)) {
        bl_out_bytes(w->o, bl_atom_text(name), 1);
        return;
    }
    const char *const s = bl_atom_text(name);
    const size_t n = bl_atom_bytes(name);
    const bool spaced = !is_symbol(s, n) && !is_solo(s, n);
    if (spaced)
        bl_out_char(w->o, ' ');
    put_atom(w, name);
    if (spaced && !postfix)
        bl_out_char(w->o, ' ');
}

static void atom(struct writer *w, bl_word t, bool operand) {
    if (!operand || !bl_op_is_any(t)) {
        put_atom(w, t);
        return;
    }
    open_bracket(w);
    put_atom(w, t);
    bl_out_char(w->o, ')');
}

static void term(struct writer *w, bl_word t, uint32_t place, bool operand) {
    t = bl_deref(t);
    switch (bl_tag(t)) {
    case BL_REF:
        put_variable(w, t);
        return;
    case BL_INT:
    case BL_BOX:
        put_number(w, t);
        return;
    case BL_ATM:
        atom(w, t, operand);
        return;
    case BL_LST:
        list(w, t);
        return;
    case BL_STR:
        compound(w, t, place);
        return;
    case BL_FUN:
    case BL_LVL:
        bl_out_str(w->o, "<level>");
        return;
    }
}

bool bl_may_write(struct bl_machine *m, size_t bytes) {
    if (m == NULL || m->ball != NULL)
        return true;
    // relaxed: bl_machine_poll looks again
    if (BL_UNLIKELY(bl_load_relaxed(&m->interrupt) != 0))
        return bl_machine_poll(m);
    if (BL_LIKELY(bytes < m->memory_limit / 4))
        return true;
    bl_throw_resource(m, "memory");
    return false;
}

void bl_write_term(struct bl_machine *m, struct bl_out *o, bl_word t,
                   const struct bl_write_options *options) {
    struct writer w = {.m = m, .o = o, .w = options};
    // text in front of the term is none of its tokens
    struct bl_out own = {0};
    w.o = &own;
    push_term(&w, t, options->priority ? options->priority : 1200);
    while (w.items > 0 &&
           bl_may_write(m, own.bytes + w.items * sizeof *w.item)) {
        const struct item i = w.item[--w.items];
        if (i.text != NULL && i.term != 0)
            list_rest(&w, i.term);
        else if (i.text != NULL)
            bl_out_str(&own, i.text);
        else if (i.atom != 0)
            write_operator(&w, i.atom, i.operand);
        else
            term(&w, i.term, i.priority, i.operand);
    }
    bl_out_bytes(o, own.text != NULL ? own.text : "", own.bytes);
    bl_out_fini(&own);
    free(w.item);
}
