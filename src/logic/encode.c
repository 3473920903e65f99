// SPDX-License-Identifier: MIT
//
// Terms as tokens, the words that tries are made of, and back. A term is
// written functor first, then its arguments, so no term's tokens begin
// another's. Atoms and integers of a word are their own token; a double takes
// two, a large integer one that counts and one per 60 bits; the i-th variable
// in order of occurrence is the token of level i. Terms of any depth: both
// directions keep a stack of their own.
//
#include "logic/tabling.h"

#include "logic/bigint.h"
#include "logic/engine.h"
#include "logic/error.h"
#include "logic/record.h"

#include <stdlib.h>

static bool grow(struct bl_machine *m, bl_word **list, size_t *capacity,
                 size_t need) {
    if (need <= *capacity)
        return true;
    size_t size = *capacity == 0 ? 256 : *capacity;
    while (size < need)
        size *= 2;
    bl_word *const p = size * sizeof(bl_word) > m->memory_limit
                           ? NULL
                           : realloc(*list, size * sizeof(bl_word));
    if (p == NULL) {
        bl_throw_resource(m, "memory");
        return false;
    }
    *list = p;
    *capacity = size;
    return true;
}

// ---- writing

static bool put_token(struct bl_machine *m, size_t *n, bl_word token) {
    struct bl_tabler *const t = m->tabler;
    if (*n == t->token_capacity) {
        if (t->token_limit != 0 && *n > t->token_limit) {
            bl_throw_resource(m, "term_size");
            return false;
        }
        if (!grow(m, &t->token, &t->token_capacity, *n + 1)) {
            free(t->token); // as large as it may be
            t->token = NULL;
            t->token_capacity = 0;
            return false;
        }
    }
    t->token[(*n)++] = token;
    return true;
}

// While encoding, a variable holds the token of its number.
static bool put_var(struct bl_machine *m, size_t *n, bl_word v) {
    struct bl_tabler *const t = m->tabler;
    if (!grow(m, &t->var, &t->var_capacity, t->vars + 1))
        return false;
    const bl_word token = bl_level(t->vars);
    t->var[t->vars++] = v;
    *bl_ptr(v) = token;
    return put_token(m, n, token);
}

static bool put_float(struct bl_machine *m, size_t *n, bl_word w) {
    const uint64_t bits = *bl_ptr(w);
    const bl_word high = (bits >> 32) << BL_TAG_BITS | BL_BOX;
    const bl_word low = (bits & 0xffffffffu) << BL_TAG_BITS | BL_BOX;
    return put_token(m, n, high) && put_token(m, n, low);
}

static bool put_big(struct bl_machine *m, size_t *n, bl_word w) {
    const size_t pieces = bl_big_pieces(w);
    bool ok = put_token(m, n, bl_big_token(w));
    for (size_t i = 0; ok && i < pieces; i++)
        ok = put_token(m, n, bl_big_piece(w, i));
    return ok;
}

static bool encode_term(struct bl_machine *m, bl_word t, size_t *n) {
    size_t depth = 0;
    for (;;) {
        t = bl_deref(t);
        bool ok;
        if (bl_is_var(t)) {
            ok = put_var(m, n, t);
        } else if (bl_is_float(t)) {
            ok = put_float(m, n, t);
        } else if (bl_is_big(t)) {
            ok = put_big(m, n, t);
        } else if (bl_is_compound(t)) {
            const bl_word f = bl_tag(t) == BL_LST ? BL_FN(dot_2) : *bl_ptr(t);
            const uint32_t arity = bl_functor_arity(f);
            ok = put_token(m, n, f) && bl_scratch_ensure(m, depth + arity);
            for (uint32_t i = arity; ok && i-- > 0;)
                bl_scratch(m)[depth++] = bl_term_args(t)[i];
        } else {
            ok = put_token(m, n, t); // a variable's number among them
        }
        if (!ok)
            return false;
        if (depth == 0)
            return true;
        t = bl_scratch(m)[--depth];
    }
}

long bl_encode(struct bl_machine *m, const bl_word *terms, size_t n,
               bool keep_vars) {
    struct bl_tabler *const t = m->tabler;
    // relaxed: a flag set by another thread counts sooner or later
    const size_t by_flag = bl_load_relaxed(&bl_engine.flag_limit[keep_vars]);
    size_t tokens = 0;
    t->token_limit = by_flag != 0 ? by_flag : bl_engine.token_limit;
    t->vars = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        const bl_word w = bl_deref(terms[i]);
        ok = bl_is_int(w) || bl_is_atom(w) ? put_token(m, &tokens, w)
                                           : encode_term(m, w, &tokens);
    }
    for (size_t i = 0; i < t->vars; i++)
        *bl_ptr(t->var[i]) = t->var[i];
    if (!keep_vars)
        t->vars = 0;
    if (ok && t->token_limit != 0 && tokens > t->token_limit) {
        bl_throw_resource(m, "term_size");
        ok = false;
    }
    return ok ? (long)tokens : -1;
}

bool bl_tabler_add_var(struct bl_machine *m, bl_word v) {
    struct bl_tabler *const t = m->tabler;
    if (!grow(m, &t->var, &t->var_capacity, t->vars + 1))
        return false;
    t->var[t->vars++] = v;
    return true;
}

// ---- reading

