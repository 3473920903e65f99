// SPDX-License-Identifier: MIT
//
// A line links unless a word of it ends the work before the linker, or there
// is nothing to link: no input and no library. An input is a word that is
// neither an option nor an option's argument. Words for the linker count too:
// it may be told to write no program.
//
#include "cli/link_line.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define RESPONSE_DEPTH 8

struct state {
    struct bl_link_line *line;
    bool inputs;
    bool sources;       // inputs that may include a header
    bool ends_early;    // before the linker
    bool ends_compiled; // before the linker, and the compiler will have run
    bool takes_next;    // the next word is an option's argument
    bool takes_language;
    bool takes_linker;   // the next word is for the linker
    unsigned sanitizers; // a bit for each of `own_malloc` that is switched on
};

// Sanitizers that bring a malloc of their own.
static const char *const own_malloc[] = {
    "address", "thread", "memory", "leak", "hwaddress", "dataflow", "scudo"};

static bool starts(const char *word, const char *with) {
    return strncmp(word, with, strlen(with)) == 0;
}

static bool ends(const char *word, const char *with) {
    const size_t n = strlen(word);
    const size_t m = strlen(with);
    return n >= m && strcmp(word + n - m, with) == 0;
}

static bool is_one_of(const char *word, const char *const *list) {
    for (; *list; list++) {
        if (strcmp(word, *list) == 0)
            return true;
    }
    return false;
}

static bool starts_one_of(const char *word, const char *const *list) {
    for (; *list; list++) {
        if (starts(word, *list))
            return true;
    }
    return false;
}

// Options that stop between the compiler and the linker.
static bool ends_compiled(const char *word) {
    static const char *const list[] = {
        "-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", NULL};
    return is_one_of(word, list);
}

// Options that do other work, or print something and end.
static bool ends_early(const char *word) {
    static const char *const whole[] = {
        "-r",           "-###",       "--version", "-dumpversion",
        "-dumpmachine", "-dumpspecs", "-cc1",      "--precompile",
        "-emit-ast",    "--analyze",  "-cc1as",    NULL};
    static const char *const begin[] = {"-print-", "--print-", "--help",
                                        "-dumpfull", NULL};
    return is_one_of(word, whole) || starts_one_of(word, begin);
}

// Options whose argument is the next word.
static bool takes_next(const char *word) {
    static const char *const list[] = {"-o",
                                       "-I",
                                       "-L",
                                       "-D",
                                       "-U",
                                       "-l",
                                       "-include",
                                       "-imacros",
                                       "-isystem",
                                       "-iquote",
                                       "-idirafter",
                                       "-iprefix",
                                       "-isysroot",
                                       "-iwithprefix",
                                       "-MF",
                                       "-MT",
                                       "-MQ",
                                       "-MJ",
                                       "-T",
                                       "-u",
                                       "-z",
                                       "-e",
                                       "-A",
                                       "-B",
                                       "-G",
                                       "-arch",
                                       "-target",
                                       "-aux-info",
                                       "-dumpbase",
                                       "-dumpdir",
                                       "-wrapper",
                                       "-Xassembler",
                                       "-Xclang",
                                       "-Xpreprocessor",
                                       "--param",
                                       "--sysroot",
                                       "-dumpbase-ext",
                                       "-iwithprefixbefore",
                                       "-mllvm",
                                       NULL};
    return is_one_of(word, list);
}

static bool is_header(const char *word) {
    static const char *const list[] = {".h",  ".hh",  ".hpp", ".hxx", ".H",
                                       ".hp", ".h++", ".tcc", NULL};
    for (const char *const *e = list; *e; e++) {
        if (ends(word, *e))
            return true;
    }
    return false;
}

