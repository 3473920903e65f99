// SPDX-License-Identifier: MIT
//
// The table of streams, and moving text through them.
//
#include "logic/stream.h"

#include "logic/builtin.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct bl_stream *streams[BL_STREAMS];
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_regular(FILE *file) {
    struct stat st;
    return fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode);
}

// One user of the stream that is returned is the table.
static struct bl_stream *add_stream(const struct bl_stream *like) {
    struct bl_stream *const s = malloc(sizeof *s);
    if (s == NULL)
        return NULL;
    *s = *like;
    s->to_memory = s->output && s->file == NULL;
    s->by_lines = !s->output && s->file != NULL && !is_regular(s->file);
    s->source.line = 1;
    s->users = 1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_lock(&streams_lock);
    while (s->id < BL_STREAMS && streams[s->id] != NULL)
        s->id++;
    if (s->id < BL_STREAMS)
        streams[s->id] = s;
    pthread_mutex_unlock(&streams_lock);
    if (s->id < BL_STREAMS)
        return s;
    pthread_mutex_destroy(&s->lock);
    free(s);
    return NULL;
}

static void add_standard(FILE *file, const char *alias, const char *mode) {
    const struct bl_stream like = {.file = file,
                                   .alias = bl_atom_str(alias),
                                   .mode = bl_atom_str(mode),
                                   .output = file != stdin,
                                   .interactive =
                                       file == stdin && isatty(0) != 0};
    BL_CHECK(add_stream(&like) != NULL);
}

void bl_streams_init(void) {
    add_standard(stdin, "user_input", "read");
    add_standard(stdout, "user_output", "append");
    add_standard(stderr, "user_error", "append");
}

// Under streams_lock: one user less; who gets it frees it.
static struct bl_stream *let_go(struct bl_stream *s) {
    if (s == NULL || --s->users > 0)
        return NULL;
    BL_ASSERT(s->closed);
    return s;
}

