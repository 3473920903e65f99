// SPDX-License-Identifier: MIT
//
// From terms to text. Deep terms are no danger: the walk has its own stack.
//
#ifndef BL_LOGIC_WRITER_H
#define BL_LOGIC_WRITER_H

#include "logic/machine.h"

// Text that grows; always ends with a NUL.
struct bl_out {
    char *text;
    size_t bytes, capacity;
};

struct bl_write_options {
    bool quoted;
    bool ignore_ops;
    bool numbervars;
    bool cyclic_guard;
    uint32_t priority; // of the place the term stands in; 0 means 1200
    const struct bl_read_var *vars; // names to write variables with; or NULL
    size_t n_vars;
    struct bl_read_var *own; // to be freed: see bl_write_options_fini
};

void bl_out_fini(struct bl_out *o);
void bl_out_bytes(struct bl_out *o, const char *text, size_t bytes);
void bl_out_str(struct bl_out *o, const char *text);
void bl_out_char(struct bl_out *o, char c);

// Whether so much may be written: the term may have no end. False with the
// ball set where it is too much, or the machine is interrupted.
bool bl_may_write(struct bl_machine *m, size_t bytes);
// Sets the ball where the text grows too large or the machine is interrupted.
void bl_write_term(struct bl_machine *m, struct bl_out *o, bl_word t,
                   const struct bl_write_options *w);
void bl_write_atom(struct bl_out *o, bl_word atom, bool quoted);
void bl_write_float(struct bl_out *o, double d);
// An integer of any size; a negative radix asks for capital digits.
void bl_write_integer(struct bl_out *o, bl_word i, int radix);

#endif
