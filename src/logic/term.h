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
// Integers of up to 61 bits are complete in their word. Larger ones are boxed,
// as doubles are: a header stands in front of the limbs, and no integer that
// fits a word is ever boxed, so equal integers look the same.
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
    BL_BOX, // pointer to the bytes of a double or to limbs, behind a header
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
// (In code, the instruction stands there instead.)
#define BL_FLOAT_HEADER bl_functor_word(0)

// The header of a large integer: how many limbs follow, the lowest first, and
// its sign.
#define BL_BIG_BIT ((bl_word)1 << 62)
#define BL_BIG_NEGATIVE ((bl_word)1 << 61)

BL_INLINE bl_word bl_big_header(size_t limbs, bool negative) {
    return BL_BIG_BIT | (negative ? BL_BIG_NEGATIVE : 0) |
           (bl_word)limbs << BL_TAG_BITS | BL_FUN;
}

// How many words that are no terms follow a word with the tag BL_FUN.
BL_INLINE size_t bl_box_words(bl_word header) {
    if (BL_UNLIKELY((header & BL_BIG_BIT) != 0))
        return (size_t)((header & ~(BL_BIG_BIT | BL_BIG_NEGATIVE)) >>
                        BL_TAG_BITS);
    return header == BL_FLOAT_HEADER;
}

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
BL_INLINE bool bl_is_box(bl_word w) { return bl_tag(w) == BL_BOX; }
BL_INLINE bl_word bl_header(bl_word box) { return bl_ptr(box)[-1]; }
BL_INLINE bool bl_is_big(bl_word w) {
    return bl_is_box(w) && (bl_header(w) & BL_BIG_BIT) != 0;
}
BL_INLINE bool bl_is_float(bl_word w) {
    return bl_is_box(w) && (bl_header(w) & BL_BIG_BIT) == 0;
}
BL_INLINE size_t bl_big_limbs(bl_word big) {
    return bl_box_words(bl_header(big));
}
BL_INLINE bool bl_big_is_negative(bl_word big) {
    return (bl_header(big) & BL_BIG_NEGATIVE) != 0;
}
// The header of a box in whatever place, and how many words stand behind it.
BL_INLINE bl_word bl_box_header(bl_word box) {
    return bl_is_big(box) ? bl_header(box) : BL_FLOAT_HEADER;
}
BL_INLINE size_t bl_boxed_words(bl_word box) {
    return bl_is_big(box) ? bl_big_limbs(box) : 1;
}
// Of either size; bl_is_int is of those in a word.
BL_INLINE bool bl_is_integer(bl_word w) { return bl_is_int(w) || bl_is_big(w); }
BL_INLINE bool bl_is_number(bl_word w) { return bl_is_int(w) || bl_is_box(w); }
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
