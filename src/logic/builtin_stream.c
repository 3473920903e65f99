// SPDX-License-Identifier: MIT
//
// Opening, closing, choosing streams; reading characters and terms.
//
#include "logic/builtin.h"
#include "logic/guard.h"
#include "logic/reader.h"
#include "logic/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// The value of an option, or 0.
static bl_word option(bl_word options, const char *name) {
    const bl_word o = bl_option(options, name);
    return o == 0 ? 0 : bl_deref(bl_ptr(o)[1]);
}

// A folder can be opened for reading, but not read.
static FILE *open_no_folder(const char *path, const char *how) {
    struct stat info;
    FILE *const f = fopen(path, how);
    if (f == NULL || fstat(fileno(f), &info) != 0 || !S_ISDIR(info.st_mode))
        return f;
    fclose(f);
    errno = EISDIR;
    return NULL;
}

static int open_file(struct bl_machine *m, const bl_word *a, bl_word alias,
                     bool binary) {
    bl_word name = bl_deref(a[0]);
    bl_word mode;
    if (bl_is_compound(name))
        return bl_throw_domain(m, "source_sink", name);
    if (!bl_is_var(bl_deref(a[2])))
        return bl_throw_uninstantiation(m, bl_deref(a[2]));
    if (bl_take_atom(m, name, &name) != BL_TRUE ||
        bl_take_atom(m, a[1], &mode) != BL_TRUE)
        return BL_THROW;
    const char *how = NULL;
    if (mode == BL_ATOM(read))
        how = "r";
    else if (mode == BL_ATOM(write))
        how = "w";
    else if (mode == BL_ATOM(append))
        how = "a";
    else
        return bl_throw_domain(m, "io_mode", mode);
    FILE *const f = open_no_folder(bl_atom_text(name), how);
    if (f == NULL)
        return errno == ENOENT
                   ? bl_throw_existence(m, BL_ATOM_source_sink, name)
                   : bl_throw_permission(m, BL_ATOM_open, BL_ATOM_source_sink,
                                         name);
    const struct bl_stream like = {.file = f,
                                   .alias = bl_is_atom(alias) ? alias : 0,
                                   .name = name,
                                   .mode = mode,
                                   .output = mode != BL_ATOM(read),
                                   .binary = binary};
    const struct bl_stream *const s = bl_stream_open(m, &like);
    if (s != NULL)
        return bl_answer(m, a[2], bl_stream_term(m, s));
    fclose(f);
    return bl_throw_resource(m, "streams");
}

static int open_3(struct bl_machine *m, bl_word *a) {
    return open_file(m, a, 0, false);
}

static int open_4(struct bl_machine *m, bl_word *a) {
    if (bl_take_options(m, a[3], "stream_option") != BL_TRUE)
        return BL_THROW;
    const bl_word alias = option(a[3], "alias");
    if (alias != 0 && bl_is_atom(alias) && bl_stream_has_alias(alias))
        return bl_throw_permission(m, BL_ATOM_open, BL_ATOM_source_sink,
                                   bl_struct1(m, bl_atom_str("alias"), alias));
    return open_file(m, a, alias, option(a[3], "type") == BL_ATOM(binary));
}

static int close_1(struct bl_machine *m, bl_word *a) {
    struct bl_stream *s;
    if (bl_find_stream(m, a[0], &s) != BL_TRUE)
        return BL_THROW;
    if (m->io->output == s)
        bl_stream_keep(&m->io->output, bl_stream_standard(BL_USER_OUTPUT));
    if (m->io->input == s)
        bl_stream_keep(&m->io->input, bl_stream_standard(BL_USER_INPUT));
    return bl_stream_close(m, s);
}

static int close_2(struct bl_machine *m, bl_word *a) {
    if (bl_take_options(m, a[1], "close_option") != BL_TRUE)
        return BL_THROW;
    return close_1(m, a);
}

// A variable or a stream, not an alias.
static int take_current(struct bl_machine *m, bl_word a) {
    a = bl_deref(a);
    if (bl_is_var(a) || (bl_tag(a) == BL_STR && *bl_ptr(a) == BL_FN(stream_1)))
        return BL_TRUE;
    return bl_throw_domain(m, "stream", a);
}

static int current_output_1(struct bl_machine *m, bl_word *a) {
    if (take_current(m, a[0]) != BL_TRUE)
        return BL_THROW;
    return bl_answer(m, a[0], bl_stream_term(m, bl_current_output(m)));
}

