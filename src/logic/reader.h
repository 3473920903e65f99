// SPDX-License-Identifier: MIT
//
// From text to terms.
//
#ifndef BL_LOGIC_READER_H
#define BL_LOGIC_READER_H

#include "logic/machine.h"
#include "logic/token.h"

struct bl_read_var {
    char *name;
    bl_word var;
    uint32_t times;
    uint32_t line, column;
};

struct bl_read_error {
    uint32_t line, column;
    char message[160];
    bool incomplete; // more text could make it right
    bool no_memory;  // the text may be right
};

struct bl_read_result {
    bl_word term;
    struct bl_read_var *vars;
    size_t n_vars, var_capacity;
    uint32_t line; // of the first token
    uint32_t column;
    size_t start; // in the source
    struct bl_read_error error;
};

enum bl_read_status { BL_READ_TERM, BL_READ_EOF, BL_READ_ERROR };

// Reads up to and with the next final stop. After an error the source stands
// behind the clause that has it, unless the text was incomplete.
enum bl_read_status bl_read_term(struct bl_machine *m, struct bl_source *s,
                                 struct bl_read_result *out);
void bl_read_result_fini(struct bl_read_result *r);

enum bl_double_quotes { BL_QUOTES_CODES, BL_QUOTES_CHARS, BL_QUOTES_ATOM };
extern enum bl_double_quotes bl_double_quotes; // flag; set while loading

// A list of codes or of one-char atoms of UTF-8 text; the heap has the room
// (two words a byte).
bl_word bl_text_codes(struct bl_machine *m, const char *text, size_t bytes,
                      bl_word tail);
bl_word bl_text_chars(struct bl_machine *m, const char *text, size_t bytes,
                      bl_word tail);

#endif
