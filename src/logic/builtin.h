// SPDX-License-Identifier: MIT
//
// What the files of builtins share: how they are listed, and how arguments
// are taken. A taking function answers BL_TRUE, or BL_THROW with the error
// that ISO asks for. A builtin sees its arguments in `a`, not dereferenced.
//
#ifndef BL_LOGIC_BUILTIN_H
#define BL_LOGIC_BUILTIN_H

#include "logic/clause.h"
#include "logic/error.h"
#include "logic/record.h"
#include "logic/writer.h"

struct bl_builtin_row {
    const char *name;
    uint32_t arity;
    bl_builtin f;
};

// `fixed`: a program may not define them anew; so it is with ISO's builtins,
// those that say what a program is, and names that begin with $.
void bl_builtins_define(const struct bl_builtin_row *rows, size_t n,
                        enum bl_opcode entry, bool fixed);

#define BL_DEFINE(rows)                                                        \
    bl_builtins_define(rows, BL_ARRAY_LEN(rows), BL_OP_E_BUILTIN, false)
#define BL_DEFINE_MORE(rows)                                                   \
    bl_builtins_define(rows, BL_ARRAY_LEN(rows), BL_OP_E_MORE, false)
#define BL_DEFINE_ISO(rows)                                                    \
    bl_builtins_define(rows, BL_ARRAY_LEN(rows), BL_OP_E_BUILTIN, true)
#define BL_DEFINE_ISO_MORE(rows)                                               \
    bl_builtins_define(rows, BL_ARRAY_LEN(rows), BL_OP_E_MORE, true)

// One per file.
void bl_builtins_arith(void);
void bl_builtins_atom(void);
void bl_builtins_control(void);
void bl_builtins_database(void);
void bl_builtins_file(void);
void bl_builtins_findall(void);
void bl_builtins_flag(void);
void bl_builtins_format(void);
void bl_builtins_list(void);
void bl_builtins_message(void);
void bl_builtins_mutex(void);
void bl_builtins_property(void);
void bl_builtins_queue(void);
void bl_builtins_stream(void);
void bl_builtins_table(void);
void bl_builtins_term(void);
void bl_builtins_thread(void);
void bl_builtins_write(void);

BL_INLINE int bl_answer(struct bl_machine *m, bl_word a, bl_word value) {
    if (bl_unify(m, a, value))
        return BL_TRUE;
    return m->ball != NULL ? BL_THROW : BL_FAIL;
}

// The state of a builtin with several solutions, 0 at its first call; a word
// without tag, so that a collector of the heap would leave it alone.
BL_INLINE bl_word *bl_state(struct bl_machine *m) {
    return &m->b->arg[m->b->n - 1];
}

int bl_take_int(struct bl_machine *m, bl_word a, int64_t *out);
int bl_take_size(struct bl_machine *m, bl_word a, int64_t *out); // >= 0
int bl_take_atom(struct bl_machine *m, bl_word a, bl_word *out);
int bl_take_callable(struct bl_machine *m, bl_word a, bl_word *out);
// Name/Arity, also Module:Name/Arity.
int bl_take_indicator(struct bl_machine *m, bl_word a, bl_word *functor);
// The elements of a proper list, in memory the caller frees.
int bl_take_list(struct bl_machine *m, bl_word a, bl_word **items, size_t *n);
// A list, or the beginning of one.
int bl_take_partial_list(struct bl_machine *m, bl_word a);
// A list of options Name(Value); `domain` is what others are not in.
int bl_take_options(struct bl_machine *m, bl_word a, const char *domain);
// The first of that name in a list of options, or 0.
bl_word bl_option(bl_word options, const char *name);
bool bl_is_character(bl_word atom); // an atom of one character
// Any text: an atom, a number, a list of codes or of characters.
int bl_take_text(struct bl_machine *m, bl_word a, struct bl_out *out);

// Options of write_term/2; `end` is what comes after the term.
int bl_take_write_options(struct bl_machine *m, bl_word options,
                          struct bl_write_options *w, const char **end);
void bl_write_options_fini(struct bl_write_options *w);
// Writes it; a full stop is a token of its own.
void bl_out_end(struct bl_out *o, const char *end);

// All of them, or while goals are being evaluated, afterwards.
int bl_abolish_tables(struct bl_machine *m);
// An error while goals are being evaluated.
int bl_may_abolish_tables(struct bl_machine *m);

bl_word bl_make_list(struct bl_machine *m, const bl_word *items, size_t n,
                     bl_word tail);
// The variables of a term in the order they come, as a list; false: ball set.
BL_MUST_USE bool bl_term_variables(struct bl_machine *m, bl_word t,
                                   bl_word *list);
// A number as text has it, or false; leading layout is allowed.
bool bl_parse_number(struct bl_machine *m, const char *text, size_t bytes,
                     bl_word *out);

#endif