static int current_input_1(struct bl_machine *m, bl_word *a) {
    if (take_current(m, a[0]) != BL_TRUE)
        return BL_THROW;
    return bl_answer(m, a[0], bl_stream_term(m, bl_current_input(m)));
}

static int set_current(struct bl_machine *m, bl_word a, bool output) {
    struct bl_stream *s;
    if (bl_take_stream(m, a, output, &s) != BL_TRUE)
        return BL_THROW;
    bl_stream_keep(output ? &m->io->output : &m->io->input, s);
    return BL_TRUE;
}

static int set_output_1(struct bl_machine *m, bl_word *a) {
    return set_current(m, a[0], true);
}

static int set_input_1(struct bl_machine *m, bl_word *a) {
    return set_current(m, a[0], false);
}

static int flush(struct bl_machine *m, struct bl_stream *s, bl_word *a) {
    (void)a;
    return bl_stream_flush(m, s);
}

BL_ON_OUTPUT(flush_output_0, flush_output_1, flush)

// ---- output that goes elsewhere while a goal runs

static struct bl_stream *guarded(bl_word w) { return bl_guard_pointer(w); }

// A use of the stream, for the choice point.
static bl_word keep(struct bl_stream *s) {
    struct bl_stream *kept = NULL;
    bl_stream_keep(&kept, s);
    return bl_guard_word(kept);
}

static void leave(bl_word w) {
    struct bl_stream *s = guarded(w);
    bl_stream_keep(&s, NULL);
}

// To where it went before, if that is still there.
void bl_output_undo(struct bl_machine *m, const bl_word *word) {
    struct bl_stream *const old = guarded(word[1]);
    struct bl_stream *const memory = guarded(word[2]);
    bl_stream_keep(&m->io->output, bl_stream_is_there(old)
                                       ? old
                                       : bl_stream_standard(BL_USER_OUTPUT));
    leave(word[1]);
    if (memory != NULL)
        bl_stream_drop_memory(memory);
    leave(word[2]);
}

static void redirect(struct bl_machine *m, struct bl_choice *guard,
                     struct bl_stream *s) {
    guard->arg[1] = keep(m->io->output);
    bl_stream_keep(&m->io->output, s);
}

// '$output_to'(Stream): until '$output_back'.
static int output_to_1(struct bl_machine *m, bl_word *a) {
    struct bl_stream *s;
    struct bl_choice *const guard = bl_guard_push(m, BL_GUARD_OUTPUT);
    if (guard == NULL)
        return BL_THROW;
    if (bl_take_stream(m, a[0], true, &s) == BL_TRUE) {
        redirect(m, guard, s);
        return BL_TRUE;
    }
    bl_choice_pop(m);
    return BL_THROW;
}

static int output_back_0(struct bl_machine *m, bl_word *a) {
    const struct bl_choice *const guard = m->b;
    (void)a;
    BL_ASSERT(guard->alt == bl_code_guard);
    bl_choice_pop(m);
    bl_after_cut(m);
    bl_guard_undo(m, guard);
    return BL_TRUE;
}

// '$memory_open': output goes to memory until '$memory_close'.
static int memory_open_0(struct bl_machine *m, bl_word *a) {
    const struct bl_stream like = {.output = true};
    struct bl_choice *const guard = bl_guard_push(m, BL_GUARD_OUTPUT);
    (void)a;
    if (guard == NULL)
        return BL_THROW;
    struct bl_stream *const s = bl_stream_open(m, &like);
    if (s != NULL) {
        redirect(m, guard, s);
        guard->arg[2] = keep(s);
        return BL_TRUE;
    }
    bl_choice_pop(m);
    return bl_throw_resource(m, "streams");
}

// '$memory_close'(Text).
static int memory_close_1(struct bl_machine *m, bl_word *a) {
    struct bl_stream *const s = guarded(m->b->arg[2]);
    if (bl_stream_enter(m, s) != BL_TRUE)
        return BL_THROW;
    const bl_word text =
        bl_atom(s->memory.text ? s->memory.text : "", s->memory.bytes);
    bl_stream_leave(s);
    (void)output_back_0(m, a);
    return bl_answer(m, a[0], text);
}

