// SPDX-License-Identifier: MIT
//
// Large integers over GMP's mpz functions. An operand is a view of the limbs
// where they lie; a result is copied to the heap and given back at once, so
// between two operations GMP owns no memory. It ends the program where malloc
// fails, hence `has_room` asks first.
//
#include "logic/bigint.h"

#include "logic/area.h"
#include "logic/arith.h"
#include "logic/error.h"
#include "logic/index.h"
#include "logic/memory.h"
#include "logic/writer.h"

#include <gmp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(GMP_NUMB_BITS == 64, "limbs are words");
_Static_assert(sizeof(mp_limb_t) == sizeof(bl_word), "limbs are words");

enum { LIMB_BITS = 64, PIECE_BITS = 60 };

// ---- room

enum { FEW_LIMBS = 4096, SCRATCH_WORDS = 10 }; // words of GMP's per limb

// For an operation with so many limbs; false with the ball set.
static bool has_room(struct bl_machine *m, size_t limbs) {
    if (BL_LIKELY(limbs <= FEW_LIMBS))
        return true;
    const size_t scratch = limbs * SCRATCH_WORDS * sizeof(bl_word);
    void *probe = NULL;
    if (limbs <= BL_BIG_LIMBS + 2 && scratch < m->memory_limit &&
        bl_areas_bytes(m) < m->memory_limit - scratch)
        probe = malloc(scratch);
    if (probe == NULL)
        bl_throw_resource(m, "memory");
    free(probe);
    return probe != NULL;
}

static int too_large(struct bl_machine *m) {
    return bl_throw_resource(m, "memory");
}

// ---- in and out of GMP

struct operand {
    mp_limb_t limb;
    mpz_t z;
};

static mpz_srcptr view(struct operand *o, struct bl_num n) {
    if (n.kind == BL_NUM_BIG) {
        const mp_size_t limbs = (mp_size_t)bl_big_limbs(n.big);
        return mpz_roinit_n(o->z, bl_ptr(n.big),
                            bl_big_is_negative(n.big) ? -limbs : limbs);
    }
    o->limb = n.i < 0 ? -(mp_limb_t)n.i : (mp_limb_t)n.i;
    return mpz_roinit_n(o->z, &o->limb, n.i < 0 ? -1 : n.i > 0);
}

static size_t limbs_of(struct bl_num n) {
    return n.kind == BL_NUM_BIG ? bl_big_limbs(n.big) : 1;
}

static size_t more(struct bl_num a, struct bl_num b) {
    return limbs_of(a) > limbs_of(b) ? limbs_of(a) : limbs_of(b);
}

static struct bl_num small(int64_t i) {
    return (struct bl_num){.kind = BL_NUM_INT, .i = i};
}

// Limbs without leading zeros, as a word; the heap has room.
static bl_word make(struct bl_machine *m, const mp_limb_t *limb, size_t n,
                    bool negative) {
    const mp_limb_t low = n > 0 ? limb[0] : 0;
    if (n <= 1 && low <= (mp_limb_t)BL_INT_MAX + negative)
        return bl_int(negative ? -(int64_t)low : (int64_t)low);
    m->h[0] = bl_big_header(n, negative);
    memcpy(m->h + 1, limb, n * sizeof *limb);
    m->h += n + 1;
    return bl_make(m->h - n, BL_BOX);
}

// The result as a word, 0 with the ball set; `r` is given back.
static bl_word take_word(struct bl_machine *m, mpz_t r) {
    const size_t n = mpz_size(r);
    bl_word w = 0;
    if (n > BL_BIG_LIMBS)
        (void)too_large(m);
    else if (bl_heap_ensure_number(m, n + 1))
        w = make(m, mpz_limbs_read(r), n, mpz_sgn(r) < 0);
    mpz_clear(r);
    return w;
}

static int take(struct bl_machine *m, mpz_t r, struct bl_num *out) {
    const bl_word w = take_word(m, r);
    if (w != 0)
        *out = bl_num_of(w);
    return w != 0 ? BL_TRUE : BL_THROW;
}

int bl_big_of_int(struct bl_machine *m, int64_t i, struct bl_num *out) {
    mpz_t r;
    mpz_init_set_si(r, i);
    return take(m, r, out);
}

int bl_big_of_double(struct bl_machine *m, double d, struct bl_num *out) {
    mpz_t r;
    mpz_init_set_d(r, d);
    return take(m, r, out);
}

// ---- operations

typedef void binary(mpz_ptr r, mpz_srcptr a, mpz_srcptr b);

