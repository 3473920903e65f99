// SPDX-License-Identifier: MIT
#include "cli/doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FREE_BLOCKS_WISHED 32 // 64 MiB
#define SMALL_LIMIT (256 * BL_MIB)
#define MANY_SHADOWS ((int64_t)(256 * BL_MIB))

const char *const bl_level_names[] = {"ok", "note", "missing"};

// `remedy` may be NULL.
__attribute__((format(printf, 4, 5))) static void
find(struct bl_findings *f, enum bl_level level, const char *remedy,
     const char *format, ...) {
    va_list arguments;
    char *text = NULL;
    BL_CHECK(f->count < BL_ARRAY_LEN(f->at));
    va_start(arguments, format);
    BL_CHECK(vasprintf(&text, format, arguments) >= 0);
    va_end(arguments);
    f->at[f->count++] =
        (struct bl_finding){level, text, remedy ? bl_xstrdup(remedy) : NULL};
}

static void find_files(struct bl_findings *f, const struct bl_machine *m) {
    if (!m->proc)
        find(f, BL_LEVEL_NOTE, "sudo mount -t proc proc /proc",
             "/proc is not mounted: reports cannot say what backs a program");
    if (!m->sys)
        find(f, BL_LEVEL_NOTE, "sudo mount -t sysfs sysfs /sys",
             "/sys is not mounted: THP mode and hugetlb pools are unknown");
}

static void find_thp_mode(struct bl_findings *f, const struct bl_machine *m) {
    const char *mode = m->thp_own ? "THP mode of 2 MiB" : "THP mode";
    switch (m->thp) {
    case BL_THP_ALWAYS:
        find(f, BL_LEVEL_OK, NULL, "%s is always", mode);
        break;
    case BL_THP_MADVISE:
        find(f, BL_LEVEL_OK, NULL,
             "%s is madvise: who asks for huge pages gets them", mode);
        break;
    case BL_THP_NEVER:
        find(f, BL_LEVEL_MISSING,
             m->thp_own ? "echo madvise | sudo tee " BL_MACHINE_THP_2MIB
                          "enabled"
                        : "echo madvise | sudo tee " BL_MACHINE_THP "enabled",
             "%s is never", mode);
        break;
    case BL_THP_ABSENT:
        find(f, BL_LEVEL_MISSING, "sudo sysctl vm.nr_hugepages=512",
             "the kernel is built without THP; only the hugetlb pool can help");
        break;
    case BL_THP_UNKNOWN:
        find(f, BL_LEVEL_NOTE, NULL, "THP mode is unknown");
        break;
    }
}

static void find_thp(struct bl_findings *f, const struct bl_machine *m) {
    find_thp_mode(f, m);
    if (strcmp(m->thp_defrag, "never") == 0)
        find(f, BL_LEVEL_NOTE,
             "echo madvise | sudo tee " BL_MACHINE_THP "defrag",
             "THP defrag is never: where no huge page is free, none is made");
    else if (m->thp_defrag[0])
        find(f, BL_LEVEL_OK, NULL, "THP defrag is %s", m->thp_defrag);
    if (m->thp_huge_bytes > 0 && m->thp_huge_bytes != (int64_t)BL_HUGE_SIZE)
        find(f, BL_LEVEL_MISSING, NULL,
             "huge pages hold %lld MiB here; the runtime is made for 2 MiB",
             (long long)m->thp_huge_bytes >> 20);
}

// Fresh huge pages are, as a rule, where the hypervisor must find the memory.
static bool are_dear(const struct bl_machine *m) {
    return m->page_reporting == 1;
}

static bool has_thp(const struct bl_machine *m) {
    return m->thp == BL_THP_ALWAYS || m->thp == BL_THP_MADVISE;
}

static void find_pool(struct bl_findings *f, const struct bl_machine *m) {
    if (m->pool_total == BL_UNKNOWN)
        find(f, BL_LEVEL_NOTE, NULL, "no hugetlb pool of 2 MiB pages is known");
    else if (m->pool_total == 0 && m->pool_overcommit <= 0)
        find(f, BL_LEVEL_OK, NULL, "the hugetlb pool is empty%s",
             has_thp(m) && !are_dear(m) ? "; with THP none is needed" : "");
    else
        find(f, BL_LEVEL_OK, NULL,
             "hugetlb pool: %lld pages of 2 MiB, %lld free, %lld reserved, "
             "%lld more on demand",
             (long long)m->pool_total, (long long)m->pool_free,
             (long long)m->pool_reserved, (long long)m->pool_overcommit);
    if (m->pool_giant_free > 0)
        find(f, BL_LEVEL_NOTE, NULL,
             "%lld pages of 1 GiB lie free in their pool; the runtime uses "
             "those of 2 MiB",
             (long long)m->pool_giant_free);
}

