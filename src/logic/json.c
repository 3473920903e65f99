// SPDX-License-Identifier: MIT
//
// Terms as JSON. As in the writer, what is still to be written stands on a
// stack, so deep terms are no danger.
//
#include "logic/json.h"

#include "logic/acyclic.h"
#include "logic/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct item {
    bl_word term;
    const char *text; // or this
    bool rest;        // the term is the rest of an array
    bool partial;     // it is the tail of a list that does not end in []
};

struct json {
    struct bl_out *o;
    struct item *item;
    size_t items, capacity;
};

static void push(struct json *j, struct item i) {
    if (j->items == j->capacity) {
        j->capacity = j->capacity * 2 + 64;
        j->item = realloc(j->item, j->capacity * sizeof *j->item);
        bl_must_have(j->item);
    }
    j->item[j->items++] = i;
}

static void string(struct bl_out *o, const char *s, size_t n) {
    const char *const end = s + n;
    char c[6];
    bl_out_char(o, '"');
    while (s < end)
        bl_out_bytes(o, c, bl_json_char(&s, c));
    bl_out_char(o, '"');
}

// JSON has no infinite numbers.
static void number(struct json *j, double d) {
    bl_out_str(j->o, isfinite(d) ? "" : "{\"float\":\"");
    bl_write_float(j->o, d);
    bl_out_str(j->o, isfinite(d) ? "" : "\"}");
}

static void atomic(struct json *j, bl_word t) {
    if (t == BL_ATOM(nil)) {
        bl_out_str(j->o, "[]");
    } else if (bl_is_atom(t)) {
        string(j->o, bl_atom_text(t), bl_atom_bytes(t));
    } else if (bl_is_integer(t)) {
        bl_write_integer(j->o, t, 10);
    } else if (bl_is_float(t)) {
        number(j, bl_float_value(t));
    } else {
        bl_out_str(j->o, "{\"var\":\"_\"}");
    }
}

static void compound(struct json *j, bl_word t) {
    const bl_word f = *bl_ptr(t);
    const uint32_t n = bl_functor_arity(f);
    bl_out_str(j->o, "{\"functor\":");
    string(j->o, bl_atom_text(bl_functor_name(f)),
           bl_atom_bytes(bl_functor_name(f)));
    bl_out_str(j->o, ",\"args\":[");
    push(j, (struct item){.text = "]}"});
    for (uint32_t i = n; i-- > 0;) {
        push(j, (struct item){.term = bl_ptr(t)[1 + i]});
        if (i > 0)
            push(j, (struct item){.text = ","});
    }
}

static bool is_proper(bl_word t) {
    return bl_list_length(&t) >= 0 && t == BL_ATOM(nil);
}

static void partial_list(struct json *j, bl_word t) {
    bl_out_str(j->o, "{\"functor\":\".\",\"args\":[");
    push(j, (struct item){.text = "]}"});
    push(j, (struct item){.term = bl_ptr(t)[1], .partial = true});
    push(j, (struct item){.text = ","});
    push(j, (struct item){.term = bl_ptr(t)[0]});
}

static void rest(struct json *j, bl_word t) {
    if (bl_tag(t) != BL_LST) {
        bl_out_char(j->o, ']');
        return;
    }
    bl_out_char(j->o, ',');
    push(j, (struct item){.term = bl_ptr(t)[1], .rest = true});
    push(j, (struct item){.term = bl_ptr(t)[0]});
}

static void term(struct json *j, bl_word t, bool partial) {
    if (bl_tag(t) == BL_STR) {
        compound(j, t);
    } else if (bl_tag(t) != BL_LST) {
        atomic(j, t);
    } else if (partial || !is_proper(t)) {
        partial_list(j, t);
    } else {
        bl_out_char(j->o, '[');
        push(j, (struct item){.term = bl_ptr(t)[1], .rest = true});
        push(j, (struct item){.term = bl_ptr(t)[0]});
    }
}

void bl_json_term(struct bl_machine *m, struct bl_out *o, bl_word t) {
    struct json j = {.o = o};
    push(&j, (struct item){.term = t});
    while (j.items > 0 &&
           bl_may_write(m, o->bytes + j.items * sizeof *j.item)) {
        const struct item i = j.item[--j.items];
        if (i.text != NULL)
            bl_out_str(o, i.text);
        else if (i.rest)
            rest(&j, bl_deref(i.term));
        else
            term(&j, bl_deref(i.term), i.partial);
    }
    free(j.item);
}

void bl_json_answer(struct bl_machine *m, struct bl_out *o,
                    const struct bl_read_result *query) {
    bool first = true;
    bl_out_str(o, "{\"schema\":\"leaflog.answer/1\",\"bindings\":{");
    for (size_t i = 0; i < query->n_vars; i++) {
        const struct bl_read_var *const v = &query->vars[i];
        if (v->name[0] == '_')
            continue;
        if (!first)
            bl_out_char(o, ',');
        first = false;
        string(o, v->name, __builtin_strlen(v->name));
        bl_out_char(o, ':');
        if (bl_is_acyclic(m, v->var) == BL_FAIL)
            bl_out_str(o, "{\"cyclic\":true}");
        else
            bl_json_term(m, o, v->var);
    }
    bl_out_str(o, "}}\n");
}
