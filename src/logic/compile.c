// SPDX-License-Identifier: MIT
//
// Clauses into instructions, in two passes over the clause. The first numbers
// goals and finds for each variable the chunks it occurs in (a chunk ends with
// a call); the second writes code. A variable of one chunk lives in a
// register, any other in the environment; where the body branches, all live in
// the environment, since the branches start from there.
// Source: the abstract machine of [Warren-1983], with all variables on the
// heap, which makes every word in a register or slot free to be copied.
//
#include "logic/compile.h"

#include "logic/memory.h"
#include "logic/record.h"

#include <stdlib.h>
#include <string.h>

void bl_emit(struct bl_compiler *c, bl_word w) {
    if (c->analysing)
        return;
    if (c->used == c->capacity) {
        c->capacity = c->capacity * 2 + 64;
        c->code = realloc(c->code, c->capacity * sizeof(bl_word));
        bl_must_have(c->code);
    }
    c->code[c->used++] = w;
}

static void push_size(size_t **list, size_t *n, size_t *capacity, size_t x) {
    if (*n == *capacity) {
        *capacity = *capacity * 2 + 16;
        *list = realloc(*list, *capacity * sizeof **list);
        bl_must_have(*list);
    }
    (*list)[(*n)++] = x;
}

size_t bl_new_label(struct bl_compiler *c) {
    push_size(&c->label, &c->labels, &c->label_capacity, SIZE_MAX);
    return c->labels - 1;
}

size_t bl_note_construct(struct bl_compiler *c) {
    if (c->analysing)
        push_size(&c->note, &c->notes, &c->note_capacity, 0);
    else
        c->notes++;
    return c->notes - 1;
}

void bl_emit_label(struct bl_compiler *c, size_t label) {
    push_size(&c->fixup, &c->fixups, &c->fixup_capacity, c->used);
    bl_emit(c, label);
}

void bl_place_label(struct bl_compiler *c, size_t label) {
    c->label[label] = c->used;
}

// ---- variables

static void number_var(struct bl_compiler *c, bl_word var) {
    if (c->vars == c->var_capacity) {
        c->var_capacity = c->var_capacity * 2 + 16;
        c->var = realloc(c->var, c->var_capacity * sizeof c->var[0]);
        bl_must_have(c->var);
    }
    c->var[c->vars] = (struct bl_cvar){
        .cell = bl_ptr(var), .head_arg = -1, .goal_arg = -1, .at = -1};
    *bl_ptr(var) = bl_level(c->vars);
    c->vars++;
}

// Gives every variable of the clause its number; counts the clause's words.
static bool number_variables(struct bl_compiler *c, bl_word t) {
    size_t depth = 0;
    for (;;) {
        t = bl_deref(t);
        if (bl_is_var(t)) {
            number_var(c, t);
        } else if (bl_is_compound(t)) {
            const size_t n =
                bl_tag(t) == BL_LST ? 2 : bl_functor_arity(*bl_ptr(t));
            if (!bl_scratch_ensure(c->m, depth + n))
                return false;
            for (size_t i = n; i-- > 0;)
                bl_scratch(c->m)[depth++] = bl_term_args(t)[i];
            c->term_words += n + 1;
        }
        if (depth == 0)
            return true;
        t = bl_scratch(c->m)[--depth];
    }
}

static void restore_variables(struct bl_compiler *c) {
    for (size_t i = 0; i < c->vars; i++)
        *c->var[i].cell = bl_ref(c->var[i].cell);
}

static bool in_place(const struct bl_compiler *c, const struct bl_cvar *v) {
    return v->head_arg >= 0 && v->head_arg == v->goal_arg && !c->uses_args;
}

// Decides where each variable lives.
static void place_variables(struct bl_compiler *c, bool all_permanent) {
    c->first_x = (int)c->max_arity + 1;
    for (size_t i = 0; i < c->vars; i++) {
        struct bl_cvar *const v = &c->var[i];
        if (v->occurrences < 2)
            continue;
        v->permanent = v->permanent || all_permanent;
        if (v->permanent && c->slots < (int)BL_LIVE_SLOTS)
            c->in_slot[c->slots] = v;
        if (v->permanent)
            v->at = c->slots++;
        else if (in_place(c, v))
            v->at = v->head_arg;
        else
            v->at = c->first_x++;
    }
    c->next_x = c->first_x;
    // a condition takes two slots at most
    const size_t slots = (size_t)c->slots + 2 * c->notes;
    c->first = slots > BL_LIVE_SLOTS ? c->slots : -1;
}