static void find_memory(struct bl_findings *f, const struct bl_machine *m) {
    if (m->free_huge_blocks == BL_UNKNOWN)
        find(f, BL_LEVEL_NOTE, NULL, "free contiguous memory is unknown");
    else if (m->free_huge_blocks < FREE_BLOCKS_WISHED)
        find(f, BL_LEVEL_NOTE, "echo 1 | sudo tee " BL_MACHINE_COMPACT,
             "only %lld blocks of 2 MiB are free and contiguous: the kernel "
             "must compact memory first",
             (long long)m->free_huge_blocks);
    else
        find(f, BL_LEVEL_OK, NULL,
             "%lld MiB are free in contiguous blocks of 2 MiB and more",
             (long long)m->free_huge_blocks * 2);
    if (m->overcommit == 2)
        find(f, BL_LEVEL_NOTE, NULL,
             "vm.overcommit_memory is 2: address space counts as memory");
    if (m->address_limit != BL_NO_LIMIT)
        find(f, BL_LEVEL_NOTE, "ulimit -v unlimited",
             "address space is limited to %llu MiB (RLIMIT_AS)",
             (unsigned long long)m->address_limit >> 20);
}

static void find_memory_cgroup(struct bl_findings *f,
                               const struct bl_machine *m) {
    const enum bl_level level =
        m->cgroup_limit < SMALL_LIMIT ? BL_LEVEL_NOTE : BL_LEVEL_OK;
    char usage[48] = "";
    if (m->cgroup_usage != BL_NO_LIMIT)
        snprintf(usage, sizeof usage, ", in use %llu MiB",
                 (unsigned long long)m->cgroup_usage >> 20);
    find(f, level, NULL, "memory cgroup (v%d): limit %llu MiB%s%s",
         m->cgroup_version, (unsigned long long)m->cgroup_limit >> 20, usage,
         level == BL_LEVEL_NOTE ? "; a huge page is charged whole" : "");
}

static void find_cgroup(struct bl_findings *f, const struct bl_machine *m) {
    if (m->cgroup_version == 0 || m->cgroup_limit == BL_NO_LIMIT)
        find(f, BL_LEVEL_OK, NULL, "no memory cgroup limits this process");
    else
        find_memory_cgroup(f, m);
    if (m->cgroup_hugetlb_limit != BL_NO_LIMIT)
        find(f, BL_LEVEL_NOTE, NULL,
             "hugetlb cgroup: at most %llu MiB of pages of 2 MiB",
             (unsigned long long)m->cgroup_hugetlb_limit >> 20);
}

static void find_rest(struct bl_findings *f, const struct bl_machine *m) {
    if (m->shm == 0)
        find(f, BL_LEVEL_NOTE, "sudo mount -t tmpfs tmpfs /dev/shm",
             "/dev/shm is missing: text cannot be shared on huge pages");
    else if (m->shm_noexec == 1)
        find(f, BL_LEVEL_NOTE, "sudo mount -o remount,exec /dev/shm",
             "/dev/shm is mounted noexec: text cannot be shared there");
    else if (m->shm == 1)
        find(f, BL_LEVEL_OK, NULL, "/dev/shm can hold program text");
    if (m->shadow_bytes >= MANY_SHADOWS)
        find(f, BL_LEVEL_NOTE, "bigleaf doctor --clean",
             "copies of program text take %lld MiB of memory; those that "
             "nobody used for a week go when the next is made",
             (long long)m->shadow_bytes >> 20);
    if (m->seccomp > 0)
        find(f, BL_LEVEL_NOTE, NULL,
             "a seccomp filter is in force; what it allows was tried below");
    if (are_dear(m))
        find(f, BL_LEVEL_NOTE, NULL,
             "free pages go back to the hypervisor, so fresh huge pages are "
             "dear: --pages=auto buys them as they are earned, --pages=thp has "
             "them at once, a hugetlb pool pays the price beforehand");
    else if (m->hypervisor == 1)
        find(f, BL_LEVEL_OK, NULL,
             "a virtual machine that keeps its free pages");
}

// What Yama says. The kernel takes no value below 3 once it has that one.
static void find_trace(struct bl_findings *f, const struct bl_machine *m) {
    if (m->ptrace_scope >= 3)
        find(f, BL_LEVEL_NOTE, NULL,
             "nobody may trace before the next start of the machine "
             "(kernel.yama.ptrace_scope is %d): as root, bigleaf attach only "
             "collapses what may be huge already",
             m->ptrace_scope);
    else if (m->ptrace_scope > 0)
        find(f, BL_LEVEL_NOTE, "sudo sysctl kernel.yama.ptrace_scope=0",
             "bigleaf attach takes root here (kernel.yama.ptrace_scope is %d)",
             m->ptrace_scope);
}

static const char *plain_error(int error) {
    return error ? strerror(error) : "no error";
}

