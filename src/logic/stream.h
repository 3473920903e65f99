// SPDX-License-Identifier: MIT
//
// Streams. A stream is a file or text in memory; a program names it by the
// term '$stream'(N) or by an alias. The three standard streams and those that
// threads share are guarded by the lock of libc's FILE; the table of streams
// has its own.
//
#ifndef BL_LOGIC_STREAM_H
#define BL_LOGIC_STREAM_H

#include "logic/machine.h"
#include "logic/token.h"
#include "logic/writer.h"

#include <pthread.h>

struct bl_stream {
    FILE *file;              // output, or input not yet read; or NULL
    struct bl_out memory;    // output to memory; text of input
    struct bl_source source; // input: what of the text is read
    bl_word alias;           // const: 0: none
    bl_word name;            // const: of the file; 0: none
    bl_word mode;            // const: read, write or append
    int id;                  // const
    bool output;             // const
    bool binary;    // const: of bytes, which characters are not made of
    bool to_memory; // const
    bool closed;    // lock
    uint32_t users; // streams_lock: machines, and the table
    pthread_mutex_t lock;
    bool interactive;         // input: of a terminal
    bool by_lines;            // input: somebody may wait for what it brings
    _Atomic(uint32_t) column; // output: characters since the line began
    _Atomic(uint32_t) lines;  // output: those that ended
};

enum { BL_USER_INPUT, BL_USER_OUTPUT, BL_USER_ERROR, BL_STREAMS = 1024 };

void bl_streams_init(void);
struct bl_stream *bl_stream_standard(int which);
// The machine's current streams.
struct bl_stream *bl_current_output(const struct bl_machine *m);
struct bl_stream *bl_current_input(const struct bl_machine *m);

// Between these two nobody else reads, writes or closes it; BL_THROW if it is
// closed, or at an interrupt.
int bl_stream_enter(struct bl_machine *m, struct bl_stream *s);
void bl_stream_leave(struct bl_stream *s);
// Enters it; BL_TRUE or BL_THROW.
int bl_stream_write(struct bl_machine *m, struct bl_stream *s, const char *text,
                    size_t bytes);
int bl_stream_flush(struct bl_machine *m, struct bl_stream *s);
// Takes a stream argument; BL_TRUE or BL_THROW. The machine keeps it until it
// takes the next one.
int bl_take_stream(struct bl_machine *m, bl_word a, bool output,
                   struct bl_stream **out);
// As above, of either kind.
int bl_find_stream(struct bl_machine *m, bl_word a, struct bl_stream **out);
// A builtin in two forms: `without` a stream it acts on the current one, `with`
// a stream before the other arguments on that one. `does` sees the others.
#define BL_ON_STREAM(without, with, current, is_output, does)                  \
    static int without(struct bl_machine *m, bl_word *a) {                     \
        return does(m, m->io->current, a);                                     \
    }                                                                          \
    static int with(struct bl_machine *m, bl_word *a) {                        \
        struct bl_stream *s;                                                   \
        if (bl_take_stream(m, a[0], is_output, &s) != BL_TRUE)                 \
            return BL_THROW;                                                   \
        return does(m, s, a + 1);                                              \
    }
#define BL_ON_INPUT(without, with, does)                                       \
    BL_ON_STREAM(without, with, input, false, does)
#define BL_ON_OUTPUT(without, with, does)                                      \
    BL_ON_STREAM(without, with, output, true, does)
// Before something is said elsewhere.
void bl_flush_output(void);
// At the end of the program: the exit status, which is `status` unless standard
// output did not take all that was written; then that is said.
int bl_end_output(int status);
// All of them, as a list.
BL_MUST_USE bool bl_stream_list(struct bl_machine *m, bl_word *out);
bool bl_stream_has_alias(bl_word alias);
// Reads more text of an input stream that was entered, of a pipe or a terminal
// a line; false at its end. What it had may end within a token or character.
bool bl_stream_more(struct bl_stream *s);
// A stream as `like` says, which the machine keeps as one that it took; NULL:
// there are too many.
struct bl_stream *bl_stream_open(struct bl_machine *m,
                                 const struct bl_stream *like);
// For everybody; BL_TRUE or BL_THROW.
int bl_stream_close(struct bl_machine *m, struct bl_stream *s);
// Whether it is open; who writes to it is not waited for.
bool bl_stream_is_there(const struct bl_stream *s);
// Closes one to memory, where that was not done yet; an interrupt waits.
void bl_stream_drop_memory(struct bl_stream *s);
bl_word bl_stream_term(struct bl_machine *m, const struct bl_stream *s);

// What a machine has of streams, and is counted as a user of.
struct bl_io {
    struct bl_stream *output;
    struct bl_stream *input;
    struct bl_stream *taken; // the last one; or NULL
};
// Makes it a current one.
void bl_stream_keep(struct bl_stream **place, struct bl_stream *s);
bool bl_io_open(struct bl_machine *m);
void bl_io_close(struct bl_machine *m);

#endif
