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

struct bl_stream {
    FILE *file;              // output, or input not yet read; or NULL
    struct bl_out memory;    // output to memory; text of input
    struct bl_source source; // input: what of the text is read
    bl_word alias;           // 0: none
    bl_word name;            // of the file; 0: none
    bl_word mode;            // read, write or append
    int id;
    bool output;
    bool binary; // of bytes, which characters are not made of
    bool to_memory;
    bool interactive;         // input: read by lines
    _Atomic(uint32_t) column; // output: characters since the line began; a
                              // guess where threads write to one stream
};

enum { BL_USER_INPUT, BL_USER_OUTPUT, BL_USER_ERROR, BL_STREAMS = 1024 };

void bl_streams_init(void);
struct bl_stream *bl_stream_standard(int which);
// The machine's current streams.
struct bl_stream *bl_current_output(const struct bl_machine *m);
struct bl_stream *bl_current_input(const struct bl_machine *m);

void bl_stream_write(struct bl_stream *s, const char *text, size_t bytes);
// Takes a stream argument; BL_TRUE or BL_THROW.
int bl_take_stream(struct bl_machine *m, bl_word a, bool output,
                   struct bl_stream **out);
// As above, of either kind.
int bl_find_stream(struct bl_machine *m, bl_word a, struct bl_stream **out);
// All of them, as a list.
BL_MUST_USE bool bl_stream_list(struct bl_machine *m, bl_word *out);
bool bl_stream_has_alias(bl_word alias);
// Reads more text of an input stream; false at its end.
bool bl_stream_more(struct bl_stream *s);
struct bl_stream *bl_stream_open(FILE *file, bool output);
void bl_stream_close(struct bl_stream *s);
bl_word bl_stream_term(struct bl_machine *m, const struct bl_stream *s);

// What a machine has of streams.
struct bl_io {
    struct bl_stream *output;
    struct bl_stream *input;
};
bool bl_io_open(struct bl_machine *m);
void bl_io_close(struct bl_machine *m);

#endif
