// SPDX-License-Identifier: MIT
//
// `bigleaf cc` and `bigleaf c++`: the machine's compiler, with three things
// more where it links a program.
//
// 1. libbigleaf.a as a whole, ahead of everything else, so that its malloc is
//    the one that the program's references and the C library's own find.
// 2. Segments at multiples of 2 MiB, text and read-only data in one segment:
//    the file keeps its size, and more of it is in whole huge pages.
// 3. The mark of bigleaf/huge.h, so that the runtime puts them there.
//
// Wherever it compiles, it finds the public headers, after all others.
//
// A shared library gets 2 and 3 alone, since the malloc is the program's
// affair. All other words reach the compiler as they are, in their order, and
// behind ours, so that the user's win. Ours go to the linker by -Xlinker: a
// path may hold a comma, and -x tells the compiler nothing about them.
//
// A static program gets the C library's own malloc too, under other names
// (libc_malloc.c), and instead of libbigleaf.a the same with a switch between
// the two (runtime/switch.c): BIGLEAF=off then runs on it.
//
// With --libc=thp a static program gets the patched malloc of
// packaging/glibc instead of 1.
//
#include "cli/cli.h"
#include "cli/installed.h"
#include "cli/libc_malloc.h"
#include "cli/link_line.h"
#include "cli/options.h"
#include "cli/program.h"

#include "os/machine.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBC_OPTION "--libc="
#define RUNTIME "libbigleaf.a"
#define RUNTIME_AND_SWITCH "bigleaf-switch.o"

enum libc_choice { LIBC_SYSTEM, LIBC_THP };

struct line {
    const struct bl_command *command;
    struct bl_link_line asks;
    enum libc_choice libc;
    char **given; // the user's words, without our options
    size_t given_count;
    char **words; // what will be executed; ends with NULL
    size_t count;
    size_t compiler_words; // so many of them are the compiler
};

static void add(struct line *l, const char *word) {
    l->words = bl_xrealloc(l->words, (l->count + 2) * sizeof *l->words);
    l->words[l->count++] = bl_xstrdup(word);
    l->words[l->count] = NULL;
}

static void add_for_linker(struct line *l, const char *word) {
    add(l, "-Xlinker");
    add(l, word);
}

static bool is_cxx(const struct line *l) {
    return strcmp(l->command->name, "c++") == 0;
}

// The user's compiler may be several words ("ccache gcc").
static void add_compiler(struct line *l) {
    const char *given = getenv(is_cxx(l) ? "BIGLEAF_CXX" : "BIGLEAF_CC");
    char *words = bl_xstrdup(given ? given : "");
    char *rest = NULL;
    for (char *w = strtok_r(words, " ", &rest); w;
         w = strtok_r(NULL, " ", &rest))
        add(l, w);
    free(words);
    if (l->count == 0)
        add(l, is_cxx(l) ? "c++" : "cc");
}

static void add_headers(struct line *l) {
    char *folder = bl_installed_headers();
    if (folder) {
        add(l, "-idirafter");
        add(l, folder);
    }
    free(folder);
}

// Where a file of ours that the link needs should be: beside the library that
// the user named, be that there or not.
static char *own_file(const char *name) {
    const char *given = getenv("BIGLEAF_LIB");
    char path[PATH_MAX];
    if (!given || !given[0])
        return bl_installed_library(name);
    const char *library = realpath(given, path) ? path : given;
    const char *slash = strrchr(library, '/');
    return slash ? bl_xprintf("%.*s/%s", (int)(slash - library), library, name)
                 : bl_xstrdup(name);
}

// 0, or the status to leave with.
static int add_file(struct line *l, const char *name) {
    char *file = own_file(name);
    const bool found = access(file, R_OK) == 0;
    if (found)
        add_for_linker(l, file);
    else
        bl_say(l->command,
               "%s: cannot be read; install Bigleaf's development files, or "
               "name its libbigleaf.so in BIGLEAF_LIB",
               file);
    free(file);
    return found ? 0 : BL_EXIT_MACHINE;
}

static int add_layout(struct line *l) {
    add_for_linker(l, "-z");
    add_for_linker(l, "max-page-size=0x200000");
    if (!l->asks.chosen_linker) {
        add_for_linker(l, "-z");
        add_for_linker(l, "noseparate-code");
    }
    return add_file(l, "bigleaf-huge.o");
}

// Of a static program; NULL where there is none that can be told from ours.
static char *libc_malloc(const struct line *l) {
    char *runtime = own_file(RUNTIME_AND_SWITCH);
    char *file = l->asks.is_static
                     ? bl_libc_malloc_object(&(struct bl_compiler_call){
                           l->words, l->compiler_words, l->given,
                           l->given_count, runtime})
                     : NULL;
    free(runtime);
    return file;
}

// In a glibc before 2.34 threads are a library of their own, of which a static
// program must have all or nothing: libgcc takes a part for the whole.
static int add_runtime(struct line *l) {
    char *libc = libc_malloc(l);
    add_for_linker(l, "--whole-archive");
    const int status = add_file(l, libc ? RUNTIME_AND_SWITCH : RUNTIME);
    if (l->asks.is_static)
        add(l, "-lpthread");
    add_for_linker(l, "--no-whole-archive");
    if (libc)
        add_for_linker(l, libc);
    free(libc);
    return status;
}

