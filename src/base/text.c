// SPDX-License-Identifier: MIT
#include "base/text.h"

#include "base/assert.h"

void bl_text_init(struct bl_text *t, char *buffer, size_t capacity) {
    BL_REQUIRE(capacity > 0);
    *t = (struct bl_text){.data = buffer, .capacity = capacity};
    buffer[0] = '\0';
}

void bl_text_char(struct bl_text *t, char c) {
    if (t->len + 1 >= t->capacity) {
        t->cut = true;
        return;
    }
    t->data[t->len++] = c;
    t->data[t->len] = '\0';
}

void bl_text_bytes(struct bl_text *t, const char *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        bl_text_char(t, s[i]);
}

void bl_text_str(struct bl_text *t, const char *s) {
    while (*s)
        bl_text_char(t, *s++);
}

static void put_digits(struct bl_text *t, uint64_t x, unsigned radix) {
    char digits[20];
    size_t n = 0;
    do {
        digits[n++] = "0123456789abcdef"[x % radix];
        x /= radix;
    } while (x);
    while (n)
        bl_text_char(t, digits[--n]);
}

void bl_text_u64(struct bl_text *t, uint64_t x) { put_digits(t, x, 10); }

void bl_text_i64(struct bl_text *t, int64_t x) {
    if (x < 0)
        bl_text_char(t, '-');
    put_digits(t, x < 0 ? 0 - (uint64_t)x : (uint64_t)x, 10);
}

void bl_text_hex(struct bl_text *t, uint64_t x) {
    bl_text_str(t, "0x");
    put_digits(t, x, 16);
}

void bl_text_json(struct bl_text *t, const char *s) {
    bl_text_char(t, '"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\') {
            bl_text_char(t, '\\');
            bl_text_char(t, *s);
        } else if (c < 0x20) {
            bl_text_str(t, "\\u00");
            bl_text_char(t, "0123456789abcdef"[c >> 4]);
            bl_text_char(t, "0123456789abcdef"[c & 15]);
        } else {
            bl_text_char(t, *s);
        }
    }
    bl_text_char(t, '"');
}

size_t bl_str_len(const char *s, size_t limit) {
    size_t n = 0;
    while (n < limit && s[n])
        n++;
    return n;
}

bool bl_str_eq(const char *a, const char *b) {
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

bool bl_str_starts(const char *s, const char *prefix) {
    while (*prefix && *s == *prefix) {
        s++;
        prefix++;
    }
    return *prefix == '\0';
}

static int digit_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

static bool read_digits(const char **s, uint64_t *out, int radix) {
    uint64_t x = 0;
    const char *p = *s;
    for (; digit_value(*p) < radix; p++) {
        if (__builtin_mul_overflow(x, (uint64_t)radix, &x) ||
            __builtin_add_overflow(x, (uint64_t)digit_value(*p), &x))
            return false;
    }
    if (p == *s)
        return false;
    *s = p;
    *out = x;
    return true;
}

bool bl_read_u64(const char **s, uint64_t *out) {
    return read_digits(s, out, 10);
}

bool bl_read_hex(const char **s, uint64_t *out) {
    return read_digits(s, out, 16);
}
