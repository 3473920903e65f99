// SPDX-License-Identifier: MIT
//
// Making the balls of errors. The error term is built on the heap, which keeps
// a margin for this at all times, and copied into a record at once, since the
// heap is cut back on the way to the catcher.
//
#include "logic/error.h"

#include "logic/memory.h"
#include "logic/record.h"

#include <stdlib.h>
#include <string.h>

static void set_ball(struct bl_machine *m, struct bl_record *r) {
    if (m->ball != NULL)
        bl_record_free(m->ball);
    m->ball = r;
}

int bl_throw_term(struct bl_machine *m, bl_word ball) {
    struct bl_record *const r = bl_record_make(m, &ball, 1);
    if (r != NULL)
        set_ball(m, r);
    return BL_THROW;
}

static int throw_formal(struct bl_machine *m, bl_word formal) {
    const bl_word t = bl_struct2(m, BL_ATOM(error), formal, bl_new_var(m));
    return bl_throw_term(m, t);
}

static int throw2(struct bl_machine *m, bl_word name, bl_word a, bl_word b) {
    return throw_formal(m, bl_struct2(m, name, a, b));
}

bl_word bl_indicator(struct bl_machine *m, bl_word functor) {
    return bl_struct2(m, BL_ATOM(slash), bl_functor_name(functor),
                      bl_int((int64_t)bl_functor_arity(functor)));
}

int bl_throw_type(struct bl_machine *m, enum bl_known_atom type,
                  bl_word culprit) {
    if (bl_is_var(bl_deref(culprit)))
        return bl_throw_instantiation(m);
    return throw2(m, BL_ATOM(type_error), bl_atom_word(type), culprit);
}

int bl_throw_domain(struct bl_machine *m, const char *domain, bl_word culprit) {
    return throw2(m, BL_ATOM(domain_error), bl_atom_str(domain), culprit);
}

int bl_throw_instantiation(struct bl_machine *m) {
    return throw_formal(m, BL_ATOM(instantiation_error));
}

int bl_throw_uninstantiation(struct bl_machine *m, bl_word culprit) {
    return throw_formal(
        m, bl_struct1(m, bl_atom_str("uninstantiation_error"), culprit));
}

int bl_throw_existence(struct bl_machine *m, enum bl_known_atom kind,
                       bl_word culprit) {
    return throw2(m, BL_ATOM(existence_error), bl_atom_word(kind), culprit);
}

int bl_throw_permission(struct bl_machine *m, enum bl_known_atom action,
                        enum bl_known_atom kind, bl_word culprit) {
    const bl_word args[3] = {bl_atom_word(action), bl_atom_word(kind), culprit};
    return throw_formal(m, bl_struct(m, BL_FN(permission_error_3), args));
}

int bl_throw_representation(struct bl_machine *m, const char *what) {
    return throw_formal(
        m, bl_struct1(m, BL_ATOM(representation_error), bl_atom_str(what)));
}

int bl_throw_evaluation(struct bl_machine *m, enum bl_known_atom what) {
    return throw_formal(
        m, bl_struct1(m, BL_ATOM(evaluation_error), bl_atom_word(what)));
}

int bl_throw_io(struct bl_machine *m, enum bl_known_atom action,
                bl_word stream) {
    return throw2(m, bl_atom_str("io_error"), bl_atom_word(action), stream);
}

int bl_throw_syntax(struct bl_machine *m, const char *what) {
    return throw_formal(
        m, bl_struct1(m, BL_ATOM(syntax_error), bl_atom_str(what)));
}

int bl_throw_stratification(struct bl_machine *m, bl_word goal,
                            const char *place) {
    return throw2(m, BL_ATOM(stratification_error), goal, bl_atom_str(place));
}

static struct bl_record *new_record(uint32_t words) {
    struct bl_record *const r =
        malloc(sizeof(struct bl_record) + words * sizeof(bl_word));
    bl_must_have(r);
    *r = (struct bl_record){.words = words, .roots = 1};
    return r;
}

// These two are thrown from the middle of a walk through a term, so they are
// records written out by hand.
int bl_throw_interrupt(struct bl_machine *m) {
    struct bl_record *const r = new_record(1);
    r->word[0] = BL_ATOM(interrupt);
    set_ball(m, r);
    return BL_THROW;
}

// error(resource_error(What), _): a root that points behind itself.
int bl_throw_resource(struct bl_machine *m, const char *what) {
    struct bl_record *const r = new_record(6);
    r->word[0] = (bl_word)1 << BL_TAG_BITS | BL_STR;
    r->word[1] = BL_FN(error_2);
    r->word[2] = (bl_word)4 << BL_TAG_BITS | BL_STR;
    r->word[3] = (bl_word)3 << BL_TAG_BITS | BL_REF;
    r->word[4] = BL_FN(resource_error_1);
    r->word[5] = bl_atom_str(what);
    set_ball(m, r);
    return BL_THROW;
}
