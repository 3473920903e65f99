// SPDX-License-Identifier: MIT
//
// Terms as tagged words of 64 bits; the low three bits say what a word is.
//
// A variable is a heap cell that refers to itself. Compound terms lie on the
// heap of the machine that made them: a STR word points at a functor word that
// the arguments follow, a LST word at head and tail. Atoms, functors and
// integers are complete in their word and mean the same in every thread.
// Variables never lie on the environment stack, so a word may be copied
// anywhere without looking at its age.
//
// Integers have 61 bits; arithmetic that leaves them is an error, never wrong.
//
#ifndef BL_LOGIC_TERM_H
#define BL_LOGIC_TERM_H

#include "base/base.h"

typedef uint64_t bl_word;

enum bl_tag {
    BL_REF, // pointer to a cell; to itself: an unbound variable
    BL_STR, // pointer to a functor word and its arguments
    BL_LST, // pointer to head and tail
    BL_INT, // value << 3
    BL_ATM, // index << 3
    BL_FLT, // pointer to eight bytes of a double
    BL_FUN, // index << 3; stands only in front of arguments
    BL_LVL  // choice point level << 3, or a variable's number in a record
};

#define BL_TAG_BITS 3
#define BL_TAG_MASK 7u
#define BL_INT_MAX ((int64_t)((1ull << 60) - 1))
#define BL_INT_MIN (-BL_INT_MAX - 1)

BL_INLINE enum bl_tag bl_tag(bl_word w) {
    return (enum bl_tag)(w & BL_TAG_MASK);
}

BL_INLINE bl_word *bl_ptr(bl_word w) {
    return (bl_word *)(uintptr_t)(w & ~(bl_word)BL_TAG_MASK);
}

BL_INLINE bl_word bl_make(const void *p, enum bl_tag tag) {
    return (bl_word)(uintptr_t)p | (bl_word)tag;
}

BL_INLINE bl_word bl_ref(const bl_word *cell) { return bl_make(cell, BL_REF); }

BL_INLINE bl_word bl_int(int64_t i) {
    return ((bl_word)i << BL_TAG_BITS) | BL_INT;
}

BL_INLINE int64_t bl_int_value(bl_word w) { return (int64_t)w >> BL_TAG_BITS; }

BL_INLINE bool bl_fits_int(int64_t i) {
    return i >= BL_INT_MIN && i <= BL_INT_MAX;
}

BL_INLINE bl_word bl_atom_word(uint32_t index) {
    return ((bl_word)index << BL_TAG_BITS) | BL_ATM;
}

BL_INLINE uint32_t bl_index_of(bl_word w) {
    return (uint32_t)(w >> BL_TAG_BITS);
}

BL_INLINE bl_word bl_functor_word(uint32_t index) {
    return ((bl_word)index << BL_TAG_BITS) | BL_FUN;
}

BL_INLINE bl_word bl_level(uint64_t n) { return (n << BL_TAG_BITS) | BL_LVL; }

// Stands in front of the eight bytes of every double, so that a pass over a
// heap or a record can step over them. The first functor made is this one.
#define BL_FLOAT_HEADER bl_functor_word(0)

BL_INLINE double bl_float_value(bl_word w) {
    double d;
    __builtin_memcpy(&d, bl_ptr(w), sizeof d);
    return d;
}

BL_INLINE bl_word bl_deref(bl_word w) {
    while (bl_tag(w) == BL_REF) {
        const bl_word v = *bl_ptr(w);
        if (v == w)
            break;
        w = v;
    }
    return w;
}

BL_INLINE bool bl_is_var(bl_word w) { return bl_tag(w) == BL_REF; }
BL_INLINE bool bl_is_atom(bl_word w) { return bl_tag(w) == BL_ATM; }
BL_INLINE bool bl_is_int(bl_word w) { return bl_tag(w) == BL_INT; }
BL_INLINE bool bl_is_float(bl_word w) { return bl_tag(w) == BL_FLT; }
BL_INLINE bool bl_is_number(bl_word w) {
    return bl_is_int(w) || bl_is_float(w);
}
BL_INLINE bool bl_is_compound(bl_word w) {
    return bl_tag(w) == BL_STR || bl_tag(w) == BL_LST;
}
BL_INLINE bool bl_is_atomic(bl_word w) {
    return !bl_is_var(w) && !bl_is_compound(w);
}
BL_INLINE bool bl_is_callable(bl_word w) {
    return bl_is_atom(w) || bl_is_compound(w);
}

#endif
