// SPDX-License-Identifier: MIT
//
// The instruction loop. `pc` runs through the words of a clause's code; a
// failure goes to the code of the newest choice point; a call goes to the
// entry of its predicate. Everything that can nest lies in the machine's
// areas. Kept in one function, since its labels are what instructions jump to;
// whatever is long or rare is outside.
//
#include "logic/arith.h"
#include "logic/clause.h"
#include "logic/cleanup.h"
#include "logic/error.h"
#include "logic/goal.h"
#include "logic/kept.h"
#include "logic/message.h"
#include "logic/moded.h"
#include "logic/profile.h"
#include "logic/record.h"
#include "logic/tabling.h"

// ---- code that is no clause's

const bl_word bl_code_fail[] = {BL_OP_FAIL};
const bl_word bl_code_catch[] = {BL_OP_RETRY_CATCH};
const bl_word bl_code_query_failed[] = {BL_OP_QUERY_FAILED};
const bl_word bl_code_generator[] = {BL_OP_RETRY_GENERATOR};
const bl_word bl_code_answer[] = {BL_OP_RETRY_ANSWER};
const bl_word bl_code_kept[] = {BL_OP_RETRY_KEPT};
const bl_word bl_code_resume[] = {BL_OP_RETRY_RESUME};
const bl_word bl_code_cleanup[] = {BL_OP_RETRY_CLEANUP};

// In front of a place where clauses go on stand the slots that live there.
static const bl_word catch_exit[] = {BL_LIVE_BARRIER, BL_OP_CATCH_EXIT};
static const bl_word query_true[] = {BL_LIVE_BARRIER, BL_OP_QUERY_TRUE};
static const bl_word new_answer[] = {0, BL_OP_NEW_ANSWER};
const bl_word *const bl_code_catch_exit = catch_exit + 1;
const bl_word *const bl_code_query_true = query_true + 1;
const bl_word *const bl_code_new_answer = new_answer + 1;

static const bl_word retry_clause[] = {BL_OP_RETRY_CLAUSE};
static const bl_word retry_dynamic[] = {BL_OP_RETRY_DYNAMIC};
static const bl_word retry_more[] = {BL_OP_RETRY_MORE};

static bl_word call_one[] = {BL_OP_EXECUTE, 0};
const bl_word *bl_code_call = call_one;

// ---- clauses that may match

struct filter {
    uint32_t n;
    bl_word key[BL_INDEXED_ARGS];
};

BL_INLINE void filter_init(struct filter *f, const struct bl_pred *p,
                           const bl_word *args) {
    f->n = p->arity < BL_INDEXED_ARGS ? p->arity : BL_INDEXED_ARGS;
    for (uint32_t i = 0; i < f->n; i++)
        f->key[i] = bl_key_of(bl_deref(args[i]));
}

BL_INLINE bool may_match(const struct filter *f, const struct bl_clause *c) {
    for (uint32_t i = 0; i < f->n; i++) {
        const bl_word k = c->key[i];
        if (k != f->key[i] && k != 0 && f->key[i] != 0)
            return false;
    }
    return true;
}

BL_INLINE struct bl_clause **next_match(const struct filter *f,
                                        struct bl_clause **at,
                                        struct bl_clause **end) {
    while (at < end && !may_match(f, *at))
        at++;
    return at;
}

static struct bl_clause **next_visible(const struct filter *f,
                                       struct bl_clause **at,
                                       struct bl_clause **end,
                                       uint64_t generation) {
    while (at < end &&
           !(may_match(f, *at) && bl_clause_is_visible(*at, generation)))
        at++;
    return at;
}

BL_INLINE bool unify_fact(struct bl_machine *m, const struct bl_clause *c,
                          const bl_word *args) {
    const uint32_t n = c->pred->arity;
    for (uint32_t i = 0; i < n; i++) {
        const bl_word a = bl_deref(args[i]);
        if (a == c->key[i])
            continue;
        if (!bl_is_var(a))
            return false;
        bl_bind(m, a, c->key[i]);
    }
    return true;
}

