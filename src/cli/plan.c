// SPDX-License-Identifier: MIT
#include "cli/plan.h"

#include "cli/inject.h"
#include "cli/installed.h"
#include "cli/options.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libbigleaf.so"
#define PAGES "BIGLEAF_PAGES"
#define TUNABLES "GLIBC_TUNABLES"
#define HUGETLB_TUNABLE "glibc.malloc.hugetlb="
#define MMAP_TUNABLE "glibc.malloc.mmap_threshold="
// Blocks larger than that are mapped, and grow without being copied.
#define MOST_FROM_BREAK MMAP_TUNABLE "1073741824:"

const char *const bl_mechanism_names[] = {"bigleaf", "glibc-tunable",
                                          "injected", "none"};

bool bl_heap_parse(const char *word, enum bl_heap *out) {
    static const char *const words[] = {"bigleaf", "glibc", "injected", "none"};
    for (size_t i = 0; i < BL_ARRAY_LEN(words); i++) {
        if (strcmp(word, words[i]) == 0) {
            *out = (enum bl_heap)i;
            return true;
        }
    }
    return false;
}

void bl_request_set(struct bl_request *r, const char *name, const char *value) {
    for (size_t i = 0; i < r->setting_count; i++) {
        if (strcmp(r->settings[i].name, name) == 0) {
            free(r->settings[i].value);
            r->settings[i].value = bl_xstrdup(value);
            return;
        }
    }
    BL_CHECK(r->setting_count < BL_ARRAY_LEN(r->settings));
    r->settings[r->setting_count++] =
        (struct bl_setting){bl_xstrdup(name), bl_xstrdup(value)};
}

void bl_request_free(struct bl_request *r) {
    for (size_t i = 0; i < r->setting_count; i++) {
        free(r->settings[i].name);
        free(r->settings[i].value);
    }
    r->setting_count = 0;
}

// Takes `value` over.
static void set(struct bl_plan *plan, const char *name, char *value) {
    BL_CHECK(plan->environment_count < BL_ARRAY_LEN(plan->environment));
    plan->environment[plan->environment_count++] =
        (struct bl_setting){bl_xstrdup(name), value};
}

// Takes `why` over.
static void decide(struct bl_plan *plan, enum bl_mechanism mechanism,
                   bool failed, char *why) {
    free(plan->why);
    plan->mechanism = mechanism;
    plan->failed = failed;
    plan->why = why;
}

static char *find_library(void) {
    const char *given = getenv("BIGLEAF_LIB");
    char path[PATH_MAX];
    if (given && given[0])
        return bl_xstrdup(realpath(given, path) ? path : given);
    return bl_installed_library(LIBRARY);
}

#if defined(__x86_64__)
#define SYSTEM_LOADER "/lib64/ld-linux-x86-64.so.2"
#else
#define SYSTEM_LOADER "/lib/ld-linux-aarch64.so.1"
#endif
// A version of glibc that its loader names among its own, too.
#define LOADER_VERSION "2.34"

// Of the program or, where it has no loader, of what it starts: a library that
// is preloaded and finds not all that it needs in the libc ends the program.
static bool has_too_old_glibc(const struct bl_program *p) {
    const char *loader = p->interpreter ? p->interpreter : SYSTEM_LOADER;
    if (p->runtime || (p->interpreter && p->tunable) ||
        access(loader, R_OK) != 0 ||
        bl_program_contains(loader, "GLIBC_" LOADER_VERSION))
        return false;
    char *library = find_library();
    const bool needed = bl_program_contains(library, "GLIBC_" LOADER_VERSION);
    free(library);
    return needed;
}

// Why the library cannot be preloaded; NULL: it can.
static char *library_fault(const char *path) {
    struct bl_program library;
    char *fault = NULL;
    if (access(path, R_OK) != 0)
        return bl_xprintf("%s: cannot be read; install Bigleaf or name the "
                          "library in BIGLEAF_LIB",
                          path);
    if (strpbrk(path, " :"))
        return bl_xprintf("%s: LD_PRELOAD takes no path with a space or "
                          "colon; copy the library and name it in BIGLEAF_LIB",
                          path);
    bl_program_inspect_library(path, &library);
    if (library.kind == BL_PROGRAM_FOREIGN)
        fault = bl_xprintf(
            "%s: is for %u-bit %s, this machine is %s; install the Bigleaf "
            "built for it or name its library in BIGLEAF_LIB",
            path, library.bits, bl_program_machine_name(library.machine),
            bl_program_machine_name(bl_program_own_machine()));
    else if (library.kind == BL_PROGRAM_UNKNOWN)
        fault = bl_xprintf("%s: is no ELF shared library", path);
    bl_program_free(&library);
    return fault;
}