// ---- the clause

static void emit_entry(struct bl_compiler *c) {
    if (c->term_words * 2 > BL_HEAP_MARGIN / 2) {
        bl_emit(c, BL_OP_ENSURE);
        bl_emit(c, c->term_words * 2);
    }
    if (!c->environment)
        return;
    bl_emit(c, BL_OP_ALLOCATE);
    bl_emit(c, 0); // the number of slots, set at the end
    if (c->cut_slot >= 0) {
        bl_emit(c, BL_OP_GET_LEVEL);
        bl_emit(c, (bl_word)c->cut_slot);
        if (c->cut_slot < (int)BL_LIVE_SLOTS)
            c->levels_live |= (uint64_t)1 << c->cut_slot;
    }
}

// See BL_LIVE_FIRST.
static void make_variables(struct bl_compiler *c) {
    for (size_t i = 0; i < c->vars; i++) {
        struct bl_cvar *const v = &c->var[i];
        if (!v->permanent || v->at < 0)
            continue;
        bl_emit(c, BL_OP_INIT_Y);
        bl_emit(c, (bl_word)v->at);
        v->seen = true;
    }
}

static size_t entry_position(const struct bl_compiler *c) {
    return c->code[0] == BL_OP_ENSURE ? 2 : 0;
}

static void analyse(struct bl_compiler *c, bl_word body) {
    c->analysing = true;
    bl_compile_body(c, body);
    c->analysing = false;
    c->environment = c->control || c->calls > 1 || c->call_after;
    for (size_t i = 0; i < c->vars; i++)
        c->environment = c->environment || c->var[i].permanent;
    if (c->has_cut && (c->control || !c->neck_only)) {
        c->environment = true;
        c->cut_slot = c->slots++;
    }
    // structures that find no register spill into the environment
    c->environment = c->environment || c->term_words > BL_REGISTERS / 2;
    const size_t registers = c->max_arity + c->vars + 64;
    place_variables(c, c->control || registers > BL_REGISTERS / 2);
    if (registers > BL_REGISTERS / 2)
        c->environment = true;
}

static void generate(struct bl_compiler *c, bl_word head, bl_word body) {
    c->goal = 0;
    c->chunk = 0;
    c->calls = 0;
    emit_entry(c);
    if (c->first >= 0)
        make_variables(c);
    bl_compile_head(c, head);
    bl_compile_body(c, body);
    if (c->environment)
        c->code[entry_position(c) + 1] = (bl_word)c->slots;
}

static bl_word *finished_code(struct bl_compiler *c) {
    bl_word *const code = malloc(c->used * sizeof(bl_word));
    bl_must_have(code);
    memcpy(code, c->code, c->used * sizeof(bl_word));
    for (size_t i = 0; i < c->fixups; i++) {
        const size_t at = c->fixup[i];
        code[at] = bl_make(code + c->label[code[at]], BL_REF);
    }
    return code;
}

static struct bl_clause *new_clause(struct bl_pred *p, bl_word head) {
    const bl_word *const args = p->arity > 0 ? bl_term_args(head) : NULL;
    uint8_t inner = 0;
    for (uint32_t i = 0; i < p->arity && i < BL_INDEXED_ARGS; i++)
        inner |= (uint8_t)(bl_is_compound(bl_deref(args[i])) << i);
    struct bl_clause *const cl = bl_clause_new(p, inner);
    bl_must_have(cl);
    for (uint32_t i = 0; i < p->arity; i++)
        cl->key[i] = bl_key_of(bl_deref(args[i]));
    return cl;
}

static void set_inner_keys(struct bl_clause *cl, bl_word head) {
    for (uint32_t left = cl->inner; left != 0; left &= left - 1) {
        const uint32_t arg = (uint32_t)__builtin_ctz(left);
        const bl_word t = bl_deref(bl_term_args(head)[arg]);
        const uint32_t n = bl_functor_arity(bl_term_functor(t));
        for (uint32_t i = 0; i < BL_INNER && i < n; i++)
            bl_clause_inner(cl, arg)[i] =
                bl_key_of(bl_deref(bl_term_args(t)[i]));
    }
}

