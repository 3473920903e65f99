// SPDX-License-Identifier: MIT
//
// Atoms and text: lengths, parts, codes, numbers. Positions count characters,
// not bytes.
//
#include "logic/arith.h"
#include "logic/builtin.h"
#include "logic/reader.h"
#include "logic/token.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

// The byte at which character `n` begins.
static size_t offset_of(const char *s, size_t bytes, size_t n) {
    size_t i = 0;
    while (i < bytes && n > 0) {
        i++;
        while (i < bytes && ((unsigned char)s[i] & 0xc0) == 0x80)
            i++;
        n--;
    }
    return i;
}

static int atom_length_2(struct bl_machine *m, bl_word *a) {
    struct bl_out t = {0};
    const bl_word n = bl_deref(a[1]);
    if (bl_is_compound(bl_deref(a[0])))
        return bl_throw_type(m, BL_ATOM_atom, a[0]);
    if (!bl_is_var(n) && !bl_is_integer(n))
        return bl_throw_type(m, BL_ATOM_integer, n);
    if (bl_is_integer(n) && bl_num_sign(bl_num_of(n)) < 0)
        return bl_throw_domain(m, "not_less_than_zero", n);
    if (bl_take_text(m, a[0], &t) != BL_TRUE)
        return BL_THROW;
    const size_t length =
        bl_deref(a[0]) == BL_ATOM(nil) ? 2 : bl_utf8_count(t.text, t.bytes);
    bl_out_fini(&t);
    return bl_answer(m, n, bl_int((int64_t)length));
}

// The text of an atomic term; [] counts as its name here.
static int atomic_text(struct bl_machine *m, bl_word a, struct bl_out *t) {
    a = bl_deref(a);
    if (a == BL_ATOM(nil)) {
        bl_out_str(t, "[]");
        return BL_TRUE;
    }
    if (bl_is_compound(a))
        return bl_throw_type(m, BL_ATOM_atom, a);
    return bl_take_text(m, a, t);
}

typedef bl_word (*list_maker)(struct bl_machine *m, const char *text,
                              size_t bytes, bl_word tail);

static int text_to_list(struct bl_machine *m, const bl_word *a,
                        list_maker make) {
    struct bl_out t = {0};
    if (atomic_text(m, a[0], &t) != BL_TRUE)
        return BL_THROW;
    int r = BL_THROW;
    if (bl_heap_ensure(m, 2 * t.bytes + 2))
        r = bl_answer(m, a[1], make(m, t.text, t.bytes, BL_ATOM(nil)));
    bl_out_fini(&t);
    return r;
}

static int list_to_atom(struct bl_machine *m, const bl_word *a) {
    struct bl_out t = {0};
    if (bl_take_text(m, a[1], &t) != BL_TRUE)
        return BL_THROW;
    const int r = bl_answer(m, a[0], bl_atom(t.text, t.bytes));
    bl_out_fini(&t);
    return r;
}

static int atom_codes_2(struct bl_machine *m, bl_word *a) {
    return bl_is_var(bl_deref(a[0])) ? list_to_atom(m, a)
                                     : text_to_list(m, a, bl_text_codes);
}

static int atom_chars_2(struct bl_machine *m, bl_word *a) {
    return bl_is_var(bl_deref(a[0])) ? list_to_atom(m, a)
                                     : text_to_list(m, a, bl_text_chars);
}

static int char_code_2(struct bl_machine *m, bl_word *a) {
    const bl_word c = bl_deref(a[0]);
    if (bl_is_atom(c)) {
        const char *p = bl_atom_text(c);
        const char *const end = p + bl_atom_bytes(c);
        if (!bl_is_character(c))
            return bl_throw_type(m, BL_ATOM_character, c);
        const bl_word code = bl_deref(a[1]);
        if (!bl_is_var(code) && !bl_is_integer(code))
            return bl_throw_type(m, BL_ATOM_integer, code);
        return bl_answer(m, code, bl_int(bl_utf8_get(&p, end)));
    }
    int64_t code;
    if (!bl_is_var(c))
        return bl_throw_type(m, BL_ATOM_character, c);
    if (bl_is_big(bl_deref(a[1])))
        return bl_throw_representation(m, "character_code");
    if (bl_take_int(m, a[1], &code) != BL_TRUE)
        return BL_THROW;
    if (code < 0 || code > 0x10ffff)
        return bl_throw_representation(m, "character_code");
    char bytes[4];
    return bl_answer(m, c, bl_atom(bytes, bl_utf8_put(bytes, (uint32_t)code)));
}