// A choice point for the remaining clauses: the arguments, then predicate,
// place, end and generation.
enum { CLAUSE_WORDS = 4 };

static bool push_clauses(struct bl_machine *m, const bl_word *alt,
                         struct bl_pred *p, struct bl_clause **at,
                         struct bl_clause **end, uint64_t generation) {
    const uint32_t n = p->arity;
    struct bl_choice *const b = bl_choice_push(m, alt, n + CLAUSE_WORDS);
    if (b == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++)
        b->arg[i] = m->x[i];
    b->arg[n] = bl_make(p, BL_REF);
    b->arg[n + 1] = bl_make(at, BL_REF);
    b->arg[n + 2] = bl_make(end, BL_REF);
    b->arg[n + 3] = generation;
    return true;
}

// ---- backtracking

BL_INLINE void restore(struct bl_machine *m, const struct bl_choice *b) {
    bl_untrail(m, b->tr);
    m->h = b->h;
    m->hb = b->h;
    m->e = b->e;
    m->cp = b->cp;
}

// False with the ball set where a cleanup threw.
BL_INLINE bool cut_to(struct bl_machine *m, struct bl_choice *b) {
    BL_ASSERT(b <= m->b);
    const bool fine = BL_LIKELY(m->cleanups == 0) || bl_cleanup_above(m, b);
    m->b = b;
    m->hb = b->h;
    bl_after_cut(m);
    return fine;
}

// The choice point just above the level shall have no further solution.
static void disarm(const struct bl_choice *level) {
    static const bl_word no_more[] = {BL_OP_TRUST_ELSE, BL_OP_FAIL};
    struct bl_choice *const b = bl_choice_end(level);
    BL_ASSERT(b->prev == level);
    b->alt = no_more;
}

// What `push_clauses` kept.
struct remaining {
    struct bl_clause **at;
    struct bl_clause **end;
    uint64_t generation;
    struct filter filter;
};

BL_INLINE struct remaining remaining_of(const struct bl_choice *b) {
    const bl_word *const kept = b->arg + b->n - CLAUSE_WORDS;
    struct remaining r = {.at = (struct bl_clause **)(void *)bl_ptr(kept[1]),
                          .end = (struct bl_clause **)(void *)bl_ptr(kept[2]),
                          .generation = kept[3]};
    filter_init(&r.filter, (struct bl_pred *)(void *)bl_ptr(kept[0]), b->arg);
    return r;
}

// Leaves the clauses from `rest` on to the newest choice point, or none of it;
// its arguments are there until the next one is pushed.
BL_INLINE struct bl_choice *take_remaining(struct bl_machine *m,
                                           struct bl_clause **rest,
                                           struct bl_clause **end) {
    struct bl_choice *const b = m->b;
    b->arg[b->n - CLAUSE_WORDS + 1] = bl_make(rest, BL_REF);
    m->b0 = b->prev;
    if (rest == end)
        bl_choice_pop(m);
    return b;
}

// ---- catch, undefined predicates, numbers, tests

static bool open_catch(struct bl_machine *m) {
    struct bl_choice *const b = bl_choice_push(m, bl_code_catch, 4);
    if (b == NULL)
        return false;
    for (int i = 0; i < 3; i++)
        b->arg[i] = m->x[i];
    struct bl_env *const e = bl_env_push(m, 1);
    if (e == NULL)
        return false;
    e->y[0] = bl_level_of(m, b);
    b->arg[3] = bl_make(e, BL_REF);
    m->cp = bl_code_catch_exit;
    return true;
}

static int undefined(struct bl_machine *m, struct bl_pred *p) {
    if (!bl_unknown_is_error(p)) {
        bl_warn_of_unknown(p);
        return BL_FAIL;
    }
    return bl_throw_existence(m, BL_ATOM_procedure,
                              bl_indicator(m, p->functor));
}

static struct bl_num float_bits(bl_word bits) {
    struct bl_num n = {.kind = BL_NUM_FLOAT};
    __builtin_memcpy(&n.d, &bits, sizeof n.d);
    return n;
}

