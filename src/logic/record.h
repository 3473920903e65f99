// SPDX-License-Identifier: MIT
//
// A record: terms copied off the heap so that they outlive backtracking.
//
// Words in a record point by offset, so a record can be moved, shared between
// threads and copied back with one pass over its words. The first `roots`
// words are the copied terms; variables they share stay shared.
//
#ifndef BL_LOGIC_RECORD_H
#define BL_LOGIC_RECORD_H

#include "logic/machine.h"

struct bl_record {
    struct bl_record *next; // owner's use
    uint32_t words;
    uint32_t roots;
    bool flat; // no word behind the roots
    bl_word word[];
};

// NULL without memory, with the ball set.
struct bl_record *bl_record_make(struct bl_machine *m, const bl_word *terms,
                                 size_t n);
// Of one atom, by whoever has no machine.
struct bl_record *bl_record_make_atom(bl_word atom);
// Copies the terms onto the heap; false where it has no room (ball set).
BL_MUST_USE bool bl_record_load(struct bl_machine *m, const struct bl_record *r,
                                bl_word *terms);
void bl_record_free(struct bl_record *r);

// Copies a term on the heap with fresh variables.
BL_MUST_USE bool bl_copy_term(struct bl_machine *m, bl_word t, bl_word *out);

// A growing stack of words for walks over terms; one walk at a time, or each
// from where the one around it stands.
BL_MUST_USE bool bl_scratch_ensure(struct bl_machine *m, size_t words);
BL_INLINE bl_word *bl_scratch(const struct bl_machine *m) {
    return (bl_word *)m->scratch;
}

#endif