static int number_from(struct bl_machine *m, bl_word text, bl_word *out) {
    struct bl_out t = {0};
    if (bl_take_text(m, text, &t) != BL_TRUE)
        return BL_THROW;
    const bool ok = bl_parse_number(m, t.text, t.bytes, out);
    bl_out_fini(&t);
    if (ok)
        return BL_TRUE;
    return m->ball != NULL ? BL_THROW : BL_FAIL;
}

// The first item that is no character, or 0.
static bl_word not_a_character(bl_word list) {
    for (; bl_tag(list) == BL_LST; list = bl_deref(bl_ptr(list)[1])) {
        const bl_word item = bl_deref(bl_ptr(list)[0]);
        if (!bl_is_var(item) && !bl_is_atom(item))
            return item;
    }
    return 0;
}

static bool is_ground_list(bl_word t) {
    bl_word end = bl_deref(t);
    if (bl_list_length(&end) < 0)
        return false;
    t = bl_deref(t);
    for (; bl_tag(t) == BL_LST; t = bl_deref(bl_ptr(t)[1])) {
        if (bl_is_var(bl_deref(bl_ptr(t)[0])))
            return false;
    }
    return end == BL_ATOM(nil);
}

// The list says which number it is, where it can or nothing else does.
static int number_text(struct bl_machine *m, bl_word *a, list_maker make) {
    bl_word n;
    const bl_word list = bl_deref(a[1]);
    const bl_word t = bl_deref(a[0]);
    if (!bl_is_var(list) && bl_take_partial_list(m, list) != BL_TRUE)
        return BL_THROW;
    if ((bl_is_compound(list) && (bl_is_var(t) || is_ground_list(list))) ||
        (list == BL_ATOM(nil) && bl_is_var(t))) {
        const int r = number_from(m, list, &n);
        if (r == BL_FAIL)
            return bl_throw_syntax(m, "illegal_number");
        return r == BL_TRUE ? bl_answer(m, t, n) : r;
    }
    if (!bl_is_number(t))
        return bl_throw_type(m, BL_ATOM_number, t);
    return text_to_list(m, a, make);
}

static int number_codes_2(struct bl_machine *m, bl_word *a) {
    return number_text(m, a, bl_text_codes);
}

static int number_chars_2(struct bl_machine *m, bl_word *a) {
    bl_word end = bl_deref(a[1]);
    const bl_word bad =
        bl_list_length(&end) < 0 ? 0 : not_a_character(bl_deref(a[1]));
    if (bad != 0)
        return bl_throw_type(m, BL_ATOM_character, bad);
    return number_text(m, a, bl_text_chars);
}

static int atom_number_2(struct bl_machine *m, bl_word *a) {
    bl_word n;
    const bl_word t = bl_deref(a[0]);
    if (bl_is_var(t)) {
        const bl_word x = bl_deref(a[1]);
        if (!bl_is_number(x))
            return bl_throw_type(m, BL_ATOM_number, x);
        struct bl_out o = {0};
        (void)bl_take_text(m, x, &o);
        const int r = bl_answer(m, t, bl_atom(o.text, o.bytes));
        bl_out_fini(&o);
        return r;
    }
    const int r = number_from(m, t, &n);
    return r == BL_TRUE ? bl_answer(m, a[1], n) : r;
}

static locale_t scripts;

static void find_scripts(void) {
    scripts = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (scripts == (locale_t)0)
        scripts = newlocale(LC_CTYPE_MASK, "C", (locale_t)0);
    BL_CHECK(scripts != (locale_t)0);
}

// Where characters beyond ASCII are letters, if the machine knows them.
static locale_t all_scripts(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_scripts);
    return scripts;
}

static int change_case(struct bl_machine *m, const bl_word *a,
                       wint_t (*change)(wint_t, locale_t)) {
    struct bl_out t = {0};
    struct bl_out changed = {0};
    if (atomic_text(m, a[0], &t) != BL_TRUE)
        return BL_THROW;
    const char *p = t.text;
    const char *const end = p + t.bytes;
    bl_out_str(&changed, "");
    while (p < end) {
        char bytes[4];
        const wint_t c = change(bl_utf8_get(&p, end), all_scripts());
        bl_out_bytes(&changed, bytes, bl_utf8_put(bytes, (uint32_t)c));
    }
    const int r = bl_answer(m, a[1], bl_atom(changed.text, changed.bytes));
    bl_out_fini(&t);
    bl_out_fini(&changed);
    return r;
}