// Input from any text.
static int open_string_2(struct bl_machine *m, bl_word *a) {
    struct bl_out text = {0};
    if (bl_take_text(m, a[0], &text) != BL_TRUE)
        return BL_THROW;
    const struct bl_stream like = {
        .memory = text,
        .source = {.text = text.text, .length = text.bytes},
        .mode = BL_ATOM(read)};
    const struct bl_stream *const s = bl_stream_open(m, &like);
    if (s != NULL)
        return bl_answer(m, a[1], bl_stream_term(m, s));
    bl_out_fini(&text);
    return bl_throw_resource(m, "streams");
}

// ---- characters

// Whether the bytes that are there begin a character and do not end it.
static bool is_cut(const struct bl_source *s) {
    const size_t left = s->length - s->at;
    const unsigned char c = left > 0 ? (unsigned char)s->text[s->at] : 0;
    return left < (c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1);
}

static int next_code(struct bl_stream *s, bool take) {
    struct bl_source *const t = &s->source;
    while (is_cut(t) && bl_stream_more(s)) {
    }
    if (t->at == t->length)
        return -1;
    const char *p = t->text + t->at;
    const uint32_t code = bl_utf8_get(&p, t->text + t->length);
    if (take) {
        t->at = (size_t)(p - t->text);
        if (code == '\n') {
            t->line++;
            t->line_start = t->at;
        }
    }
    return (int)code;
}

// Where what is read goes: asked before anything is read.
static int may_be_code(struct bl_machine *m, bl_word a) {
    a = bl_deref(a);
    if (bl_is_var(a))
        return BL_TRUE;
    if (!bl_is_integer(a))
        return bl_throw_type(m, BL_ATOM_integer, a);
    return bl_is_int(a) && bl_int_value(a) >= -1 && bl_int_value(a) <= 0x10ffff
               ? BL_TRUE
               : bl_throw_representation(m, "in_character_code");
}

static int may_be_char(struct bl_machine *m, bl_word a) {
    a = bl_deref(a);
    if (bl_is_var(a) || a == BL_ATOM(end_of_file) ||
        (bl_is_atom(a) && bl_is_character(a)))
        return BL_TRUE;
    return bl_throw_type(m, BL_ATOM_in_character, a);
}

static int give_code(struct bl_machine *m, bl_word a, int code) {
    return bl_answer(m, a, bl_int(code));
}

static int give_char(struct bl_machine *m, bl_word a, int code) {
    char bytes[4];
    if (code < 0)
        return bl_answer(m, a, BL_ATOM(end_of_file));
    const size_t n = bl_utf8_put(bytes, (uint32_t)code);
    return bl_answer(m, a, bl_atom(bytes, n));
}

static int take_input(struct bl_machine *m, bl_word a, bool binary,
                      struct bl_stream **s) {
    if (bl_take_stream(m, a, false, s) != BL_TRUE)
        return BL_THROW;
    if ((*s)->binary == binary)
        return BL_TRUE;
    return bl_throw_permission(
        m, BL_ATOM_input, binary ? BL_ATOM_text_stream : BL_ATOM_binary_stream,
        bl_deref(a));
}

#define CHARACTER(name, may_be, give, taking)                                  \
    static int name(struct bl_machine *m, struct bl_stream *s, bl_word a) {    \
        if (may_be(m, a) != BL_TRUE || bl_stream_enter(m, s) != BL_TRUE)       \
            return BL_THROW;                                                   \
        const int code = next_code(s, taking);                                 \
        bl_stream_leave(s);                                                    \
        return give(m, a, code);                                               \
    }                                                                          \
    static int name##_1(struct bl_machine *m, bl_word *a) {                    \
        return name(m, m->io->input, a[0]);                                    \
    }                                                                          \
    static int name##_2(struct bl_machine *m, bl_word *a) {                    \
        struct bl_stream *s;                                                   \
        if (take_input(m, a[0], false, &s) != BL_TRUE)                         \
            return BL_THROW;                                                   \
        return name(m, s, a[1]);                                               \
    }

CHARACTER(get_code, may_be_code, give_code, true)
CHARACTER(get_char, may_be_char, give_char, true)
CHARACTER(peek_code, may_be_code, give_code, false)
CHARACTER(peek_char, may_be_char, give_char, false)