static bool lists(const char *list, const char *name) {
    const size_t n = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += n) {
        if ((at == list || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
            return true;
    }
    return false;
}

// A later word on one takes an earlier one back.
static void read_sanitizers(const char *list, bool on, struct state *s) {
    for (size_t i = 0; i < BL_ARRAY_LEN(own_malloc); i++) {
        if (on && lists(list, own_malloc[i]))
            s->sanitizers |= 1U << i;
        else if (!on && (lists(list, own_malloc[i]) || lists(list, "all")))
            s->sanitizers &= ~(1U << i);
    }
}

// What one word, or several with commas between them, make the linker write.
static void read_for_linker(const char *words, struct state *s) {
    static const char *const object[] = {"-r", "-i", "-Ur", "--relocatable"};
    static const char *const library[] = {"-shared", "--shared", "-Bshareable"};
    for (size_t i = 0; i < BL_ARRAY_LEN(object); i++)
        s->ends_early |= lists(words, object[i]);
    for (size_t i = 0; i < BL_ARRAY_LEN(library); i++)
        s->line->shared |= lists(words, library[i]);
}

static void read_option(const char *word, struct state *s) {
    static const char *const bare[] = {"-nostdlib", "-nodefaultlibs", "-nolibc",
                                       "-nostartfiles", NULL};
    static const char *const fixed[] = {"-static", "--static", "-static-pie",
                                        "--static-pie", NULL};
    struct bl_link_line *line = s->line;
    s->takes_next = takes_next(word);
    s->ends_early |= ends_early(word);
    s->ends_compiled |= ends_compiled(word);
    s->inputs |= starts(word, "-l");
    line->shared |=
        strcmp(word, "-shared") == 0 || strcmp(word, "--shared") == 0;
    line->is_static |= is_one_of(word, fixed);
    line->bare |= is_one_of(word, bare);
    line->chosen_linker |= starts(word, "-fuse-ld=");
    if (strcmp(word, "-m32") == 0 || strcmp(word, "-mx32") == 0)
        line->narrow = true;
    else if (strcmp(word, "-m64") == 0)
        line->narrow = false;
    else if (starts(word, "-fsanitize="))
        read_sanitizers(word + strlen("-fsanitize="), true, s);
    else if (starts(word, "-fno-sanitize="))
        read_sanitizers(word + strlen("-fno-sanitize="), false, s);
    else if (starts(word, "-Wl,"))
        read_for_linker(word + strlen("-Wl,"), s);
    s->takes_linker = strcmp(word, "-Xlinker") == 0;
    if (strcmp(word, "-x") == 0)
        s->takes_language = true;
    else if (starts(word, "-x"))
        s->ends_early |= ends(word, "-header");
}

static void read_word(const char *word, struct state *s, int depth);

// One word of a response file into `out`; words are separated by white space,
// quotes keep it together, a backslash takes the next character as it is.
static const char *next_word(const char *at, char *out) {
    char quote = 0;
    at += strspn(at, " \t\r\n\f\v");
    const bool any = *at != '\0';
    for (; *at && (quote || !isspace((unsigned char)*at)); at++) {
        if (*at == '\\' && at[1])
            *out++ = *++at;
        else if (quote && *at == quote)
            quote = 0;
        else if (!quote && (*at == '\'' || *at == '"'))
            quote = *at;
        else
            *out++ = *at;
    }
    *out = '\0';
    return any ? at : NULL;
}

static bool read_response(const char *name, struct state *s, int depth) {
    FILE *file = depth < RESPONSE_DEPTH ? fopen(name, "re") : NULL;
    char *text = NULL;
    size_t capacity = 0;
    if (!file)
        return false;
    // A text file has no zero byte: this is all of it.
    const ssize_t n = getdelim(&text, &capacity, '\0', file);
    fclose(file);
    if (n > 0) {
        char *word = bl_xrealloc(NULL, (size_t)n + 1);
        for (const char *at = next_word(text, word); at;
             at = next_word(at, word))
            read_word(word, s, depth + 1);
        free(word);
    }
    free(text);
    return true;
}

static void read_word(const char *word, struct state *s, int depth) {
    if (s->takes_language) {
        s->takes_language = false;
        s->ends_early |= ends(word, "-header");
    } else if (s->takes_linker) {
        s->takes_linker = false;
        read_for_linker(word, s);
    } else if (s->takes_next) {
        s->takes_next = false;
    } else if (word[0] == '-' && word[1]) {
        read_option(word, s);
    } else if (word[0] != '@' || !read_response(word + 1, s, depth)) {
        s->inputs |= !is_header(word);
        s->sources |= !ends(word, ".o") && !ends(word, ".s");
    }
}

void bl_link_line_read(int count, char **words, struct bl_link_line *out) {
    struct state s = {.line = out};
    *out = (struct bl_link_line){0};
    for (int i = 0; i < count; i++)
        read_word(words[i], &s, 0);
    for (size_t i = 0; i < BL_ARRAY_LEN(own_malloc); i++) {
        if (s.sanitizers & 1U << i)
            out->sanitizer = own_malloc[i];
    }
    out->compiles = s.inputs && s.sources && !s.ends_early;
    out->links = s.inputs && !s.ends_early && !s.ends_compiled;
}