static int upcase_atom_2(struct bl_machine *m, bl_word *a) {
    return change_case(m, a, towupper_l);
}

static int downcase_atom_2(struct bl_machine *m, bl_word *a) {
    return change_case(m, a, towlower_l);
}

// ---- joining and splitting

static int concat_both(struct bl_machine *m, const bl_word *a) {
    struct bl_out t = {0};
    if (atomic_text(m, a[0], &t) != BL_TRUE)
        return BL_THROW;
    struct bl_out u = {0};
    if (atomic_text(m, a[1], &u) != BL_TRUE) {
        bl_out_fini(&t);
        return BL_THROW;
    }
    bl_out_bytes(&t, u.text, u.bytes);
    const int r = bl_answer(m, a[2], bl_atom(t.text, t.bytes));
    bl_out_fini(&t);
    bl_out_fini(&u);
    return r;
}

// One part is known, a[at]: what is left of the whole, if anything.
static int concat_rest(struct bl_machine *m, const bl_word *a, int at) {
    struct bl_out part = {0};
    struct bl_out t = {0};
    if (atomic_text(m, a[at], &part) != BL_TRUE)
        return BL_THROW;
    int r = atomic_text(m, a[2], &t);
    if (r == BL_TRUE && t.bytes >= part.bytes) {
        const size_t n = t.bytes - part.bytes;
        const char *const known = t.text + (at == 0 ? 0 : n);
        const char *const rest = t.text + (at == 0 ? part.bytes : 0);
        r = memcmp(known, part.text, part.bytes) == 0
                ? bl_answer(m, a[1 - at], bl_atom(rest, n))
                : BL_FAIL;
    } else if (r == BL_TRUE) {
        r = BL_FAIL;
    }
    bl_out_fini(&part);
    bl_out_fini(&t);
    return r;
}

// The state is the next number of characters for the first part.
static int atom_concat_3(struct bl_machine *m, bl_word *a) {
    const bool first = !bl_is_var(bl_deref(a[0]));
    const bool second = !bl_is_var(bl_deref(a[1]));
    if (first && second)
        return concat_both(m, a);
    if (first || second)
        return concat_rest(m, a, first ? 0 : 1);
    bl_word *const state = bl_state(m);
    struct bl_out t = {0};
    if (atomic_text(m, a[2], &t) != BL_TRUE)
        return BL_THROW;
    const size_t n = bl_utf8_count(t.text, t.bytes);
    int r = BL_FAIL;
    size_t i = *state == 0 ? 0 : (size_t)bl_int_value(*state);
    for (; r == BL_FAIL && i <= n; i++) {
        const size_t at = offset_of(t.text, t.bytes, i);
        bl_word *const mark = m->tr;
        if (bl_unify(m, a[0], bl_atom(t.text, at)) &&
            bl_unify(m, a[1], bl_atom(t.text + at, t.bytes - at)))
            r = i == n ? BL_TRUE : BL_MORE;
        else
            bl_untrail(m, mark);
    }
    *state = bl_int((int64_t)i);
    bl_out_fini(&t);
    return r;
}

struct sub_atom {
    const char *text;
    size_t bytes;
    size_t length; // characters
};

static bool give_sub(struct bl_machine *m, const bl_word *a,
                     const struct sub_atom *s, size_t before, size_t length) {
    const size_t from = offset_of(s->text, s->bytes, before);
    const size_t to = from + offset_of(s->text + from, s->bytes - from, length);
    bl_word *const mark = m->tr;
    if (bl_unify(m, a[1], bl_int((int64_t)before)) &&
        bl_unify(m, a[2], bl_int((int64_t)length)) &&
        bl_unify(m, a[3], bl_int((int64_t)(s->length - before - length))) &&
        bl_unify(m, a[4], bl_atom(s->text + from, to - from)))
        return true;
    bl_untrail(m, mark);
    return false;
}

