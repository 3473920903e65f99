// SPDX-License-Identifier: MIT
//
// Taking arguments, and the list of all builtins.
//
#include "logic/builtin.h"

#include "logic/arith.h"
#include "logic/engine.h"
#include "logic/guard.h"
#include "logic/token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bl_builtins_define(const struct bl_builtin_row *rows, size_t n,
                        enum bl_opcode entry, bool fixed) {
    for (size_t i = 0; i < n; i++) {
        struct bl_pred *const p = bl_pred_define_builtin(
            rows[i].name, rows[i].arity, rows[i].f, entry);
        if (!fixed && rows[i].name[0] != '$')
            p->flags |= BL_PRED_OPEN;
    }
}

void bl_builtins_init(void) {
    bl_builtins_arith();
    bl_builtins_atom();
    bl_builtins_control();
    bl_builtins_database();
    bl_builtins_file();
    bl_builtins_findall();
    bl_builtins_flag();
    bl_builtins_format();
    bl_builtins_guard();
    bl_builtins_list();
    bl_builtins_message();
    bl_builtins_mutex();
    bl_builtins_property();
    bl_builtins_queue();
    bl_builtins_stream();
    bl_builtins_table();
    bl_builtins_term();
    bl_builtins_thread();
    bl_builtins_write();
}

int bl_take_int(struct bl_machine *m, bl_word a, int64_t *out) {
    a = bl_deref(a);
    if (bl_is_big(a))
        return bl_throw_representation(
            m, bl_big_is_negative(a) ? "min_integer" : "max_integer");
    if (!bl_is_int(a))
        return bl_throw_type(m, BL_ATOM_integer, a);
    *out = bl_int_value(a);
    return BL_TRUE;
}

int bl_take_size(struct bl_machine *m, bl_word a, int64_t *out) {
    a = bl_deref(a);
    if (bl_is_integer(a) && bl_num_sign(bl_num_of(a)) < 0)
        return bl_throw_domain(m, "not_less_than_zero", a);
    return bl_take_int(m, a, out);
}

int bl_take_atom(struct bl_machine *m, bl_word a, bl_word *out) {
    *out = bl_deref(a);
    return bl_is_atom(*out) ? BL_TRUE : bl_throw_type(m, BL_ATOM_atom, *out);
}

int bl_take_callable(struct bl_machine *m, bl_word a, bl_word *out) {
    *out = bl_deref(a);
    while (bl_tag(*out) == BL_STR && *bl_ptr(*out) == BL_FN(colon_2))
        *out = bl_deref(bl_ptr(*out)[2]);
    if (bl_is_callable(*out))
        return BL_TRUE;
    return bl_throw_type(m, BL_ATOM_callable, *out);
}

int bl_take_indicator(struct bl_machine *m, bl_word a, bl_word *functor) {
    a = bl_deref(a);
    while (bl_tag(a) == BL_STR && *bl_ptr(a) == BL_FN(colon_2))
        a = bl_deref(bl_ptr(a)[2]);
    if (bl_is_var(a))
        return bl_throw_instantiation(m);
    if (bl_tag(a) != BL_STR || *bl_ptr(a) != BL_FN(slash_2))
        return bl_throw_type(m, BL_ATOM_predicate_indicator, a);
    bl_word name;
    int64_t arity;
    if (bl_take_atom(m, bl_ptr(a)[1], &name) != BL_TRUE ||
        bl_take_size(m, bl_ptr(a)[2], &arity) != BL_TRUE)
        return BL_THROW;
    if (arity > BL_MAX_ARITY)
        return bl_throw_representation(m, "max_arity");
    *functor = bl_functor(name, (uint32_t)arity);
    return BL_TRUE;
}

int bl_take_list(struct bl_machine *m, bl_word a, bl_word **items, size_t *n) {
    bl_word t = bl_deref(a);
    const size_t count = (size_t)bl_list_length(&t);
    if (t != BL_ATOM(nil))
        return bl_throw_type(m, BL_ATOM_list, bl_is_var(t) ? t : bl_deref(a));
    bl_word *const list = malloc((count + 1) * sizeof *list);
    if (list == NULL)
        return bl_throw_resource(m, "memory");
    size_t i = 0;
    for (t = bl_deref(a); bl_tag(t) == BL_LST; t = bl_deref(bl_ptr(t)[1]))
        list[i++] = bl_ptr(t)[0];
    *items = list;
    *n = count;
    return BL_TRUE;
}

bool bl_is_character(bl_word atom) {
    const char *p = bl_atom_text(atom);
    const char *const end = p + bl_atom_bytes(atom);
    if (p == end)
        return false;
    (void)bl_utf8_get(&p, end);
    return p == end;
}

int bl_take_partial_list(struct bl_machine *m, bl_word a) {
    bl_word t = bl_deref(a);
    if (bl_list_length(&t) >= 0 && (bl_is_var(t) || t == BL_ATOM(nil)))
        return BL_TRUE;
    return bl_throw_type(m, BL_ATOM_list, bl_deref(a));
}