static binary *binary_of(enum bl_known_atom op) {
    static const struct {
        enum bl_known_atom op;
        binary *f;
    } all[] = {
        {BL_ATOM_plus, mpz_add},   {BL_ATOM_minus, mpz_sub},
        {BL_ATOM_star, mpz_mul},   {BL_ATOM_intdiv, mpz_tdiv_q},
        {BL_ATOM_rem, mpz_tdiv_r}, {BL_ATOM_div, mpz_fdiv_q},
        {BL_ATOM_mod, mpz_fdiv_r}, {BL_ATOM_bit_and, mpz_and},
        {BL_ATOM_bit_or, mpz_ior}, {BL_ATOM_xor, mpz_xor},
        {BL_ATOM_gcd, mpz_gcd},    {BL_ATOM_lcm, mpz_lcm},
    };
    for (size_t i = 0; i < BL_ARRAY_LEN(all); i++) {
        if (all[i].op == op)
            return all[i].f;
    }
    return NULL;
}

int bl_big_apply(struct bl_machine *m, enum bl_known_atom op, struct bl_num a,
                 struct bl_num b, struct bl_num *out) {
    struct operand x;
    struct operand y;
    binary *const f = binary_of(op);
    BL_CHECK(f != NULL);
    const bool multiplies = op == BL_ATOM_star || op == BL_ATOM_lcm;
    if (!has_room(m, multiplies ? limbs_of(a) + limbs_of(b) : more(a, b) + 1))
        return BL_THROW;
    mpz_t r;
    mpz_init(r);
    f(r, view(&x, a), view(&y, b));
    return take(m, r, out);
}

int bl_big_apply_one(struct bl_machine *m, enum bl_known_atom op,
                     struct bl_num a, struct bl_num *out) {
    struct operand x;
    const mpz_srcptr z = view(&x, a);
    *out = small(0);
    if (op == BL_ATOM_sign)
        out->i = mpz_sgn(z);
    else if (op == BL_ATOM_msb)
        out->i = (int64_t)mpz_sizeinbase(z, 2) - 1;
    else if (op == BL_ATOM_lsb)
        out->i = (int64_t)mpz_scan1(z, 0);
    else if (op == BL_ATOM_popcount)
        out->i = (int64_t)mpz_popcount(z);
    if (op == BL_ATOM_sign || op == BL_ATOM_msb || op == BL_ATOM_lsb ||
        op == BL_ATOM_popcount)
        return BL_TRUE;
    if (!has_room(m, limbs_of(a) + 1))
        return BL_THROW;
    mpz_t r;
    mpz_init(r);
    if (op == BL_ATOM_minus)
        mpz_neg(r, z);
    else if (op == BL_ATOM_abs)
        mpz_abs(r, z);
    else if (op == BL_ATOM_bit_not)
        mpz_com(r, z);
    else
        mpz_add_ui(r, z, 1);
    return take(m, r, out);
}

static uint64_t magnitude(struct bl_num n) {
    if (n.kind == BL_NUM_BIG)
        return UINT64_MAX;
    return n.i < 0 ? -(uint64_t)n.i : (uint64_t)n.i;
}

static int shift_left(struct bl_machine *m, struct bl_num a, uint64_t n,
                      struct bl_num *out) {
    struct operand x;
    if (bl_num_sign(a) == 0) {
        *out = a;
        return BL_TRUE;
    }
    if (n > BL_BIG_LIMBS * LIMB_BITS)
        return too_large(m);
    if (!has_room(m, limbs_of(a) + n / LIMB_BITS + 1))
        return BL_THROW;
    mpz_t r;
    mpz_init(r);
    mpz_mul_2exp(r, view(&x, a), n);
    return take(m, r, out);
}

static int shift_right(struct bl_machine *m, struct bl_num a, uint64_t n,
                       struct bl_num *out) {
    struct operand x;
    if (n >= limbs_of(a) * LIMB_BITS) {
        *out = small(bl_num_sign(a) < 0 ? -1 : 0);
        return BL_TRUE;
    }
    mpz_t r;
    mpz_init(r);
    mpz_fdiv_q_2exp(r, view(&x, a), n);
    return take(m, r, out);
}

int bl_big_shift(struct bl_machine *m, struct bl_num a, struct bl_num by,
                 bool left, struct bl_num *out) {
    return left != (bl_num_sign(by) < 0)
               ? shift_left(m, a, magnitude(by), out)
               : shift_right(m, a, magnitude(by), out);
}

static double log2_of(mpz_srcptr z) {
    long exponent;
    const double d = mpz_get_d_2exp(&exponent, z);
    return (double)exponent + log2(fabs(d));
}