// Where the part begins: -1 where that is not known, behind the end where it
// cannot be.
static int64_t known_start(bl_word b, bl_word l, bl_word c, int64_t n) {
    const bool by_rest = bl_is_int(l) && bl_is_int(c);
    if (!bl_is_int(b) && !by_rest)
        return -1;
    const int64_t start =
        bl_is_int(b) ? bl_int_value(b) : n - bl_int_value(l) - bl_int_value(c);
    return start < 0 ? n + 1 : start;
}

// Whether the part that is known stands there.
static bool sub_stands_at(struct bl_machine *m, const bl_word *a,
                          const struct sub_atom *s, int64_t start) {
    const bl_word part = bl_deref(a[4]);
    const char *const needle = bl_atom_text(part);
    const size_t n = bl_atom_bytes(part);
    if (start > (int64_t)s->length)
        return false;
    const size_t at = offset_of(s->text, s->bytes, (size_t)start);
    return at + n <= s->bytes && memcmp(s->text + at, needle, n) == 0 &&
           give_sub(m, a, s, (size_t)start, bl_utf8_count(needle, n));
}

// The part is known: the state is the next byte to search from.
static int find_sub(struct bl_machine *m, const bl_word *a,
                    const struct sub_atom *s, bl_word *state) {
    const bl_word part = bl_deref(a[4]);
    const char *const needle = bl_atom_text(part);
    const size_t n = bl_atom_bytes(part);
    const size_t length = bl_utf8_count(needle, n);
    const int64_t start = known_start(bl_deref(a[1]), bl_int((int64_t)length),
                                      bl_deref(a[3]), (int64_t)s->length);
    if (start >= 0)
        return sub_stands_at(m, a, s, start) ? BL_TRUE : BL_FAIL;
    size_t at = *state == 0 ? 0 : (size_t)bl_int_value(*state);
    for (; at + n <= s->bytes; at++) {
        if (((unsigned char)s->text[at] & 0xc0) == 0x80 ||
            memcmp(s->text + at, needle, n) != 0)
            continue;
        if (!give_sub(m, a, s, bl_utf8_count(s->text, at), length))
            continue;
        *state = bl_int((int64_t)at + 1);
        return BL_MORE;
    }
    return BL_FAIL;
}

// Any part: the state counts start and length as one number.
static int each_sub(struct bl_machine *m, const bl_word *a,
                    const struct sub_atom *s, bl_word *state) {
    const bl_word b = bl_deref(a[1]);
    const bl_word l = bl_deref(a[2]);
    const bl_word c = bl_deref(a[3]);
    const int64_t n = (int64_t)s->length;
    const int64_t start = known_start(b, l, c, n);
    int64_t i = *state == 0 ? 0 : bl_int_value(*state);
    const int64_t all = (n + 1) * (n + 1);
    while (i < all) {
        int64_t before = i / (n + 1);
        int64_t length = i % (n + 1);
        i++;
        if (start >= 0 && before != start) {
            if (before > start || start > n)
                break;
            i = start * (n + 1);
            continue;
        }
        if (bl_is_int(l))
            length = bl_int_value(l);
        else if (bl_is_int(c))
            length = n - before - bl_int_value(c);
        const bool fixed = bl_is_int(l) || bl_is_int(c);
        if (fixed)
            i = (before + 1) * (n + 1); // one per start
        if (length < 0 || before + length > n) {
            i = (before + 1) * (n + 1);
            continue;
        }
        if (give_sub(m, a, s, (size_t)before, (size_t)length)) {
            *state = bl_int(i);
            return fixed && start >= 0 ? BL_TRUE : BL_MORE;
        }
    }
    return BL_FAIL;
}

static int take_position(struct bl_machine *m, bl_word a) {
    a = bl_deref(a);
    if (bl_is_var(a) || bl_is_int(a))
        return BL_TRUE;
    return bl_is_big(a) ? BL_FAIL : bl_throw_type(m, BL_ATOM_integer, a);
}

static int sub_atom_5(struct bl_machine *m, bl_word *a) {
    bl_word *const state = bl_state(m);
    struct bl_out t = {0};
    int taken = BL_TRUE;
    for (int i = 1; i <= 3 && taken == BL_TRUE; i++)
        taken = take_position(m, a[i]);
    if (taken != BL_TRUE)
        return taken;
    if (atomic_text(m, a[0], &t) != BL_TRUE)
        return BL_THROW;
    const struct sub_atom s = {t.text, t.bytes, bl_utf8_count(t.text, t.bytes)};
    const bl_word part = bl_deref(a[4]);
    int r;
    if (bl_is_atom(part))
        r = find_sub(m, a, &s, state);
    else if (!bl_is_var(part))
        r = bl_throw_type(m, BL_ATOM_atom, part);
    else
        r = each_sub(m, a, &s, state);
    bl_out_fini(&t);
    return r;
}

