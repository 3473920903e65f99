// SPDX-License-Identifier: MIT
//
// format/1,2,3: directives ~w ~p ~q ~a ~d ~D ~s ~e ~f ~g ~n ~c ~r ~8| ~t ~+
// ~i ~* ~~. Column stops (~t ~| ~+) fill within the line being written.
//
#include "logic/arith.h"
#include "logic/builtin.h"
#include "logic/stream.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { FILLS = 32 };

struct formatting {
    struct bl_machine *m;
    struct bl_out out;
    bl_word *arg;
    size_t n, next;
    size_t line_start; // in `out`
    size_t stop;       // last column stop, in `out`
    uint32_t column0;  // column of the stream where `out` begins
    struct {
        size_t at;
        char with[4]; // UTF-8
        size_t bytes;
    } fill[FILLS];
    int fills;
};

static int no_argument(struct formatting *f) {
    return bl_throw_term(
        f->m, bl_struct2(f->m, BL_ATOM(error),
                         bl_struct1(f->m, bl_atom_str("format"),
                                    bl_atom_str("not enough arguments")),
                         bl_new_var(f->m)));
}

static int argument(struct formatting *f, bl_word *out) {
    if (f->next >= f->n)
        return no_argument(f);
    *out = bl_deref(f->arg[f->next++]);
    return BL_TRUE;
}

static int write_arg(struct formatting *f, bool quoted, bool ignore_ops) {
    bl_word t;
    if (argument(f, &t) != BL_TRUE)
        return BL_THROW;
    const struct bl_write_options w = {
        .quoted = quoted, .numbervars = true, .ignore_ops = ignore_ops};
    bl_write_term(f->m, &f->out, t, &w);
    return f->m->ball != NULL ? BL_THROW : BL_TRUE;
}

// A term and the options of write_term/2.
static int write_with_options(struct formatting *f) {
    bl_word t;
    bl_word options;
    struct bl_write_options w = {0};
    const char *end;
    if (argument(f, &t) != BL_TRUE || argument(f, &options) != BL_TRUE ||
        bl_take_write_options(f->m, options, &w, &end) != BL_TRUE)
        return BL_THROW;
    bl_write_term(f->m, &f->out, t, &w);
    bl_write_options_fini(&w);
    bl_out_end(&f->out, end);
    return f->m->ball != NULL ? BL_THROW : BL_TRUE;
}

static int text_arg(struct formatting *f) {
    bl_word t;
    if (argument(f, &t) != BL_TRUE)
        return BL_THROW;
    if (t == BL_ATOM(nil))
        return BL_TRUE;
    struct bl_out text = {0};
    if (bl_take_text(f->m, t, &text) != BL_TRUE)
        return BL_THROW;
    bl_out_bytes(&f->out, text.text, text.bytes);
    bl_out_fini(&text);
    return BL_TRUE;
}

static int atom_arg(struct formatting *f) {
    bl_word t;
    if (argument(f, &t) != BL_TRUE)
        return BL_THROW;
    if (bl_is_var(t))
        return bl_throw_instantiation(f->m);
    const struct bl_write_options w = {.quoted = false};
    bl_write_term(f->m, &f->out, t, &w);
    return f->m->ball != NULL ? BL_THROW : BL_TRUE;
}

// Digits with `group` between thousands and a point `places` from the right.
static void put_digits(struct bl_out *o, const char *digits, int places,
                       bool group) {
    size_t n = strlen(digits);
    const size_t sign = digits[0] == '-';
    bl_out_bytes(o, digits, sign);
    digits += sign;
    n -= sign;
    const size_t fraction = places > 0 ? (size_t)places : 0;
    const size_t whole = n > fraction ? n - fraction : 0;
    if (whole == 0)
        bl_out_char(o, '0');
    for (size_t i = 0; i < whole; i++) {
        if (group && i > 0 && (whole - i) % 3 == 0)
            bl_out_char(o, ',');
        bl_out_char(o, digits[i]);
    }
    if (fraction == 0)
        return;
    bl_out_char(o, '.');
    for (size_t i = n; i < fraction; i++)
        bl_out_char(o, '0');
    bl_out_str(o, digits + whole);
}

// An integer, or an expression of which the value is one.
static int integer_argument(struct formatting *f, bl_word *out) {
    struct bl_num n;
    if (argument(f, out) != BL_TRUE)
        return BL_THROW;
    if (bl_is_integer(*out))
        return BL_TRUE;
    if (!bl_is_compound(*out))
        return bl_throw_type(f->m, BL_ATOM_integer, *out);
    if (bl_arith_eval(f->m, *out, &n) != BL_TRUE)
        return BL_THROW;
    if (n.kind == BL_NUM_FLOAT)
        return bl_throw_type(f->m, BL_ATOM_integer, *out);
    *out = bl_arith_word(f->m, n);
    return BL_TRUE;
}

static int integer_arg(struct formatting *f, int places, bool group) {
    bl_word t;
    if (integer_argument(f, &t) != BL_TRUE)
        return BL_THROW;
    struct bl_out digits = {0};
    bl_write_integer(&digits, t, 10);
    put_digits(&f->out, digits.text, places, group);
    bl_out_fini(&digits);
    return BL_TRUE;
}