static int byte(struct bl_machine *m, bl_word *a, bool take) {
    struct bl_stream *s;
    const bl_word b = bl_deref(a[1]);
    if (bl_take_stream(m, a[0], false, &s) != BL_TRUE)
        return BL_THROW;
    if (!bl_is_var(b) &&
        !(bl_is_int(b) && bl_int_value(b) >= -1 && bl_int_value(b) <= 255))
        return bl_throw_type(m, BL_ATOM_in_byte, b);
    if (take_input(m, a[0], true, &s) != BL_TRUE ||
        bl_stream_enter(m, s) != BL_TRUE)
        return BL_THROW;
    struct bl_source *const t = &s->source;
    int code = -1;
    if (t->at < t->length || bl_stream_more(s)) {
        code = (unsigned char)t->text[t->at];
        t->at += take;
    }
    bl_stream_leave(s);
    return bl_answer(m, b, bl_int(code));
}

static int get_byte_2(struct bl_machine *m, bl_word *a) {
    return byte(m, a, true);
}

static int peek_byte_2(struct bl_machine *m, bl_word *a) {
    return byte(m, a, false);
}

static int get_byte_1(struct bl_machine *m, bl_word *a) {
    bl_word two[2] = {bl_stream_term(m, m->io->input), a[0]};
    return byte(m, two, true);
}

static int peek_byte_1(struct bl_machine *m, bl_word *a) {
    bl_word two[2] = {bl_stream_term(m, m->io->input), a[0]};
    return byte(m, two, false);
}

static int at_end(struct bl_machine *m, struct bl_stream *s, bl_word *a) {
    (void)a;
    if (bl_stream_enter(m, s) != BL_TRUE)
        return BL_THROW;
    const bool more = s->binary
                          ? s->source.at < s->source.length || bl_stream_more(s)
                          : next_code(s, false) >= 0;
    bl_stream_leave(s);
    return more ? BL_FAIL : BL_TRUE;
}

BL_ON_INPUT(at_end_of_stream_0, at_end_of_stream_1, at_end)

static void put_code(struct bl_out *o, int code) {
    char bytes[4];
    bl_out_bytes(o, bytes, bl_utf8_put(bytes, (uint32_t)code));
}

// Of a stream that was entered; false at its end.
static bool take_line(struct bl_stream *s, struct bl_out *line) {
    if (next_code(s, false) < 0)
        return false;
    bl_out_str(line, "");
    int code;
    while ((code = next_code(s, true)) >= 0 && code != '\n')
        put_code(line, code);
    if (code == '\n' && line->bytes > 0 &&
        line->text[line->bytes - 1] == '\r') // of another system
        line->text[--line->bytes] = 0;
    return true;
}

// The line without its end, as codes; -1 at the end.
static int read_line_2(struct bl_machine *m, bl_word *a) {
    struct bl_stream *s;
    if (bl_take_stream(m, a[0], false, &s) != BL_TRUE ||
        bl_stream_enter(m, s) != BL_TRUE)
        return BL_THROW;
    struct bl_out line = {0};
    const bool some = take_line(s, &line);
    bl_stream_leave(s);
    if (!some)
        return bl_answer(m, a[1], bl_int(-1));
    int r = BL_THROW;
    if (bl_heap_ensure(m, 2 * line.bytes + 2))
        r = bl_answer(m, a[1],
                      bl_text_codes(m, line.text, line.bytes, BL_ATOM(nil)));
    bl_out_fini(&line);
    return r;
}

static bool has_code(const struct bl_out *set, int code) {
    for (const char *p = set->text; p < set->text + set->bytes;) {
        if ((int)bl_utf8_get(&p, set->text + set->bytes) == code)
            return true;
    }
    return false;
}

// Of a stream that was entered, `max` characters at most; how many there were,
// or -1 with the ball set.
static int64_t take_characters(struct bl_machine *m, struct bl_stream *s,
                               int64_t max, struct bl_out *text) {
    int code;
    int64_t n = 0;
    for (; n < max && (code = next_code(s, true)) >= 0; n++) {
        if (!bl_may_write(m, text->bytes))
            return -1;
        put_code(text, code);
    }
    return n;
}

// Of a stream that was entered, up to one of `ends`; which one that was, or -1
// at the end of the stream, too. What pads the text is left out, in front of it
// though it be an end as well; false with the ball set.
static bool take_field(struct bl_machine *m, struct bl_stream *s,
                       const struct bl_out *ends, const struct bl_out *pads,
                       struct bl_out *text, int *end) {
    size_t kept = 0;
    while ((*end = next_code(s, true)) >= 0) {
        const bool pad = has_code(pads, *end);
        if (!bl_may_write(m, text->bytes))
            return false;
        if (pad && text->bytes == 0)
            continue;
        if (has_code(ends, *end))
            break;
        put_code(text, *end);
        if (!pad)
            kept = text->bytes;
    }
    text->bytes = kept;
    return true;
}