static int join(struct bl_machine *m, bl_word list, const struct bl_out *sep,
                struct bl_out *out) {
    bl_word *items;
    size_t n;
    if (bl_take_list(m, list, &items, &n) != BL_TRUE)
        return BL_THROW;
    int r = BL_TRUE;
    bl_out_str(out, "");
    for (size_t i = 0; r == BL_TRUE && i < n; i++) {
        if (i > 0)
            bl_out_bytes(out, sep->text, sep->bytes);
        r = atomic_text(m, items[i], out);
    }
    free(items);
    return r;
}

static int split(struct bl_machine *m, const bl_word *a,
                 const struct bl_out *sep) {
    struct bl_out t = {0};
    if (sep->bytes == 0)
        return bl_throw_domain(m, "non_empty_atom", bl_deref(a[1]));
    if (bl_take_text(m, a[2], &t) != BL_TRUE)
        return BL_THROW;
    bl_word list = BL_ATOM(nil);
    bl_word *hole = &list;
    const char *p = t.text;
    const char *const end = t.text + t.bytes;
    bool ok = bl_heap_ensure(m, 2 * t.bytes + 4);
    while (ok) {
        const char *const q =
            memmem(p, (size_t)(end - p), sep->text, sep->bytes);
        const size_t n = (size_t)((q != NULL ? q : end) - p);
        *hole = bl_list_cell(m, bl_atom(p, n), BL_ATOM(nil));
        hole = bl_ptr(*hole) + 1;
        if (q == NULL)
            break;
        p = q + sep->bytes;
    }
    bl_out_fini(&t);
    return ok ? bl_answer(m, a[0], list) : BL_THROW;
}

static int atomic_list_concat_3(struct bl_machine *m, bl_word *a) {
    struct bl_out sep = {0};
    if (atomic_text(m, a[1], &sep) != BL_TRUE)
        return BL_THROW;
    int r;
    if (!is_ground_list(a[0]) && !bl_is_var(bl_deref(a[2]))) {
        r = split(m, a, &sep);
    } else {
        struct bl_out out = {0};
        r = join(m, a[0], &sep, &out);
        if (r == BL_TRUE)
            r = bl_answer(m, a[2], bl_atom(out.text, out.bytes));
        bl_out_fini(&out);
    }
    bl_out_fini(&sep);
    return r;
}

static int atomic_list_concat_2(struct bl_machine *m, bl_word *a) {
    bl_word three[3] = {a[0], BL_ATOM(empty), a[1]};
    return atomic_list_concat_3(m, three);
}

// ---- terms as text

static bl_word names_of(struct bl_machine *m, const struct bl_read_result *r) {
    bl_word list = BL_ATOM(nil);
    for (size_t i = r->n_vars; i-- > 0;) {
        if (strcmp(r->vars[i].name, "_") != 0)
            list = bl_list_cell(m,
                                bl_struct2(m, BL_ATOM(equals),
                                           bl_atom_str(r->vars[i].name),
                                           r->vars[i].var),
                                list);
    }
    return list;
}

// Reads a term from text; `names`: its variables as Name = Variable.
static int read_text(struct bl_machine *m, bl_word text, bl_word term,
                     const bl_word *names) {
    struct bl_out t = {0};
    const bool is_nil = bl_deref(text) == BL_ATOM(nil);
    if (is_nil)
        bl_out_str(&t, "[]");
    else if (bl_take_text(m, text, &t) != BL_TRUE)
        return BL_THROW;
    bl_out_str(&t, "\n."); // a comment may come last
    struct bl_source s;
    bl_source_init(&s, NULL, t.text, t.bytes);
    struct bl_read_result result;
    const enum bl_read_status status = bl_read_term(m, &s, &result);
    int r;
    if (status == BL_READ_TERM)
        r = bl_answer(m, term, result.term);
    else if (result.error.no_memory)
        r = bl_throw_resource(m, "memory");
    else
        r = bl_throw_syntax(m, status == BL_READ_ERROR ? result.error.message
                                                       : "end_of_text");
    if (r == BL_TRUE && names != NULL)
        r = !bl_heap_ensure(m, 5 * result.n_vars)
                ? BL_THROW
                : bl_answer(m, *names, names_of(m, &result));
    bl_read_result_fini(&result);
    bl_out_fini(&t);
    return r;
}

