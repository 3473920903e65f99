// SPDX-License-Identifier: MIT
//
// Text without printf: a writer over the caller's buffer, and the readers that
// /proc files and options need. Never allocates, never fails: what does not
// fit is cut and `cut` is set. Numbers are decimal unless the name says hex.
//
#ifndef BL_BASE_TEXT_H
#define BL_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The text so far is data[0..len), and always ends with a NUL at data[len].
struct bl_text {
    char *data;
    size_t len;
    size_t capacity; // const: bytes at `data`, the NUL among them; > 0
    bool cut;        // something did not fit
};

void bl_text_init(struct bl_text *t, char *buffer, size_t capacity);
void bl_text_char(struct bl_text *t, char c);
void bl_text_str(struct bl_text *t, const char *s);
void bl_text_bytes(struct bl_text *t, const char *s, size_t n);
void bl_text_u64(struct bl_text *t, uint64_t x);
void bl_text_i64(struct bl_text *t, int64_t x);
void bl_text_hex(struct bl_text *t, uint64_t x); // with 0x in front
// Bytes of the UTF-8 character at `s`, which is not at its end; 0: none is
// there, as file names may be anything, and may be cut.
size_t bl_utf8_length(const char *s);
// The character at *s as a JSON string has it; *s moves behind it. Bytes that
// are no UTF-8 become U+FFFD. Returns how many bytes it takes, at most 6.
size_t bl_json_char(const char **s, char out[6]);
// A JSON string with its quotes.
void bl_text_json(struct bl_text *t, const char *s);

// Length of `s`, at most `limit`.
size_t bl_str_len(const char *s, size_t limit);
bool bl_str_eq(const char *a, const char *b);
bool bl_str_starts(const char *s, const char *prefix);

// Reads digits at *s and moves *s behind them; false where there is no digit
// or the number does not fit.
bool bl_read_u64(const char **s, uint64_t *out);
bool bl_read_hex(const char **s, uint64_t *out); // without 0x

#endif
