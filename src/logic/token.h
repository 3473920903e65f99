// SPDX-License-Identifier: MIT
//
// The text of a program as tokens. A source is text in memory; it may end in
// the middle of a clause, as at a terminal, and be continued.
// Source: ISO/IEC 13211-1, section 6.4.
//
#ifndef BL_LOGIC_TOKEN_H
#define BL_LOGIC_TOKEN_H

#include "logic/term.h"

struct bl_source {
    const char *name; // for messages; or NULL
    const char *text;
    size_t length;
    size_t at;
    uint32_t line;     // from 1
    size_t line_start; // where the line begins
};

enum bl_token_kind {
    BL_TOKEN_ATOM,
    BL_TOKEN_QUOTED, // a quoted atom: no prefix sign, no comma
    BL_TOKEN_VAR,
    BL_TOKEN_INT,
    BL_TOKEN_FLOAT,
    BL_TOKEN_STRING,    // "..."
    BL_TOKEN_BACKQUOTE, // `...`
    BL_TOKEN_PUNCT,     // ( ) [ ] { } , |
    BL_TOKEN_END,       // the final stop
    BL_TOKEN_EOF,       // nothing but layout is left
    BL_TOKEN_BAD        // see `error`
};

struct bl_token {
    enum bl_token_kind kind;
    bool layout_before;
    bool open_after; // '(' follows at once
    char punct;
    uint8_t radix; // of an integer too large for a word, in digits: `text`
    uint32_t line, column; // from 1
    size_t start, length;  // in the source
    int64_t i;
    double d;
    const char *text; // of names and strings, without quotes; valid until the
    size_t bytes;     // next token is read
    const char *error;
    bool incomplete; // the error is that the text ends too early
};

struct bl_lexer {
    struct bl_source *source;
    char *buffer; // text of the token at hand
    size_t used, capacity;
};

void bl_source_init(struct bl_source *s, const char *name, const char *text,
                    size_t length);
void bl_lexer_init(struct bl_lexer *x, struct bl_source *s);
void bl_lexer_fini(struct bl_lexer *x);
void bl_token_read(struct bl_lexer *x, struct bl_token *t);
// Goes on behind the next final stop.
void bl_source_skip_clause(struct bl_source *s);

// UTF-8: the code at *p, which moves on; bytes that are none count as
// themselves.
uint32_t bl_utf8_get(const char **p, const char *end);
size_t bl_utf8_put(char *out, uint32_t code);         // at most 4 bytes
size_t bl_utf8_count(const char *text, size_t bytes); // in characters

bool bl_is_symbol_char(int c);
bool bl_is_alnum_char(int c);

#endif