static bool is_plain_fact(bl_word head, bl_word body) {
    if (body != BL_ATOM(true))
        return false;
    if (!bl_is_compound(head))
        return true;
    const bl_word *const args = bl_term_args(head);
    const uint32_t n = bl_functor_arity(bl_term_functor(head));
    for (uint32_t i = 0; i < n; i++) {
        const enum bl_tag tag = bl_tag(bl_deref(args[i]));
        if (tag != BL_INT && tag != BL_ATM)
            return false;
    }
    return true;
}

// Counts the head's variables: they belong to the first chunk.
static void note_head(struct bl_compiler *c, bl_word head) {
    if (!bl_is_compound(head))
        return;
    const uint32_t n = c->pred->arity;
    c->max_arity = n;
    const bl_word *const args = bl_term_args(head);
    for (uint32_t i = n; i-- > 0;) {
        struct bl_cvar *const v = bl_cvar_of(c, bl_deref(args[i]));
        // the first argument that it is, which the code meets first
        if (v != NULL)
            v->head_arg = (int)i;
    }
    bl_count_vars(c, head);
}

static struct bl_clause *compile(struct bl_compiler *c, bl_word head,
                                 bl_word body) {
    const bl_word both[2] = {head, body};
    struct bl_clause *const cl = new_clause(c->pred, head);
    set_inner_keys(cl, head);
    if (is_plain_fact(head, body))
        return cl;
    cl->kind = BL_CLAUSE_CODE;
    const bool kept = (c->pred->flags & BL_PRED_DYNAMIC) != 0;
    if (kept)
        cl->source = bl_record_make(c->m, both, 2);
    c->cut_slot = -1;
    if ((!kept || cl->source != NULL) && number_variables(c, head) &&
        number_variables(c, body)) {
        note_head(c, head);
        analyse(c, body);
        if (!c->failed)
            generate(c, head, body);
    } else {
        c->failed = true;
    }
    restore_variables(c);
    if (c->open && !kept && !c->failed) {
        cl->source = bl_record_make(c->m, both, 2);
        c->failed = cl->source == NULL;
    }
    cl->literals = c->literals;
    if (!c->failed)
        bl_store_relaxed(&cl->code, finished_code(c)); // not in a list yet
    cl->code_words = c->used;
    return cl;
}

static void split(bl_word term, bl_word *head, bl_word *body) {
    term = bl_deref(term);
    *head = term;
    *body = BL_ATOM(true);
    if (bl_tag(term) == BL_STR && *bl_ptr(term) == BL_FN(neck_2)) {
        *head = bl_deref(bl_ptr(term)[1]);
        *body = bl_deref(bl_ptr(term)[2]);
    }
    const bl_word colon = BL_FN(colon_2);
    while (bl_tag(*head) == BL_STR && *bl_ptr(*head) == colon)
        *head = bl_deref(bl_ptr(*head)[2]);
}

void bl_clause_free(struct bl_clause *cl) {
    free(bl_load_relaxed(&cl->code));
    while (cl->literals != NULL) {
        struct bl_literal *const next = cl->literals->next;
        free(cl->literals);
        cl->literals = next;
    }
    if (cl->source != NULL)
        bl_record_free(cl->source);
    free(cl);
}

struct bl_clause *bl_clause_compile(struct bl_machine *m, bl_word term) {
    bl_word head;
    bl_word body;
    split(term, &head, &body);
    if (bl_is_var(head)) {
        bl_throw_instantiation(m);
        return NULL;
    }
    if (!bl_is_callable(head)) {
        bl_throw_type(m, BL_ATOM_callable, head);
        return NULL;
    }
    const bl_word functor = bl_term_functor(head);
    if (bl_functor_arity(functor) > BL_MAX_ARITY) {
        bl_throw_representation(m, "max_arity");
        return NULL;
    }
    struct bl_compiler c = {.m = m, .pred = bl_pred_ensure(functor)};
    c.barrier = (c.pred->flags & BL_PRED_BARRIER) != 0;
    c.neck_only = true;
    struct bl_clause *cl = compile(&c, head, body);
    if (c.failed) {
        bl_clause_free(cl);
        cl = NULL;
    }
    free(c.code);
    free(c.var);
    free(c.label);
    free(c.fixup);
    free(c.note);
    free(c.pending);
    return cl;
}