int bl_take_options(struct bl_machine *m, bl_word a, const char *domain) {
    bl_word t = bl_deref(a);
    if (bl_list_length(&t) < 0 || bl_is_var(t))
        return bl_throw_instantiation(m);
    if (t != BL_ATOM(nil))
        return bl_throw_type(m, BL_ATOM_list, bl_deref(a));
    for (t = bl_deref(a); bl_tag(t) == BL_LST; t = bl_deref(bl_ptr(t)[1])) {
        const bl_word o = bl_deref(bl_ptr(t)[0]);
        if (bl_is_var(o))
            return bl_throw_instantiation(m);
        if (bl_tag(o) != BL_STR || bl_functor_arity(*bl_ptr(o)) != 1)
            return bl_throw_domain(m, domain, o);
        if (bl_is_var(bl_deref(bl_ptr(o)[1])) &&
            strcmp(domain, "read_option") != 0)
            return bl_throw_instantiation(m);
    }
    return BL_TRUE;
}

bl_word bl_option(bl_word options, const char *name) {
    bl_word t = bl_deref(options);
    for (; bl_tag(t) == BL_LST; t = bl_deref(bl_ptr(t)[1])) {
        const bl_word o = bl_deref(bl_ptr(t)[0]);
        if (bl_tag(o) == BL_STR && bl_functor_arity(*bl_ptr(o)) == 1 &&
            strcmp(bl_atom_text(bl_functor_name(*bl_ptr(o))), name) == 0)
            return o;
    }
    return 0;
}

bl_word bl_make_list(struct bl_machine *m, const bl_word *items, size_t n,
                     bl_word tail) {
    bl_word list = tail;
    for (size_t i = n; i-- > 0;)
        list = bl_list_cell(m, items[i], list);
    return list;
}

// ---- text

static int text_of_list(struct bl_machine *m, bl_word a, struct bl_out *out) {
    bl_word t = a;
    if (bl_list_length(&t) < 0)
        return bl_throw_type(m, BL_ATOM_list, a);
    t = a;
    for (; bl_tag(t) == BL_LST; t = bl_deref(bl_ptr(t)[1])) {
        const bl_word item = bl_deref(bl_ptr(t)[0]);
        if (bl_is_int(item) && bl_int_value(item) >= 0 &&
            bl_int_value(item) <= 0x10ffff) {
            char bytes[4];
            bl_out_bytes(out, bytes,
                         bl_utf8_put(bytes, (uint32_t)bl_int_value(item)));
        } else if (bl_is_atom(item)) {
            bl_out_bytes(out, bl_atom_text(item), bl_atom_bytes(item));
        } else {
            return bl_is_var(item) ? bl_throw_instantiation(m)
                   : bl_is_integer(item)
                       ? bl_throw_representation(m, "character_code")
                       : bl_throw_type(m, BL_ATOM_character, item);
        }
    }
    if (t == BL_ATOM(nil))
        return BL_TRUE;
    return bl_throw_type(m, BL_ATOM_list, bl_is_var(t) ? t : a);
}

int bl_take_text(struct bl_machine *m, bl_word a, struct bl_out *out) {
    a = bl_deref(a);
    bl_out_str(out, "");
    if (a == BL_ATOM(nil))
        return BL_TRUE;
    if (bl_tag(a) == BL_LST) {
        const int r = text_of_list(m, a, out);
        if (r != BL_TRUE)
            bl_out_fini(out);
        return r;
    }
    if (bl_is_atom(a)) {
        bl_out_bytes(out, bl_atom_text(a), bl_atom_bytes(a));
        return BL_TRUE;
    }
    if (bl_is_number(a)) {
        const struct bl_write_options w = {.quoted = false};
        bl_write_term(m, out, a, &w);
        return BL_TRUE;
    }
    bl_out_fini(out);
    return bl_throw_type(m, BL_ATOM_text, a);
}

bool bl_parse_number(struct bl_machine *m, const char *text, size_t bytes,
                     bl_word *out) {
    struct bl_source s;
    struct bl_lexer x;
    struct bl_token t;
    bl_source_init(&s, NULL, text, bytes);
    bl_lexer_init(&x, &s);
    bl_token_read(&x, &t);
    bool negative = false;
    if (t.kind == BL_TOKEN_ATOM &&
        (strcmp(t.text, "-") == 0 || strcmp(t.text, "+") == 0)) {
        negative = t.text[0] == '-';
        bl_token_read(&x, &t);
        if (t.layout_before)
            t.kind = BL_TOKEN_BAD;
    }
    const bool at_end = s.at == bytes;
    const bool number = t.kind == BL_TOKEN_INT || t.kind == BL_TOKEN_FLOAT;
    if (t.kind == BL_TOKEN_FLOAT)
        *out = bl_float(m, negative ? -t.d : t.d);
    else if (t.kind == BL_TOKEN_INT && t.radix == 0)
        *out = bl_int(negative ? -t.i : t.i);
    else if (at_end && number)
        *out = bl_big_read(m, t.text, t.bytes, t.radix, negative);
    bl_lexer_fini(&x);
    return at_end && number && *out != 0;
}