static int read_string_3(struct bl_machine *m, bl_word *a) {
    struct bl_stream *s;
    int64_t max = INT64_MAX;
    if (take_input(m, a[0], false, &s) != BL_TRUE ||
        (!bl_is_var(bl_deref(a[1])) &&
         bl_take_size(m, a[1], &max) != BL_TRUE) ||
        bl_stream_enter(m, s) != BL_TRUE)
        return BL_THROW;
    struct bl_out text = {0};
    bl_out_str(&text, "");
    const int64_t n = take_characters(m, s, max, &text);
    bl_stream_leave(s);
    int r =
        n < 0 ? BL_THROW : bl_answer(m, a[2], bl_atom(text.text, text.bytes));
    if (r == BL_TRUE && bl_is_var(bl_deref(a[1])))
        r = bl_answer(m, a[1], bl_int(n));
    bl_out_fini(&text);
    return r;
}

static int read_field(struct bl_machine *m, const bl_word *a,
                      const struct bl_out *ends, const struct bl_out *pads) {
    struct bl_stream *s;
    int end;
    if (take_input(m, a[0], false, &s) != BL_TRUE ||
        bl_stream_enter(m, s) != BL_TRUE)
        return BL_THROW;
    struct bl_out text = {0};
    bl_out_str(&text, "");
    const bool fine = take_field(m, s, ends, pads, &text, &end);
    bl_stream_leave(s);
    int r = fine ? bl_answer(m, a[3], bl_int(end)) : BL_THROW;
    if (r == BL_TRUE)
        r = bl_answer(m, a[4], bl_atom(text.text, text.bytes));
    bl_out_fini(&text);
    return r;
}

static int read_string_5(struct bl_machine *m, bl_word *a) {
    struct bl_out ends = {0};
    struct bl_out pads = {0};
    int r = bl_take_text(m, a[1], &ends);
    if (r == BL_TRUE)
        r = bl_take_text(m, a[2], &pads);
    if (r == BL_TRUE)
        r = read_field(m, a, &ends, &pads);
    bl_out_fini(&ends);
    bl_out_fini(&pads);
    return r;
}

// ---- terms

static int syntax_error(struct bl_machine *m, const struct bl_stream *s,
                        const struct bl_read_error *e) {
    char text[256];
    if (e->no_memory)
        return bl_throw_resource(m, "memory");
    snprintf(text, sizeof text, "%s:%u:%u: %s",
             s->name != 0 ? bl_atom_text(s->name) : "input", e->line, e->column,
             e->message);
    return bl_throw_syntax(m, text);
}

// As Name = Variable; `once`: only those that occur once.
static bl_word variable_names(struct bl_machine *m,
                              const struct bl_read_result *r, bool once) {
    bl_word list = BL_ATOM(nil);
    for (size_t i = r->n_vars; i-- > 0;) {
        if (once && r->vars[i].times > 1)
            continue;
        const bl_word pair = bl_struct2(
            m, BL_ATOM(equals), bl_atom_str(r->vars[i].name), r->vars[i].var);
        list = bl_list_cell(m, pair, list);
    }
    return list;
}

// `variables`: of the term, a list.
static int take_options(struct bl_machine *m, bl_word options,
                        const struct bl_read_result *r, bl_word variables) {
    bl_word t = bl_deref(options);
    for (; bl_tag(t) == BL_LST; t = bl_deref(bl_ptr(t)[1])) {
        const bl_word o = bl_deref(bl_ptr(t)[0]);
        if (bl_tag(o) != BL_STR || bl_functor_arity(*bl_ptr(o)) != 1)
            continue;
        const char *const name = bl_atom_text(bl_functor_name(*bl_ptr(o)));
        if (!bl_heap_ensure(m, 6 * r->n_vars + 8))
            return BL_THROW;
        bl_word value = 0;
        if (strcmp(name, "variable_names") == 0)
            value = variable_names(m, r, false);
        else if (strcmp(name, "singletons") == 0)
            value = variable_names(m, r, true);
        else if (strcmp(name, "variables") == 0)
            value = variables;
        if (value != 0 && !bl_unify(m, bl_ptr(o)[1], value))
            return m->ball != NULL ? BL_THROW : BL_FAIL;
    }
    return BL_TRUE;
}

