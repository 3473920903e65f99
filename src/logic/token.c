// SPDX-License-Identifier: MIT
//
// The lexer. It reads bytes; those above 127 count as small letters, so names
// in any script can be written, and capital letters are A to Z.
//
#include "logic/token.h"

#include "logic/memory.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void bl_source_init(struct bl_source *s, const char *name, const char *text,
                    size_t length) {
    *s = (struct bl_source){
        .name = name, .text = text, .length = length, .line = 1};
}

void bl_lexer_init(struct bl_lexer *x, struct bl_source *s) {
    *x = (struct bl_lexer){.source = s};
}

void bl_lexer_fini(struct bl_lexer *x) { free(x->buffer); }

bool bl_is_symbol_char(int c) {
    return c != 0 && c < 128 && strchr("+-*/\\^<>=~:.?@#&$", c) != NULL;
}

bool bl_is_alnum_char(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c >= 128;
}

static bool is_layout(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static bool is_digit(int c) { return c >= '0' && c <= '9'; }

uint32_t bl_utf8_get(const char **p, const char *end) {
    const unsigned char *const s = (const unsigned char *)*p;
    const size_t left = (size_t)(end - *p);
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc0 ? 2 : 1;
    if (n > left)
        n = 1;
    uint32_t code = n == 1 ? s[0] : s[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            *p += 1;
            return s[0];
        }
        code = code << 6 | (s[i] & 0x3f);
    }
    *p += n;
    return code;
}

size_t bl_utf8_put(char *out, uint32_t code) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

