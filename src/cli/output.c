// SPDX-License-Identifier: MIT
#include "cli/output.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const bl_sameness_names[] = {"identical",
                                         "same apart from times and memory",
                                         "differs in figures only", "differs"};

static const char *const units[] = {
    "s",  "sec", "secs", "second", "seconds", "ms",         "us",   "ns",
    "kB", "KB",  "KiB",  "MB",     "Mb",      "MiB",        "GB",   "GiB",
    "B",  "/s",  "/sec", "bytes",  "% CPU",   "per second", "mins", "minutes"};
static const char *const words[] = {"time", "memory", "mem", "rss", "cpu"};

struct mask {
    const char *line;
    bool comment;  // rule 3 and 4
    bool measured; // rule 3: one of `words` is on the line
    bool all_figures;
    char *out;
    size_t len;
    unsigned masked;         // numbers written as #
    const char *decimal_end; // of the first number, where it was a decimal
    unsigned kept;
};

static bool is_word_char(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

// The character at `p` begins a word: of "cpu_time" or "totalTime" too.
static bool begins_word(const char *line, const char *p) {
    return p == line || !isalnum((unsigned char)p[-1]) ||
           (isupper((unsigned char)p[0]) && islower((unsigned char)p[-1]));
}

static bool word_at(const char *p, const char *word) {
    const size_t n = strlen(word);
    return strncasecmp(p, word, n) == 0 && !is_word_char(p[n]);
}

static bool has_measure_word(const char *line) {
    for (const char *p = line; *p; p++) {
        if (!begins_word(line, p))
            continue;
        for (size_t i = 0; i < BL_ARRAY_LEN(words); i++) {
            if (word_at(p, words[i]))
                return true;
        }
    }
    return false;
}

static bool is_comment(const char *line) {
    line += strspn(line, " \t");
    return (line[0] == 'c' && (line[1] == ' ' || line[1] == '\0')) ||
           (line[0] && strchr("%;|#", line[0]));
}

static bool unit_behind(const char *p) {
    p += strspn(p, " \t");
    for (size_t i = 0; i < BL_ARRAY_LEN(units); i++) {
        const size_t n = strlen(units[i]);
        if (strncmp(p, units[i], n) == 0 && !is_word_char(p[n]))
            return true;
    }
    return false;
}

// The word in front of `p`, over blanks and one of ":=", is one of `words`.
static bool measure_word_before(const char *line, const char *p) {
    while (p > line && strchr(" \t:=", p[-1]))
        p--;
    for (size_t i = 0; i < BL_ARRAY_LEN(words); i++) {
        const size_t n = strlen(words[i]);
        const size_t before = (size_t)(p - line);
        if (before >= n && strncasecmp(p - n, words[i], n) == 0 &&
            begins_word(line, p - n))
            return true;
    }
    return false;
}

// Behind the number at `p`.
static const char *skip_number(const char *p, bool *decimal) {
    *decimal = false;
    while (isdigit((unsigned char)*p))
        p++;
    if (p[0] == '.' && isdigit((unsigned char)p[1])) {
        *decimal = true;
        for (p++; isdigit((unsigned char)*p); p++)
            ;
    }
    if ((*p == 'e' || *p == 'E') &&
        (isdigit((unsigned char)p[1]) ||
         ((p[1] == '-' || p[1] == '+') && isdigit((unsigned char)p[2])))) {
        *decimal = true;
        for (p += 2; isdigit((unsigned char)*p); p++)
            ;
    }
    return p;
}

static bool is_measure(const struct mask *m, const char *number,
                       const char *behind, bool decimal) {
    if (m->all_figures || unit_behind(behind) ||
        measure_word_before(m->line, number))
        return true;
    if (decimal)
        return m->comment || m->measured;
    const char *p = m->decimal_end;
    return m->comment && p && p + strspn(p, " \t") == number; // rule 4
}

// The letter or digit that says what a solver's progress line is about:
// "c 3 0.09 7 31". No figure.
static bool is_marker(const struct mask *m, const char *p) {
    const char *first = m->line + strspn(m->line, " \t");
    return m->comment && first[0] && first[1] == ' ' && p == first + 2 &&
           p[1] == ' ' && isdigit((unsigned char)p[1 + strspn(p + 1, " ")]);
}

static void put(struct mask *m, char c) {
    const bool blank = c == ' ' || c == '\t';
    if (blank && m->len && m->out[m->len - 1] == ' ')
        return;
    m->out[m->len++] = (char)(blank ? ' ' : c);
}

static void mask_numbers(struct mask *m) {
    const char *p = m->line;
    while (*p) {
        const bool begins = isdigit((unsigned char)*p) &&
                            (p == m->line || !is_word_char(p[-1])) &&
                            !is_marker(m, p);
        if (!begins) {
            put(m, *p++);
            continue;
        }
        bool decimal;
        const char *behind = skip_number(p, &decimal);
        if (is_measure(m, p, behind, decimal)) {
            if (decimal && m->masked + m->kept == 0)
                m->decimal_end = behind;
            m->masked++;
            put(m, '#');
        } else {
            m->kept++;
            for (const char *q = p; q < behind; q++)
                put(m, *q);
        }
        p = behind;
    }
    m->out[m->len] = '\0';
}

char *bl_output_mask(const char *line, bool all_figures) {
    struct mask m = {.line = line,
                     .comment = is_comment(line),
                     .measured = has_measure_word(line),
                     .all_figures = all_figures,
                     .out = bl_xrealloc(NULL, strlen(line) + 1)};
    mask_numbers(&m);
    if (m.comment && m.masked && m.kept == 0 && !all_figures) {
        free(m.out);
        return NULL;
    }
    return m.out;
}

struct lines {
    FILE *file;
    char *line; // as it stands in the file
    size_t bytes;
    size_t capacity;
    unsigned long number;
};

// A line with a zero byte in it is no text: nothing in it is a figure.
static bool is_text(const struct lines *l) {
    return strlen(l->line) == l->bytes;
}

static bool is_ignored(const struct bl_output_rules *rules, const char *line) {
    for (size_t i = 0; i < rules->ignored_count; i++) {
        if (regexec(&rules->ignored[i], line, 0, NULL, 0) == 0)
            return true;
    }
    return false;
}

// The next line that counts, masked; NULL at the end.
static char *next_line(struct lines *l, const struct bl_output_rules *rules,
                       bool all_figures) {
    ssize_t n;
    while ((n = getline(&l->line, &l->capacity, l->file)) > 0) {
        l->number++;
        l->bytes = (size_t)n - (l->line[n - 1] == '\n');
        l->line[l->bytes] = '\0';
        if (is_ignored(rules, l->line))
            continue;
        if (!is_text(l))
            return bl_xstrdup(l->line);
        // With all figures masked a dropped line must stay dropped.
        char *masked = bl_output_mask(l->line, false);
        if (!masked)
            continue;
        if (!all_figures)
            return masked;
        free(masked);
        return bl_output_mask(l->line, true);
    }
    return NULL;
}

// What stands from the first zero byte on.
static bool same_tails(const struct lines *x, const struct lines *y) {
    const size_t m = strlen(x->line);
    const size_t n = strlen(y->line);
    return x->bytes - m == y->bytes - n &&
           memcmp(x->line + m, y->line + n, x->bytes - m) == 0;
}

static char *difference(const struct lines *x, const struct lines *y,
                        bool more_left, bool more_right) {
    const char *const left = more_left ? x->line : "(no more)";
    const char *const right = more_right ? y->line : "(no more)";
    const bool behind = more_left && more_right && strcmp(left, right) == 0;
    return bl_xprintf("line %lu: '%.60s' and '%.60s'%s",
                      more_left ? x->number : y->number, left, right,
                      behind ? ", behind a zero byte" : "");
}

static bool same_lines(FILE *a, FILE *b, const struct bl_output_rules *rules,
                       bool all_figures, char **where) {
    struct lines x = {.file = a};
    struct lines y = {.file = b};
    bool same = true;
    bool more = true;
    rewind(a);
    rewind(b);
    while (same && more) {
        char *left = next_line(&x, rules, all_figures);
        char *right = next_line(&y, rules, all_figures);
        more = left && right;
        same = more ? strcmp(left, right) == 0 && same_tails(&x, &y)
                    : !left && !right;
        if (!same && where)
            *where = difference(&x, &y, left != NULL, right != NULL);
        free(left);
        free(right);
    }
    free(x.line);
    free(y.line);
    return same;
}

static bool same_bytes(FILE *a, FILE *b) {
    int x;
    int y;
    rewind(a);
    rewind(b);
    do {
        x = getc_unlocked(a);
        y = getc_unlocked(b);
    } while (x == y && x != EOF);
    return x == y;
}

enum bl_sameness bl_output_compare(FILE *a, FILE *b,
                                   const struct bl_output_rules *rules,
                                   char **where) {
    *where = NULL;
    if (same_bytes(a, b))
        return BL_SAME_BYTES;
    if (same_lines(a, b, rules, false, where))
        return BL_SAME_TEXT;
    return same_lines(a, b, rules, true, NULL) ? BL_SAME_WORDS
                                               : BL_SAME_NOTHING;
}
