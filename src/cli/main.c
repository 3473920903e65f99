// SPDX-License-Identifier: MIT
//
// `bigleaf NAME`: a subcommand of the table, or the program bigleaf-NAME.
//
#include "cli/cli.h"
#include "cli/installed.h"
#include "cli/options.h"
#include "cli/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_command_name(const char *name) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789+-_";
    return name[0] && name[0] != '-' && name[strspn(name, allowed)] == '\0';
}

static int unknown_command(const char *name) {
    enum { MOST = 32 };
    const char *names[MOST];
    size_t n = 0;
    for (const struct bl_command *c = bl_commands; c->name; c++)
        names[n++] = c->name;
    BL_CHECK(n < MOST);
    names[n] = NULL;
    const char *near = bl_nearest(name, names);
    if (near)
        return bl_usage(NULL, "unknown command '%s' (did you mean %s?)", name,
                        near);
    return bl_usage(NULL, "unknown command '%s'", name);
}

// As git does: an executable bigleaf-NAME, beside this one or on PATH, is a
// subcommand.
static int run_external(char **argv) {
    char *name = bl_xprintf("bigleaf-%s", argv[0]);
    char *path = bl_installed_command(name);
    if (!path && bl_program_find(name, &path))
        return unknown_command(argv[0]);
    argv[0] = name;
    execv(path, argv);
    bl_say(NULL, "%s: %s", path, strerror(errno));
    return BL_EXIT_NOT_EXECUTABLE;
}

static int help_on(char *name) {
    static char help[] = "--help";
    const struct bl_command *c = name ? bl_command_find(name) : NULL;
    if (name && !c && !is_command_name(name))
        return unknown_command(name);
    if (name && !c)
        return run_external((char *[]){name, help, NULL});
    if (c)
        bl_help_command(stdout, c);
    else
        bl_help_commands(stdout);
    return 0;
}

static int dispatch(int argc, char **argv) {
    if (argc < 2)
        return bl_usage(NULL, "no command given");
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return help_on(NULL);
    if (strcmp(word, "help") == 0)
        return help_on(argc > 2 ? argv[2] : NULL);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        puts("bigleaf " BL_VERSION);
        return 0;
    }
    if (word[0] == '-')
        return bl_usage(NULL, "unknown option '%s'", word);
    const struct bl_command *command = bl_command_find(word);
    if (command)
        return command->main(command, argc - 1, argv + 1);
    if (!is_command_name(word))
        return bl_usage(NULL, "'%s' is no name of a command", word);
    return run_external(argv + 1);
}

// `bigleaf-cc` is `bigleaf cc`: build systems want a compiler of one word.
static const struct bl_command *command_of_link(const char *name) {
    const char *slash = name ? strrchr(name, '/') : NULL;
    const char *base = slash ? slash + 1 : name;
    return base && strncmp(base, "bigleaf-", 8) == 0 ? bl_command_find(base + 8)
                                                     : NULL;
}

int main(int argc, char **argv) {
    const struct bl_command *linked = command_of_link(argv[0]);
    const int status =
        linked ? linked->main(linked, argc, argv) : dispatch(argc, argv);
    bl_output_flush();
    const int error = bl_output_error();
    if (error == 0)
        return status;
    bl_say(NULL, "cannot write to standard output: %s", strerror(error));
    return BL_EXIT_MACHINE;
}