// The cells to be filled stand on the scratch stack; variables by number in
// the tabler's list of those decoded.
static bl_word decode_var(struct bl_machine *m, bl_word token, bl_word *cell) {
    struct bl_tabler *const t = m->tabler;
    const size_t i = (size_t)(token >> BL_TAG_BITS);
    if (i < t->decoded)
        return t->decoded_var[i];
    BL_ASSERT(i == t->decoded);
    if (!grow(m, &t->decoded_var, &t->decoded_capacity, i + 1))
        return 0;
    t->decoded_var[t->decoded++] = cell != NULL ? bl_ref(cell) : bl_new_var(m);
    return t->decoded_var[i];
}

static bl_word decode_float(struct bl_machine *m, const uint64_t *token) {
    const uint64_t bits = (token[0] >> BL_TAG_BITS) << 32 |
                          (token[1] >> BL_TAG_BITS & 0xffffffffu);
    double d;
    __builtin_memcpy(&d, &bits, sizeof d);
    return bl_float(m, d);
}

static bool push_args(struct bl_machine *m, bl_word *args, uint32_t n,
                      size_t *depth) {
    if (!bl_scratch_ensure(m, *depth + n))
        return false;
    for (uint32_t i = n; i-- > 0;)
        bl_scratch(m)[(*depth)++] = bl_ref(args + i);
    return true;
}

static bool decode_compound(struct bl_machine *m, bl_word f, bl_word *out,
                            size_t *depth) {
    const uint32_t n = bl_functor_arity(f);
    bl_word *const args = f == BL_FN(dot_2) ? m->h : m->h + 1;
    if (f == BL_FN(dot_2)) {
        *out = bl_make(m->h, BL_LST);
    } else {
        *out = bl_make(m->h, BL_STR);
        *m->h = f;
    }
    m->h = args + n;
    return push_args(m, args, n, depth);
}

// One term from the tokens at *at.
static bool decode_term(struct bl_machine *m, const uint64_t **at,
                        bl_word *out) {
    size_t depth = 0;
    bl_word *cell = out;
    bool on_heap = false;
    for (;;) {
        const bl_word token = *(*at)++;
        bool ok = true;
        switch (bl_tag(token)) {
        case BL_FUN:
            ok = decode_compound(m, token, cell, &depth);
            break;
        case BL_BOX:
            *cell = bl_is_big_token(token) ? bl_big_decode(m, *at - 1)
                                           : decode_float(m, *at - 1);
            *at += bl_box_tokens(token);
            break;
        case BL_LVL:
            *cell = decode_var(m, token, on_heap ? cell : NULL);
            ok = *cell != 0;
            break;
        case BL_INT:
        case BL_ATM:
        case BL_REF:
        case BL_STR:
        case BL_LST:
            *cell = token;
            break;
        }
        if (!ok)
            return false;
        if (depth == 0)
            return true;
        cell = bl_ptr(bl_scratch(m)[--depth]);
        on_heap = true;
    }
}

bool bl_decode(struct bl_machine *m, const uint64_t *token, size_t tokens,
               bl_word *terms, size_t n) {
    m->tabler->decoded = 0;
    if (!bl_heap_ensure(m, 3 * tokens + n))
        return false;
    const uint64_t *at = token;
    for (size_t i = 0; i < n; i++) {
        if (!decode_term(m, &at, &terms[i]))
            return false;
    }
    BL_ASSERT(at == token + tokens);
    return true;
}

static bool bind_answer(struct bl_machine *m, bl_word var, bl_word term) {
    const bl_word v = bl_deref(var);
    if (bl_is_var(v) && !bl_is_var(term)) {
        bl_bind(m, v, term);
        return true;
    }
    return bl_unify(m, v, term);
}

static int unify_compound(struct bl_machine *m, const uint64_t *token,
                          size_t tokens, const bl_word *vars, size_t n) {
    struct bl_tabler *const t = m->tabler;
    if (!grow(m, &t->term, &t->term_capacity, n) ||
        !bl_decode(m, token, tokens, t->term, n))
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (m->tr >= m->trail_end && !bl_trail_grow(m))
            return -1;
        if (!bind_answer(m, vars[i], t->term[i]))
            return m->ball != NULL ? -1 : 0;
    }
    return 1;
}

BL_INLINE bool are_constants(const uint64_t *token, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!bl_is_int(token[i]) && !bl_is_atom(token[i]))
            return false;
    }
    return true;
}

BL_INLINE int unify_constants(struct bl_machine *m, const uint64_t *token,
                              const bl_word *vars, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const bl_word v = bl_deref(vars[i]);
        if (bl_is_var(v))
            bl_bind(m, v, token[i]);
        else if (v != token[i])
            return 0;
    }
    return 1;
}

enum { SHORT_ANSWER = 8 };

int bl_unify_answer(struct bl_machine *m, const struct bl_answer *answer,
                    const struct bl_subgoal *sg, const bl_word *vars,
                    size_t n) {
    uint64_t few[SHORT_ANSWER];
    if (n > 0 && n <= SHORT_ANSWER && bl_answer_read_n(answer, few, n) &&
        are_constants(few, n))
        return unify_constants(m, few, vars, n);
    struct bl_tabler *const t = m->tabler;
    const size_t deepest = bl_answer_depth_max(sg);
    if (!grow(m, &t->token, &t->token_capacity, deepest))
        return -1;
    const uint64_t *const end = t->token + deepest;
    const uint64_t *const token =
        bl_answer_read_fast(answer, t->token + deepest);
    return bl_unify_tokens(m, token, (size_t)(end - token), vars, n);
}

int bl_unify_tokens(struct bl_machine *m, const uint64_t *token, size_t tokens,
                    const bl_word *vars, size_t n) {
    if (tokens != n || !are_constants(token, n))
        return unify_compound(m, token, tokens, vars, n);
    return bl_trail_ensure(m, n) ? unify_constants(m, token, vars, n) : -1;
}