// All digits of an integer, also those that a double has not.
static void integer_as_float(struct formatting *f, bl_word i, int places) {
    bl_write_integer(&f->out, i, 10);
    if (places > 0)
        bl_out_char(&f->out, '.');
    for (int k = 0; k < places; k++)
        bl_out_char(&f->out, '0');
}

static int float_arg(struct formatting *f, int places, char how) {
    bl_word t;
    if (argument(f, &t) != BL_TRUE)
        return BL_THROW;
    struct bl_num n;
    double d;
    if (bl_arith_eval(f->m, t, &n) != BL_TRUE)
        return BL_THROW;
    const int digits = places < 0 ? 6 : places > 60 ? 60 : places;
    if (how == 'f' && n.kind != BL_NUM_FLOAT) {
        integer_as_float(f, bl_arith_word(f->m, n), digits);
        return BL_TRUE;
    }
    if (bl_arith_double(f->m, n, &d) != BL_TRUE)
        return BL_THROW;
    char text[512];
    if (how == 'f')
        snprintf(text, sizeof text, "%.*f", digits, d);
    else if (how == 'e')
        snprintf(text, sizeof text, "%.*e", digits, d);
    else
        snprintf(text, sizeof text, "%.*g", digits, d);
    bl_out_str(&f->out, text);
    return BL_TRUE;
}

static int radix_arg(struct formatting *f, int radix, bool upper) {
    bl_word t;
    if (integer_argument(f, &t) != BL_TRUE)
        return BL_THROW;
    if (radix < 2 || radix > 36)
        return bl_throw_domain(f->m, "radix", bl_int(radix));
    bl_write_integer(&f->out, t, upper ? -radix : radix);
    return BL_TRUE;
}

static int code_arg(struct formatting *f, int times) {
    bl_word t;
    int64_t code;
    if (argument(f, &t) != BL_TRUE || bl_take_int(f->m, t, &code) != BL_TRUE)
        return BL_THROW;
    if (code < 0 || code > 0x10ffff)
        return bl_throw_representation(f->m, "character_code");
    char bytes[4];
    const size_t n = bl_utf8_put(bytes, (uint32_t)code);
    for (int i = 0; i < (times < 1 ? 1 : times); i++)
        bl_out_bytes(&f->out, bytes, n);
    return BL_TRUE;
}

// ---- columns

static size_t columns(const struct formatting *f, size_t from) {
    return bl_utf8_count(f->out.text + from, f->out.bytes - from);
}

static void insert_fill(struct formatting *f, int which, size_t count) {
    const size_t at = f->fill[which].at;
    const size_t n = f->fill[which].bytes;
    for (size_t i = 0; i < count; i++)
        bl_out_bytes(&f->out, f->fill[which].with, n);
    memmove(f->out.text + at + count * n, f->out.text + at,
            f->out.bytes - count * n - at);
    for (size_t i = 0; i < count; i++)
        memcpy(f->out.text + at + i * n, f->fill[which].with, n);
    for (int i = which + 1; i < f->fills; i++)
        f->fill[i].at += count * n;
}

// Widens what stands since the last stop to the column.
static void column_stop(struct formatting *f, size_t column) {
    const size_t base = f->line_start == 0 ? f->column0 : 0;
    const size_t now = base + columns(f, f->line_start);
    if (now < column) {
        size_t pad = column - now;
        if (f->fills == 0) {
            while (pad-- > 0)
                bl_out_char(&f->out, ' ');
        } else {
            const size_t share = pad / (size_t)f->fills;
            for (int i = 0; i + 1 < f->fills; i++)
                insert_fill(f, i, share);
            insert_fill(f, f->fills - 1, pad - share * (size_t)(f->fills - 1));
        }
    }
    f->stop = f->out.bytes;
    f->fills = 0;
}

static void relative_stop(struct formatting *f, int width) {
    const size_t base = f->line_start == 0 ? f->column0 : 0;
    const size_t since = columns(f, f->stop);
    const size_t now = base + columns(f, f->line_start);
    column_stop(f, now - since + (size_t)(width < 0 ? 8 : width));
}

static void newlines(struct formatting *f, int count) {
    for (int i = 0; i < (count < 1 ? 1 : count); i++)
        bl_out_char(&f->out, '\n');
    f->line_start = f->stop = f->out.bytes;
    f->fills = 0;
}

static void note_fill(struct formatting *f, uint32_t with) {
    if (f->fills == FILLS)
        return;
    f->fill[f->fills].at = f->out.bytes;
    f->fill[f->fills].bytes = bl_utf8_put(f->fill[f->fills].with, with);
    f->fills++;
}