static void find_probe_thp(struct bl_findings *f, const struct bl_machine *m,
                           const struct bl_probe *p) {
    if (p->thp_disabled > 0 && p->huge_bytes == 0)
        find(f, BL_LEVEL_MISSING, NULL,
             "huge pages are switched off for this process and what it starts "
             "(PR_SET_THP_DISABLE): start from another shell or service");
    if (p->thp_disabled == BL_UNKNOWN)
        find(f, BL_LEVEL_NOTE, NULL, "prctl(PR_GET_THP_DISABLE): %s",
             plain_error(p->disabled_errno));
    if (p->advise_errno)
        find(f, BL_LEVEL_MISSING, NULL,
             "madvise(MADV_HUGEPAGE): %s; a container must allow madvise",
             plain_error(p->advise_errno));
    else if (p->huge_bytes == 4 * BL_MIB)
        find(f, BL_LEVEL_OK, NULL,
             "tried: 4 MiB advised and touched, all of it huge%s",
             p->by_faults ? " (by page faults)" : "");
    else if (p->thp_disabled <= 0 && m->thp != BL_THP_NEVER &&
             m->thp != BL_THP_ABSENT)
        find(f, BL_LEVEL_MISSING, "echo 1 | sudo tee " BL_MACHINE_COMPACT,
             "tried: of 4 MiB advised and touched, %llu MiB are huge",
             (unsigned long long)p->huge_bytes >> 20);
    if (p->collapse_errno)
        find(f, BL_LEVEL_NOTE, NULL, "madvise(MADV_COLLAPSE): %s%s",
             plain_error(p->collapse_errno),
             p->collapse_errno == EINVAL ? "; Linux 6.1 has it" : "");
    else
        find(f, BL_LEVEL_OK, NULL,
             "tried: MADV_COLLAPSE made %llu of 4 MiB huge",
             (unsigned long long)p->collapsed_bytes >> 20);
}

static void find_probe(struct bl_findings *f, const struct bl_machine *m,
                       const struct bl_probe *p) {
    if (!p->ran) {
        find(f, BL_LEVEL_MISSING, NULL,
             "the trial was killed: a seccomp filter does not allow madvise");
        return;
    }
    if (p->map_errno) {
        find(f, BL_LEVEL_MISSING, "ulimit -v unlimited",
             "10 MiB could not be mapped for a trial: %s",
             plain_error(p->map_errno));
        return;
    }
    find_probe_thp(f, m, p);
    if (m->pool_free > 0 && p->hugetlb_errno)
        find(f, BL_LEVEL_NOTE, NULL, "a page of the hugetlb pool: %s",
             plain_error(p->hugetlb_errno));
    else if (p->hugetlb_errno == 0)
        find(f, BL_LEVEL_OK, NULL, "tried: a page of the hugetlb pool");
}

static const char *first_remedy(const struct bl_findings *f) {
    for (size_t i = 0; i < f->count; i++) {
        if (f->at[i].level == BL_LEVEL_MISSING && f->at[i].remedy)
            return f->at[i].remedy;
    }
    return NULL;
}

static void judge(struct bl_findings *f, const struct bl_machine *m,
                  const struct bl_probe *p) {
    const bool thp = p ? p->ran && p->huge_bytes > 0 : has_thp(m);
    const bool pool =
        p ? p->ran && !p->map_errno && p->hugetlb_errno == 0 : m->pool_free > 0;
    f->huge_pages = thp || pool;
    const char *remedy = first_remedy(f);
    if (thp && are_dear(m) && !pool)
        f->verdict = bl_xstrdup("programs get huge pages here, long runs all "
                                "of them and short ones few: fresh ones are "
                                "dear");
    else if (thp)
        f->verdict = bl_xstrdup("programs get huge pages here");
    else if (pool)
        f->verdict = bl_xstrdup("programs get huge pages from the hugetlb "
                                "pool, as far as it reaches");
    else if (remedy)
        f->verdict =
            bl_xprintf("no huge pages here; this mends it: %s", remedy);
    else
        f->verdict = bl_xstrdup("no huge pages here");
}

void bl_diagnose(const struct bl_machine *m, const struct bl_probe *p,
                 struct bl_findings *out) {
    *out = (struct bl_findings){0};
    find_files(out, m);
    find_thp(out, m);
    find_pool(out, m);
    find_memory(out, m);
    find_cgroup(out, m);
    find_rest(out, m);
    find_trace(out, m);
    if (p)
        find_probe(out, m, p);
    judge(out, m, p);
}

void bl_findings_free(struct bl_findings *f) {
    for (size_t i = 0; i < f->count; i++) {
        free(f->at[i].text);
        free(f->at[i].remedy);
    }
    free(f->verdict);
    f->count = 0;
    f->verdict = NULL;
}
