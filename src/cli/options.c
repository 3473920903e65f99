// SPDX-License-Identifier: MIT
#include "cli/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// `name` as the table writes it has '_' where the user writes '-'.
#define BL_SWITCH(key, NAME, fallback, text)                                   \
    {{#key, 0, "on|off", false, text},                                         \
     NAME,                                                                     \
     BL_KIND_SWITCH,                                                           \
     "on|off",                                                                 \
     0,                                                                        \
     1,                                                                        \
     fallback},
#define BL_CHOICE(key, NAME, fallback, words, text)                            \
    {{#key, 0, words, false, text},                                            \
     NAME,                                                                     \
     BL_KIND_CHOICE,                                                           \
     words,                                                                    \
     0,                                                                        \
     0,                                                                        \
     fallback},
#define BL_NUMBER(key, NAME, fallback, least, most, text)                      \
    {{#key, 0, "NUMBER", false, text},                                         \
     NAME,                                                                     \
     BL_KIND_NUMBER,                                                           \
     "",                                                                       \
     least,                                                                    \
     most,                                                                     \
     fallback},
#define BL_PATH(key, NAME, text)                                               \
    {{#key, 0, "FILE", false, text}, NAME, BL_KIND_PATH, "", 0, 0, 0},
#define BL_FOLDER(key, NAME, text)                                             \
    {{#key, 0, "DIR", false, text}, NAME, BL_KIND_FOLDER, "", 0, 0, 0},

static const struct bl_runtime_option all_runtime_options[] = {
#include "base/options.def"
};

#undef BL_SWITCH
#undef BL_CHOICE
#undef BL_NUMBER
#undef BL_PATH
#undef BL_FOLDER

static const struct bl_option help_option = {"help", 'h', NULL, false,
                                             "print this help"};

static bool is_offered(const struct bl_runtime_option *r) {
    return strcmp(r->variable, "BIGLEAF") != 0 &&
           strcmp(r->variable, "BIGLEAF_REPORT") != 0;
}

static char dashed(char c) { return (char)(c == '_' ? '-' : c); }

// In a form to be freed.
static char *dashed_name(const char *name) {
    char *copy = bl_xstrdup(name);
    for (char *p = copy; *p; p++)
        *p = dashed(*p);
    return copy;
}

static bool name_matches(const char *name, const char *word, size_t n) {
    size_t i = 0;
    for (; i < n && name[i]; i++) {
        if (dashed(name[i]) != word[i])
            return false;
    }
    return i == n && name[i] == '\0';
}

static bool find_long(struct bl_cursor *c, const char *word, size_t n) {
    c->runtime = NULL;
    c->option = NULL;
    if (name_matches(help_option.name, word, n))
        c->option = &help_option;
    for (const struct bl_option *o = c->command->options; o->name; o++) {
        if (name_matches(o->name, word, n))
            c->option = o;
    }
    if (c->option || !c->command->runtime_options)
        return c->option != NULL;
    for (size_t i = 0; i < BL_ARRAY_LEN(all_runtime_options); i++) {
        const struct bl_runtime_option *r = &all_runtime_options[i];
        if (is_offered(r) && name_matches(r->option.name, word, n)) {
            c->runtime = r;
            c->option = &r->option;
        }
    }
    return c->option != NULL;
}

static bool find_letter(struct bl_cursor *c, char letter) {
    c->runtime = NULL;
    c->option = letter == 'h' ? &help_option : NULL;
    for (const struct bl_option *o = c->command->options; o->name; o++) {
        if (o->letter == letter)
            c->option = o;
    }
    return c->option != NULL;
}

// The offered name nearest to what was written, in a form to be freed.
static char *suggestion(const struct bl_command *command, const char *word) {
    enum { MOST = 64 };
    const char *names[MOST + 1];
    size_t n = 0;
    for (const struct bl_option *o = command->options; o->name; o++)
        names[n++] = o->name;
    for (size_t i = 0; i < BL_ARRAY_LEN(all_runtime_options); i++) {
        if (command->runtime_options && is_offered(&all_runtime_options[i]))
            names[n++] = all_runtime_options[i].option.name;
    }
    BL_CHECK(n < MOST);
    names[n] = NULL;
    const char *near = bl_nearest(word, names);
    return near ? dashed_name(near) : NULL;
}

static enum bl_step unknown(struct bl_cursor *c, const char *word) {
    char *name = bl_xstrdup(word + strspn(word, "-"));
    name[strcspn(name, "=")] = '\0';
    char *near = suggestion(c->command, name);
    if (near)
        bl_usage(c->command, "unknown option '%s' (did you mean --%s?)", word,
                 near);
    else
        bl_usage(c->command, "unknown option '%s'", word);
    free(near);
    free(name);
    return BL_STEP_WRONG;
}

static bool in_words(const char *words, const char *word) {
    const size_t n = word && !strchr(word, '|') ? strlen(word) : 0;
    for (const char *p = words; n && p; p = strchr(p, '|')) {
        p += *p == '|';
        if (strncmp(p, word, n) == 0 && (p[n] == '|' || p[n] == '\0'))
            return true;
    }
    return false;
}

static bool is_number_within(const char *s, uint64_t low, uint64_t high) {
    uint64_t x = 0;
    return bl_read_u64(&s, &x) && *s == '\0' && low <= x && x <= high;
}

static const struct bl_runtime_option *runtime_option(const char *variable) {
    const struct bl_runtime_option *r = all_runtime_options;
    while (strcmp(r->variable, variable) != 0)
        r++;
    return r;
}

bool bl_runtime_knows(const char *variable, const char *value) {
    return value && in_words(runtime_option(variable)->choices, value);
}

uint64_t bl_runtime_number(const char *variable, const char *value) {
    const struct bl_runtime_option *r = runtime_option(variable);
    BL_CHECK(r->kind == BL_KIND_NUMBER);
    uint64_t x = r->initial;
    if (value && is_number_within(value, r->low, r->high))
        bl_read_u64(&value, &x);
    return x;
}

static char *folder_fault(const char *path) {
    struct stat facts;
    if (path[0] == '\0')
        return NULL;
    errno = 0;
    if (stat(path, &facts) == 0 && !S_ISDIR(facts.st_mode))
        errno = ENOTDIR;
    if (errno == 0)
        access(path, W_OK | X_OK);
    return errno ? bl_xstrdup(strerror(errno)) : NULL;
}

// What is wrong with the value; NULL: nothing.
static char *value_fault(const struct bl_runtime_option *r, const char *value) {
    if (r->kind == BL_KIND_PATH)
        return NULL;
    if (r->kind == BL_KIND_FOLDER)
        return folder_fault(value);
    if (r->kind != BL_KIND_NUMBER)
        return in_words(r->choices, value)
                   ? NULL
                   : bl_xprintf("one of %s", r->choices);
    return is_number_within(value, r->low, r->high)
               ? NULL
               : bl_xprintf("a number from %lu to %lu", (unsigned long)r->low,
                            (unsigned long)r->high);
}

static enum bl_step check_value(struct bl_cursor *c) {
    char *fault = c->runtime ? value_fault(c->runtime, c->value) : NULL;
    if (!fault)
        return BL_STEP_OPTION;
    char *name = dashed_name(c->option->name);
    bl_usage(c->command, "wrong value '%s' for --%s: %s", c->value, name,
             fault);
    free(name);
    free(fault);
    return BL_STEP_WRONG;
}

static enum bl_step take_value(struct bl_cursor *c, const char *word,
                               const char *attached) {
    c->value = attached;
    if (c->option == &help_option) {
        bl_help_command(stdout, c->command);
        return BL_STEP_HELP;
    }
    if (!c->option->argument && attached) {
        bl_usage(c->command, "option '%s' takes no value", word);
        return BL_STEP_WRONG;
    }
    if (c->option->argument && !attached && !c->option->optional) {
        if (c->at >= c->argc) {
            bl_usage(c->command, "option '%s' needs a value: %s", word,
                     c->option->argument);
            return BL_STEP_WRONG;
        }
        c->value = c->argv[c->at++];
    }
    return check_value(c);
}

enum bl_step bl_cursor_next(struct bl_cursor *c) {
    if (c->at >= c->argc)
        return BL_STEP_END;
    const char *word = c->argv[c->at];
    if (word[0] != '-' || word[1] == '\0')
        return BL_STEP_END;
    c->at++;
    if (strcmp(word, "--") == 0)
        return BL_STEP_END;
    if (word[1] == '-') {
        const char *equals = strchr(word, '=');
        const size_t n =
            equals ? (size_t)(equals - word) - 2 : strlen(word) - 2;
        if (!find_long(c, word + 2, n))
            return unknown(c, word);
        return take_value(c, word, equals ? equals + 1 : NULL);
    }
    if (!find_letter(c, word[1]))
        return unknown(c, word);
    return take_value(c, word, word[2] ? word + 2 : NULL);
}

static void help_option_line(FILE *out, const struct bl_option *o) {
    enum { COLUMN = 30 };
    int width = fprintf(out, o->letter ? "  -%c, " : "      ", o->letter);
    width += fprintf(out, "--");
    for (const char *p = o->name; *p; p++)
        width += fputc(dashed(*p), out) != EOF;
    if (o->argument)
        width += fprintf(out, o->optional ? "[=%s]" : "=%s", o->argument);
    if (width >= COLUMN) {
        fputc('\n', out);
        width = 0;
    }
    // Breaks the help between words at column 79.
    const char *p = o->help;
    for (;;) {
        fprintf(out, "%*s", COLUMN - width, "");
        size_t n = strlen(p);
        if (n > 79 - COLUMN) {
            n = 79 - COLUMN;
            while (n > 0 && p[n] != ' ')
                n--;
        }
        fprintf(out, "%.*s\n", (int)n, p);
        if (p[n] == '\0')
            return;
        p += n + 1;
        width = 0;
    }
}

// NULL: none that a word would say. To be freed.
static char *default_word(const struct bl_runtime_option *r) {
    const char *word = r->choices;
    if (r->kind == BL_KIND_NUMBER)
        return bl_xprintf("%lu", (unsigned long)r->initial);
    if (r->kind == BL_KIND_SWITCH)
        return bl_xstrdup(r->initial ? "on" : "off");
    if (r->kind != BL_KIND_CHOICE)
        return NULL;
    for (uint64_t i = 0; i < r->initial; i++)
        word = strchr(word, '|') + 1;
    return bl_xprintf("%.*s", (int)strcspn(word, "|"), word);
}

static void help_runtime_option(FILE *out, const struct bl_runtime_option *r) {
    struct bl_option shown = r->option;
    char *word = default_word(r);
    char *help = word ? bl_xprintf("%s (default %s)", shown.help, word) : NULL;
    if (help)
        shown.help = help;
    help_option_line(out, &shown);
    free(help);
    free(word);
}

void bl_help_command(FILE *out, const struct bl_command *command) {
    fprintf(out, "usage: bigleaf %s %s\n\n%s\n", command->name,
            command->synopsis, command->summary);
    fputs("\noptions:\n", out);
    for (const struct bl_option *o = command->options; o->name; o++)
        help_option_line(out, o);
    for (size_t i = 0; i < BL_ARRAY_LEN(all_runtime_options); i++) {
        if (command->runtime_options && is_offered(&all_runtime_options[i]))
            help_runtime_option(out, &all_runtime_options[i]);
    }
    help_option_line(out, &help_option);
    if (command->more[0])
        fprintf(out, "\n%s", command->more);
}

void bl_help_commands(FILE *out) {
    fputs("usage: bigleaf COMMAND [OPTION...] [ARG...]\n\n"
          "Puts the memory of a program on huge pages and shows what came of "
          "it.\n\ncommands:\n",
          out);
    for (const struct bl_command *c = bl_commands; c->name; c++)
        fprintf(out, "  %-10s %s\n", c->name, c->summary);
    fputs("  bench      measure many reasoners on many instances\n"
          "  thp-libc   make the C library for cc --libc=thp\n"
          "  NAME       runs bigleaf-NAME from PATH\n\n"
          "bigleaf COMMAND --help tells more of one command.\n"
          "bigleaf --version prints the version.\n",
          out);
}
