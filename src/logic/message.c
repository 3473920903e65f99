// SPDX-License-Identifier: MIT
//
// Error terms as sentences for people, and the context that errors get on
// their way: the builtin or clause they come from, with file and line.
//
#include "logic/message.h"

#include "logic/builtin.h"
#include "logic/engine.h"
#include "logic/stream.h"

#include <string.h>

// ---- context

// The clause whose code contains `pc`. Only predicates with rules are looked
// through, so facts by the million cost nothing here.
static const struct bl_clause *clause_at(const bl_word *pc) {
    for (struct bl_pred *p = bl_pred_first(); p != NULL; p = p->next) {
        struct bl_clauses *const l = bl_load_acquire(&p->clauses);
        if (l == NULL || bl_load_relaxed(&p->rules) == 0)
            continue;
        const uint32_t end = bl_load_acquire(&l->end);
        for (uint32_t i = bl_load_relaxed(&l->start); i < end; i++) {
            const struct bl_clause *const c = l->item[i];
            const bl_word *const code = bl_load_acquire(&c->code);
            if (c->kind == BL_CLAUSE_CODE && pc >= code &&
                pc < code + c->code_words)
                return c;
        }
    }
    return NULL;
}

static bool wants_context(const struct bl_record *r) {
    if (r == NULL || r->roots != 1 || bl_tag(r->word[0]) != BL_STR)
        return false;
    const size_t at = (size_t)(r->word[0] >> BL_TAG_BITS);
    return r->word[at] == BL_FN(error_2) &&
           r->word[at + 2] == (((bl_word)(at + 2) << BL_TAG_BITS) | BL_REF);
}

void bl_error_add_context(struct bl_machine *m, const bl_word *pc,
                          const struct bl_pred *culprit) {
    if (!wants_context(m->ball))
        return;
    const struct bl_clause *const c = clause_at(pc);
    const bool library = c != NULL && (c->pred->flags & BL_PRED_LIBRARY);
    const struct bl_pred *const p = culprit != NULL ? culprit
                                    : c != NULL     ? c->pred
                                                    : NULL;
    if (p == NULL)
        return;
    bl_word t;
    struct bl_record *const r = m->ball;
    bl_word *const h = m->h;
    if (!bl_record_load(m, r, &t))
        return;
    bl_word place = bl_new_var(m);
    if (c != NULL && c->file != NULL && !library)
        place = bl_struct2(m, BL_ATOM(colon), bl_atom_str(c->file),
                           bl_int((int64_t)c->line));
    bl_ptr(t)[2] =
        bl_struct2(m, BL_ATOM(context), bl_indicator(m, p->functor), place);
    struct bl_record *const new = bl_record_make(m, &t, 1);
    m->h = h;
    if (new == NULL)
        return;
    m->ball = new;
    bl_record_free(r);
}

// ---- sentences

struct sentence {
    struct bl_machine *m;
    struct bl_out *o;
};

static void put_term(struct sentence *s, bl_word t) {
    const struct bl_write_options w = {.quoted = true, .numbervars = true};
    bl_write_term(s->m, s->o, t, &w);
}

// Words of ours, where it is an atom.
static void put_words(struct sentence *s, bl_word t) {
    t = bl_deref(t);
    if (bl_is_atom(t))
        bl_out_bytes(s->o, bl_atom_text(t), bl_atom_bytes(t));
    else
        put_term(s, t);
}

// Text with %1, %2, %3 for the arguments of the formal term, and &1 to &3 for
// those that are words.
static void put_text(struct sentence *s, const char *text,
                     const bl_word *args) {
    for (; *text != 0; text++) {
        const bool argument = text[1] >= '1' && text[1] <= '3';
        if (*text == '%' && argument)
            put_term(s, args[*++text - '1']);
        else if (*text == '&' && argument)
            put_words(s, args[*++text - '1']);
        else
            bl_out_char(s->o, *text);
    }
}