static int other_number_of(struct bl_machine *m, bl_word w,
                           struct bl_num *out) {
    if (!bl_is_box(w))
        return bl_arith_eval(m, w, out);
    *out = bl_num_of(w);
    return BL_TRUE;
}

BL_INLINE int number_of(struct bl_machine *m, bl_word w, struct bl_num *out) {
    w = bl_deref(w);
    if (BL_LIKELY(bl_is_int(w))) {
        *out = (struct bl_num){.kind = BL_NUM_INT, .i = bl_int_value(w)};
        return BL_TRUE;
    }
    return other_number_of(m, w, out);
}

static bool holds(enum bl_opcode op, struct bl_num a, struct bl_num b) {
    const int r = bl_arith_compare(a, b);
    if (r == 2)
        return op == BL_OP_A_NE;
    if (op == BL_OP_A_LT)
        return r < 0;
    if (op == BL_OP_A_LE)
        return r <= 0;
    if (op == BL_OP_A_EQ)
        return r == 0;
    if (op == BL_OP_A_NE)
        return r != 0;
    return op == BL_OP_A_GE ? r >= 0 : r > 0;
}

static bool type_test(enum bl_opcode op, bl_word w) {
    if (op == BL_OP_TEST_VAR)
        return bl_is_var(w);
    if (op == BL_OP_TEST_NONVAR)
        return !bl_is_var(w);
    if (op == BL_OP_TEST_ATOM)
        return bl_is_atom(w);
    if (op == BL_OP_TEST_INTEGER)
        return bl_is_integer(w);
    if (op == BL_OP_TEST_NUMBER)
        return bl_is_number(w);
    if (op == BL_OP_TEST_ATOMIC)
        return bl_is_atomic(w);
    if (op == BL_OP_TEST_COMPOUND)
        return bl_is_compound(w);
    return bl_is_callable(w);
}

// ---- the loop

#define X(name, words) [BL_OP_##name] = &&name,
#define NEXT goto *label[*pc]
#define CALL_EVENT                                                             \
    if (BL_UNLIKELY(m->h >= bl_load_relaxed(&m->heap_soft) ||                  \
                    m->tr >= m->trail_end) &&                                  \
        !bl_machine_call_event(m, p->arity))                                   \
    goto error