#define PRELOAD "LD_PRELOAD"
#define PRELOAD_ENDS ": " // of a name in its list

// Whether a name of n characters is that of a runtime, of whatever build.
static bool is_runtime(const char *name, size_t n) {
    const char *slash = memrchr(name, '/', n);
    const char *base = slash ? slash + 1 : name;
    const size_t left = n - (size_t)(base - name);
    return left >= strlen(LIBRARY) &&
           strncmp(base, LIBRARY, strlen(LIBRARY)) == 0;
}

// Ours first, so that its malloc wins; the user's stay behind it, but for other
// runtimes: two in one program would each report, and each take memory.
static char *merged_preload(const char *library) {
    const char *p = getenv(PRELOAD);
    char *merged = bl_xstrdup(library);
    while (p && *p) {
        const size_t n = strcspn(p, PRELOAD_ENDS);
        const bool same = n == strlen(library) && strncmp(p, library, n) == 0;
        if (n && !same && !is_runtime(p, n)) {
            char *longer = bl_xprintf("%s:%.*s", merged, (int)n, p);
            free(merged);
            merged = longer;
        }
        p += n + (p[n] != '\0');
    }
    return merged;
}

// The user's tunables without glibc.malloc.hugetlb, then ours. `from_break`:
// glibc is to take all but the largest blocks from its break, which lies on
// huge pages as a whole; a mapping of its own begins and ends anywhere. The
// user's own word on that stands.
static char *merged_tunables(unsigned value, bool from_break) {
    const char *old = getenv(TUNABLES);
    char *merged = bl_xstrdup("");
    while (old && *old) {
        const size_t n = strcspn(old, ":");
        if (n && strncmp(old, HUGETLB_TUNABLE, strlen(HUGETLB_TUNABLE)) != 0) {
            char *longer = bl_xprintf("%s%.*s:", merged, (int)n, old);
            free(merged);
            merged = longer;
        }
        old += n + (old[n] == ':');
    }
    const char *threshold =
        from_break && !strstr(merged, MMAP_TUNABLE) ? MOST_FROM_BREAK : "";
    char *all =
        bl_xprintf("%s%s" HUGETLB_TUNABLE "%u", merged, threshold, value);
    free(merged);
    return all;
}

const char *bl_request_pages(const struct bl_request *request) {
    for (size_t i = 0; i < request->setting_count; i++) {
        if (strcmp(request->settings[i].name, PAGES) == 0)
            return request->settings[i].value;
    }
    const char *word = getenv(PAGES);
    return bl_runtime_knows(PAGES, word) ? word : "auto";
}

static void use_tunable(const struct bl_request *request, struct bl_plan *plan,
                        bool from_break, char *why) {
    const char *pages = bl_request_pages(request);
    const unsigned value = strcmp(pages, "hugetlb") == 0 ? 2
                           : strcmp(pages, "base") == 0  ? 0
                                                         : 1;
    set(plan, TUNABLES, merged_tunables(value, from_break && value == 1));
    decide(plan, BL_MECHANISM_TUNABLE, false, why);
}

// `why` it is that.
static void use_injection(const struct bl_request *request,
                          struct bl_plan *plan, const char *why) {
    if (strcmp(bl_request_pages(request), "base") == 0)
        decide(plan, BL_MECHANISM_NONE, false,
               bl_xstrdup("asked for by --pages=base or " PAGES));
    else if (!bl_inject_is_possible())
        decide(plan, BL_MECHANISM_NONE, true, bl_xstrdup(why));
    else
        decide(
            plan, BL_MECHANISM_INJECTED, false,
            bl_xprintf("%s: its calls of memory are served from outside", why));
}

static bool is_musl(const struct bl_program *p) {
    return p->interpreter && strstr(p->interpreter, "/ld-musl-");
}

static char *secure_reason(void) {
    return bl_xstrdup("the program is setuid, setgid or has capabilities: its "
                      "loader ignores LD_PRELOAD and tunables");
}

static char *off_reason(void) {
    return bl_xprintf("the environment says BIGLEAF=%s", getenv("BIGLEAF"));
}

// Whether LD_PRELOAD names a runtime already.
static bool is_preloaded(void) {
    const char *p = getenv(PRELOAD);
    bool found = false;
    while (p && *p && !found) {
        const size_t n = strcspn(p, PRELOAD_ENDS);
        found = is_runtime(p, n);
        p += n + (p[n] != '\0');
    }
    return found;
}

