// SPDX-License-Identifier: MIT
//
// The emulated run: QEMU in user mode with our plug-in (src/tlb/plugin.c),
// which leaves one profile for each process in a folder of this run.
//
#include "cli/flame.h"
#include "cli/installed.h"
#include "cli/scratch.h"
#include "cli/tlb.h"
#include "tlb/emulate.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PLUGIN "bigleaf/tlb.so"
#define PLUGIN_MARK "qemu_plugin_"      // in names that an emulator exports
#define LINES_VARIABLE "BIGLEAF_REPORT" // that bl_launch sets

struct run {
    const struct bl_tlb_request *request;
    struct bl_tlb_geometry geometry;
    char *geometry_text;
    struct bl_scratch_folder folder; // of the profiles
    char *plugin;
    struct bl_emulator emulator;
    struct bl_misses misses;
};

static int find_emulator(struct run *r) {
    const struct bl_command *command = r->request->command;
    char *name = bl_xprintf("qemu-%s", bl_program_own_machine() == EM_X86_64
                                           ? "x86_64"
                                           : "aarch64");
    char *path = NULL;
    char *directory = bl_xprintf("dir=%s", r->folder.path);
    char *every =
        bl_xprintf("every=%llu", (unsigned long long)r->request->every);
    const char *const words[] = {directory, every};
    int status = BL_EXIT_MACHINE;
    r->plugin = bl_installed_library(PLUGIN);
    if (bl_program_find(name, &path) != 0)
        bl_say(command,
               "no %s on PATH, which emulates programs: install the package "
               "qemu-user",
               name);
    else if (!bl_program_contains(path, PLUGIN_MARK))
        bl_say(command,
               "%s takes no plug-ins: put a QEMU on PATH that was configured "
               "with --enable-plugins (Debian 12's qemu-user; see "
               "bigleaf-tlb(1))",
               path);
    else if (access(r->plugin, R_OK) != 0)
        bl_say(command, "%s: %s; install Bigleaf whole, or build it", r->plugin,
               strerror(errno));
    else if (!bl_emulator_init(&r->emulator, path, r->plugin, words,
                               BL_ARRAY_LEN(words)))
        bl_say(command, "%s: cannot be run", path);
    else
        status = 0;
    if (!getenv(LINES_VARIABLE))
        r->emulator.unset = LINES_VARIABLE;
    free(name);
    free(path);
    free(directory);
    free(every);
    return status;
}

static char *read_text(const char *path) {
    enum { MOST = 16000 };
    FILE *in = fopen(path, "re");
    char *text = bl_xrealloc(NULL, MOST + 1);
    const size_t n = in ? fread(text, 1, MOST, in) : 0;
    const bool fine = in && !ferror(in);
    const int error = errno;
    if (in)
        fclose(in);
    text[n] = '\0';
    if (!fine) {
        free(text);
        errno = error;
        return NULL;
    }
    return text;
}

static int take_geometry(struct run *r) {
    const struct bl_command *command = r->request->command;
    const char *name = r->request->geometry;
    const char *known = bl_tlb_geometry_text(name);
    unsigned line;
    r->geometry_text = known ? bl_xstrdup(known) : read_text(name);
    if (!r->geometry_text && !strchr(name, '/') && errno == ENOENT)
        return bl_usage(command,
                        "wrong value '%s' for --geometry: a file, or one of "
                        "%s",
                        name, bl_tlb_geometry_names);
    if (!r->geometry_text) {
        bl_say(command, "%s: %s", name, strerror(errno));
        return BL_EXIT_USAGE;
    }
    const char *fault =
        bl_tlb_geometry_parse(r->geometry_text, &r->geometry, &line);
    if (fault && line)
        bl_say(command, "%s:%u: %s", name, line, fault);
    else if (fault)
        bl_say(command, "%s: %s", name, fault);
    return fault ? BL_EXIT_USAGE : 0;
}

// A folder for the profiles, with the geometry in it.
static int make_directory(struct run *r) {
    r->folder = bl_scratch_folder_make();
    char *path =
        r->folder.path ? bl_xprintf("%s/geometry", r->folder.path) : NULL;
    FILE *out = path ? fopen(path, "we") : NULL;
    const bool fine = out && fputs(r->geometry_text, out) >= 0;
    const bool whole = out && fclose(out) == 0 && fine;
    free(path);
    if (!whole)
        bl_say(r->request->command,
               "no folder for temporary files: set TMPDIR to one that can be "
               "written");
    return whole ? 0 : BL_EXIT_MACHINE;
}