#define COMPARE(op, integers)                                                  \
    op:                                                                        \
    num -= 2;                                                                  \
    if (BL_LIKELY(bl_are_ints(num[0], num[1]))                                 \
            ? num[0].i integers num[1].i                                       \
            : holds(BL_OP_##op, num[0], num[1])) {                             \
        pc += 2;                                                               \
        NEXT;                                                                  \
    }                                                                          \
    if (pc[1] == 0)                                                            \
        goto fail;                                                             \
    pc = bl_ptr(pc[1]);                                                        \
    NEXT
#define TYPE_TEST(op)                                                          \
    op:                                                                        \
    if (type_test(BL_OP_##op, bl_deref(m->x[pc[1]]))) {                        \
        pc += 3;                                                               \
        NEXT;                                                                  \
    }                                                                          \
    if (pc[2] == 0)                                                            \
        goto fail;                                                             \
    pc = bl_ptr(pc[2]);                                                        \
    NEXT
#define INTEGER_OPERATION(op, overflows, name)                                 \
    op : {                                                                     \
        int64_t r;                                                             \
        num -= 1;                                                              \
        if (BL_LIKELY(bl_are_ints(num[-1], num[0]) &&                          \
                      !overflows(num[-1].i, num[0].i, &r) && bl_fits_int(r)))  \
            num[-1].i = r;                                                     \
        else if (bl_arith_combine(m, BL_ATOM_##name, num[-1], num[0],          \
                                  &num[-1]) != BL_TRUE)                        \
            goto error;                                                        \
        pc += 1;                                                               \
        NEXT;                                                                  \
    }

int bl_machine_run(struct bl_machine *m) {
    static const void *const label[] = {
#include "logic/opcode.def"
    };
#undef X
    const bl_word *pc = m->pc;
    bl_word *s = NULL;  // next argument of the structure being matched
    bool write = false; // it is being built, at `h`
    struct bl_pred *p = NULL;
    const struct bl_clause *c = NULL;
    struct bl_choice *b = NULL; // of an instruction; not the newest one
    enum bl_tabling_step step = BL_STEP_FAIL;
    struct bl_num num_stack[BL_ARITH_DEPTH];
    struct bl_num *num = num_stack;
    if (BL_UNLIKELY(call_one[1] == 0))
        call_one[1] = bl_make(bl_pred_ensure(BL_FN(call_1)), BL_REF);
    NEXT;

    // -- matching heads

GET_VAR_X:
    m->x[pc[1]] = m->x[pc[2]];
    pc += 3;
    NEXT;
GET_VAR_Y:
    m->e->y[pc[1]] = m->x[pc[2]];
    pc += 3;
    NEXT;
GET_VAL_X:
    if (!bl_unify(m, m->x[pc[1]], m->x[pc[2]]))
        goto fail_or_error;
    pc += 3;
    NEXT;
GET_VAL_Y:
    if (!bl_unify(m, m->e->y[pc[1]], m->x[pc[2]]))
        goto fail_or_error;
    pc += 3;
    NEXT;
GET_CONST : {
    const bl_word a = bl_deref(m->x[pc[2]]);
    if (a != pc[1]) {
        if (!bl_is_var(a))
            goto fail;
        bl_bind(m, a, pc[1]);
    }
    pc += 3;
    NEXT;
}
GET_FLOAT : {
    const bl_word a = bl_deref(m->x[pc[2]]);
    if (bl_is_var(a))
        bl_bind(m, a, bl_make(pc + 1, BL_BOX));
    else if (!bl_is_float(a) || *bl_ptr(a) != pc[1])
        goto fail;
    pc += 3;
    NEXT;
}
GET_STR : {
    const bl_word a = bl_deref(m->x[pc[2]]);
    if (bl_tag(a) == BL_STR) {
        if (*bl_ptr(a) != pc[1])
            goto fail;
        s = bl_ptr(a) + 1;
        write = false;
    } else {
        if (!bl_is_var(a))
            goto fail;
        bl_bind(m, a, bl_make(m->h, BL_STR));
        *m->h++ = pc[1];
        write = true;
    }
    pc += 3;
    NEXT;
}
GET_LIST : {
    const bl_word a = bl_deref(m->x[pc[1]]);
    if (bl_tag(a) == BL_LST) {
        s = bl_ptr(a);
        write = false;
    } else {
        if (!bl_is_var(a))
            goto fail;
        bl_bind(m, a, bl_make(m->h, BL_LST));
        write = true;
    }
    pc += 2;
    NEXT;
}
UNIFY_VAR_X:
    m->x[pc[1]] = write ? bl_new_var(m) : *s++;
    pc += 2;
    NEXT;
UNIFY_VAR_Y:
    m->e->y[pc[1]] = write ? bl_new_var(m) : *s++;
    pc += 2;
    NEXT;
UNIFY_VAL_X:
    if (write)
        *m->h++ = m->x[pc[1]];
    else if (!bl_unify(m, m->x[pc[1]], *s++))
        goto fail_or_error;
    pc += 2;
    NEXT;
UNIFY_VAL_Y:
    if (write)
        *m->h++ = m->e->y[pc[1]];
    else if (!bl_unify(m, m->e->y[pc[1]], *s++))
        goto fail_or_error;
    pc += 2;
    NEXT;
UNIFY_CONST:
    if (write) {
        *m->h++ = pc[1];
    } else {
        const bl_word a = bl_deref(*s++);
        if (a != pc[1]) {
            if (!bl_is_var(a))
                goto fail;
            bl_bind(m, a, pc[1]);
        }
    }
    pc += 2;
    NEXT;
UNIFY_FLOAT:
    if (write)
        *m->h++ = bl_make(pc + 1, BL_BOX);
    else if (!bl_unify(m, bl_make(pc + 1, BL_BOX), *s++))
        goto fail_or_error;
    pc += 2;
    NEXT;
GET_TERM:
    if (!bl_unify(m, m->x[pc[2]], pc[1]))
        goto fail_or_error;
    pc += 3;
    NEXT;
UNIFY_TERM:
    if (write)
        *m->h++ = pc[1];
    else if (!bl_unify(m, pc[1], *s++))
        goto fail_or_error;
    pc += 2;
    NEXT;
UNIFY_VOID:
    if (write)
        for (bl_word i = 0; i < pc[1]; i++)
            (void)bl_new_var(m);
    else
        s += pc[1];
    pc += 2;
    NEXT;
UNIFY_TAIL_STR:
    if (write) {
        *m->h = bl_make(m->h + 1, BL_STR);
        m->h[1] = pc[1];
        m->h += 2;
    } else {
        const bl_word a = bl_deref(*s);
        if (bl_tag(a) == BL_STR) {
            if (*bl_ptr(a) != pc[1])
                goto fail;
            s = bl_ptr(a) + 1;
        } else {
            if (!bl_is_var(a))
                goto fail;
            bl_bind(m, a, bl_make(m->h, BL_STR));
            *m->h++ = pc[1];
            write = true;
        }
    }
    pc += 2;
    NEXT;
UNIFY_TAIL_LIST:
    if (write) {
        *m->h = bl_make(m->h + 1, BL_LST);
        m->h += 1;
    } else {
        const bl_word a = bl_deref(*s);
        if (bl_tag(a) == BL_LST) {
            s = bl_ptr(a);
        } else {
            if (!bl_is_var(a))
                goto fail;
            bl_bind(m, a, bl_make(m->h, BL_LST));
            write = true;
        }
    }
    pc += 1;
    NEXT;

    // -- building arguments

PUT_VAR_X : {
    const bl_word v = bl_new_var(m);
    m->x[pc[1]] = v;
    m->x[pc[2]] = v;
    pc += 3;
    NEXT;
}
PUT_VAR_Y : {
    const bl_word v = bl_new_var(m);
    m->e->y[pc[1]] = v;
    m->x[pc[2]] = v;
    pc += 3;
    NEXT;
}
PUT_VAL_X:
    m->x[pc[2]] = m->x[pc[1]];
    pc += 3;
    NEXT;
PUT_VAL_Y:
    m->x[pc[2]] = m->e->y[pc[1]];
    pc += 3;
    NEXT;
PUT_CONST:
    m->x[pc[2]] = pc[1];
    pc += 3;
    NEXT;
PUT_FLOAT:
    m->x[pc[2]] = bl_make(pc + 1, BL_BOX);
    pc += 3;
    NEXT;
PUT_STR:
    m->x[pc[2]] = bl_make(m->h, BL_STR);
    *m->h++ = pc[1];
    write = true;
    pc += 3;
    NEXT;
PUT_LIST:
    m->x[pc[1]] = bl_make(m->h, BL_LST);
    write = true;
    pc += 2;
    NEXT;
INIT_Y:
    m->e->y[pc[1]] = bl_new_var(m);
    pc += 2;
    NEXT;

    // -- control

ALLOCATE:
    if (bl_env_push(m, pc[1]) == NULL)
        goto error;
    pc += 2;
    NEXT;
ENSURE: // a large head binds as many variables as it has words
    if (!bl_heap_ensure(m, pc[1]) || !bl_trail_ensure(m, pc[1]))
        goto error;
    pc += 2;
    NEXT;
DEALLOCATE:
    m->cp = m->e->cp;
    m->e = m->e->parent;
    pc += 1;
    NEXT;
CALL:
    p = bl_code_pred(pc);
    m->cp = pc + 3;
    goto call;
EXECUTE:
    p = bl_code_pred(pc);
call:
    CALL_EVENT;
    m->b0 = m->b;
    m->inferences++;
dispatch:
    if (BL_UNLIKELY(bl_profiling))
        bl_profile_call(p);
    goto *label[bl_load_relaxed(&p->entry)];
PROCEED:
    pc = m->cp;
    NEXT;
BUILTIN : {
    struct bl_pred *const f = bl_code_pred(pc);
    if (BL_UNLIKELY(m->h >= m->heap_end) && !bl_machine_event(m))
        goto error;
    const int r = f->builtin(m, m->x);
    if (r != BL_TRUE) {
        if (r == BL_FAIL)
            goto fail;
        p = f;
        goto error_in_builtin;
    }
    pc += 2;
    NEXT;
}
fail_or_error:
    if (BL_UNLIKELY(m->ball != NULL))
        goto error;
FAIL:
fail:
    pc = m->b->alt;
    num = num_stack;
    NEXT;
JUMP:
    pc = bl_ptr(pc[1]);
    NEXT;
TRY_ELSE:
    if (bl_choice_push(m, bl_ptr(pc[1]), 0) == NULL)
        goto error;
    pc += 2;
    NEXT;
RETRY_ELSE:
    restore(m, m->b);
    m->b->alt = bl_ptr(pc[1]);
    pc += 2;
    NEXT;
TRUST_ELSE:
    restore(m, m->b);
    bl_choice_pop(m);
    pc += 1;
    NEXT;
GET_LEVEL:
    m->e->y[pc[1]] = bl_level_of(m, m->b0);
    pc += 2;
    NEXT;
MARK_LEVEL:
    m->e->y[pc[1]] = bl_level_of(m, m->b);
    pc += 2;
    NEXT;
CUT_NECK:
    if (!cut_to(m, m->b0))
        goto error;
    pc += 1;
    NEXT;
CUT_TO:
    if (!cut_to(m, bl_level_choice(m, m->e->y[pc[1]])))
        goto error;
    pc += 2;
    NEXT;
SOFT_CUT:
    disarm(bl_level_choice(m, m->e->y[pc[1]]));
    pc += 2;
    NEXT;

    // -- arithmetic and tests

A_PUSH_X:
    if (number_of(m, m->x[pc[1]], num++) != BL_TRUE)
        goto error;
    pc += 2;
    NEXT;
A_PUSH_Y:
    if (number_of(m, m->e->y[pc[1]], num++) != BL_TRUE)
        goto error;
    pc += 2;
    NEXT;
A_PUSH_INT:
    *num++ = (struct bl_num){.kind = BL_NUM_INT, .i = (int64_t)pc[1]};
    pc += 2;
    NEXT;
A_PUSH_FLOAT:
    *num++ = float_bits(pc[1]);
    pc += 2;
    NEXT;
    INTEGER_OPERATION(A_ADD, __builtin_add_overflow, plus)
    INTEGER_OPERATION(A_SUB, __builtin_sub_overflow, minus)
    INTEGER_OPERATION(A_MUL, __builtin_mul_overflow, star)
A_CALL : {
    struct bl_num second = {0};
    if (pc[2] == 2)
        second = *--num;
    struct bl_num first = {0};
    if (pc[2] >= 1)
        first = *--num;
    if (bl_arith_apply(m, (int)pc[1], first, second, num) != BL_TRUE)
        goto error;
    num++;
    pc += 3;
    NEXT;
}
A_POP_X:
    m->x[pc[1]] = bl_arith_word(m, *--num);
    pc += 2;
    NEXT;
A_POP_Y:
    m->e->y[pc[1]] = bl_arith_word(m, *--num);
    pc += 2;
    NEXT;
A_UNIFY_X : {
    const bl_word w = bl_arith_word(m, *--num);
    if (!bl_unify(m, m->x[pc[1]], w))
        goto fail;
    pc += 2;
    NEXT;
}
A_UNIFY_Y : {
    const bl_word w = bl_arith_word(m, *--num);
    if (!bl_unify(m, m->e->y[pc[1]], w))
        goto fail;
    pc += 2;
    NEXT;
}
    COMPARE(A_LT, <);
    COMPARE(A_LE, <=);
    COMPARE(A_EQ, ==);
    COMPARE(A_NE, !=);
    COMPARE(A_GE, >=);
    COMPARE(A_GT, >);
    TYPE_TEST(TEST_VAR);
    TYPE_TEST(TEST_NONVAR);
    TYPE_TEST(TEST_ATOM);
    TYPE_TEST(TEST_INTEGER);
    TYPE_TEST(TEST_NUMBER);
    TYPE_TEST(TEST_ATOMIC);
    TYPE_TEST(TEST_COMPOUND);
    TYPE_TEST(TEST_CALLABLE);
TEST_EQ:
TEST_NEQ : {
    const bool equal = bl_identical(m, m->x[pc[1]], m->x[pc[2]]);
    if (equal == (*pc == BL_OP_TEST_EQ)) {
        pc += 4;
        NEXT;
    }
    if (BL_UNLIKELY(m->ball != NULL))
        goto error;
    if (pc[3] == 0)
        goto fail;
    pc = bl_ptr(pc[3]);
    NEXT;
}
UNIFY:
    if (!bl_unify(m, m->x[pc[1]], m->x[pc[2]]))
        goto fail_or_error;
    pc += 3;
    NEXT;

    // -- entries: the predicate is `p`, its arguments are in the registers

E_UNDEFINED : {
    if (undefined(m, p) == BL_FAIL)
        goto fail;
    goto error;
}
E_CLAUSES : {
    struct filter f;
    filter_init(&f, p, m->x);
    struct bl_clause_run run = bl_pred_match_keys(p, f.key, m->x);
    run.at = next_match(&f, run.at, run.end);
    if (run.at == run.end)
        goto fail;
    c = *run.at;
    struct bl_clause **const rest = next_match(&f, run.at + 1, run.end);
    if (rest < run.end && !push_clauses(m, retry_clause, p, rest, run.end, 0))
        goto error;
}
enter: // clause `c`, with the arguments in the registers
    pc = bl_load_acquire(&c->code); // pairs with `compile_anew`
    if (c->kind == BL_CLAUSE_CODE)
        NEXT;
    if (!unify_fact(m, c, m->x))
        goto fail;
    pc = m->cp;
    NEXT;
RETRY_CLAUSE : {
    restore(m, m->b);
    const struct remaining r = remaining_of(m->b);
    c = *r.at;
    b = take_remaining(m, next_match(&r.filter, r.at + 1, r.end), r.end);
}
retry: // clause `c`, with the arguments of choice point `b`
    if (c->kind == BL_CLAUSE_FACT) {
        if (!unify_fact(m, c, b->arg))
            goto fail;
        pc = m->cp;
        NEXT;
    }
    for (uint64_t i = 0; i < b->n - CLAUSE_WORDS; i++)
        m->x[i] = b->arg[i];
    pc = bl_load_acquire(&c->code);
    NEXT;
E_DYNAMIC : {
    const uint64_t generation = bl_load_acquire(&bl_generation);
    struct filter f;
    filter_init(&f, p, m->x);
    struct bl_clause_run run = bl_pred_match_keys(p, f.key, m->x);
    run.at = next_visible(&f, run.at, run.end, generation);
    if (run.at == run.end)
        goto fail;
    c = *run.at;
    struct bl_clause **const rest =
        next_visible(&f, run.at + 1, run.end, generation);
    if (rest < run.end &&
        !push_clauses(m, retry_dynamic, p, rest, run.end, generation))
        goto error;
    goto enter;
}
RETRY_DYNAMIC : {
    restore(m, m->b);
    const struct remaining r = remaining_of(m->b);
    c = *r.at;
    b = take_remaining(
        m, next_visible(&r.filter, r.at + 1, r.end, r.generation), r.end);
    goto retry;
}
E_BUILTIN : {
    const int r = p->builtin(m, m->x);
    if (r == BL_FAIL)
        goto fail;
    if (r != BL_TRUE)
        goto error_in_builtin;
    pc = m->cp;
    NEXT;
}
E_MORE : {
    // The arguments, the predicate, and a word of state that is 0 at first.
    const uint32_t n = p->arity;
    b = bl_choice_push(m, retry_more, n + 2);
    if (b == NULL)
        goto error;
    for (uint32_t i = 0; i < n; i++)
        b->arg[i] = m->x[i];
    b->arg[n] = bl_make(p, BL_REF);
    b->arg[n + 1] = 0;
    goto more;
}
RETRY_MORE : {
    restore(m, m->b);
    // a loop by failure has no other place to stop at
    if (BL_UNLIKELY(bl_load_relaxed(&m->interrupt) != 0) && !bl_machine_poll(m))
        goto error;
    p = (struct bl_pred *)(void *)bl_ptr(m->b->arg[m->b->n - 2]);
}
more : {
    b = m->b;
    const int r = p->builtin(m, b->arg);
    if (r == BL_MORE) {
        pc = m->cp;
        NEXT;
    }
    BL_ASSERT(m->b == b);
    bl_choice_pop(m);
    if (r == BL_FAIL) {
        bl_untrail(m, b->tr);
        goto fail;
    }
    if (r != BL_TRUE)
        goto error_in_builtin;
    pc = m->cp;
    NEXT;
}
E_CALL:
    m->b0 = m->b;
    p = bl_goal_to_call(m, p->arity - 1);
    if (p == NULL)
        goto error;
    goto dispatch;
E_CUT:
    if (!cut_to(m, bl_level_choice(m, bl_deref(m->x[0]))))
        goto error;
    pc = m->cp;
    NEXT;
E_CATCH:
    if (!open_catch(m))
        goto error;
    m->b0 = m->b;
    pc = bl_code_call;
    NEXT;
RETRY_CATCH:
    restore(m, m->b);
    bl_choice_pop(m);
    goto fail;
RETRY_CLEANUP:
    restore(m, m->b);
    if (bl_cleanup_in_failure(m))
        goto fail;
    goto error;
CATCH_EXIT:
    if (bl_level_of(m, m->b) == m->e->y[0]) {
        bl_choice_pop(m);
        bl_after_cut(m);
    }
    m->cp = m->e->cp;
    m->e = m->e->parent;
    pc = m->cp;
    NEXT;

    // -- tabling

E_TABLED:
    step = bl_tabling_call(m, p);
    goto stepped;
E_ABSENT:
    p = bl_goal_to_negate(m);
    if (p == NULL)
        goto error;
    if ((p->flags & BL_PRED_TABLED) == 0)
        goto dispatch;
    step = bl_tabling_call_absent(m, p);
stepped:
    if (step == BL_STEP_PROCEED) {
        pc = m->cp;
        NEXT;
    }
    if (step == BL_STEP_FAIL)
        goto fail;
    if (step == BL_STEP_THROW)
        goto error;
    if (step == BL_STEP_MODED) {
        p = bl_moded_wrap(m, p);
        goto dispatch;
    }
    m->b0 = m->b;
    if (p->flags & BL_PRED_DYNAMIC)
        goto E_DYNAMIC;
    goto E_CLAUSES;
NEW_ANSWER:
    step = bl_tabling_new_answer(m);
    if (BL_LIKELY(step == BL_STEP_FAIL))
        goto fail;
    goto error;
RETRY_GENERATOR:
    restore(m, m->b);
    step = bl_tabling_retry_generator(m);
    goto stepped;
RETRY_ANSWER:
    restore(m, m->b);
    step = bl_tabling_retry_answer(m);
    goto stepped;
RETRY_KEPT:
    restore(m, m->b);
    step = bl_retry_kept(m);
    goto stepped;
RETRY_RESUME:
    restore(m, m->b);
    step = bl_tabling_retry_resume(m);
    goto stepped;

    // -- the ends

QUERY_TRUE:
    return BL_RUN_TRUE;
QUERY_FAILED:
    restore(m, m->b);
    return BL_RUN_FAIL;
error_in_builtin:
    // what a program throws keeps the context it was given
    if (!m->halting && (p->flags & BL_PRED_THROW) == 0)
        bl_error_add_context(m, pc, p);
    goto unwind;
error:
    bl_error_add_context(m, pc, NULL);
unwind:
    num = num_stack;
    if (m->halting)
        return BL_RUN_HALT;
    pc = bl_unwind(m);
    if (pc == NULL)
        return BL_RUN_ERROR;
    NEXT;
}
