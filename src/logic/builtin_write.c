// SPDX-License-Identifier: MIT
//
// Writing terms and characters, to the current output or to a stream.
//
#include "logic/arith.h"
#include "logic/builtin.h"
#include "logic/memory.h"
#include "logic/op.h"
#include "logic/reader.h"
#include "logic/stream.h"
#include "logic/token.h"

#include <stdlib.h>
#include <string.h>

static const struct bl_write_options plain = {.numbervars = true};
static const struct bl_write_options quoted = {.quoted = true,
                                               .numbervars = true};
static const struct bl_write_options canonical = {.quoted = true,
                                                  .ignore_ops = true};

void bl_out_end(struct bl_out *o, const char *end) {
    if (*end == '.' && o->bytes > 0 &&
        bl_is_symbol_char((unsigned char)o->text[o->bytes - 1]))
        bl_out_char(o, ' ');
    bl_out_str(o, end);
}

static int put(struct bl_machine *m, struct bl_stream *s, bl_word t,
               const struct bl_write_options *w, const char *end) {
    struct bl_out o = {0};
    bl_write_term(m, &o, t, w);
    bl_out_end(&o, end);
    const int r =
        m->ball == NULL ? bl_stream_write(m, s, o.text, o.bytes) : BL_THROW;
    bl_out_fini(&o);
    return r;
}