static const struct {
    const char *name;
    uint32_t arity;
    const char *text;
} sentences[] = {
    {"instantiation_error", 0, "an argument is not instantiated enough"},
    {"type_error", 2, "type error: %1 is expected, found %2"},
    {"domain_error", 2, "domain error: %1 is expected, found %2"},
    {"existence_error", 2, "%1 %2 does not exist"},
    {"permission_error", 3, "no permission to %1 %2 %3"},
    {"representation_error", 1, "limit reached: %1"},
    {"evaluation_error", 1, "arithmetic: %1"},
    {"resource_error", 1, "out of %1: the limit of this run is reached"},
    {"syntax_error", 1, "syntax error: &1"},
    {"stratification_error", 2,
     "not stratified: %1 depends on itself through &2"},
    {"format", 1, "format/2: %1"},
    {"shell", 2, "shell: %1 %2"},
};

static bool put_formal(struct sentence *s, bl_word formal) {
    if (!bl_is_callable(formal))
        return false;
    const bl_word f = bl_term_functor(formal);
    const char *const name = bl_atom_text(bl_functor_name(f));
    const bl_word *const args =
        bl_is_atom(formal) ? NULL : bl_term_args(formal);
    if (strcmp(name, "existence_error") == 0 && args != NULL &&
        bl_deref(args[0]) == BL_ATOM(procedure)) {
        put_text(s, "unknown procedure: %2", args);
        return true;
    }
    for (size_t i = 0; i < BL_ARRAY_LEN(sentences); i++) {
        if (sentences[i].arity == bl_functor_arity(f) &&
            strcmp(sentences[i].name, name) == 0) {
            put_text(s, sentences[i].text, args);
            return true;
        }
    }
    return false;
}

static void put_context(struct sentence *s, bl_word context) {
    if (bl_tag(context) != BL_STR || *bl_ptr(context) != BL_FN(context_2))
        return;
    const bl_word where = bl_deref(bl_ptr(context)[1]);
    const bl_word place = bl_deref(bl_ptr(context)[2]);
    if (!bl_is_var(where)) {
        bl_out_str(s->o, "\n    in ");
        put_term(s, where);
    }
    if (bl_is_var(place))
        return;
    bl_out_str(s->o, bl_is_var(where) ? "\n    " : ", ");
    if (bl_tag(place) == BL_STR && *bl_ptr(place) == BL_FN(colon_2)) {
        const struct bl_write_options plain = {.quoted = false};
        bl_write_term(s->m, s->o, bl_ptr(place)[1], &plain);
        bl_out_char(s->o, ':');
        bl_write_term(s->m, s->o, bl_ptr(place)[2], &plain);
    } else {
        put_term(s, place);
    }
}

void bl_message_of(struct bl_machine *m, bl_word ball, struct bl_out *out) {
    struct sentence s = {m, out};
    ball = bl_deref(ball);
    bl_out_str(out, "");
    if (bl_tag(ball) == BL_STR && *bl_ptr(ball) == BL_FN(error_2) &&
        put_formal(&s, bl_deref(bl_ptr(ball)[1]))) {
        put_context(&s, bl_deref(bl_ptr(ball)[2]));
        return;
    }
    if (ball == BL_ATOM(interrupt)) {
        bl_out_str(out, "interrupted");
        return;
    }
    bl_out_str(out, "uncaught exception: ");
    put_term(&s, ball);
}

void bl_print_record(struct bl_machine *m, const struct bl_record *ball,
                     const char *where) {
    bl_word t;
    struct bl_out o = {0};
    bl_word *const h = m->h;
    if (!bl_record_load(m, ball, &t))
        return;
    bl_message_of(m, t, &o);
    bl_flush_output();
    fprintf(stderr, "%s: error: %s\n", where != NULL ? where : "leaflog",
            o.text);
    bl_out_fini(&o);
    m->h = h;
}

void bl_print_ball(struct bl_machine *m, const char *where) {
    struct bl_record *const r = m->ball;
    m->ball = NULL;
    if (r == NULL)
        return;
    bl_print_record(m, r, where);
    bl_record_free(r);
}

static int message_2(struct bl_machine *m, bl_word *a) {
    struct bl_out o = {0};
    bl_message_of(m, a[0], &o);
    const bl_word text = bl_atom(o.text, o.bytes);
    bl_out_fini(&o);
    return bl_answer(m, a[1], text);
}

void bl_builtins_message(void) {
    static const struct bl_builtin_row rows[] = {
        {"$message", 2, message_2},
    };
    BL_DEFINE(rows);
}