size_t bl_utf8_count(const char *text, size_t bytes) {
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

// ---- characters

static int peek(const struct bl_source *s, size_t ahead) {
    return s->at + ahead < s->length ? (unsigned char)s->text[s->at + ahead]
                                     : -1;
}

static int take(struct bl_source *s) {
    const int c = peek(s, 0);
    if (c < 0)
        return c;
    s->at++;
    if (c == '\n') {
        s->line++;
        s->line_start = s->at;
    }
    return c;
}

static void put_byte(struct bl_lexer *x, int c) {
    if (x->used + 5 > x->capacity) {
        x->capacity = x->capacity * 2 + 64;
        x->buffer = realloc(x->buffer, x->capacity);
        bl_must_have(x->buffer);
    }
    x->buffer[x->used++] = (char)c;
}

static void put_code(struct bl_lexer *x, uint32_t code) {
    char bytes[4];
    const size_t n = bl_utf8_put(bytes, code);
    for (size_t i = 0; i < n; i++)
        put_byte(x, bytes[i]);
}

static void bad(struct bl_token *t, const char *why) {
    t->kind = BL_TOKEN_BAD;
    t->error = why;
}

static void cut_short(struct bl_token *t, const char *why) {
    bad(t, why);
    t->incomplete = true;
}

// ---- layout and comments

static bool skip_block_comment(struct bl_source *s) {
    take(s);
    take(s);
    while (peek(s, 0) >= 0) {
        if (peek(s, 0) == '*' && peek(s, 1) == '/') {
            take(s);
            take(s);
            return true;
        }
        take(s);
    }
    return false;
}

static void skip_line(struct bl_source *s) {
    while (peek(s, 0) >= 0 && peek(s, 0) != '\n')
        take(s);
}

// False where a comment does not end; the source stands at its start.
static bool skip_layout(struct bl_source *s, bool *any) {
    for (;;) {
        const int c = peek(s, 0);
        if (is_layout(c)) {
            take(s);
        } else if (c == '%') {
            skip_line(s);
        } else if (c == '/' && peek(s, 1) == '*') {
            const struct bl_source start = *s;
            if (!skip_block_comment(s)) {
                *s = start;
                return false;
            }
        } else {
            return true;
        }
        *any = true;
    }
}

// ---- quoted things

static int digit_value(int c) {
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z')
        return c - 'A' + 10;
    return 99;
}

// Behind `\x` or `\` and a first octal digit: digits up to a backslash.
static const char *escape_number(struct bl_source *s, int radix,
                                 uint32_t *code) {
    uint64_t n = 0;
    bool any = false;
    while (digit_value(peek(s, 0)) < radix) {
        n = n * (uint64_t)radix + (uint64_t)digit_value(take(s));
        any = true;
        if (n > 0x10ffff)
            return "escape names no character";
    }
    if (!any)
        return "escape without digits";
    if (peek(s, 0) == '\\')
        take(s);
    *code = (uint32_t)n;
    return NULL;
}

// Behind `\u` or `\U`: so many digits.
static const char *escape_unicode(struct bl_source *s, unsigned digits,
                                  uint32_t *code) {
    uint32_t n = 0;
    for (unsigned i = 0; i < digits; i++) {
        if (digit_value(peek(s, 0)) >= 16)
            return "escape without enough digits";
        n = n * 16 + (uint32_t)digit_value(take(s));
    }
    *code = n;
    return n > 0x10ffff ? "escape names no character" : NULL;
}

// Behind a backslash. *nothing: a line that goes on.
static const char *escape(struct bl_source *s, uint32_t *code, bool *nothing) {
    static const char names[] = "abfnrtv0esz\\'\"`";
    static const char values[] = "\a\b\f\n\r\t\v\0\033 \0\\'\"`";
    const int c = peek(s, 0);
    *nothing = false;
    if (c == '\r' && peek(s, 1) == '\n') // a line of another system
        take(s);
    if (peek(s, 0) == '\n') {
        take(s);
        *nothing = true;
        return NULL;
    }
    if (c == 'c') { // the layout that follows is left out, as elsewhere
        take(s);
        while (isspace(peek(s, 0)))
            take(s);
        *nothing = true;
        return NULL;
    }
    if (c == 'x') {
        take(s);
        return escape_number(s, 16, code);
    }
    if (c == 'u' || c == 'U') {
        take(s);
        return escape_unicode(s, c == 'u' ? 4 : 8, code);
    }
    if (c >= '0' && c <= '7')
        return escape_number(s, 8, code);
    const char *const p = c > 0 ? strchr(names, c) : NULL;
    if (p == NULL || c == 'z')
        return "unknown escape in quotes";
    take(s);
    *code = (unsigned char)values[p - names];
    return NULL;
}

static void quoted(struct bl_lexer *x, struct bl_token *t, int quote) {
    struct bl_source *const s = x->source;
    const char *wrong = NULL; // told at the end, so that reading goes on there
    take(s);
    for (;;) {
        const int c = peek(s, 0);
        if (c < 0) {
            cut_short(t, "quotes are not closed");
            return;
        }
        if (c == '\n') {
            bad(t, "quotes are not closed in this line");
            return;
        }
        take(s);
        if (c == quote) {
            if (peek(s, 0) != quote)
                break;
            take(s);
            put_byte(x, quote);
        } else if (c == '\\') {
            uint32_t code = 0;
            bool nothing;
            const char *const why = escape(s, &code, &nothing);
            if (why != NULL)
                wrong = why;
            else if (!nothing)
                put_code(x, code);
        } else {
            put_byte(x, c);
        }
    }
    t->kind = quote == '\''  ? BL_TOKEN_QUOTED
              : quote == '"' ? BL_TOKEN_STRING
                             : BL_TOKEN_BACKQUOTE;
    if (wrong != NULL)
        bad(t, wrong);
}

// ---- numbers

static void character_code(struct bl_lexer *x, struct bl_token *t) {
    struct bl_source *const s = x->source;
    take(s);
    take(s);
    t->kind = BL_TOKEN_INT;
    const int c = peek(s, 0);
    if (c < 0) {
        cut_short(t, "no character behind 0'");
        return;
    }
    if (c == '\\') {
        take(s);
        uint32_t code = 0;
        bool nothing;
        const char *const why = escape(s, &code, &nothing);
        if (why != NULL)
            bad(t, why);
        t->i = code;
        return;
    }
    const char *p = s->text + s->at;
    t->i = bl_utf8_get(&p, s->text + s->length);
    const bool doubled = c == '\'' && peek(s, 1) == '\'';
    for (const char *q = s->text + s->at; q < p + doubled; q++)
        take(s);
}

static void integer(struct bl_lexer *x, struct bl_token *t, int radix) {
    struct bl_source *const s = x->source;
    int64_t n = 0;
    bool over = false;
    for (;;) {
        const int c = peek(s, 0);
        if (c == '_' && is_digit(peek(s, 1)) && radix == 10) {
            take(s);
            continue;
        }
        if (digit_value(c) >= radix)
            break;
        over = over || __builtin_mul_overflow(n, (int64_t)radix, &n) ||
               __builtin_add_overflow(n, (int64_t)digit_value(c), &n);
        put_byte(x, take(s));
    }
    t->kind = BL_TOKEN_INT;
    t->i = n;
    if (over || n > BL_INT_MAX)
        t->radix = (uint8_t)radix;
}

// Whether an exponent stands at `ahead`.
static bool is_exponent(const struct bl_source *s, size_t ahead) {
    const int e = peek(s, ahead);
    const int sign = peek(s, ahead + 1);
    const bool has_sign = sign == '+' || sign == '-';
    return (e == 'e' || e == 'E') &&
           is_digit(has_sign ? peek(s, ahead + 2) : sign);
}

// 1.0Inf and 1.5NaN, as the writer has them.
static bool special(struct bl_source *s, struct bl_token *t) {
    const char *const p = s->text + s->at;
    const bool inf = s->length - s->at >= 3 && memcmp(p, "Inf", 3) == 0;
    const bool none = s->length - s->at >= 3 && memcmp(p, "NaN", 3) == 0;
    if ((!inf && !none) || bl_is_alnum_char(peek(s, 3)))
        return false;
    s->at += 3;
    t->kind = BL_TOKEN_FLOAT;
    t->d = inf ? HUGE_VAL : nan("");
    return true;
}

// 1.5, 1.5e3, 1e10.
static void fraction(struct bl_lexer *x, struct bl_token *t) {
    struct bl_source *const s = x->source;
    if (peek(s, 0) == '.')
        put_byte(x, take(s));
    while (is_digit(peek(s, 0)))
        put_byte(x, take(s));
    if (special(s, t))
        return;
    if (is_exponent(s, 0)) {
        put_byte(x, take(s));
        put_byte(x, take(s)); // a sign or a digit
        while (is_digit(peek(s, 0)))
            put_byte(x, take(s));
    }
    put_byte(x, 0);
    t->kind = BL_TOKEN_FLOAT;
    t->d = strtod(x->buffer, NULL);
    if (t->d > 1.7976931348623157e308)
        bad(t, "number is too large for a double");
}

static void number(struct bl_lexer *x, struct bl_token *t) {
    struct bl_source *const s = x->source;
    if (peek(s, 0) == '0') {
        const int c = peek(s, 1);
        if (c == '\'' && !(peek(s, 2) == '\'' && peek(s, 3) != '\'')) {
            character_code(x, t);
            return;
        }
        const int radix = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
        if (radix != 0 && digit_value(peek(s, 2)) < radix) {
            take(s);
            take(s);
            integer(x, t, radix);
            return;
        }
    }
    integer(x, t, 10);
    if ((peek(s, 0) == '.' && is_digit(peek(s, 1))) || is_exponent(s, 0)) {
        t->radix = 0;
        fraction(x, t);
    }
}

// ---- names and punctuation

static void name(struct bl_lexer *x, struct bl_token *t, int c) {
    struct bl_source *const s = x->source;
    while (bl_is_alnum_char(peek(s, 0)))
        put_byte(x, take(s));
    const bool var = c == '_' || (c >= 'A' && c <= 'Z');
    t->kind = var ? BL_TOKEN_VAR : BL_TOKEN_ATOM;
}

static bool is_final_stop(const struct bl_source *s) {
    const int c = peek(s, 1);
    return c < 0 || is_layout(c) || c == '%';
}

static void symbols(struct bl_lexer *x, struct bl_token *t) {
    struct bl_source *const s = x->source;
    if (peek(s, 0) == '.' && is_final_stop(s)) {
        take(s);
        t->kind = BL_TOKEN_END;
        return;
    }
    while (bl_is_symbol_char(peek(s, 0)))
        put_byte(x, take(s));
    t->kind = BL_TOKEN_ATOM;
}

static void any_token(struct bl_lexer *x, struct bl_token *t, int c) {
    struct bl_source *const s = x->source;
    if (is_digit(c)) {
        number(x, t);
    } else if (bl_is_alnum_char(c)) {
        name(x, t, c);
    } else if (bl_is_symbol_char(c)) {
        symbols(x, t);
    } else if (c == '\'' || c == '"' || c == '`') {
        quoted(x, t, c);
    } else if (c == '!' || c == ';') {
        put_byte(x, take(s));
        t->kind = BL_TOKEN_ATOM;
    } else if (strchr("()[]{},|", c) != NULL) {
        t->punct = (char)take(s);
        t->kind = BL_TOKEN_PUNCT;
        if (c == '|' && peek(s, 0) == '|') {
            take(s);
            put_byte(x, '|');
            put_byte(x, '|');
            t->kind = BL_TOKEN_ATOM;
        }
    } else {
        take(s);
        bad(t, "character that no token begins with");
    }
}

void bl_token_read(struct bl_lexer *x, struct bl_token *t) {
    struct bl_source *const s = x->source;
    *t = (struct bl_token){.kind = BL_TOKEN_EOF};
    x->used = 0;
    const bool closed = skip_layout(s, &t->layout_before);
    t->line = s->line;
    t->column = (uint32_t)(s->at - s->line_start) + 1;
    t->start = s->at;
    if (!closed) {
        cut_short(t, "comment is not closed");
        s->at = s->length;
        return;
    }
    const int c = peek(s, 0);
    if (c < 0)
        return;
    any_token(x, t, c);
    t->length = s->at - t->start;
    t->open_after = peek(s, 0) == '(';
    put_byte(x, 0);
    t->text = x->buffer;
    t->bytes = x->used - 1;
}

void bl_source_skip_clause(struct bl_source *s) {
    struct bl_lexer x;
    bl_lexer_init(&x, s);
    struct bl_token t;
    do {
        bl_token_read(&x, &t);
    } while (t.kind != BL_TOKEN_END && t.kind != BL_TOKEN_EOF && !t.incomplete);
    bl_lexer_fini(&x);
}
