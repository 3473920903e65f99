// SPDX-License-Identifier: MIT
//
// What streams say of themselves, and going back in them. All text that was
// read of a stream is kept, so an input stream goes anywhere before that
// without its file. A position is '$stream_position'(Characters, Line,
// Characters of the line, Bytes).
//
#include "logic/builtin.h"
#include "logic/stream.h"

#include <pthread.h>
#include <sys/stat.h>

static bool is_repositionable(const struct bl_stream *s) {
    struct stat st;
    return s->file != NULL && s->name != 0 && s->id > BL_USER_ERROR &&
           fstat(fileno(s->file), &st) == 0 && S_ISREG(st.st_mode);
}

static int64_t characters(const struct bl_stream *s, size_t from, size_t to) {
    return (int64_t)(s->binary
                         ? to - from
                         : bl_utf8_count(s->source.text + from, to - from));
}

static void position_of(const struct bl_stream *s, int64_t p[4]) {
    const struct bl_source *const t = &s->source;
    if (s->output) {
        const long at = s->file != NULL ? ftell(s->file) : -1;
        p[0] = p[3] = at > 0 ? at : 0;
        p[1] = bl_load_relaxed(&s->lines) + 1;
        p[2] = bl_load_relaxed(&s->column);
    } else {
        p[0] = characters(s, 0, t->at);
        p[1] = t->line;
        p[2] = characters(s, t->line_start, t->at);
        p[3] = (int64_t)t->at;
    }
}

static bl_word functor_of_position(void) {
    return bl_functor(bl_atom_str("$stream_position"), 4);
}

static bl_word position_term(struct bl_machine *m, const struct bl_stream *s) {
    int64_t p[4];
    position_of(s, p);
    const bl_word args[4] = {bl_int(p[0]), bl_int(p[1]), bl_int(p[2]),
                             bl_int(p[3])};
    return bl_struct(m, functor_of_position(), args);
}

static void add(struct bl_machine *m, bl_word *list, const char *name,
                bl_word value) {
    const bl_word property = bl_struct1(m, bl_atom_str(name), value);
    *list = bl_list_cell(m, property, *list);
}

// At a terminal nobody waits for what will be typed.
static const char *end_of(struct bl_stream *s) {
    const bool at = !s->interactive && s->source.at == s->source.length &&
                    !bl_stream_more(s);
    return at ? "at" : "not";
}

// What changes; nothing of it while another thread is at work on the stream,
// which may take as long as a user types.
static void add_state(struct bl_machine *m, struct bl_stream *s,
                      bl_word *list) {
    const bool back = is_repositionable(s);
    add(m, list, "reposition", back ? BL_ATOM(true) : BL_ATOM(false));
    if (back)
        add(m, list, "position", position_term(m, s));
    if (!s->output)
        add(m, list, "end_of_stream", bl_atom_str(end_of(s)));
}

// '$stream_properties'(Stream, List).
static int properties_2(struct bl_machine *m, bl_word *a) {
    struct bl_stream *s;
    bl_word list = BL_ATOM(nil);
    if (bl_find_stream(m, a[0], &s) != BL_TRUE)
        return BL_THROW;
    add(m, &list, "type", bl_atom_str(s->binary ? "binary" : "text"));
    if (pthread_mutex_trylock(&s->lock) == 0) {
        if (!s->closed)
            add_state(m, s, &list);
        bl_stream_leave(s);
    }
    add(m, &list, "eof_action", bl_atom_str("eof_code"));
    if (s->alias != 0)
        add(m, &list, "alias", s->alias);
    if (s->mode != 0)
        add(m, &list, "mode", s->mode);
    if (s->name != 0)
        add(m, &list, "file_name", s->name);
    list = bl_list_cell(m, s->output ? BL_ATOM(output) : BL_ATOM(input), list);
    return bl_answer(m, a[1], list);
}

static int streams_1(struct bl_machine *m, bl_word *a) {
    bl_word list;
    return bl_stream_list(m, &list) ? bl_answer(m, a[0], list) : BL_THROW;
}

static bool read_position(bl_word t, int64_t p[4]) {
    if (bl_tag(t) != BL_STR || *bl_ptr(t) != functor_of_position())
        return false;
    for (int i = 0; i < 4; i++) {
        const bl_word n = bl_deref(bl_ptr(t)[1 + i]);
        if (!bl_is_int(n) || bl_int_value(n) < 0)
            return false;
        p[i] = bl_int_value(n);
    }
    return true;
}

static bool go_to(struct bl_stream *s, const int64_t p[4]) {
    if (s->output) {
        bl_store_relaxed(&s->column, (uint32_t)p[2]);
        return fseek(s->file, (long)p[3], SEEK_SET) == 0;
    }
    while ((int64_t)s->source.length < p[3]) {
        if (!bl_stream_more(s))
            return false;
    }
    s->source.at = (size_t)p[3];
    s->source.line = (uint32_t)p[1];
    size_t start = s->source.at;
    while (start > 0 && s->source.text[start - 1] != '\n')
        start--;
    s->source.line_start = start;
    return true;
}

static int set_position_2(struct bl_machine *m, bl_word *a) {
    struct bl_stream *s;
    const bl_word where = bl_deref(a[1]);
    int64_t p[4];
    if (bl_is_var(bl_deref(a[0])) || bl_is_var(where))
        return bl_throw_instantiation(m);
    if (bl_find_stream(m, a[0], &s) != BL_TRUE)
        return BL_THROW;
    if (!read_position(where, p))
        return bl_throw_domain(m, "stream_position", where);
    if (bl_stream_enter(m, s) != BL_TRUE)
        return BL_THROW;
    const bool there = is_repositionable(s) && go_to(s, p);
    bl_stream_leave(s);
    return there ? BL_TRUE
                 : bl_throw_permission(m, BL_ATOM_reposition,
                                       BL_ATOM_stream_name, bl_deref(a[0]));
}

// '$stream_count'(Stream, I, N): a part of its position.
static int count_3(struct bl_machine *m, bl_word *a) {
    struct bl_stream *s;
    int64_t p[4];
    int64_t i;
    if (bl_find_stream(m, a[0], &s) != BL_TRUE ||
        bl_take_size(m, a[1], &i) != BL_TRUE ||
        bl_stream_enter(m, s) != BL_TRUE)
        return BL_THROW;
    position_of(s, p);
    bl_stream_leave(s);
    return bl_answer(m, a[2], bl_int(p[i & 3]));
}

void bl_builtins_property(void) {
    static const struct bl_builtin_row iso[] = {
        {"set_stream_position", 2, set_position_2},
    };
    static const struct bl_builtin_row rows[] = {
        {"$stream_properties", 2, properties_2},
        {"$streams", 1, streams_1},
        {"$stream_count", 3, count_3},
    };
    BL_DEFINE_ISO(iso);
    BL_DEFINE(rows);
}
