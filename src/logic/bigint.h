// SPDX-License-Identifier: MIT
//
// Large integers: those that do not fit the 61 bits of a word. They lie boxed
// on the heap or in a record (see `term.h`), so they go when terms go, and no
// error leaves anything behind. GMP works on them in place; what it allocates
// lives during one operation. Before an operation its result is measured: more
// than 2^26 bits, or than the machine's memory limit leaves, is a resource
// error, and keeps one operation short: writing the largest takes some seconds.
//
#ifndef BL_LOGIC_BIGINT_H
#define BL_LOGIC_BIGINT_H

#include "logic/atom.h"
#include "logic/term.h"

struct bl_machine;
struct bl_num;
struct bl_out;

#define BL_BIG_LIMBS ((size_t)1 << 20) // at most

// The operation on two integers or one, of any size; BL_TRUE or BL_THROW.
// Nobody divides by zero here.
int bl_big_apply(struct bl_machine *m, enum bl_known_atom op, struct bl_num a,
                 struct bl_num b, struct bl_num *out);
int bl_big_apply_one(struct bl_machine *m, enum bl_known_atom op,
                     struct bl_num a, struct bl_num *out);
int bl_big_shift(struct bl_machine *m, struct bl_num a, struct bl_num by,
                 bool left, struct bl_num *out);
// n is not negative.
int bl_big_power(struct bl_machine *m, struct bl_num a, struct bl_num n,
                 struct bl_num *out);
// The quotient where it is an integer, else the double nearest to it.
int bl_big_divide(struct bl_machine *m, struct bl_num a, struct bl_num b,
                  struct bl_num *out);
// Of all 64 bits.
int bl_big_of_int(struct bl_machine *m, int64_t i, struct bl_num *out);
// Of a finite double without a fraction.
int bl_big_of_double(struct bl_machine *m, double d, struct bl_num *out);
// A number from 0 up to below `below`, by `next`.
int bl_big_random(struct bl_machine *m, struct bl_num below,
                  uint64_t (*next)(struct bl_machine *m), struct bl_num *out);

// -1, 0, 1, of two integers of any size.
int bl_big_compare(struct bl_num a, struct bl_num b);
int bl_big_compare_double(bl_word big, double d); // no NaN
// To the nearest double, the even one of two; infinite beyond them.
double bl_big_double(bl_word big);
bool bl_big_is_odd(bl_word big);

// Digits of a radix up to 36, to a word of either kind; 0 with the ball set.
bl_word bl_big_read(struct bl_machine *m, const char *digits, size_t n,
                    int radix, bool negative);
// In digits; a negative radix: capital ones.
void bl_big_write(struct bl_out *o, bl_word big, int radix);

// What an index finds it by; others may have the same.
bl_word bl_big_key(bl_word big);

// As tokens of a trie: one that counts the pieces, then pieces of 60 bits.
#define BL_BIG_TOKEN ((bl_word)1 << 63)
size_t bl_big_pieces(bl_word big);
bl_word bl_big_token(bl_word big);
bl_word bl_big_piece(bl_word big, size_t i);
// Room on the heap for a word per token is the caller's.
bl_word bl_big_decode(struct bl_machine *m, const bl_word *token);

BL_INLINE bool bl_is_big_token(bl_word token) {
    return (token & BL_BIG_TOKEN) != 0;
}

// How many tokens follow the first one of a boxed number.
BL_INLINE size_t bl_box_tokens(bl_word token) {
    return bl_is_big_token(token) ? (size_t)(token << 2 >> (2 + BL_TAG_BITS))
                                  : 1;
}

#endif
