// SPDX-License-Identifier: MIT
//
// Facts from CSV and TSV files: a row is a fact, a field an integer, a number
// or an atom. In CSV a field may stand in double quotes, with "" for one of
// them, and is then an atom. All rows have as many fields as the first.
// They become facts together or, after an error, not at all.
//
#include "logic/builtin.h"
#include "logic/engine.h"
#include "logic/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct rows {
    struct bl_machine *m;
    const char *at, *end;
    char separator;
    uint32_t line;
    struct bl_out field;
    bool quoted;
    bool open; // the text ended within quotes
    struct bl_clause **fact;
    size_t facts, capacity;
};

static bool at_row_end(const struct rows *r) {
    return r->at == r->end || *r->at == '\n' ||
           (*r->at == '\r' && (r->at + 1 == r->end || r->at[1] == '\n'));
}

static void read_quoted(struct rows *r) {
    r->quoted = true;
    r->at++;
    while (r->at < r->end) {
        if (*r->at == '"') {
            r->at++;
            if (r->at == r->end || *r->at != '"')
                return;
        }
        r->line += *r->at == '\n';
        bl_out_char(&r->field, *r->at++);
    }
    r->open = true;
}

static void read_field(struct rows *r) {
    r->field.bytes = 0;
    r->quoted = false;
    bl_out_str(&r->field, "");
    if (r->separator != '\t' && r->at < r->end && *r->at == '"')
        read_quoted(r);
    const char *const start = r->at;
    while (!at_row_end(r) && *r->at != r->separator)
        r->at++;
    bl_out_bytes(&r->field, start, (size_t)(r->at - start));
}

// Integers in the common form, without the lexer.
static bool as_integer(const struct bl_out *field, bl_word *out) {
    const char *s = field->text;
    const bool negative = *s == '-';
    s += negative;
    int64_t n = 0;
    if (*s < '0' || *s > '9' || (*s == '0' && s[1] != 0))
        return false;
    for (; *s >= '0' && *s <= '9'; s++) {
        if (n > BL_INT_MAX / 10 - 1)
            return false;
        n = n * 10 + (*s - '0');
    }
    *out = bl_int(negative ? -n : n);
    return s == field->text + field->bytes; // and not before a zero byte
}

static bl_word field_word(struct rows *r) {
    bl_word w;
    const bool digit = strpbrk(r->field.text, "0123456789") != NULL;
    if (!r->quoted && digit &&
        (as_integer(&r->field, &w) ||
         bl_parse_number(r->m, r->field.text, r->field.bytes, &w)))
        return w;
    return bl_atom(r->field.text, r->field.bytes);
}

static void end_row(struct rows *r) {
    if (r->at < r->end && *r->at == '\r')
        r->at++;
    if (r->at < r->end)
        r->at++;
    r->line++;
}

static bool read_row(struct rows *r, bl_word *words, uint32_t *n) {
    *n = 0;
    for (;;) {
        if (*n == BL_MAX_ARITY)
            return false;
        read_field(r);
        words[(*n)++] = field_word(r);
        if (at_row_end(r))
            break;
        r->at++;
    }
    end_row(r);
    return true;
}

static int bad_row(struct rows *r, const char *path, uint32_t line,
                   uint32_t have, uint32_t want) {
    char text[300];
    if (r->open)
        snprintf(text, sizeof text, "%s:%u: quotes that nothing closes", path,
                 line);
    else if (have > BL_MAX_ARITY)
        snprintf(text, sizeof text, "%s:%u: a row of more than %u fields", path,
                 line, BL_MAX_ARITY);
    else
        snprintf(text, sizeof text,
                 "%s:%u: a row of %u fields among rows of %u", path, line, have,
                 want);
    return bl_throw_syntax(r->m, text);
}

static void keep(struct rows *r, struct bl_clause *fact) {
    if (r->facts == r->capacity) {
        r->capacity = r->capacity * 2 + 256;
        r->fact = realloc(r->fact, r->capacity * sizeof(struct bl_clause *));
        bl_must_have(r->fact);
    }
    r->fact[r->facts++] = fact;
}

static int add_row(struct rows *r, struct bl_pred *p, const bl_word *words) {
    bool plain = true;
    for (uint32_t i = 0; i < p->arity; i++)
        plain = plain && !bl_is_box(words[i]);
    struct bl_clause *const c =
        plain ? bl_clause_new_fact(p, words)
              : bl_clause_compile(r->m, bl_struct(r->m, p->functor, words));
    if (c == NULL)
        return BL_THROW;
    keep(r, c);
    return BL_TRUE;
}

static int read_rows(struct rows *r, const char *path, bl_word name) {
    struct bl_pred *p = NULL;
    bl_word words[BL_MAX_ARITY];
    while (r->at < r->end) {
        bl_word *const h = r->m->h;
        const uint32_t line = r->line;
        uint32_t n;
        if (at_row_end(r)) { // an empty line
            end_row(r);
            continue;
        }
        if (!read_row(r, words, &n))
            return bad_row(r, path, line, BL_MAX_ARITY + 1, 0);
        if (p == NULL)
            p = bl_pred_ensure(bl_functor(name, n));
        if (r->open || n != p->arity)
            return bad_row(r, path, line, n, p->arity);
        if (add_row(r, p, words) != BL_TRUE)
            return BL_THROW;
        r->m->h = h;
    }
    return BL_TRUE;
}

// All rows were read: now the predicate has them.
static int add_facts(struct rows *r) {
    if (r->facts == 0)
        return BL_TRUE;
    struct bl_pred *const p = r->fact[0]->pred;
    if (!bl_pred_take_over(r->m, p))
        return bl_throw_permission(r->m, BL_ATOM_modify,
                                   BL_ATOM_static_procedure,
                                   bl_indicator(r->m, p->functor));
    const bool followed = (p->flags & BL_PRED_INCREMENTAL) != 0;
    // as where a file adds clauses
    const bool stale = (p->flags & BL_PRED_DYNAMIC) == 0 && p->count > 0;
    if (followed && bl_may_abolish_tables(r->m) != BL_TRUE)
        return BL_THROW;
    for (size_t i = 0; i < r->facts; i++)
        bl_clause_add(r->fact[i], true);
    r->facts = 0;
    return followed || stale ? bl_abolish_tables(r->m) : BL_TRUE;
}

int bl_load_csv(struct bl_machine *m, const char *path, bl_word name,
                char separator, int64_t *count) {
    size_t length;
    char *const text = bl_file_contents(path, &length);
    *count = 0;
    if (text == NULL)
        return errno == ENOENT
                   ? bl_throw_existence(m, BL_ATOM_source_sink,
                                        bl_atom_str(path))
                   : bl_throw_permission(m, BL_ATOM_open, BL_ATOM_source_sink,
                                         bl_atom_str(path));
    struct rows r = {.m = m,
                     .at = text,
                     .end = text + length,
                     .separator = separator,
                     .line = 1};
    int result = read_rows(&r, path, name);
    const size_t facts = r.facts;
    if (result == BL_TRUE)
        result = add_facts(&r);
    if (result == BL_TRUE)
        *count = (int64_t)facts;
    while (r.facts > 0)
        bl_clause_free(r.fact[--r.facts]);
    free(r.fact);
    bl_out_fini(&r.field);
    free(text);
    return result;
}
