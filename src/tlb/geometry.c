// SPDX-License-Identifier: MIT
//
// docs/design/tlb.md names the source of each figure. Costs of reads are
// typical load-to-use latencies at a core's own caches and memory.
//
#include "tlb/geometry.h"

#include <string.h>

const char *const bl_tlb_geometry_names =
    "haswell skylake icelake zen2 zen4 zen5 neoverse";

// Lines of the page table have to share the caches with data.
#define WALKS                                                                  \
    "structure 2m 32\nstructure 1g 8\nstructure 512g 4\n"                      \
    "near 256 8 14\nfar 8192 16 50\nmemory 220\n"

static const struct {
    const char *name;
    const char *text;
} machines[] = {{"haswell", "tlb 1 data base 64 4\ntlb 1 data huge 32 4\n"
                            "tlb 1 code base 128 4\ntlb 1 code huge 8 full\n"
                            "tlb 2 both any 1024 8\nsecond 8\n" WALKS},
                {"skylake", "tlb 1 data base 64 4\ntlb 1 data huge 32 4\n"
                            "tlb 1 code base 128 8\ntlb 1 code huge 8 full\n"
                            "tlb 2 both any 1536 12\nsecond 7\n" WALKS},
                {"icelake", "tlb 1 data base 64 4\ntlb 1 data huge 32 4\n"
                            "tlb 1 code base 128 8\ntlb 1 code huge 16 full\n"
                            "tlb 2 both any 2048 16\nsecond 7\n" WALKS},
                {"zen2", "tlb 1 data any 64 full\ntlb 1 code any 64 full\n"
                         "tlb 2 data any 2048 16\ntlb 2 code any 512 8\n"
                         "second 7\n" WALKS},
                {"zen4", "tlb 1 data any 72 full\ntlb 1 code any 64 full\n"
                         "tlb 2 data any 3072 24\ntlb 2 code any 512 8\n"
                         "second 7\n" WALKS},
                {"zen5", "tlb 1 data any 96 full\ntlb 1 code any 64 full\n"
                         "tlb 2 data any 4096 16\ntlb 2 code any 2048 8\n"
                         "second 7\n" WALKS},
                {"neoverse", "tlb 1 data any 48 full\ntlb 1 code any 48 full\n"
                             "tlb 2 both any 1280 5\nsecond 5\n" WALKS}};

const struct bl_tlb_table *
bl_tlb_geometry_table(const struct bl_tlb_geometry *g, uint32_t level,
                      enum bl_tlb_side side, enum bl_tlb_page_size size) {
    for (uint32_t i = 0; i < g->table_count; i++) {
        const struct bl_tlb_table *t = &g->tables[i];
        if (t->level == level && t->sides[side] && t->sizes[size])
            return t;
    }
    return NULL;
}

enum { MOST_WORDS = 6, LONGEST_LINE = 200 };

struct words {
    char text[LONGEST_LINE];
    const char *word[MOST_WORDS];
    size_t count; // may exceed MOST_WORDS: too many
};

// Splits [line, end) at blanks and drops a comment; false: too long.
static bool split(const char *line, const char *end, struct words *w) {
    const char *hash = memchr(line, '#', (size_t)(end - line));
    const size_t n = (size_t)((hash ? hash : end) - line);
    w->count = 0;
    if (n >= sizeof w->text)
        return false;
    memcpy(w->text, line, n);
    w->text[n] = '\0';
    for (char *p = w->text; *p;) {
        p += strspn(p, " \t\r");
        if (*p == '\0')
            break;
        if (w->count < MOST_WORDS)
            w->word[w->count] = p;
        w->count++;
        p += strcspn(p, " \t\r");
        if (*p)
            *p++ = '\0';
    }
    return true;
}

static bool number(const char *word, uint32_t most, uint32_t *out) {
    uint64_t x;
    if (!bl_read_u64(&word, &x) || *word || x > most)
        return false;
    *out = (uint32_t)x;
    return true;
}

// Entries and ways that make a power of two of sets.
static bool shape(const char *entries, const char *ways, uint32_t *n,
                  uint32_t *w) {
    if (!number(entries, BL_TLB_MOST_ENTRIES, n) || *n == 0)
        return false;
    if (strcmp(ways, "full") == 0)
        *w = *n;
    else if (!number(ways, *n, w) || *w == 0)
        return false;
    return *n % *w == 0 && bl_is_pow2(*n / *w);
}