// Calls `each` with the path of every file of the run.
static void each_file(const struct run *r,
                      void (*each)(void *context, const char *path),
                      void *context) {
    DIR *folder = opendir(r->folder.path);
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        char *path = bl_xprintf("%s/%s", r->folder.path, entry->d_name);
        if (entry->d_name[0] != '.')
            each(context, path);
        free(path);
    }
    if (folder)
        closedir(folder);
}

static void add_file(void *misses, const char *path) {
    bl_misses_add(misses, path);
}

static void count_file(void *number, const char *path) {
    (void)path;
    ++*(size_t *)number;
}

static void clean(struct run *r) {
    bl_scratch_folder_remove(&r->folder);
    free(r->geometry_text);
    free(r->plugin);
    bl_misses_free(&r->misses);
}

// The emulator would write a core file of the program, and say so. What the
// launch itself puts into the environment is not for the program.
static int launch(struct run *r, char **words, struct bl_result *result) {
    struct rlimit limit;
    struct bl_program emulator;
    struct bl_plan plan = {.mechanism = BL_MECHANISM_NONE,
                           .why = bl_xstrdup("emulated")};
    const bool limited = getrlimit(RLIMIT_CORE, &limit) == 0;
    const struct rlimit none = {0, limited ? limit.rlim_max : 0};
    if (limited)
        setrlimit(RLIMIT_CORE, &none);
    bl_program_inspect(r->emulator.file, &emulator);
    const struct bl_launch what = {.command = r->request->command,
                                   .program = &emulator,
                                   .plan = &plan,
                                   .streams = {-1, -1, -1},
                                   .argv = words};
    const int status = bl_launch(&what, result);
    result->argv = r->request->argv;
    if (limited)
        setrlimit(RLIMIT_CORE, &limit);
    bl_program_free(&emulator);
    bl_plan_free(&plan);
    return status;
}

// There is no profile: the file that the plug-in begins lies beside the
// geometry where it has run.
static int no_profile(const struct run *r) {
    size_t files = 0;
    each_file(r, count_file, &files);
    if (files > 1)
        bl_say(r->request->command,
               "no room for what is counted in %s: set TMPDIR to a folder that "
               "has some, or raise the limit on files (ulimit -f)",
               r->folder.path);
    else
        bl_say(r->request->command,
               "%s has not run the plug-in %s: it must be QEMU 4.2 or later, "
               "in user mode",
               r->emulator.file, r->plugin);
    return BL_EXIT_MACHINE;
}

static int report(struct run *r, const struct bl_result *result) {
    const struct bl_tlb_request *request = r->request;
    bl_report_undisturbed();
    each_file(r, add_file, &r->misses);
    if (r->misses.process_count == 0)
        return no_profile(r);
    bl_misses_finish(&r->misses, request->policy);
    if (r->misses.total.instructions == 0) {
        bl_say(request->command,
               "%s did not get as far as the program's first instruction: too "
               "little memory (ulimit -v), or a program that it cannot load",
               r->emulator.file);
        return BL_EXIT_MACHINE;
    }
    const struct bl_tlb_report report = {.request = request,
                                         .geometry = &r->geometry,
                                         .misses = &r->misses,
                                         .result = result};
    bl_tlb_report_text(&report);
    if (request->json)
        bl_tlb_report_json(&report, bl_report_file_begin(request->json));
    if (request->flame) {
        char *title = bl_xprintf(
            "%s: walks of the page table, memory %s, %s", request->argv[0],
            bl_tlb_policy_names[request->policy], request->geometry);
        bl_flame_write(bl_report_file_begin(request->flame), &r->misses,
                       request->policy, title);
        free(title);
    }
    return 0;
}

static int emulate(struct run *r, const struct bl_program *program,
                   struct bl_result *result) {
    const struct bl_tlb_request *request = r->request;
    const char *file = program->script ? program->script : program->path;
    int status = take_geometry(r);
    if (status == 0)
        status = make_directory(r);
    if (status == 0)
        status = find_emulator(r);
    if (status)
        return status;
    char **words = bl_emulator_words(&r->emulator, file, request->argv);
    if (!words) {
        bl_say(request->command,
               "%s: cannot be emulated: want a 64-bit %s program or a script "
               "of one, without setuid",
               file, bl_program_machine_name(bl_program_own_machine()));
        return BL_EXIT_MACHINE;
    }
    status = launch(r, words, result);
    free(words);
    return status ? status : report(r, result);
}

int bl_tlb_emulate(const struct bl_tlb_request *request,
                   const struct bl_program *program, struct bl_result *result) {
    struct run r = {.request = request};
    const int status = emulate(&r, program, result);
    clean(&r);
    return status;
}