// It would serve, whatever was asked for.
static void switch_runtime_off(const struct bl_program *p,
                               struct bl_plan *plan) {
    plan->switches_off = bl_program_has_runtime(p) || is_preloaded();
    if (plan->switches_off)
        set(plan, "BIGLEAF", bl_xstrdup("off"));
}

static void plan_none(const struct bl_program *p, struct bl_plan *plan) {
    switch_runtime_off(p, plan);
    decide(plan, BL_MECHANISM_NONE, false,
           bl_xprintf("asked for by --heap=none%s",
                      !plan->switches_off ? ""
                      : bl_program_has_runtime(p)
                          ? "; the runtime in the program is switched off"
                          : "; the runtime that LD_PRELOAD names is switched "
                            "off"));
}

static void plan_glibc(const struct bl_request *request,
                       const struct bl_program *p, struct bl_plan *plan) {
    switch_runtime_off(p, plan);
    if (p->secure)
        decide(plan, BL_MECHANISM_NONE, true, secure_reason());
    else if (!p->tunable)
        decide(plan, BL_MECHANISM_NONE, true,
               bl_xstrdup("the program's libc knows no glibc.malloc.hugetlb "
                          "(glibc 2.35 or later does)"));
    else if (p->defines_malloc)
        decide(plan, BL_MECHANISM_NONE, true,
               bl_xstrdup("the program brings its own malloc, which heeds no "
                          "tunable of glibc"));
    else
        use_tunable(request, plan, false,
                    bl_xstrdup("asked for by --heap=glibc"));
}

// What an AppImage begins with is no solver. It mounts the file system with one
// by a setuid program, and that gains no rights under what is served from
// outside.
static void plan_static(const struct bl_request *request,
                        const struct bl_program *p, struct bl_plan *plan) {
    if (p->runtime)
        decide(plan, BL_MECHANISM_BIGLEAF, false,
               bl_xstrdup("the runtime is linked into the program"));
    else if (p->app_image)
        decide(plan, BL_MECHANISM_BIGLEAF, false,
               bl_xstrdup("preloaded, for what the AppImage holds"));
    else if (p->tunable)
        use_tunable(request, plan, true,
                    bl_xstrdup("the program is static, so nothing can be "
                               "preloaded; its glibc has the tunable"));
    else
        use_injection(request, plan,
                      "the program is static, so nothing can be preloaded, and "
                      "its libc has no huge page tunable");
}

bool bl_plan_is_off(const char *word) {
    return strcmp(word, "off") == 0 || strcmp(word, "0") == 0;
}

bool bl_plan_is_switched_off(void) {
    const char *master = getenv("BIGLEAF");
    return master && bl_plan_is_off(master);
}

// Of a program for another machine.
static char *foreign_reason(const struct bl_program *p) {
    return bl_xprintf("the program is for %u-bit %s, the runtime for 64-bit %s",
                      p->bits, bl_program_machine_name(p->machine),
                      bl_program_machine_name(bl_program_own_machine()));
}

// `why` nothing but injection will do.
static void plan_injected(const struct bl_request *request,
                          const struct bl_program *p, struct bl_plan *plan,
                          const char *why) {
    if (p->kind == BL_PROGRAM_FOREIGN)
        decide(plan, BL_MECHANISM_NONE, true, foreign_reason(p));
    else if (p->secure)
        decide(plan, BL_MECHANISM_NONE, true, secure_reason());
    else if (bl_plan_is_switched_off())
        decide(plan, BL_MECHANISM_NONE, true, off_reason());
    else
        use_injection(request, plan, why);
}

// True where the preload library belongs into the environment: for this
// program or, where it cannot serve it, for its children.
static bool plan_bigleaf(const struct bl_request *request,
                         const struct bl_program *p, struct bl_plan *plan) {
    if (p->kind == BL_PROGRAM_FOREIGN) {
        decide(plan, BL_MECHANISM_NONE, true, foreign_reason(p));
        return false;
    }
    if (is_musl(p)) {
        plan_injected(request, p, plan,
                      "the program's libc is musl, the runtime needs glibc");
        return false;
    }
    const bool too_old = has_too_old_glibc(p);
    if (too_old && p->kind != BL_PROGRAM_STATIC) {
        plan_injected(request, p, plan,
                      "the program's glibc is older than " LOADER_VERSION
                      ", which this build of the runtime needs");
        return false;
    }
    if (p->sanitized) {
        decide(plan, BL_MECHANISM_NONE, true,
               bl_xstrdup("the program brings its own malloc, a sanitizer's, "
                          "which wants nothing ahead of it"));
        return false;
    }
    if (p->secure)
        decide(plan, BL_MECHANISM_NONE, true, secure_reason());
    else if (bl_plan_is_switched_off())
        decide(plan, BL_MECHANISM_NONE, true, off_reason());
    else if (p->kind == BL_PROGRAM_STATIC)
        plan_static(request, p, plan);
    else if (p->runtime)
        decide(plan, BL_MECHANISM_BIGLEAF, false,
               bl_xstrdup("the runtime is linked into the program"));
    else if (p->defines_malloc)
        decide(plan, BL_MECHANISM_NONE, true,
               bl_xstrdup("the program brings its own malloc, which wins over "
                          "a preloaded one"));
    else
        decide(plan, BL_MECHANISM_BIGLEAF, false,
               bl_xstrdup("preloaded, ahead of the program's libc"));
    return !p->runtime && !too_old;
}