int bl_big_power(struct bl_machine *m, struct bl_num a, struct bl_num n,
                 struct bl_num *out) {
    struct operand x;
    const mpz_srcptr z = view(&x, a);
    const bool odd =
        n.kind == BL_NUM_BIG ? bl_big_is_odd(n.big) : (n.i & 1) != 0;
    if (mpz_cmpabs_ui(z, 1) <= 0) { // -1, 0, 1
        const int sign = mpz_sgn(z);
        const bool zeroth = n.kind == BL_NUM_INT && n.i == 0;
        *out = small(zeroth ? 1 : sign < 0 && !odd ? 1 : sign);
        return BL_TRUE;
    }
    const double limbs = log2_of(z) / LIMB_BITS * (double)magnitude(n);
    if (limbs > BL_BIG_LIMBS)
        return too_large(m);
    if (!has_room(m, (size_t)limbs + 2))
        return BL_THROW;
    mpz_t r;
    mpz_init(r);
    mpz_pow_ui(r, z, (unsigned long)n.i);
    return take(m, r, out);
}

int bl_big_random(struct bl_machine *m, struct bl_num below,
                  uint64_t (*next)(struct bl_machine *m), struct bl_num *out) {
    struct operand x;
    const mpz_srcptr z = view(&x, below);
    const size_t n = limbs_of(below) + 1; // one more, so that all are as likely
    if (!has_room(m, n))
        return BL_THROW;
    mpz_t r;
    mpz_init(r);
    mp_limb_t *const limb = mpz_limbs_write(r, (mp_size_t)n);
    for (size_t i = 0; i < n; i++)
        limb[i] = next(m);
    mpz_limbs_finish(r, (mp_size_t)n);
    mpz_fdiv_r(r, r, z);
    return take(m, r, out);
}

// ---- comparing, and doubles

int bl_big_compare(struct bl_num a, struct bl_num b) {
    struct operand x;
    struct operand y;
    const int r = mpz_cmp(view(&x, a), view(&y, b));
    return (r > 0) - (r < 0);
}

int bl_big_compare_double(bl_word big, double d) {
    struct operand x;
    const int r = mpz_cmp_d(view(&x, bl_num_of(big)), d);
    return (r > 0) - (r < 0);
}

bool bl_big_is_odd(bl_word big) { return (bl_ptr(big)[0] & 1) != 0; }

// The magnitude, rounded to the nearest. The upper 64 bits decide, and of the
// rest whether there is any: it stands in their last bit, far below the
// rounding.
static double nearest(const mp_limb_t *limb, size_t n) {
    if (n == 0)
        return 0;
    const int shift = __builtin_clzll(limb[n - 1]);
    mp_limb_t top = limb[n - 1] << shift;
    bool rest = false;
    if (n > 1 && shift > 0) {
        top |= limb[n - 2] >> (LIMB_BITS - shift);
        rest = limb[n - 2] << shift != 0;
    } else if (n > 1) {
        rest = limb[n - 2] != 0;
    }
    for (size_t i = 0; !rest && i + 2 < n; i++)
        rest = limb[i] != 0;
    return ldexp((double)(top | rest), (int)(n - 1) * LIMB_BITS - shift);
}

double bl_big_double(bl_word big) {
    const double d = nearest(bl_ptr(big), bl_big_limbs(big));
    return bl_big_is_negative(big) ? -d : d;
}

// Two bits below the last one that a double may have.
#define LEAST_BIT (1074L + 2)

// The magnitude of q * 2^-shift. Where the double has fewer digits than usual,
// ldexp would round what is rounded already.
static double scaled_back(mpz_srcptr q, long shift) {
    if (shift < LEAST_BIT || mpz_sizeinbase(q, 2) > 55)
        return ldexp(nearest(mpz_limbs_read(q), mpz_size(q)), -(int)shift);
    mp_limb_t low = mpz_getlimbn(q, 0);
    const mp_limb_t cut = low & 3;
    low -= cut;
    if (cut == 3 || (cut == 2 && (low & 4) != 0))
        low += 4;
    return ldexp((double)low, -(int)shift);
}

// a / b, of which neither is zero: a quotient of 65 bits or more, or as many as
// a double has there, with the remainder's presence in its last bit.
static double quotient(mpz_srcptr a, mpz_srcptr b) {
    const long wanted =
        66 + (long)mpz_sizeinbase(b, 2) - (long)mpz_sizeinbase(a, 2);
    const long shift = wanted < LEAST_BIT ? wanted : LEAST_BIT;
    mpz_t q;
    mpz_t r;
    mpz_t scaled;
    mpz_init(q);
    mpz_init(r);
    mpz_init(scaled);
    mpz_mul_2exp(scaled, shift > 0 ? a : b, (mp_bitcnt_t)labs(shift));
    mpz_tdiv_qr(q, r, shift > 0 ? scaled : a, shift > 0 ? b : scaled);
    mpz_abs(q, q);
    if (mpz_sgn(r) != 0 && mpz_even_p(q))
        mpz_add_ui(q, q, 1);
    const double d = scaled_back(q, shift);
    mpz_clear(q);
    mpz_clear(r);
    mpz_clear(scaled);
    return mpz_sgn(a) == mpz_sgn(b) ? d : -d;
}

