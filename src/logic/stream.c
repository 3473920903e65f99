// SPDX-License-Identifier: MIT
//
// The table of streams, and moving text through them.
//
#include "logic/stream.h"

#include "logic/builtin.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct bl_stream *streams[BL_STREAMS];
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;

static struct bl_stream *add_stream(FILE *file, bool output) {
    struct bl_stream *const s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->file = file;
    s->output = output;
    s->source.line = 1;
    pthread_mutex_lock(&streams_lock);
    int i = 0;
    while (i < BL_STREAMS && streams[i] != NULL)
        i++;
    if (i < BL_STREAMS)
        streams[i] = s;
    pthread_mutex_unlock(&streams_lock);
    if (i == BL_STREAMS) {
        free(s);
        return NULL;
    }
    s->id = i;
    return s;
}

void bl_streams_init(void) {
    struct bl_stream *const in = add_stream(stdin, false);
    struct bl_stream *const out = add_stream(stdout, true);
    struct bl_stream *const err = add_stream(stderr, true);
    BL_CHECK(in != NULL && out != NULL && err != NULL);
    in->alias = bl_atom_str("user_input");
    out->alias = bl_atom_str("user_output");
    err->alias = bl_atom_str("user_error");
    in->mode = BL_ATOM(read);
    out->mode = err->mode = BL_ATOM(append);
    in->interactive = isatty(0) != 0;
}

struct bl_stream *bl_stream_standard(int which) {
    return streams[which];
}

bool bl_io_open(struct bl_machine *m) {
    m->io = calloc(1, sizeof *m->io);
    if (m->io == NULL)
        return false;
    m->io->output = streams[BL_USER_OUTPUT];
    m->io->input = streams[BL_USER_INPUT];
    return true;
}

void bl_io_close(struct bl_machine *m) {
    free(m->io);
    m->io = NULL;
}

struct bl_stream *bl_current_output(const struct bl_machine *m) {
    return m->io->output;
}

struct bl_stream *bl_current_input(const struct bl_machine *m) {
    return m->io->input;
}

struct bl_stream *bl_stream_open(FILE *file, bool output) {
    struct bl_stream *const s = add_stream(file, output);
    if (s != NULL)
        s->to_memory = output && file == NULL;
    return s;
}

void bl_stream_close(struct bl_stream *s) {
    if (s->id <= BL_USER_ERROR) {
        if (s->output)
            fflush(s->file);
        return;
    }
    pthread_mutex_lock(&streams_lock);
    streams[s->id] = NULL;
    pthread_mutex_unlock(&streams_lock);
    if (s->file != NULL)
        fclose(s->file);
    bl_out_fini(&s->memory);
    free(s);
}

void bl_stream_write(struct bl_stream *s, const char *text, size_t bytes) {
    if (s->to_memory)
        bl_out_bytes(&s->memory, text, bytes);
    else
        (void)fwrite(text, 1, bytes, s->file);
    for (size_t i = bytes; i-- > 0;) {
        if (text[i] == '\n') {
            bl_store_relaxed(&s->column, (uint32_t)(bytes - i - 1));
            return;
        }
    }
    bl_store_relaxed(&s->column, bl_load_relaxed(&s->column) + (uint32_t)bytes);
}

// At a terminal a line at a time, so that what was typed is acted on.
bool bl_stream_more(struct bl_stream *s) {
    char buffer[8192];
    size_t n = 0;
    if (s->file == NULL)
        return false;
    if (s->interactive) {
        if (fgets(buffer, sizeof buffer, s->file) != NULL)
            n = strlen(buffer);
    } else {
        n = fread(buffer, 1, sizeof buffer, s->file);
    }
    if (n == 0)
        return false;
    bl_out_bytes(&s->memory, buffer, n);
    s->source.text = s->memory.text;
    s->source.length = s->memory.bytes;
    return true;
}

bl_word bl_stream_term(struct bl_machine *m, const struct bl_stream *s) {
    return bl_struct1(m, BL_ATOM(stream), bl_int(s->id));
}

static struct bl_stream *find_alias(bl_word alias) {
    struct bl_stream *found = NULL;
    pthread_mutex_lock(&streams_lock);
    for (int i = 0; i < BL_STREAMS && found == NULL; i++) {
        if (streams[i] != NULL && streams[i]->alias == alias)
            found = streams[i];
    }
    pthread_mutex_unlock(&streams_lock);
    return found;
}

static struct bl_stream *find_number(int64_t id) {
    if (id < 0 || id >= BL_STREAMS)
        return NULL;
    pthread_mutex_lock(&streams_lock);
    struct bl_stream *const s = streams[id];
    pthread_mutex_unlock(&streams_lock);
    return s;
}

bool bl_stream_has_alias(bl_word alias) { return find_alias(alias) != NULL; }

bool bl_stream_list(struct bl_machine *m, bl_word *out) {
    *out = BL_ATOM(nil);
    if (!bl_heap_ensure(m, 4 * BL_STREAMS))
        return false;
    pthread_mutex_lock(&streams_lock);
    for (int i = BL_STREAMS; i-- > 0;) {
        if (streams[i] != NULL)
            *out = bl_list_cell(m, bl_stream_term(m, streams[i]), *out);
    }
    pthread_mutex_unlock(&streams_lock);
    return true;
}

int bl_find_stream(struct bl_machine *m, bl_word a, struct bl_stream **out) {
    a = bl_deref(a);
    struct bl_stream *s = NULL;
    if (bl_is_var(a))
        return bl_throw_instantiation(m);
    if (bl_is_atom(a)) {
        s = find_alias(a);
    } else if (bl_tag(a) == BL_STR && *bl_ptr(a) == BL_FN(stream_1)) {
        const bl_word id = bl_deref(bl_ptr(a)[1]);
        if (bl_is_int(id))
            s = find_number(bl_int_value(id));
    } else {
        return bl_throw_domain(m, "stream_or_alias", a);
    }
    if (s == NULL)
        return bl_throw_existence(m, BL_ATOM_stream_name, a);
    *out = s;
    return BL_TRUE;
}

int bl_take_stream(struct bl_machine *m, bl_word a, bool output,
                   struct bl_stream **out) {
    if (bl_find_stream(m, a, out) != BL_TRUE)
        return BL_THROW;
    if ((*out)->output == output)
        return BL_TRUE;
    return bl_throw_permission(m, output ? BL_ATOM_output : BL_ATOM_input,
                               BL_ATOM_stream_name, bl_deref(a));
}