int bl_plan_make(const struct bl_command *command,
                 const struct bl_request *request,
                 const struct bl_program *program, struct bl_plan *out) {
    *out = (struct bl_plan){.mechanism = BL_MECHANISM_NONE};
    bool preload = false;
    if (program->other) {
        decide(out, BL_MECHANISM_NONE, true,
               bl_xprintf("the file is %s", program->other));
        return 0;
    }
    switch (request->heap) {
    case BL_HEAP_NONE:
        plan_none(program, out);
        break;
    case BL_HEAP_GLIBC:
        plan_glibc(request, program, out);
        break;
    case BL_HEAP_INJECTED:
        plan_injected(request, program, out, "asked for by --heap=injected");
        break;
    case BL_HEAP_BIGLEAF:
        preload = plan_bigleaf(request, program, out);
        break;
    }
    for (size_t i = 0; i < request->setting_count; i++)
        set(out, request->settings[i].name,
            bl_xstrdup(request->settings[i].value));
    if (!preload)
        return 0;
    char *library = find_library();
    char *fault = library_fault(library);
    int status = 0;
    if (!fault) {
        set(out, PRELOAD, merged_preload(library));
    } else if (out->mechanism == BL_MECHANISM_BIGLEAF) {
        bl_say(command, "%s", fault);
        status = BL_EXIT_MACHINE;
    }
    free(library);
    free(fault);
    return status;
}

void bl_plan_free(struct bl_plan *plan) {
    for (size_t i = 0; i < plan->environment_count; i++) {
        free(plan->environment[i].name);
        free(plan->environment[i].value);
    }
    plan->environment_count = 0;
    free(plan->why);
    plan->why = NULL;
}

static const char *variable(const struct bl_plan *plan, const char *name) {
    for (size_t i = 0; i < plan->environment_count; i++) {
        if (strcmp(plan->environment[i].name, name) == 0)
            return plan->environment[i].value;
    }
    return getenv(name);
}

uint64_t bl_plan_huge_percent(const struct bl_plan *plan) {
    const char *pages = variable(plan, PAGES);
    if (pages && (strcmp(pages, "thp") == 0 || strcmp(pages, "hugetlb") == 0))
        return BL_NO_HUGE_LIMIT;
    return bl_runtime_number("BIGLEAF_HUGE_PERCENT",
                             variable(plan, "BIGLEAF_HUGE_PERCENT"));
}

void bl_plan_apply(const struct bl_plan *plan) {
    for (size_t i = 0; i < plan->environment_count; i++) {
        const struct bl_setting *s = &plan->environment[i];
        BL_CHECK(setenv(s->name, s->value, 1) == 0);
    }
}

static void print_word(FILE *out, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-./=:,+@%^";
    if (word[0] && word[strspn(word, plain)] == '\0') {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    }
    fputc('\'', out);
}

void bl_plan_print(FILE *out, const struct bl_plan *plan, char **argv) {
    if (plan->mechanism == BL_MECHANISM_INJECTED)
        fprintf(out, "# %s, which no line for a shell does\n", plan->why);
    if (plan->environment_count)
        fputs("env ", out);
    for (size_t i = 0; i < plan->environment_count; i++) {
        fprintf(out, "%s=", plan->environment[i].name);
        print_word(out, plan->environment[i].value);
        fputc(' ', out);
    }
    // env and the shell would take such a name for a variable.
    if (strchr(argv[0], '='))
        fputs("sh -c 'exec \"$0\" \"$@\"' ", out);
    for (size_t i = 0; argv[i]; i++) {
        if (i)
            fputc(' ', out);
        print_word(out, argv[i]);
    }
    fputc('\n', out);
}