// NULL: not set, or empty.
static const char *set_to(const char *name) {
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

// Where `bigleaf thp-libc` puts it.
static char *thp_in_cache(void) {
    const char *own = set_to("BIGLEAF_CACHE");
    const char *cache = set_to("XDG_CACHE_HOME");
    const char *home = set_to("HOME");
    if (own)
        return bl_xprintf("%s/thp", own);
    if (cache)
        return bl_xprintf("%s/bigleaf/thp", cache);
    return bl_xprintf("%s/.cache/bigleaf/thp", home ? home : "");
}

static char *thp_folder(void) {
    const char *given = set_to("BIGLEAF_LIBC_THP");
    if (given)
        return bl_xstrdup(given);
    char *file = bl_installed_library("bigleaf-thp/libc.a");
    if (access(file, R_OK) != 0) {
        free(file);
        return thp_in_cache();
    }
    *strrchr(file, '/') = '\0';
    return file;
}

// In front of the compiler's own folders, so that -lc finds it.
static int add_thp(struct line *l) {
    if (!l->asks.is_static)
        return bl_usage(l->command,
                        LIBC_OPTION "thp needs -static: only a "
                                    "static program brings its own libc");
    char *folder = thp_folder();
    char *file = bl_xprintf("%s/libc.a", folder);
    const bool found = access(file, R_OK) == 0;
    if (found) {
        add(l, "-L");
        add(l, folder);
    } else {
        bl_say(l->command,
               "%s: cannot be read; 'bigleaf thp-libc' makes it from the "
               "sources of glibc",
               file);
    }
    free(file);
    free(folder);
    return found ? 0 : BL_EXIT_MACHINE;
}

static bool wants_malloc(const struct line *l) {
    if (l->asks.sanitizer)
        bl_say(l->command,
               "linked without Bigleaf: -fsanitize=%s brings a malloc of its "
               "own",
               l->asks.sanitizer);
    return !l->asks.shared && !l->asks.bare && !l->asks.sanitizer;
}

static int add_ours(struct line *l) {
    if (l->asks.narrow) {
        bl_say(l->command, "linked without Bigleaf: the runtime is for 64-bit "
                           "programs");
        return 0;
    }
    int status = l->asks.bare ? 0 : add_layout(l);
    if (!status && wants_malloc(l))
        status = l->libc == LIBC_THP ? add_thp(l) : add_runtime(l);
    return status;
}

// Ours out of the words, the others in their order. 0, or the status.
static int take_options(struct line *l, int count, char **words) {
    l->given = words;
    for (int i = 0; i < count; i++) {
        if (strncmp(words[i], LIBC_OPTION, strlen(LIBC_OPTION)) != 0) {
            l->given[l->given_count++] = words[i];
            continue;
        }
        const char *value = words[i] + strlen(LIBC_OPTION);
        if (strcmp(value, "thp") != 0 && strcmp(value, "system") != 0)
            return bl_usage(l->command,
                            "wrong value '%s' for --libc: one of system|thp",
                            value);
        l->libc = strcmp(value, "thp") == 0 ? LIBC_THP : LIBC_SYSTEM;
    }
    return 0;
}

// What is asked for stands in the words given and, where the compiler is of
// several ("ccache gcc -m32"), in its own from the first option on.
static void read_asks(struct line *l) {
    size_t first = 1;
    while (first < l->compiler_words && l->words[first][0] != '-')
        first++;
    const size_t own =
        first < l->compiler_words ? l->compiler_words - first : 0;
    const size_t all = own + l->given_count;
    char **words = bl_xrealloc(NULL, all * sizeof *words);
    for (size_t i = 0; i < all; i++)
        words[i] = i < own ? l->words[first + i] : l->given[i - own];
    bl_link_line_read((int)all, words, &l->asks);
    free(words);
}

static int build(struct line *l) {
    add_compiler(l);
    l->compiler_words = l->count;
    read_asks(l);
    if (l->asks.compiles)
        add_headers(l);
    const int status = l->asks.links ? add_ours(l) : 0;
    for (size_t i = 0; i < l->given_count; i++)
        add(l, l->given[i]);
    // What the runtime needs of a glibc before 2.34.
    if (l->asks.links && !l->asks.bare && !l->asks.shared)
        add(l, "-lpthread");
    return status;
}

static int execute(const struct line *l) {
    char own[PATH_MAX];
    char real[PATH_MAX];
    char *path = NULL;
    const int error = bl_program_find(l->words[0], &path);
    if (error) {
        bl_say(l->command, "%s: %s; name the compiler in %s", l->words[0],
               strerror(error), is_cxx(l) ? "BIGLEAF_CXX" : "BIGLEAF_CC");
        free(path);
        return error == ENOENT ? BL_EXIT_NOT_FOUND : BL_EXIT_NOT_EXECUTABLE;
    }
    if (bl_machine_own_path(own, sizeof own) && realpath(path, real) &&
        strcmp(own, real) == 0) {
        free(path);
        return bl_usage(l->command,
                        "%s is this wrapper itself; name the "
                        "compiler behind it in %s",
                        l->words[0], is_cxx(l) ? "BIGLEAF_CXX" : "BIGLEAF_CC");
    }
    execv(path, l->words);
    bl_say(l->command, "%s: %s", path, strerror(errno));
    free(path);
    return BL_EXIT_NOT_EXECUTABLE;
}

int bl_cc_main(const struct bl_command *self, int argc, char **argv) {
    struct line l = {.command = self};
    if (argc == 2 &&
        (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        bl_help_command(stdout, self);
        return 0;
    }
    int status = take_options(&l, argc - 1, argv + 1);
    if (!status)
        status = build(&l);
    if (!status)
        status = execute(&l);
    for (size_t i = 0; i < l.count; i++)
        free(l.words[i]);
    free(l.words);
    return status;
}