#define WRITER(name, options, end)                                             \
    static int put_##name(struct bl_machine *m, struct bl_stream *s,           \
                          bl_word *a) {                                        \
        return put(m, s, a[0], options, end);                                  \
    }                                                                          \
    BL_ON_OUTPUT(name##_1, name##_2, put_##name)

WRITER(write, &plain, "")
WRITER(print, &quoted, "")
WRITER(writeq, &quoted, "")
WRITER(writeln, &plain, "\n")
WRITER(write_canonical, &canonical, "")

static bool is_true(bl_word t) { return bl_deref(t) == BL_ATOM(true); }

static bool is_switch(const char *name) {
    static const char *const names[] = {"quoted", "ignore_ops", "numbervars",
                                        "fullstop", "nl"};
    for (size_t i = 0; i < BL_ARRAY_LEN(names); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

// The first option that is neither on nor off and should be, or 0.
static bl_word bad_switch(bl_word options) {
    bl_word t = bl_deref(options);
    for (; bl_tag(t) == BL_LST; t = bl_deref(bl_ptr(t)[1])) {
        const bl_word o = bl_deref(bl_ptr(t)[0]);
        const bl_word value = bl_deref(bl_ptr(o)[1]);
        if (is_switch(bl_atom_text(bl_functor_name(*bl_ptr(o)))) &&
            value != BL_ATOM(true) && value != BL_ATOM(false))
            return o;
    }
    return 0;
}

static void take_options(bl_word options, struct bl_write_options *w,
                         bool *stop, bool *newline) {
    bl_word t = bl_deref(options);
    for (; bl_tag(t) == BL_LST; t = bl_deref(bl_ptr(t)[1])) {
        const bl_word o = bl_deref(bl_ptr(t)[0]);
        if (bl_tag(o) != BL_STR || bl_functor_arity(*bl_ptr(o)) != 1)
            continue;
        const char *const name = bl_atom_text(bl_functor_name(*bl_ptr(o)));
        const bl_word value = bl_ptr(o)[1];
        if (strcmp(name, "quoted") == 0)
            w->quoted = is_true(value);
        else if (strcmp(name, "ignore_ops") == 0)
            w->ignore_ops = is_true(value);
        else if (strcmp(name, "numbervars") == 0)
            w->numbervars = is_true(value);
        else if (strcmp(name, "priority") == 0 && bl_is_int(bl_deref(value)))
            w->priority = (uint32_t)bl_int_value(bl_deref(value));
        else if (strcmp(name, "fullstop") == 0)
            *stop = is_true(value);
        else if (strcmp(name, "nl") == 0)
            *newline = is_true(value);
    }
}

// Name = Variable, with the option to complain of.
static int take_name(struct bl_machine *m, bl_word pair, bl_word option,
                     struct bl_read_var *out) {
    pair = bl_deref(pair);
    if (bl_is_var(pair))
        return bl_throw_instantiation(m);
    if (bl_tag(pair) != BL_STR || *bl_ptr(pair) != BL_FN(equals_2))
        return bl_throw_domain(m, "write_option", option);
    const bl_word name = bl_deref(bl_ptr(pair)[1]);
    if (bl_is_var(name))
        return bl_throw_instantiation(m);
    if (!bl_is_atom(name))
        return bl_throw_domain(m, "write_option", option);
    *out = (struct bl_read_var){
        .name = (char *)(uintptr_t)bl_atom_text(name), // only read
        .var = bl_ptr(pair)[2]};
    return BL_TRUE;
}

// Of the first option variable_names/1, if there is one.
static int take_names(struct bl_machine *m, bl_word options,
                      struct bl_write_options *w) {
    const bl_word option = bl_option(options, "variable_names");
    bl_word *pairs;
    size_t n;
    if (option == 0)
        return BL_TRUE;
    if (bl_take_list(m, bl_ptr(option)[1], &pairs, &n) != BL_TRUE)
        return BL_THROW;
    w->own = calloc(n + 1, sizeof *w->own);
    bl_must_have(w->own);
    w->vars = w->own;
    w->n_vars = n;
    int r = BL_TRUE;
    for (size_t i = 0; r == BL_TRUE && i < n; i++)
        r = take_name(m, pairs[i], option, &w->own[i]);
    free(pairs);
    return r;
}

void bl_write_options_fini(struct bl_write_options *w) { free(w->own); }

int bl_take_write_options(struct bl_machine *m, bl_word options,
                          struct bl_write_options *w, const char **end) {
    if (bl_take_options(m, options, "write_option") != BL_TRUE)
        return BL_THROW;
    const bl_word bad = bad_switch(options);
    if (bad != 0)
        return bl_throw_domain(m, "write_option", bad);
    bool stop = false;
    bool newline = false;
    take_options(options, w, &stop, &newline);
    *end = stop ? (newline ? ".\n" : ". ") : newline ? "\n" : "";
    if (take_names(m, options, w) == BL_TRUE)
        return BL_TRUE;
    bl_write_options_fini(w);
    return BL_THROW;
}

static int write_term(struct bl_machine *m, struct bl_stream *s, bl_word *a) {
    struct bl_write_options w = {0};
    const char *end;
    if (bl_take_write_options(m, a[1], &w, &end) != BL_TRUE)
        return BL_THROW;
    const int r = put(m, s, a[0], &w, end);
    bl_write_options_fini(&w);
    return r;
}

BL_ON_OUTPUT(write_term_2, write_term_3, write_term)

static int nl(struct bl_machine *m, struct bl_stream *s, bl_word *a) {
    (void)a;
    return bl_stream_write(m, s, "\n", 1);
}

BL_ON_OUTPUT(nl_0, nl_1, nl)

static int tab(struct bl_machine *m, struct bl_stream *s, bl_word *a) {
    struct bl_num n;
    if (bl_arith_eval(m, a[0], &n) != BL_TRUE)
        return BL_THROW;
    if (n.kind == BL_NUM_FLOAT)
        return bl_throw_type(m, BL_ATOM_integer, a[0]);
    if (n.kind == BL_NUM_BIG)
        return bl_num_sign(n) < 0 ? BL_TRUE : bl_throw_resource(m, "memory");
    char blanks[4096];
    memset(blanks, ' ', sizeof blanks);
    for (int64_t left = n.i; left > 0; left -= (int64_t)sizeof blanks) {
        const size_t bytes =
            left < (int64_t)sizeof blanks ? (size_t)left : sizeof blanks;
        if (!bl_may_write(m, bytes) || // it is long enough for a limit
            bl_stream_write(m, s, blanks, bytes) != BL_TRUE)
            return BL_THROW;
    }
    return BL_TRUE;
}

BL_ON_OUTPUT(tab_1, tab_2, tab)

static int put_char(struct bl_machine *m, struct bl_stream *s, bl_word *a) {
    const bl_word c = bl_deref(a[0]);
    char bytes[4];
    if (bl_is_int(c)) {
        if (bl_int_value(c) < 0 || bl_int_value(c) > 0x10ffff)
            return bl_throw_representation(m, "character_code");
        return bl_stream_write(m, s, bytes,
                               bl_utf8_put(bytes, (uint32_t)bl_int_value(c)));
    }
    if (!bl_is_atom(c) || !bl_is_character(c))
        return bl_throw_type(m, BL_ATOM_character, c);
    return bl_stream_write(m, s, bl_atom_text(c), bl_atom_bytes(c));
}

BL_ON_OUTPUT(put_char_1, put_char_2, put_char)

static int put_code(struct bl_machine *m, struct bl_stream *s, bl_word *a) {
    int64_t code;
    if (bl_is_big(bl_deref(a[0])))
        return bl_throw_representation(m, "character_code");
    if (bl_take_int(m, a[0], &code) != BL_TRUE)
        return BL_THROW;
    bl_word c = bl_int(code);
    return put_char(m, s, &c);
}

BL_ON_OUTPUT(put_code_1, put_code_2, put_code)

static int put_byte_2(struct bl_machine *m, bl_word *a) {
    struct bl_stream *s;
    if (bl_take_stream(m, a[0], true, &s) != BL_TRUE)
        return BL_THROW;
    const bl_word b = bl_deref(a[1]);
    if (!bl_is_int(b) || bl_int_value(b) < 0 || bl_int_value(b) > 255)
        return bl_throw_type(m, BL_ATOM_byte, b);
    if (!s->binary)
        return bl_throw_permission(m, BL_ATOM_output, BL_ATOM_text_stream,
                                   bl_deref(a[0]));
    const char byte = (char)bl_int_value(b);
    return bl_stream_write(m, s, &byte, 1);
}

static int put_byte_1(struct bl_machine *m, bl_word *a) {
    bl_word two[2] = {bl_stream_term(m, m->io->output), a[0]};
    return put_byte_2(m, two);
}

// ---- operators

// A bar is infix, and binds less than a comma does.
static bool may_be_bar(int64_t priority, bl_word type) {
    const bool infix =
        type == BL_ATOM(xfx) || type == BL_ATOM(xfy) || type == BL_ATOM(yfx);
    return infix && (priority == 0 || priority > 1000);
}

static int set_operator(struct bl_machine *m, int64_t priority, bl_word type,
                        bl_word name) {
    if (bl_take_atom(m, name, &name) != BL_TRUE)
        return BL_THROW;
    if (name == BL_ATOM(comma))
        return bl_throw_permission(m, BL_ATOM_modify, BL_ATOM_operator, name);
    if (name == BL_ATOM(nil) || name == BL_ATOM(braces) ||
        (name == BL_ATOM(bar) && !may_be_bar(priority, type)))
        return bl_throw_permission(m, BL_ATOM_create, BL_ATOM_operator, name);
    switch (bl_op_set(name, (enum bl_known_atom)bl_index_of(type),
                      (uint32_t)priority)) {
    case BL_OP_SET:
        return BL_TRUE;
    case BL_OP_NO_TYPE:
        return bl_throw_domain(m, "operator_specifier", type);
    case BL_OP_CLASH:
        return bl_throw_permission(m, BL_ATOM_create, BL_ATOM_operator, name);
    case BL_OP_FULL:
        return bl_throw_resource(m, "operators");
    }
    return BL_THROW;
}

static bool ends_open(bl_word list) {
    return bl_list_length(&list) < 0 || bl_is_var(list);
}

static int op_3(struct bl_machine *m, bl_word *a) {
    int64_t priority;
    bl_word type;
    if (bl_take_int(m, a[0], &priority) != BL_TRUE ||
        bl_take_atom(m, a[1], &type) != BL_TRUE)
        return BL_THROW;
    if (priority < 0 || priority > 1200)
        return bl_throw_domain(m, "operator_priority", bl_int(priority));
    bl_word t = bl_deref(a[2]);
    if (bl_tag(t) == BL_LST && ends_open(t))
        return bl_throw_instantiation(m);
    if (bl_tag(t) != BL_LST)
        return set_operator(m, priority, type, t);
    for (; bl_tag(t) == BL_LST; t = bl_deref(bl_ptr(t)[1])) {
        if (set_operator(m, priority, type, bl_ptr(t)[0]) != BL_TRUE)
            return BL_THROW;
    }
    return BL_TRUE;
}

struct op_list {
    struct bl_machine *m;
    bl_word list;
};

static void add_op(bl_word atom, struct bl_op o, void *arg) {
    struct op_list *const l = arg;
    const bl_word args[3] = {bl_int(o.priority), bl_atom_word(o.type), atom};
    const bl_word t = bl_struct(l->m, bl_functor(bl_atom_str("op"), 3), args);
    l->list = bl_list_cell(l->m, t, l->list);
}

static int ops_1(struct bl_machine *m, bl_word *a) {
    struct op_list l = {m, BL_ATOM(nil)};
    if (!bl_heap_ensure(m, 16384))
        return BL_THROW;
    bl_op_each(add_op, &l);
    return bl_answer(m, a[0], l.list);
}

void bl_builtins_write(void) {
    static const struct bl_builtin_row iso[] = {
        {"write", 1, write_1},
        {"write", 2, write_2},
        {"writeq", 1, writeq_1},
        {"writeq", 2, writeq_2},
        {"write_canonical", 1, write_canonical_1},
        {"write_canonical", 2, write_canonical_2},
        {"write_term", 2, write_term_2},
        {"write_term", 3, write_term_3},
        {"nl", 0, nl_0},
        {"nl", 1, nl_1},
        {"put_byte", 1, put_byte_1},
        {"put_byte", 2, put_byte_2},
        {"put_code", 1, put_code_1},
        {"put_code", 2, put_code_2},
        {"put_char", 1, put_char_1},
        {"put_char", 2, put_char_2},
        {"op", 3, op_3},
    };
    static const struct bl_builtin_row rows[] = {
        {"print", 1, print_1},     {"print", 2, print_2},
        {"writeln", 1, writeln_1}, {"writeln", 2, writeln_2},
        {"tab", 1, tab_1},         {"tab", 2, tab_2},
        {"$ops", 1, ops_1},
    };
    BL_DEFINE_ISO(iso);
    BL_DEFINE(rows);
}