// Whether what was read may only be the beginning. A term or an error that ends
// where the text does may have been read from half a token.
static bool may_go_on(const struct bl_stream *s, enum bl_read_status status,
                      const struct bl_read_result *r) {
    return status == BL_READ_EOF || r->error.incomplete ||
           (!s->interactive && s->source.at == s->source.length);
}

// As bl_read_term, of all that the stream has.
static enum bl_read_status read_whole(struct bl_machine *m, struct bl_stream *s,
                                      struct bl_read_result *r) {
    for (;;) {
        const struct bl_source start = s->source;
        const enum bl_read_status status = bl_read_term(m, &s->source, r);
        if (!may_go_on(s, status, r))
            return status;
        const struct bl_source end = s->source;
        s->source.at = start.at;
        s->source.line = start.line;
        s->source.line_start = start.line_start;
        if (!bl_stream_more(s)) {
            s->source = end;
            return status;
        }
        bl_read_result_fini(r);
    }
}

static int read_entered(struct bl_machine *m, struct bl_stream *s, bl_word out,
                        bl_word options) {
    struct bl_read_result r;
    const enum bl_read_status status = read_whole(m, s, &r);
    bl_word variables = BL_ATOM(nil);
    int ok = BL_THROW;
    if (status == BL_READ_ERROR)
        ok = syntax_error(m, s, &r.error);
    else if (status == BL_READ_EOF)
        ok = bl_answer(m, out, BL_ATOM(end_of_file));
    else if (option(options, "variables") == 0 ||
             bl_term_variables(m, r.term, &variables)) // before they are bound
        ok = bl_answer(m, out, r.term);
    if (ok == BL_TRUE)
        ok = take_options(m, options, &r, variables);
    bl_read_result_fini(&r);
    return ok;
}

static int read_with(struct bl_machine *m, struct bl_stream *s, bl_word out,
                     bl_word options) {
    if (bl_take_options(m, options, "read_option") != BL_TRUE)
        return BL_THROW;
    if (bl_stream_enter(m, s) != BL_TRUE)
        return BL_THROW;
    const int r = read_entered(m, s, out, options);
    bl_stream_leave(s);
    return r;
}

static int read_plain(struct bl_machine *m, struct bl_stream *s, bl_word *a) {
    return read_with(m, s, a[0], BL_ATOM(nil));
}

static int read_term(struct bl_machine *m, struct bl_stream *s, bl_word *a) {
    return read_with(m, s, a[0], a[1]);
}

BL_ON_INPUT(read_1, read_2, read_plain)
BL_ON_INPUT(read_term_2, read_term_3, read_term)

void bl_builtins_stream(void) {
    bl_streams_init();
    static const struct bl_builtin_row iso[] = {
        {"open", 3, open_3},
        {"open", 4, open_4},
        {"close", 1, close_1},
        {"close", 2, close_2},
        {"current_output", 1, current_output_1},
        {"current_input", 1, current_input_1},
        {"set_output", 1, set_output_1},
        {"set_input", 1, set_input_1},
        {"flush_output", 0, flush_output_0},
        {"flush_output", 1, flush_output_1},
        {"get_byte", 1, get_byte_1},
        {"get_byte", 2, get_byte_2},
        {"peek_byte", 1, peek_byte_1},
        {"peek_byte", 2, peek_byte_2},
        {"get_code", 1, get_code_1},
        {"get_code", 2, get_code_2},
        {"get_char", 1, get_char_1},
        {"get_char", 2, get_char_2},
        {"peek_code", 1, peek_code_1},
        {"peek_code", 2, peek_code_2},
        {"peek_char", 1, peek_char_1},
        {"peek_char", 2, peek_char_2},
        {"at_end_of_stream", 0, at_end_of_stream_0},
        {"at_end_of_stream", 1, at_end_of_stream_1},
        {"read", 1, read_1},
        {"read", 2, read_2},
        {"read_term", 2, read_term_2},
        {"read_term", 3, read_term_3},
    };
    static const struct bl_builtin_row rows[] = {
        {"open_string", 2, open_string_2},
        {"$output_to", 1, output_to_1},
        {"$output_back", 0, output_back_0},
        {"$memory_open", 0, memory_open_0},
        {"$memory_close", 1, memory_close_1},
        {"read_line_to_codes", 2, read_line_2},
        {"read_string", 3, read_string_3},
        {"read_string", 5, read_string_5},
    };
    BL_DEFINE_ISO(iso);
    BL_DEFINE(rows);
}