static int directive(struct formatting *f, char c, int number, uint32_t fill) {
    bl_word ignored;
    switch (c) {
    case 'w':
        return write_arg(f, false, false);
    case 'p':
    case 'q':
        return write_arg(f, true, false);
    case 'k':
        return write_arg(f, true, true);
    case 'W':
        return write_with_options(f);
    case 'a':
        return atom_arg(f);
    case 's':
        return text_arg(f);
    case 'd':
        return integer_arg(f, number, false);
    case 'D':
        return integer_arg(f, number, true);
    case 'e':
    case 'f':
    case 'g':
        return float_arg(f, number, c);
    case 'r':
    case 'R':
        return radix_arg(f, number < 0 ? 8 : number, c == 'R');
    case 'c':
        return code_arg(f, number);
    case 'i':
        return argument(f, &ignored);
    case 'n':
        newlines(f, number);
        return BL_TRUE;
    case '~':
        bl_out_char(&f->out, '~');
        return BL_TRUE;
    case 't':
        note_fill(f, fill);
        return BL_TRUE;
    case '|':
        column_stop(f, number < 0 ? columns(f, f->line_start) : (size_t)number);
        return BL_TRUE;
    case '+':
        relative_stop(f, number);
        return BL_TRUE;
    default:
        return bl_throw_domain(f->m, "format_directive", bl_atom(&c, 1));
    }
}

// How often or how far: so many characters may be written.
static int take_count(struct formatting *f, int64_t count, int *number) {
    if (count > INT_MAX / 4) {
        bl_throw_resource(f->m, "memory");
        return BL_THROW;
    }
    *number = (int)(count < -1 ? -1 : count);
    return count <= 0 || bl_may_write(f->m, f->out.bytes + 4 * (size_t)count)
               ? BL_TRUE
               : BL_THROW;
}

// The number in front of a directive: digits, `c (a character), or * (an
// argument).
static int numeric_argument(struct formatting *f, const char **p,
                            const char *end, int *number, uint32_t *fill) {
    *number = -1;
    *fill = ' ';
    if (**p == '`' && end - *p > 1) {
        *p += 1;
        *fill = bl_utf8_get(p, end);
        *number = (int)*fill;
    } else if (**p == '*') {
        bl_word t;
        int64_t i;
        if (argument(f, &t) != BL_TRUE || bl_take_int(f->m, t, &i) != BL_TRUE)
            return BL_THROW;
        *p += 1;
        return take_count(f, i, number);
    } else if (**p >= '0' && **p <= '9') {
        const long count = strtol(*p, NULL, 10);
        while (**p >= '0' && **p <= '9')
            *p += 1;
        return take_count(f, count, number);
    }
    return BL_TRUE;
}

static int run(struct formatting *f, const struct bl_out *text) {
    const char *p = text->text;
    const char *const end = p + text->bytes;
    while (p < end) {
        if (*p != '~') {
            bl_out_char(&f->out, *p);
            if (*p++ == '\n')
                f->line_start = f->stop = f->out.bytes;
            continue;
        }
        p++;
        int number;
        uint32_t fill;
        if (numeric_argument(f, &p, end, &number, &fill) != BL_TRUE)
            return BL_THROW;
        if (p == end)
            return bl_throw_domain(f->m, "format_directive", BL_ATOM(empty));
        if (directive(f, *p++, number, fill) != BL_TRUE)
            return BL_THROW;
    }
    if (f->next == f->n)
        return BL_TRUE;
    return bl_throw_term(
        f->m, bl_struct2(f->m, BL_ATOM(error),
                         bl_struct1(f->m, bl_atom_str("format"),
                                    bl_atom_str("too many arguments")),
                         bl_new_var(f->m)));
}

static int format(struct bl_machine *m, struct bl_stream *s, bl_word text,
                  bl_word args) {
    struct formatting f = {.m = m, .column0 = bl_load_relaxed(&s->column)};
    struct bl_out t = {0};
    if (bl_take_text(m, text, &t) != BL_TRUE)
        return BL_THROW;
    bl_out_str(&f.out, "");
    args = bl_deref(args);
    bl_word single = args;
    bool list = args == BL_ATOM(nil) || bl_tag(args) == BL_LST;
    int r = BL_TRUE;
    if (list)
        r = bl_take_list(m, args, &f.arg, &f.n);
    else
        f.arg = &single;
    f.n = list ? f.n : 1;
    if (r == BL_TRUE)
        r = run(&f, &t);
    if (r == BL_TRUE)
        r = bl_stream_write(m, s, f.out.text, f.out.bytes);
    if (list)
        free(f.arg);
    bl_out_fini(&t);
    bl_out_fini(&f.out);
    return r;
}

static int format_1(struct bl_machine *m, bl_word *a) {
    return format(m, m->io->output, a[0], BL_ATOM(nil));
}

static int format_args(struct bl_machine *m, struct bl_stream *s, bl_word *a) {
    return format(m, s, a[0], a[1]);
}

// '$format'(Stream, Text, Args): format/3 with memory sinks is in Prolog.
BL_ON_OUTPUT(format_2, format_3, format_args)

void bl_builtins_format(void) {
    static const struct bl_builtin_row rows[] = {
        {"format", 1, format_1},
        {"format", 2, format_2},
        {"$format", 3, format_3},
    };
    BL_DEFINE(rows);
}
