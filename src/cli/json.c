// SPDX-License-Identifier: MIT
#include "cli/json.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_string(FILE *out, const char *s) {
    char c[6];
    fputc('"', out);
    while (*s)
        fwrite(c, 1, bl_json_char(&s, c), out);
    fputc('"', out);
}

static void begin(struct bl_json *j, const char *key) {
    if (j->comma)
        fputc(',', j->out);
    j->comma = true;
    if (key) {
        put_string(j->out, key);
        fputc(':', j->out);
    }
}

void bl_json_open(struct bl_json *j, const char *key, char bracket) {
    begin(j, key);
    fputc(bracket, j->out);
    j->comma = false;
}

void bl_json_close(struct bl_json *j, char bracket) {
    fputc(bracket, j->out);
    j->comma = true;
}

void bl_json_string(struct bl_json *j, const char *key, const char *value) {
    begin(j, key);
    put_string(j->out, value);
}

void bl_json_u64(struct bl_json *j, const char *key, uint64_t value) {
    begin(j, key);
    fprintf(j->out, "%llu", (unsigned long long)value);
}

void bl_json_i64(struct bl_json *j, const char *key, int64_t value) {
    begin(j, key);
    fprintf(j->out, "%lld", (long long)value);
}

void bl_json_real(struct bl_json *j, const char *key, double value,
                  int decimals) {
    begin(j, key);
    if (isfinite(value))
        fprintf(j->out, "%.*f", decimals, value);
    else
        fputs("null", j->out);
}

void bl_json_bool(struct bl_json *j, const char *key, bool value) {
    begin(j, key);
    fputs(value ? "true" : "false", j->out);
}

void bl_json_null(struct bl_json *j, const char *key) {
    begin(j, key);
    fputs("null", j->out);
}

static const char *skip_spaces(const char *p) {
    return p + strspn(p, " \t\r\n");
}

// Behind the string that begins at p; NULL where it does not end.
static const char *skip_string(const char *p) {
    for (p++; *p && *p != '"'; p++) {
        if (*p == '\\' && p[1])
            p++;
    }
    return *p == '"' ? p + 1 : NULL;
}

// Behind the value that begins at p; NULL where it is broken.
static const char *skip_value(const char *p) {
    unsigned depth = 0;
    do {
        p = skip_spaces(p);
        if (*p == '\0')
            return NULL;
        if (*p == '"') {
            p = skip_string(p);
            if (!p)
                return NULL;
        } else if (*p == '{' || *p == '[') {
            depth++;
            p++;
        } else if (*p == '}' || *p == ']') {
            if (depth == 0)
                return NULL;
            depth--;
            p++;
        } else if (*p == ',' || *p == ':') {
            p++;
        } else {
            p += strcspn(p, " \t\r\n,:{}[]\"");
        }
    } while (depth);
    return p;
}

// The value of the member `key` (n characters) of the object at p.
static const char *find_member(const char *p, const char *key, size_t n) {
    p = skip_spaces(p);
    if (*p != '{')
        return NULL;
    p = skip_spaces(p + 1);
    while (*p == '"') {
        const char *name = p + 1;
        p = skip_string(p);
        if (!p)
            return NULL;
        const bool hit =
            (size_t)(p - 1 - name) == n && strncmp(name, key, n) == 0;
        p = skip_spaces(p);
        if (*p != ':')
            return NULL;
        p = skip_spaces(p + 1);
        if (hit)
            return p;
        p = skip_value(p);
        if (!p)
            return NULL;
        p = skip_spaces(p);
        if (*p == ',')
            p = skip_spaces(p + 1);
    }
    return NULL;
}

const char *bl_json_find(const char *text, const char *path) {
    while (text && *path) {
        const size_t n = strcspn(path, ".");
        text = find_member(text, path, n);
        path += n + (path[n] == '.');
    }
    return text;
}

bool bl_json_get_u64(const char *text, const char *path, uint64_t *out) {
    const char *value = bl_json_find(text, path);
    return value && bl_read_u64(&value, out);
}

static void put_utf8(char *to, size_t *n, unsigned c) {
    if (c < 0x80) {
        to[(*n)++] = (char)c;
    } else if (c < 0x800) {
        to[(*n)++] = (char)(0xc0 | c >> 6);
        to[(*n)++] = (char)(0x80 | (c & 0x3f));
    } else {
        to[(*n)++] = (char)(0xe0 | c >> 12);
        to[(*n)++] = (char)(0x80 | (c >> 6 & 0x3f));
        to[(*n)++] = (char)(0x80 | (c & 0x3f));
    }
}

// What stands behind "\\u"; 0xfffd where that is no number.
static unsigned four_digits(const char *p) {
    char digits[5] = "";
    memcpy(digits, p, 4);
    const char *end = digits;
    uint64_t c = 0;
    for (char *d = digits; *d; d++)
        *d = (char)tolower((unsigned char)*d);
    return bl_read_hex(&end, &c) && *end == '\0' ? (unsigned)c : 0xfffd;
}

static char escaped(char c) {
    switch (c) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    default:
        return c;
    }
}

char *bl_json_get_string(const char *text, const char *path) {
    const char *p = bl_json_find(text, path);
    const char *end = p && *p == '"' ? skip_string(p) : NULL;
    if (!end)
        return NULL;
    char *out = bl_xrealloc(NULL, (size_t)(end - p));
    size_t n = 0;
    for (p++; p < end - 1; p++) {
        if (*p != '\\') {
            out[n++] = *p;
            continue;
        }
        p++;
        if (*p == 'u' && end - p > 5) {
            put_utf8(out, &n, four_digits(p + 1));
            p += 4;
        } else {
            out[n++] = escaped(*p);
        }
    }
    out[n] = '\0';
    return out;
}

const char *bl_json_next(const char *array, const char *at) {
    const char *p = at ? skip_value(at) : skip_spaces(array);
    if (!p)
        return NULL;
    if (!at) {
        if (*p != '[')
            return NULL;
        p = skip_spaces(p + 1);
        return *p == ']' || *p == '\0' ? NULL : p;
    }
    p = skip_spaces(p);
    return *p == ',' ? skip_spaces(p + 1) : NULL;
}