// Which of two things a word names: the first, the second, or both.
static bool either(const char *word, const char *const names[3], bool out[2]) {
    out[0] = strcmp(word, names[0]) == 0 || strcmp(word, names[2]) == 0;
    out[1] = strcmp(word, names[1]) == 0 || strcmp(word, names[2]) == 0;
    return out[0] || out[1];
}

static const char *parse_table(struct bl_tlb_geometry *g,
                               const struct words *w) {
    static const char *const sides[] = {"data", "code", "both"};
    static const char *const sizes[] = {"base", "huge", "any"};
    struct bl_tlb_table t;
    if (w->count != 6 || !number(w->word[1], 2, &t.level) || t.level == 0 ||
        !either(w->word[2], sides, t.sides) ||
        !either(w->word[3], sizes, t.sizes))
        return "want: tlb 1|2 data|code|both base|huge|any ENTRIES WAYS";
    if (!shape(w->word[4], w->word[5], &t.entries, &t.ways))
        return "entries over ways must be a power of two, at most 65536 "
               "entries";
    if (g->table_count == BL_TLB_MOST_TABLES)
        return "more than 8 tables";
    for (int side = 0; side < BL_TLB_SIDES; side++) {
        for (int size = 0; size < BL_TLB_PAGE_SIZES; size++) {
            if (t.sides[side] && t.sizes[size] &&
                bl_tlb_geometry_table(g, t.level, (enum bl_tlb_side)side,
                                      (enum bl_tlb_page_size)size))
                return "a table stands already for this level, side and size";
        }
    }
    g->tables[g->table_count++] = t;
    return NULL;
}

static const char *parse_lines(struct bl_tlb_lines *out,
                               const struct words *w) {
    if (w->count != 4 ||
        !shape(w->word[1], w->word[2], &out->lines, &out->ways) ||
        !number(w->word[3], 100000, &out->cycles))
        return "want: near|far LINES WAYS CYCLES, lines over ways a power of "
               "two";
    return NULL;
}

static const char *parse_structure(struct bl_tlb_geometry *g,
                                   const struct words *w) {
    static const char *const names[] = {"2m", "1g", "512g"};
    for (size_t i = 0; w->count == 3 && i < BL_ARRAY_LEN(names); i++) {
        if (strcmp(w->word[1], names[i]) == 0 &&
            number(w->word[2], 4096, &g->structure[i]))
            return NULL;
    }
    return "want: structure 2m|1g|512g ENTRIES";
}

static const char *parse_line(struct bl_tlb_geometry *g,
                              const struct words *w) {
    const char *key = w->word[0];
    if (strcmp(key, "tlb") == 0)
        return parse_table(g, w);
    if (strcmp(key, "structure") == 0)
        return parse_structure(g, w);
    if (strcmp(key, "near") == 0)
        return parse_lines(&g->near, w);
    if (strcmp(key, "far") == 0)
        return parse_lines(&g->far, w);
    if (strcmp(key, "second") == 0)
        return w->count == 2 && number(w->word[1], 100000, &g->second_cycles)
                   ? NULL
                   : "want: second CYCLES";
    if (strcmp(key, "memory") == 0)
        return w->count == 2 && number(w->word[1], 100000, &g->memory_cycles)
                   ? NULL
                   : "want: memory CYCLES";
    return "want one of: tlb second structure near far memory";
}

static const char *check_whole(const struct bl_tlb_geometry *g) {
    for (int side = 0; side < BL_TLB_SIDES; side++) {
        for (int size = 0; size < BL_TLB_PAGE_SIZES; size++) {
            if (!bl_tlb_geometry_table(g, 1, (enum bl_tlb_side)side,
                                       (enum bl_tlb_page_size)size))
                return "level 1 must serve data and code, base and huge pages";
        }
    }
    return NULL;
}

const char *bl_tlb_geometry_parse(const char *text, struct bl_tlb_geometry *g,
                                  unsigned *line) {
    struct words w;
    *g = (struct bl_tlb_geometry){0};
    *line = 0;
    while (*text) {
        const char *end = strchr(text, '\n');
        end = end ? end : text + strlen(text);
        ++*line;
        const char *fault = "a line of more than 199 characters";
        if (split(text, end, &w))
            fault = w.count ? parse_line(g, &w) : NULL;
        if (fault)
            return fault;
        text = *end ? end + 1 : end;
    }
    *line = 0;
    return check_whole(g);
}

const char *bl_tlb_geometry_text(const char *name) {
    for (size_t i = 0; i < BL_ARRAY_LEN(machines); i++) {
        if (strcmp(name, machines[i].name) == 0)
            return machines[i].text;
    }
    return NULL;
}