int bl_big_divide(struct bl_machine *m, struct bl_num a, struct bl_num b,
                  struct bl_num *out) {
    struct operand x;
    struct operand y;
    const mpz_srcptr p = view(&x, a);
    const mpz_srcptr q = view(&y, b);
    if (!has_room(m, more(a, b) + 2))
        return BL_THROW;
    if (mpz_divisible_p(p, q)) {
        mpz_t r;
        mpz_init(r);
        mpz_divexact(r, p, q);
        return take(m, r, out);
    }
    *out = (struct bl_num){.kind = BL_NUM_FLOAT, .d = quotient(p, q)};
    return isinf(out->d) ? bl_throw_evaluation(m, BL_ATOM_float_overflow)
                         : BL_TRUE;
}

// ---- text

bl_word bl_big_read(struct bl_machine *m, const char *digits, size_t n,
                    int radix, bool negative) {
    const size_t bits = (size_t)(bl_log2_floor((uint64_t)radix) + 1) * n;
    if (!has_room(m, bits / LIMB_BITS + 1))
        return 0;
    char *const text = strndup(digits, n);
    if (text == NULL) {
        (void)too_large(m);
        return 0;
    }
    mpz_t r;
    BL_CHECK_EQ(mpz_init_set_str(r, text, radix), 0);
    free(text);
    if (negative)
        mpz_neg(r, r);
    return take_word(m, r);
}

void bl_big_write(struct bl_out *o, bl_word big, int radix) {
    struct operand x;
    const mpz_srcptr z = view(&x, bl_num_of(big));
    char *const text = malloc(mpz_sizeinbase(z, abs(radix)) + 2);
    bl_must_have(text);
    bl_out_str(o, mpz_get_str(text, radix, z));
    free(text);
}

// ---- keys and tokens

// Of the size and the two ends: every call asks for it, however many limbs.
bl_word bl_big_key(bl_word big) {
    const bl_word *const limb = bl_ptr(big);
    const bl_word ends = bl_index_hash(limb[0]) ^ limb[bl_big_limbs(big) - 1];
    const bl_word k = bl_index_hash(ends + bl_header(big));
    return k << BL_TAG_BITS | BL_BIG_BIT | BL_FUN;
}

size_t bl_big_pieces(bl_word big) {
    const size_t n = bl_big_limbs(big);
    const unsigned free_bits = (unsigned)__builtin_clzll(bl_ptr(big)[n - 1]);
    return (n * LIMB_BITS - free_bits + PIECE_BITS - 1) / PIECE_BITS;
}

bl_word bl_big_token(bl_word big) {
    const bl_word sign = bl_big_is_negative(big) ? BL_BIG_BIT : 0;
    return BL_BIG_TOKEN | sign | (bl_word)bl_big_pieces(big) << BL_TAG_BITS |
           BL_BOX;
}

bl_word bl_big_piece(bl_word big, size_t i) {
    const size_t n = bl_big_limbs(big);
    const size_t at = i * PIECE_BITS / LIMB_BITS;
    const unsigned shift = i * PIECE_BITS % LIMB_BITS;
    bl_word bits = bl_ptr(big)[at] >> shift;
    if (shift > LIMB_BITS - PIECE_BITS && at + 1 < n)
        bits |= bl_ptr(big)[at + 1] << (LIMB_BITS - shift);
    return (bits & (((bl_word)1 << PIECE_BITS) - 1)) << BL_TAG_BITS | BL_BOX;
}

bl_word bl_big_decode(struct bl_machine *m, const bl_word *token) {
    const size_t pieces = bl_box_tokens(*token);
    size_t n = (pieces * PIECE_BITS + LIMB_BITS - 1) / LIMB_BITS;
    bl_word *const limb = m->h + 1;
    memset(limb, 0, (n + 1) * sizeof *limb); // one more, to spill into
    for (size_t i = 0; i < pieces; i++) {
        const bl_word bits = token[1 + i] >> BL_TAG_BITS;
        const size_t at = i * PIECE_BITS / LIMB_BITS;
        const unsigned shift = i * PIECE_BITS % LIMB_BITS;
        limb[at] |= bits << shift;
        if (shift > LIMB_BITS - PIECE_BITS)
            limb[at + 1] |= bits >> (LIMB_BITS - shift);
    }
    while (limb[n - 1] == 0)
        n--;
    *m->h = bl_big_header(n, (*token & BL_BIG_BIT) != 0);
    m->h += n + 1;
    return bl_make(limb, BL_BOX);
}