static void free_stream(struct bl_stream *s) {
    if (s == NULL)
        return;
    bl_out_fini(&s->memory);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void bl_stream_keep(struct bl_stream **place, struct bl_stream *s) {
    pthread_mutex_lock(&streams_lock);
    if (s != NULL)
        s->users++;
    struct bl_stream *const last = let_go(*place);
    *place = s;
    pthread_mutex_unlock(&streams_lock);
    free_stream(last);
}

struct bl_stream *bl_stream_standard(int which) {
    return streams[which];
}

bool bl_io_open(struct bl_machine *m) {
    m->io = calloc(1, sizeof *m->io);
    if (m->io == NULL)
        return false;
    bl_stream_keep(&m->io->output, streams[BL_USER_OUTPUT]);
    bl_stream_keep(&m->io->input, streams[BL_USER_INPUT]);
    return true;
}

void bl_io_close(struct bl_machine *m) {
    if (m->io == NULL)
        return;
    bl_stream_keep(&m->io->output, NULL);
    bl_stream_keep(&m->io->input, NULL);
    bl_stream_keep(&m->io->taken, NULL);
    free(m->io);
    m->io = NULL;
}

struct bl_stream *bl_current_output(const struct bl_machine *m) {
    return m->io->output;
}

struct bl_stream *bl_current_input(const struct bl_machine *m) {
    return m->io->input;
}

struct bl_stream *bl_stream_open(struct bl_machine *m,
                                 const struct bl_stream *like) {
    struct bl_stream *const s = add_stream(like);
    if (s != NULL)
        bl_stream_keep(&m->io->taken, s);
    return s;
}

int bl_stream_enter(struct bl_machine *m, struct bl_stream *s) {
    if (!bl_machine_lock(m, &s->lock))
        return BL_THROW;
    if (!s->closed)
        return BL_TRUE;
    bl_stream_leave(s);
    return bl_throw_existence(m, BL_ATOM_stream_name, bl_stream_term(m, s));
}

void bl_stream_leave(struct bl_stream *s) { pthread_mutex_unlock(&s->lock); }

static int not_written(struct bl_machine *m, const struct bl_stream *s) {
    return bl_throw_io(m, BL_ATOM_write, bl_stream_term(m, s));
}

// libc forgets what a flush could not write, so the next one succeeds again.
static _Atomic(int) output_error; // of errno: why some of the output is lost

static bool flush(FILE *file) {
    if (fflush(file) == 0)
        return true;
    if (file == stdout)
        bl_store_relaxed(&output_error, errno);
    return false;
}

void bl_flush_output(void) { (void)flush(stdout); }

int bl_end_output(int status) {
    bl_flush_output();
    const int error = bl_load_relaxed(&output_error);
    if (error == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "leaflog: cannot write to standard output: %s\n",
            error != 0 ? strerror(error) : "not all of it was taken");
    return 3;
}

int bl_stream_flush(struct bl_machine *m, struct bl_stream *s) {
    if (bl_stream_enter(m, s) != BL_TRUE)
        return BL_THROW;
    const bool written = s->to_memory || flush(s->file);
    bl_stream_leave(s);
    return written ? BL_TRUE : not_written(m, s);
}

static void leave_table(const struct bl_stream *s) {
    pthread_mutex_lock(&streams_lock);
    BL_ASSERT(streams[s->id] == s);
    struct bl_stream *const last = let_go(streams[s->id]);
    streams[s->id] = NULL;
    pthread_mutex_unlock(&streams_lock);
    free_stream(last);
}

// Of one that was entered. Whether its file took all.
static bool end_stream(struct bl_stream *s) {
    s->closed = true;
    const bool written = s->file == NULL || fclose(s->file) == 0 || !s->output;
    s->file = NULL;
    bl_out_fini(&s->memory);
    s->source.text = NULL;
    return written;
}

bool bl_stream_is_there(const struct bl_stream *s) {
    pthread_mutex_lock(&streams_lock);
    const bool there = streams[s->id] == s;
    pthread_mutex_unlock(&streams_lock);
    return there;
}

void bl_stream_drop_memory(struct bl_stream *s) {
    BL_ASSERT(s->to_memory);
    pthread_mutex_lock(&s->lock);
    const bool open = !s->closed;
    if (open)
        (void)end_stream(s);
    bl_stream_leave(s);
    if (open)
        leave_table(s);
}

int bl_stream_close(struct bl_machine *m, struct bl_stream *s) {
    if (s->id <= BL_USER_ERROR)
        return s->output ? bl_stream_flush(m, s) : BL_TRUE;
    if (bl_stream_enter(m, s) != BL_TRUE)
        return BL_THROW;
    const bool written = end_stream(s);
    bl_stream_leave(s);
    const int r = written ? BL_TRUE : not_written(m, s);
    leave_table(s);
    return r;
}

static void count_columns(struct bl_stream *s, const char *text, size_t bytes) {
    const char *const end = text + bytes;
    uint32_t before = bl_load_relaxed(&s->column);
    uint32_t lines = bl_load_relaxed(&s->lines);
    const char *newline;
    while (text < end &&
           (newline = memchr(text, '\n', (size_t)(end - text))) != NULL) {
        lines++;
        before = 0;
        text = newline + 1;
    }
    bl_store_relaxed(&s->lines, lines);
    bl_store_relaxed(&s->column, before + (uint32_t)bl_utf8_count(
                                              text, (size_t)(end - text)));
}

int bl_stream_write(struct bl_machine *m, struct bl_stream *s, const char *text,
                    size_t bytes) {
    if (bl_stream_enter(m, s) != BL_TRUE)
        return BL_THROW;
    if (s->to_memory && !bl_may_write(m, s->memory.bytes + bytes)) {
        bl_stream_leave(s);
        return BL_THROW;
    }
    bool written = true;
    if (s->to_memory)
        bl_out_bytes(&s->memory, text, bytes);
    else
        written = fwrite(text, 1, bytes, s->file) == bytes;
    if (!written && s->file == stdout)
        bl_store_relaxed(&output_error, errno);
    count_columns(s, text, bytes);
    bl_stream_leave(s);
    return written ? BL_TRUE : not_written(m, s);
}

// A line, and no more: whoever is at the other end may wait for what it brings.
static size_t take_line(struct bl_stream *s) {
    char *line = NULL;
    size_t capacity = 0;
    const ssize_t n = getline(&line, &capacity, s->file);
    if (n > 0)
        bl_out_bytes(&s->memory, line, (size_t)n);
    free(line);
    return n > 0 ? (size_t)n : 0;
}

// As much again as was not taken yet: who needs more looks at it all once more.
static size_t take_block(struct bl_stream *s) {
    char buffer[8192];
    size_t left = s->source.length - s->source.at;
    size_t taken = 0;
    for (;;) {
        const size_t n = fread(buffer, 1, sizeof buffer, s->file);
        bl_out_bytes(&s->memory, buffer, n);
        taken += n;
        if (n < sizeof buffer || left <= n)
            return taken;
        left -= n;
    }
}

bool bl_stream_more(struct bl_stream *s) {
    if (s->file == NULL)
        return false;
    const size_t n = s->by_lines ? take_line(s) : take_block(s);
    if (n == 0)
        return false;
    s->source.text = s->memory.text;
    s->source.length = s->memory.bytes;
    return true;
}

bl_word bl_stream_term(struct bl_machine *m, const struct bl_stream *s) {
    return bl_struct1(m, BL_ATOM(stream), bl_int(s->id));
}

// Under streams_lock.
static struct bl_stream *find_alias(bl_word alias) {
    for (int i = 0; i < BL_STREAMS; i++) {
        if (streams[i] != NULL && streams[i]->alias == alias)
            return streams[i];
    }
    return NULL;
}

static struct bl_stream *find_number(bl_word id) {
    const int64_t i = bl_is_int(id) ? bl_int_value(id) : -1;
    return i < 0 || i >= BL_STREAMS ? NULL : streams[i];
}

bool bl_stream_has_alias(bl_word alias) {
    pthread_mutex_lock(&streams_lock);
    const bool found = find_alias(alias) != NULL;
    pthread_mutex_unlock(&streams_lock);
    return found;
}

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
    if (bl_is_var(a))
        return bl_throw_instantiation(m);
    const bool term = bl_tag(a) == BL_STR && *bl_ptr(a) == BL_FN(stream_1);
    if (!bl_is_atom(a) && !term)
        return bl_throw_domain(m, "stream_or_alias", a);
    pthread_mutex_lock(&streams_lock);
    struct bl_stream *const s =
        term ? find_number(bl_deref(bl_ptr(a)[1])) : find_alias(a);
    struct bl_stream *const last = let_go(m->io->taken);
    m->io->taken = s;
    if (s != NULL)
        s->users++;
    pthread_mutex_unlock(&streams_lock);
    free_stream(last);
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
