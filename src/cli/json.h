// SPDX-License-Identifier: MIT
//
// JSON: a writer that keeps track of commas, and readers of single values for
// the lines that the runtime writes.
//
#ifndef BL_CLI_JSON_H
#define BL_CLI_JSON_H

#include "cli/cli.h"

struct bl_json {
    FILE *out;
    bool comma; // something stands before, on this level
};

// `key` is NULL inside an array and at the outermost level.
void bl_json_open(struct bl_json *j, const char *key, char bracket);
void bl_json_close(struct bl_json *j, char bracket);
void bl_json_string(struct bl_json *j, const char *key, const char *value);
void bl_json_u64(struct bl_json *j, const char *key, uint64_t value);
void bl_json_i64(struct bl_json *j, const char *key, int64_t value);
// NaN is written as null.
void bl_json_real(struct bl_json *j, const char *key, double value,
                  int decimals);
void bl_json_bool(struct bl_json *j, const char *key, bool value);
void bl_json_null(struct bl_json *j, const char *key);

// The text of the value at `path` ("end.heap.bytes") inside the object at
// `text`; NULL where there is none or the text is broken.
const char *bl_json_find(const char *text, const char *path);
bool bl_json_get_u64(const char *text, const char *path, uint64_t *out);
// A new string; NULL where there is none.
char *bl_json_get_string(const char *text, const char *path);
// The elements of the array at `array` in turn: the first for *at == NULL.
// Returns NULL behind the last one.
const char *bl_json_next(const char *array, const char *at);

#endif