static int term_to_atom_2(struct bl_machine *m, bl_word *a) {
    if (!bl_is_var(bl_deref(a[0])) && bl_is_var(bl_deref(a[1]))) {
        struct bl_out o = {0};
        const struct bl_write_options w = {.quoted = true, .numbervars = true};
        bl_write_term(m, &o, a[0], &w);
        const int r = m->ball != NULL
                          ? BL_THROW
                          : bl_answer(m, a[1], bl_atom(o.text, o.bytes));
        bl_out_fini(&o);
        return r;
    }
    return read_text(m, a[1], a[0], NULL);
}

static int atom_to_term_3(struct bl_machine *m, bl_word *a) {
    if (bl_is_var(bl_deref(a[0])))
        return bl_throw_instantiation(m);
    return read_text(m, a[0], a[1], &a[2]);
}

static bool is_in_class(uint32_t c, const char *name) {
    static const struct {
        const char *name;
        int (*holds)(wint_t c, locale_t locale);
        const char *more; // characters
    } classes[] = {
        {"alpha", iswalpha_l, ""}, {"alnum", iswalnum_l, ""},
        {"csym", iswalnum_l, "_"}, {"csymf", iswalpha_l, "_"},
        {"digit", iswdigit_l, ""}, {"space", iswspace_l, ""},
        {"white", NULL, " \t"},    {"end_of_line", NULL, "\n\v\f\r"},
        {"newline", NULL, "\n"},   {"cntrl", iswcntrl_l, ""},
        {"print", iswprint_l, ""}, {"graph", iswgraph_l, ""},
        {"upper", iswupper_l, ""}, {"lower", iswlower_l, ""},
        {"punct", iswpunct_l, ""}, {"period", NULL, ".?!"},
        {"quote", NULL, "'\"`"},   {"paren", NULL, "()[]{}"},
    };
    if (strcmp(name, "ascii") == 0)
        return c < 128;
    for (size_t i = 0; i < BL_ARRAY_LEN(classes); i++) {
        if (strcmp(name, classes[i].name) != 0)
            continue;
        return (c != 0 && c < 128 && strchr(classes[i].more, (int)c) != NULL) ||
               (classes[i].holds != NULL &&
                classes[i].holds((wint_t)c, all_scripts()) != 0);
    }
    return false;
}

// '$char_class'(Char, Class)
static int char_class_2(struct bl_machine *m, bl_word *a) {
    bl_word c;
    bl_word type;
    if (bl_take_atom(m, a[0], &c) != BL_TRUE ||
        bl_take_atom(m, a[1], &type) != BL_TRUE)
        return BL_THROW;
    if (!bl_is_character(c))
        return bl_throw_type(m, BL_ATOM_character, c);
    const char *p = bl_atom_text(c);
    const uint32_t code = bl_utf8_get(&p, p + bl_atom_bytes(c));
    return is_in_class(code, bl_atom_text(type)) ? BL_TRUE : BL_FAIL;
}

void bl_builtins_atom(void) {
    static const struct bl_builtin_row iso[] = {
        {"atom_length", 2, atom_length_2},
        {"atom_codes", 2, atom_codes_2},
        {"atom_chars", 2, atom_chars_2},
        {"char_code", 2, char_code_2},
        {"number_codes", 2, number_codes_2},
        {"number_chars", 2, number_chars_2},
    };
    static const struct bl_builtin_row rows[] = {
        {"atom_number", 2, atom_number_2},
        {"upcase_atom", 2, upcase_atom_2},
        {"downcase_atom", 2, downcase_atom_2},
        {"atomic_list_concat", 2, atomic_list_concat_2},
        {"atomic_list_concat", 3, atomic_list_concat_3},
        {"term_to_atom", 2, term_to_atom_2},
        {"atom_to_term", 3, atom_to_term_3},
        {"$char_class", 2, char_class_2},
    };
    static const struct bl_builtin_row iso_more[] = {
        {"atom_concat", 3, atom_concat_3},
        {"sub_atom", 5, sub_atom_5},
    };
    BL_DEFINE_ISO(iso);
    BL_DEFINE(rows);
    BL_DEFINE_ISO_MORE(iso_more);
}
