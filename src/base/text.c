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

// The second byte tells forms longer than need be, the surrogates of UTF-16 and
// what lies beyond the last character (table 3-7 of the Unicode standard).
static bool may_be_second(unsigned char first, unsigned char second) {
    const unsigned char least = first == 0xe0   ? 0xa0
                                : first == 0xf0 ? 0x90
                                                : 0x80;
    const unsigned char most = first == 0xed   ? 0x9f
                               : first == 0xf4 ? 0x8f
                                               : 0xbf;
    return second >= least && second <= most;
}

size_t bl_utf8_length(const char *s) {
    const unsigned char *p = (const unsigned char *)s;
    if (p[0] < 0x80)
        return 1;
    const size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || !may_be_second(p[0], p[1]))
        return 0;
    for (size_t i = 2; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    return n;
}

static size_t json_ascii(char c, char out[6]) {
    if (c == '"' || c == '\\') {
        out[0] = '\\';
        out[1] = c;
        return 2;
    }
    if ((unsigned char)c >= 0x20) {
        out[0] = c;
        return 1;
    }
    static const char digits[] = "0123456789abcdef";
    const char code[6] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
    for (size_t i = 0; i < sizeof code; i++)
        out[i] = code[i];
    return sizeof code;
}

size_t bl_json_char(const char **s, char out[6]) {
    const size_t n = bl_utf8_length(*s);
    const char *const from = n > 0 ? *s : "\xef\xbf\xbd";
    const size_t length = n > 0 ? n : 3;
    *s += n > 0 ? n : 1;
    if (n == 1)
        return json_ascii(*from, out);
    for (size_t i = 0; i < length; i++)
        out[i] = from[i];
    return length;
}

void bl_text_json(struct bl_text *t, const char *s) {
    char c[6];
    bl_text_char(t, '"');
    while (*s)
        bl_text_bytes(t, c, bl_json_char(&s, c));
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
