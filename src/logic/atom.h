// SPDX-License-Identifier: MIT
//
// Atoms and functors: one number each, for the whole process and for ever.
//
// Both tables only grow. A reader of a name takes no lock: names lie in
// chunks that never move, and whoever holds an index got it after the entry
// was written. Making an atom or a functor takes the one lock of the tables.
//
#ifndef BL_LOGIC_ATOM_H
#define BL_LOGIC_ATOM_H

#include "logic/term.h"

struct bl_pred;

#define X(name, text) BL_ATOM_##name,
enum bl_known_atom {
#include "logic/atom.def"
    BL_KNOWN_ATOMS
};
#undef X

#define BL_ATOM(name) bl_atom_word(BL_ATOM_##name)

#define X(name, atom, arity) BL_FUNCTOR_##name,
enum bl_known_functor {
#include "logic/functor.def"
    BL_KNOWN_FUNCTORS
};
#undef X

// The functor word of a known functor, without a look into the table.
#define BL_FN(name) bl_functor_word(BL_FUNCTOR_##name)

void bl_atoms_init(void);

// The atom of these bytes (UTF-8; a NUL may be among them).
bl_word bl_atom(const char *text, size_t bytes);
bl_word bl_atom_str(const char *text);
const char *bl_atom_text(bl_word atom); // ends with a NUL
size_t bl_atom_bytes(bl_word atom);
size_t bl_atom_count(void);

// The functor word of name/arity; arity 0 is allowed and names a predicate.
bl_word bl_functor(bl_word atom, uint32_t arity);
bl_word bl_functor_name(bl_word functor);
uint32_t bl_functor_arity(bl_word functor);

// The predicate of a functor, or NULL; set once, under the predicates' lock.
struct bl_pred *bl_functor_pred(bl_word functor);
void bl_functor_set_pred(bl_word functor, struct bl_pred *pred);

// Of predicates. Terms that are only data may have BL_MAX_ARGS arguments.
#define BL_MAX_ARITY 255u
#define BL_MAX_ARGS 16777215u

#endif
