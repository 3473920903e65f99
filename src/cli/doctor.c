// SPDX-License-Identifier: MIT
//
// `bigleaf doctor`: what this machine allows, tried out and read back.
//
#include "cli/doctor.h"

#include "cli/align.h"
#include "cli/json.h"
#include "cli/request.h"
#include "image/shadow.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void text_findings(const struct bl_machine *m,
                          const struct bl_findings *f) {
    printf("Linux%s%s%s%s\n\n", m->kernel[0] ? " " : "", m->kernel,
           m->libc[0] ? ", " : "", m->libc);
    for (size_t i = 0; i < f->count; i++) {
        printf("  %-8s %s\n", bl_level_names[f->at[i].level], f->at[i].text);
        if (f->at[i].remedy)
            printf("           mend: %s\n", f->at[i].remedy);
    }
    printf("\n%s\n", f->verdict);
}

// None becomes null.
static void json_word(struct bl_json *j, const char *key, const char *word) {
    if (word[0])
        bl_json_string(j, key, word);
    else
        bl_json_null(j, key);
}

// `unknown` becomes null.
static void json_known(struct bl_json *j, const char *key, int64_t value) {
    if (value == BL_UNKNOWN)
        bl_json_null(j, key);
    else
        bl_json_i64(j, key, value);
}

static void json_limit(struct bl_json *j, const char *key, uint64_t value) {
    if (value == BL_NO_LIMIT)
        bl_json_null(j, key);
    else
        bl_json_u64(j, key, value);
}

static void json_facts(struct bl_json *j, const struct bl_machine *m) {
    static const char *const modes[] = {"unknown", "always", "madvise", "never",
                                        "absent"};
    json_word(j, "kernel", m->kernel);
    json_word(j, "libc", m->libc);
    bl_json_bool(j, "proc", m->proc);
    bl_json_bool(j, "sys", m->sys);
    bl_json_string(j, "thp_enabled", modes[m->thp]);
    bl_json_string(j, "thp_defrag", m->thp_defrag);
    bl_json_string(j, "thp_shmem", m->thp_shmem);
    json_known(j, "khugepaged_defrag", m->khugepaged_defrag);
    json_known(j, "huge_page_bytes", m->thp_huge_bytes);
    json_known(j, "hugetlb_pages", m->pool_total);
    json_known(j, "hugetlb_free", m->pool_free);
    json_known(j, "hugetlb_reserved", m->pool_reserved);
    json_known(j, "hugetlb_overcommit", m->pool_overcommit);
    json_known(j, "hugetlb_1gib_free", m->pool_giant_free);
    json_known(j, "memory_bytes", m->memory_total);
    json_known(j, "memory_available_bytes", m->memory_available);
    json_known(j, "free_contiguous_2mib", m->free_huge_blocks);
    bl_json_i64(j, "cgroup_version", m->cgroup_version);
    bl_json_string(j, "cgroup_path", m->cgroup_path);
    json_limit(j, "cgroup_limit_bytes", m->cgroup_limit);
    json_limit(j, "cgroup_usage_bytes", m->cgroup_usage);
    json_limit(j, "cgroup_hugetlb_limit_bytes", m->cgroup_hugetlb_limit);
    json_limit(j, "address_space_limit_bytes", m->address_limit);
    json_known(j, "overcommit", m->overcommit);
    json_known(j, "shm", m->shm);
    json_known(j, "shm_noexec", m->shm_noexec);
    json_known(j, "shadow_bytes", m->shadow_bytes);
    json_known(j, "seccomp", m->seccomp);
    json_known(j, "hypervisor", m->hypervisor);
    json_known(j, "page_reporting", m->page_reporting);
    json_known(j, "ptrace_scope", m->ptrace_scope);
}

static void json_probe(struct bl_json *j, const struct bl_probe *p) {
    bl_json_open(j, "tried", '{');
    bl_json_bool(j, "finished", p->ran);
    json_known(j, "thp_disabled", p->thp_disabled);
    bl_json_i64(j, "map_errno", p->map_errno);
    bl_json_i64(j, "madvise_errno", p->advise_errno);
    bl_json_u64(j, "huge_bytes", p->huge_bytes);
    bl_json_bool(j, "by_faults", p->by_faults);
    bl_json_i64(j, "collapse_errno", p->collapse_errno);
    bl_json_u64(j, "collapsed_bytes", p->collapsed_bytes);
    bl_json_i64(j, "hugetlb_errno", p->hugetlb_errno);
    bl_json_close(j, '}');
}

static void json_findings(const struct bl_machine *m, const struct bl_probe *p,
                          const struct bl_findings *f) {
    struct bl_json j = {.out = stdout};
    bl_json_open(&j, NULL, '{');
    bl_json_string(&j, "schema", "bigleaf.doctor/1");
    bl_json_bool(&j, "huge_pages", f->huge_pages);
    bl_json_string(&j, "verdict", f->verdict);
    json_facts(&j, m);
    if (p)
        json_probe(&j, p);
    bl_json_open(&j, "findings", '[');
    for (size_t i = 0; i < f->count; i++) {
        bl_json_open(&j, NULL, '{');
        bl_json_string(&j, "level", bl_level_names[f->at[i].level]);
        bl_json_string(&j, "text", f->at[i].text);
        if (f->at[i].remedy)
            bl_json_string(&j, "remedy", f->at[i].remedy);
        else
            bl_json_null(&j, "remedy");
        bl_json_close(&j, '}');
    }
    bl_json_close(&j, ']');
    bl_json_close(&j, '}');
    putchar('\n');
}

static int examine_machine(const char *root, bool json) {
    struct bl_machine machine;
    struct bl_probe probe;
    struct bl_findings findings;
    bl_machine_read(&machine, root ? root : "");
    if (!root) {
        machine.shadow_bytes =
            (int64_t)bl_shadow_bytes(getenv("BIGLEAF_SHADOW_DIR"));
        bl_machine_probe(&probe);
    }
    bl_diagnose(&machine, root ? NULL : &probe, &findings);
    if (json)
        json_findings(&machine, root ? NULL : &probe, &findings);
    else
        text_findings(&machine, &findings);
    const int status = findings.huge_pages ? 0 : BL_EXIT_MACHINE;
    bl_findings_free(&findings);
    return status;
}

static bool is_folder(const char *name) {
    struct stat s;
    return stat(name, &s) == 0 && S_ISDIR(s.st_mode);
}

int bl_doctor_main(const struct bl_command *self, int argc, char **argv) {
    struct bl_cursor cursor = {
        .command = self, .argv = argv, .argc = argc, .at = 1};
    bool json = false;
    bool clean = false;
    const char *root = NULL;
    enum bl_step step;
    while ((step = bl_cursor_next(&cursor)) == BL_STEP_OPTION) {
        if (strcmp(cursor.option->name, "json") == 0)
            json = true;
        else if (strcmp(cursor.option->name, "clean") == 0)
            clean = true;
        else
            root = cursor.value;
    }
    if (step != BL_STEP_END)
        return step == BL_STEP_HELP ? 0 : BL_EXIT_USAGE;
    const int words = argc - cursor.at;
    if (clean)
        return words || json || root
                   ? bl_usage(self, "--clean goes with nothing else")
                   : bl_clean_shadows(self);
    if (words > 1)
        return bl_usage(self, "one program at a time, behind the options");
    if (root && words)
        return bl_usage(self, "--root looks at a machine, not at a program");
    if (words)
        return bl_doctor_program(&cursor, json);
    if (root && !is_folder(root))
        return bl_usage(self, "--root=%s: no folder", root);
    return examine_machine(root, json);
}
