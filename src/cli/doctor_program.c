// SPDX-License-Identifier: MIT
//
// `bigleaf doctor PROGRAM`: what a program is made of, whether Bigleaf is
// inside, what would be done with it, and whether this machine would let it.
//
#include "cli/doctor.h"

#include "cli/json.h"
#include "cli/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// The version without the words before it; "" where there is none inside.
static const char *version_inside(const struct bl_program *p) {
    const char *space = p->runtime ? strchr(p->runtime, ' ') : NULL;
    return space ? space + 1 : "";
}

static const char *off_switch(void) {
    return bl_plan_is_switched_off() ? "BIGLEAF=off switches it off now"
                                     : "on unless BIGLEAF=off";
}

static void text_inside(const struct bl_program *p) {
    if (p->runtime)
        printf("  bigleaf      version %s inside, %s\n", version_inside(p),
               off_switch());
    else if (p->needs_runtime)
        printf("  bigleaf      by libbigleaf.so, %s\n", off_switch());
    else
        printf("  bigleaf      not inside\n");
}

static const char *malloc_of(const struct bl_program *p) {
    if (bl_program_has_runtime(p))
        return p->libc_malloc ? "Bigleaf's; its libc's with BIGLEAF=off"
                              : "Bigleaf's, on base pages with BIGLEAF=off";
    if (p->thp_malloc)
        return "glibc's, patched: GLIBC_THP_ALWAYS=1 puts it on huge pages";
    return p->defines_malloc ? "its own" : "its libc's";
}

static bool machine_gives(char **verdict) {
    struct bl_machine machine;
    struct bl_probe probe;
    struct bl_findings findings;
    bl_machine_read(&machine, "");
    bl_machine_probe(&probe);
    bl_diagnose(&machine, &probe, &findings);
    const bool gives = findings.huge_pages;
    *verdict = bl_xstrdup(findings.verdict);
    bl_findings_free(&findings);
    return gives;
}

// Both say whether this machine gives huge pages.
static bool text_program(const struct bl_program *p,
                         const struct bl_plan *plan) {
    char *kind = bl_program_describe(p);
    printf("%s\n", p->script ? p->script : p->path);
    if (p->script)
        printf("  script of    %s\n", p->path);
    printf("  kind         %s\n", kind);
    free(kind);
    if (p->other) {
        puts("  bigleaf      only a program can have it inside");
        return false;
    }
    char *verdict = NULL;
    const bool gives = machine_gives(&verdict);
    if (p->interpreter)
        printf("  loader       %s\n", p->interpreter);
    text_inside(p);
    printf("  malloc       %s\n", malloc_of(p));
    printf("  hugetlb tunable of glibc (2.35)  %s\n",
           p->tunable ? "yes" : "no");
    if (p->text_bytes)
        printf("  text         %.1f MiB, aligned to %llu KiB, %.0f MiB of it "
               "in whole huge pages\n",
               (double)p->text_bytes / (double)BL_MIB,
               (unsigned long long)p->text_align >> 10,
               (double)p->text_whole / (double)BL_MIB);
    if (p->data_bytes)
        printf("  data         %.1f MiB\n",
               (double)p->data_bytes / (double)BL_MIB);
    printf("  heap by      %s: %s\n", bl_mechanism_names[plan->mechanism],
           plan->why);
    printf("  here         %s\n", verdict);
    free(verdict);
    return gives;
}

static bool json_program(const struct bl_program *p,
                         const struct bl_plan *plan) {
    struct bl_json j = {.out = stdout};
    char *verdict = NULL;
    const bool gives = machine_gives(&verdict);
    char *kind = bl_program_describe(p);
    bl_json_open(&j, NULL, '{');
    bl_json_string(&j, "schema", "bigleaf.program/1");
    bl_json_string(&j, "file", p->script ? p->script : p->path);
    bl_json_string(&j, "executes", p->path);
    bl_json_string(&j, "kind", kind);
    bl_json_bool(&j, "script", p->script != NULL);
    bl_json_bool(&j, "static", p->kind == BL_PROGRAM_STATIC);
    bl_json_string(&j, "loader", p->interpreter ? p->interpreter : "");
    bl_json_bool(&j, "setuid", p->secure);
    bl_json_bool(&j, "own_malloc", p->defines_malloc);
    bl_json_bool(&j, "libc_malloc", p->libc_malloc);
    bl_json_bool(&j, "hugetlb_tunable", p->tunable);
    bl_json_string(&j, "runtime_linked_in", p->runtime ? p->runtime : "");
    bl_json_string(&j, "bigleaf_version", version_inside(p));
    bl_json_bool(&j, "bigleaf_library", p->needs_runtime);
    bl_json_bool(&j, "patched_glibc_malloc", p->thp_malloc);
    bl_json_u64(&j, "text_bytes", p->text_bytes);
    bl_json_u64(&j, "text_align", p->text_align);
    bl_json_u64(&j, "text_huge_bytes", p->text_whole);
    bl_json_u64(&j, "data_bytes", p->data_bytes);
    bl_json_open(&j, "mechanisms", '{');
    bl_json_string(&j, "heap", bl_mechanism_names[plan->mechanism]);
    bl_json_string(&j, "heap_reason", plan->why);
    bl_json_close(&j, '}');
    bl_json_bool(&j, "huge_pages_here", gives);
    bl_json_string(&j, "verdict_here", verdict);
    bl_json_close(&j, '}');
    putchar('\n');
    free(verdict);
    free(kind);
    return gives;
}

// A name without '/' is looked for on PATH, then in the working folder: here
// it names a file, which need not be executable.
static int find_file(struct bl_cursor *cursor, struct bl_program *program) {
    const char *name = cursor->argv[cursor->at];
    char *path = NULL;
    struct stat st;
    const bool found = bl_program_find(name, &path) == 0;
    free(path);
    if (found || stat(name, &st) != 0 || access(name, R_OK) != 0)
        return bl_request_program(cursor, program);
    if (!S_ISREG(st.st_mode)) {
        bl_say(cursor->command, "%s: %s", name,
               S_ISDIR(st.st_mode) ? strerror(EISDIR) : "not a regular file");
        return BL_EXIT_NOT_EXECUTABLE;
    }
    path = bl_xprintf("%s%s", strchr(name, '/') ? "" : "./", name);
    bl_program_inspect(path, program);
    free(path);
    return 0;
}

int bl_doctor_program(struct bl_cursor *cursor, bool json) {
    const struct bl_request request = {.heap = BL_HEAP_BIGLEAF};
    struct bl_program program;
    struct bl_plan plan;
    int status = find_file(cursor, &program);
    if (status)
        return status;
    status = bl_plan_make(cursor->command, &request, &program, &plan);
    const bool gives = (json ? json_program : text_program)(&program, &plan);
    if (status == 0 && (plan.failed || !gives))
        status = BL_EXIT_MACHINE;
    bl_plan_free(&plan);
    bl_program_free(&program);
    return status;
}
