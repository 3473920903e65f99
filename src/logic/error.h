// SPDX-License-Identifier: MIT
//
// Errors as ISO terms: error(Formal, Context). Each function sets the ball of
// the machine and answers BL_THROW, so that a builtin can return it.
//
#ifndef BL_LOGIC_ERROR_H
#define BL_LOGIC_ERROR_H

#include "logic/machine.h"

int bl_throw_term(struct bl_machine *m, bl_word ball);
int bl_throw_type(struct bl_machine *m, enum bl_known_atom type,
                  bl_word culprit);
int bl_throw_domain(struct bl_machine *m, const char *domain, bl_word culprit);
int bl_throw_instantiation(struct bl_machine *m);
int bl_throw_uninstantiation(struct bl_machine *m, bl_word culprit);
int bl_throw_existence(struct bl_machine *m, enum bl_known_atom kind,
                       bl_word culprit);
int bl_throw_permission(struct bl_machine *m, enum bl_known_atom action,
                        enum bl_known_atom kind, bl_word culprit);
int bl_throw_representation(struct bl_machine *m, const char *what);
int bl_throw_evaluation(struct bl_machine *m, enum bl_known_atom what);
// Needs no memory: the balls of the resource errors are made beforehand.
int bl_throw_resource(struct bl_machine *m, const char *what);
// The machine refused: a full disk, say.
int bl_throw_io(struct bl_machine *m, enum bl_known_atom action,
                bl_word stream);
int bl_throw_stratification(struct bl_machine *m, bl_word goal,
                            const char *place);
int bl_throw_syntax(struct bl_machine *m, const char *what);
int bl_throw_interrupt(struct bl_machine *m);

// Name/Arity as a term.
bl_word bl_indicator(struct bl_machine *m, bl_word functor);

#endif
