// SPDX-License-Identifier: MIT
//
// Lists: what is worth doing in C. The rest is in library.pl.
//
#include "logic/arith.h"
#include "logic/builtin.h"
#include "logic/compare.h"
#include "logic/memory.h"

#include <stdlib.h>
#include <string.h>

static int make_list_of(struct bl_machine *m, int64_t n, bl_word tail) {
    if (!bl_heap_ensure(m, 3 * (size_t)n + 4))
        return BL_THROW;
    bl_word rest = BL_ATOM(nil);
    for (int64_t i = 0; i < n; i++) {
        const bl_word v = bl_new_var(m);
        rest = bl_list_cell(m, v, rest);
    }
    return bl_answer(m, tail, rest);
}

// The state, for an open list, is the next length.
static int length_2(struct bl_machine *m, bl_word *a) {
    bl_word t = bl_deref(a[0]);
    const int64_t n = bl_list_length(&t);
    const bl_word length = bl_deref(a[1]);
    if (!bl_is_var(length) && !bl_is_integer(length))
        return bl_throw_type(m, BL_ATOM_integer, length);
    if (bl_is_integer(length) && bl_num_sign(bl_num_of(length)) < 0)
        return bl_throw_domain(m, "not_less_than_zero", length);
    if (t == BL_ATOM(nil))
        return bl_answer(m, length, bl_int(n));
    if (!bl_is_var(t))
        return bl_throw_type(m, BL_ATOM_list, a[0]);
    if (bl_is_integer(length)) {
        if (bl_is_big(length))
            return bl_throw_resource(m, "memory");
        return bl_int_value(length) < n
                   ? BL_FAIL
                   : make_list_of(m, bl_int_value(length) - n, t);
    }
    bl_word *const state = bl_state(m);
    const int64_t more = *state == 0 ? 0 : bl_int_value(*state);
    *state = bl_int(more + 1);
    if (make_list_of(m, more, t) != BL_TRUE)
        return BL_THROW;
    const int r = bl_answer(m, length, bl_int(n + more));
    return r == BL_TRUE ? BL_MORE : r;
}

// ---- sorting: a merge sort, which is stable and needs no comparison state

struct sorting {
    struct bl_machine *m;
    size_t key; // argument to compare, 0: the term
    bool descending;
};

static bl_word key_of(const struct sorting *s, bl_word t) {
    if (s->key == 0)
        return t;
    return bl_term_args(bl_deref(t))[s->key - 1];
}

static int order(const struct sorting *s, bl_word a, bl_word b) {
    const int r = bl_compare(s->m, key_of(s, a), key_of(s, b));
    return s->descending ? -r : r;
}

static void merge(const struct sorting *s, const bl_word *from, bl_word *to,
                  size_t left, size_t middle, size_t right) {
    size_t i = left;
    size_t j = middle;
    for (size_t k = left; k < right; k++) {
        const bool first =
            j == right || (i < middle && order(s, from[i], from[j]) <= 0);
        to[k] = first ? from[i++] : from[j++];
    }
}

// Returns which of the two arrays holds the result.
static bl_word *merge_sort(const struct sorting *s, bl_word *a, bl_word *b,
                           size_t n) {
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t left = 0; left < n; left += 2 * width) {
            const size_t middle = left + width < n ? left + width : n;
            const size_t right = left + 2 * width < n ? left + 2 * width : n;
            merge(s, a, b, left, middle, right);
        }
        bl_word *const c = a;
        a = b;
        b = c;
    }
    return a;
}

static int sort_list(struct sorting *s, bl_word in, bool unique, bl_word out) {
    struct bl_machine *const m = s->m;
    bl_word *items;
    size_t n;
    if (bl_take_list(m, in, &items, &n) != BL_TRUE)
        return BL_THROW;
    int r = bl_take_partial_list(m, out);
    for (size_t i = 0; s->key > 0 && r == BL_TRUE && i < n; i++) {
        const bl_word t = bl_deref(items[i]);
        if (!bl_is_compound(t))
            r = bl_throw_type(m, BL_ATOM_compound, t);
        else if (bl_functor_arity(bl_term_functor(t)) < s->key)
            r = bl_throw_type(m, BL_ATOM_compound, t);
    }
    bl_word *const other = malloc((n + 1) * sizeof *other);
    bl_must_have(other);
    if (r == BL_TRUE && !bl_heap_ensure(m, 2 * n + 2))
        r = BL_THROW;
    if (r == BL_TRUE) {
        bl_word *const sorted = merge_sort(s, items, other, n);
        size_t kept = 0;
        for (size_t i = 0; i < n; i++) {
            if (!unique || kept == 0 ||
                order(s, sorted[kept - 1], sorted[i]) != 0)
                sorted[kept++] = sorted[i];
        }
        r = m->ball != NULL // while comparing
                ? BL_THROW
                : bl_answer(m, out,
                            bl_make_list(m, sorted, kept, BL_ATOM(nil)));
    }
    free(items);
    free(other);
    return r;
}

static int msort_2(struct bl_machine *m, bl_word *a) {
    struct sorting s = {.m = m};
    return sort_list(&s, a[0], false, a[1]);
}

static int sort_2(struct bl_machine *m, bl_word *a) {
    struct sorting s = {.m = m};
    return sort_list(&s, a[0], true, a[1]);
}

static int keysort_2(struct bl_machine *m, bl_word *a) {
    bl_word t = bl_deref(a[0]);
    if (bl_list_length(&t) < 0)
        return bl_throw_type(m, BL_ATOM_list, t);
    if (bl_is_var(t))
        return bl_throw_instantiation(m);
    for (t = bl_deref(a[0]); bl_tag(t) == BL_LST; t = bl_deref(bl_ptr(t)[1])) {
        const bl_word pair = bl_deref(bl_ptr(t)[0]);
        if (bl_is_var(pair))
            return bl_throw_instantiation(m);
        if (bl_tag(pair) != BL_STR || *bl_ptr(pair) != BL_FN(minus_2))
            return bl_throw_type(m, BL_ATOM_pair, pair);
    }
    struct sorting s = {.m = m, .key = 1};
    return sort_list(&s, a[0], false, a[1]);
}

static int sort_4(struct bl_machine *m, bl_word *a) {
    int64_t key;
    bl_word how;
    if (bl_take_size(m, a[0], &key) != BL_TRUE ||
        bl_take_atom(m, a[1], &how) != BL_TRUE)
        return BL_THROW;
    const char *const name = bl_atom_text(how);
    const bool down = strcmp(name, "@>") == 0 || strcmp(name, "@>=") == 0;
    const bool up = strcmp(name, "@<") == 0 || strcmp(name, "@=<") == 0;
    if (!up && !down)
        return bl_throw_domain(m, "order", how);
    struct sorting s = {.m = m, .key = (size_t)key, .descending = down};
    return sort_list(&s, a[2], name[2] == 0, a[3]);
}

void bl_builtins_list(void) {
    static const struct bl_builtin_row iso[] = {
        {"sort", 2, sort_2},
        {"keysort", 2, keysort_2},
        {"sort", 4, sort_4},
    };
    static const struct bl_builtin_row rows[] = {
        {"msort", 2, msort_2},
    };
    static const struct bl_builtin_row more[] = {
        {"length", 2, length_2},
    };
    BL_DEFINE_ISO(iso);
    BL_DEFINE(rows);
    BL_DEFINE_MORE(more);
}
