// SPDX-License-Identifier: MIT
//
// Fills a manual page: a line @OPTIONS@ becomes the command's options for the
// runtime, a line @ENVIRONMENT@ its variables, both from base/options.def, a
// line @STATISTICS@ its statistics, from base/stats.def, and @VERSION@ in a
// line the version. Built and run while building.
//
//   fill_page bigleaf-run.1 > out/bigleaf-run.1
//
#include "base/base.h" // a default has a name

#include <stdio.h>
#include <string.h>

#define TEXT(x) #x
#define VALUE(x) TEXT(x)

// In manual pages a plain '-' may become a hyphen.
static void put_word(const char *s, char dash) {
    for (; *s; s++) {
        if (*s == '-' || (*s == '_' && dash == '-'))
            fputs("\\-", stdout);
        else
            putchar(*s);
    }
}

// What holds where the option is not given, or the variable not `set`.
static void option(const char *key, const char *value, const char *help,
                   const char *initial) {
    fputs(".TP\n\\fB\\-\\-", stdout);
    put_word(key, '-');
    printf("=\\fI%s\\fR\n", value);
    put_word(help, 0);
    printf(initial[0] ? " (%s if not given).\n" : ".\n", initial);
}

static void variable(const char *name, const char *value, const char *help,
                     const char *initial) {
    printf(".TP\n\\fB%s\\fR=\\fI%s\\fR\n", name, value);
    put_word(help, 0);
    printf(initial[0] ? " (%s if not set).\n" : ".\n", initial);
}

static const char *on_or_off(int on) { return on ? "on" : "off"; }

// That word of "auto|off|on".
static const char *choice(const char *words, int place) {
    static char word[32];
    while (place-- > 0)
        words = strchr(words, '|') + 1;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(words, "|"), words);
    return word;
}

static int is_offered(const char *name) {
    return strcmp(name, "BIGLEAF") != 0 && strcmp(name, "BIGLEAF_REPORT") != 0;
}

static void put_options(void) {
#define BL_SWITCH(key, name, initial, help)                                    \
    if (is_offered(name))                                                      \
        option(#key, "on|off", help, on_or_off(initial));
#define BL_CHOICE(key, name, initial, choices, help)                           \
    option(#key, choices, help, choice(choices, initial));
#define BL_NUMBER(key, name, initial, low, high, help)                         \
    option(#key, "NUMBER", help "; at most " #high, VALUE(initial));
#define BL_PATH(key, name, help)                                               \
    if (is_offered(name))                                                      \
        option(#key, "FILE", help, "");
#define BL_FOLDER(key, name, help) option(#key, "DIR", help, "");
#include "base/options.def"
#undef BL_SWITCH
#undef BL_CHOICE
#undef BL_NUMBER
#undef BL_PATH
#undef BL_FOLDER
}

static void put_environment(void) {
#define BL_SWITCH(key, name, initial, help)                                    \
    variable(name, "on|off", help, on_or_off(initial));
#define BL_CHOICE(key, name, initial, choices, help)                           \
    variable(name, choices, help, choice(choices, initial));
#define BL_NUMBER(key, name, initial, low, high, help)                         \
    variable(name, "NUMBER", help "; at most " #high, VALUE(initial));
#define BL_PATH(key, name, help) variable(name, "FILE", help, "");
#define BL_FOLDER(key, name, help) variable(name, "DIR", help, "");
#include "base/options.def"
#undef BL_SWITCH
#undef BL_CHOICE
#undef BL_NUMBER
#undef BL_PATH
#undef BL_FOLDER
}

static void statistic(const char *name, const char *help, const char *now) {
    printf(".TP\n\\fB%s\\fR\n", name);
    put_word(help, 0);
    printf("%s\n", now);
}

static void put_statistics(void) {
#define BL_STAT(name, help) statistic(#name, help, "");
#define BL_LEVEL(name, help) statistic(#name, help, " (now)");
#include "base/stats.def"
#undef BL_STAT
#undef BL_LEVEL
}

static void put_line(const char *line) {
    const char *mark = strstr(line, "@VERSION@");
    if (strcmp(line, "@OPTIONS@\n") == 0)
        put_options();
    else if (strcmp(line, "@ENVIRONMENT@\n") == 0)
        put_environment();
    else if (strcmp(line, "@STATISTICS@\n") == 0)
        put_statistics();
    else if (mark)
        printf("%.*s%s%s", (int)(mark - line), line, BL_VERSION,
               mark + strlen("@VERSION@"));
    else
        fputs(line, stdout);
}

int main(int argc, char **argv) {
    char line[512];
    FILE *in = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!in) {
        fprintf(stderr, "usage: fill_page FILE\n");
        return 2;
    }
    while (fgets(line, sizeof line, in))
        put_line(line);
    fclose(in);
    return 0;
}
