// SPDX-License-Identifier: MIT
//
// The facts of a machine, from files and from system calls.
//
#include "os/machine.h"

#include "os/backing.h"
#include "os/os.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#define POOL "/sys/kernel/mm/hugepages/hugepages-2048kB/"
#define GIANT_POOL "/sys/kernel/mm/hugepages/hugepages-1048576kB/"
#define THP BL_MACHINE_THP
#define CGROUP "/sys/fs/cgroup"
#define CGROUP_LINES 16 // v1 has 13 controllers
// cgroup v1 writes "no limit" as the largest multiple of a page.
#define V1_NO_LIMIT ((uint64_t)1 << 62)
#define PROBE_BYTES (4 * BL_MIB)
#define BALLOON_ID "0x0005"
#define BALLOON_REPORTING 5 // VIRTIO_BALLOON_F_REPORTING
#define HUGE_ORDER (BL_HUGE_SHIFT - BL_BASE_SHIFT)

// The three texts in a row; false where they do not fit.
static bool join(char *out, size_t capacity, const char *a, const char *b,
                 const char *c) {
    struct bl_text t;
    bl_text_init(&t, out, capacity);
    bl_text_str(&t, a);
    bl_text_str(&t, b);
    bl_text_str(&t, c);
    return !t.cut;
}

// Reads root + path; false where it cannot be read.
static bool read_text(const char *root, const char *path, char *out,
                      size_t capacity) {
    char file[PATH_MAX];
    return join(file, sizeof file, root, path, "") &&
           bl_os_read_file(file, out, capacity) >= 0;
}

static int64_t read_number(const char *root, const char *path) {
    char text[64];
    const char *p = text;
    uint64_t x = 0;
    if (!read_text(root, path, text, sizeof text) || !bl_read_u64(&p, &x))
        return BL_UNKNOWN;
    return (int64_t)x;
}

static bool exists(const char *root, const char *path) {
    char file[PATH_MAX];
    return join(file, sizeof file, root, path, "") && access(file, F_OK) == 0;
}

// The word in square brackets of a file that lists its choices.
static bool read_choice(const char *root, const char *path, char *out,
                        size_t capacity) {
    char text[256];
    if (!read_text(root, path, text, sizeof text))
        return false;
    const char *open = strchr(text, '[');
    const size_t n = open ? strcspn(open + 1, "]") : 0;
    if (!open || n >= capacity)
        return false;
    memcpy(out, open + 1, n);
    out[n] = '\0';
    return true;
}

// UNKNOWN: the file is not there, or names another mode, such as "inherit".
static enum bl_thp_mode mode_in(const char *root, const char *file) {
    char word[32];
    if (!read_choice(root, file, word, sizeof word))
        return BL_THP_UNKNOWN;
    return bl_str_eq(word, "always")    ? BL_THP_ALWAYS
           : bl_str_eq(word, "madvise") ? BL_THP_MADVISE
           : bl_str_eq(word, "never")   ? BL_THP_NEVER
                                        : BL_THP_UNKNOWN;
}

// Since Linux 6.8 each size may have a mode of its own. *own: ours has.
static enum bl_thp_mode read_thp_mode(const char *root, bool *own) {
    const enum bl_thp_mode mode = mode_in(root, BL_MACHINE_THP_2MIB "enabled");
    *own = mode != BL_THP_UNKNOWN;
    if (*own)
        return mode;
    return exists(root, "/sys/kernel/mm") && !exists(root, THP)
               ? BL_THP_ABSENT
               : mode_in(root, THP "enabled");
}

enum bl_thp_mode bl_machine_thp_mode(void) {
    bool own;
    return read_thp_mode("", &own);
}

static void read_thp(struct bl_machine *m, const char *root) {
    m->thp = read_thp_mode(root, &m->thp_own);
    read_choice(root, THP "defrag", m->thp_defrag, sizeof m->thp_defrag);
    read_choice(root, THP "shmem_enabled", m->thp_shmem, sizeof m->thp_shmem);
    m->thp_huge_bytes = read_number(root, THP "hpage_pmd_size");
    m->khugepaged_defrag = (int)read_number(root, THP "khugepaged/defrag");
}

static void read_pools(struct bl_machine *m, const char *root) {
    m->pool_total = read_number(root, POOL "nr_hugepages");
    m->pool_free = read_number(root, POOL "free_hugepages");
    m->pool_reserved = read_number(root, POOL "resv_hugepages");
    m->pool_overcommit = read_number(root, POOL "nr_overcommit_hugepages");
    m->pool_giant_free = read_number(root, GIANT_POOL "free_hugepages");
}

static int64_t field_bytes(const char *text, const char *name) {
    const char *p = strstr(text, name);
    uint64_t kib = 0;
    if (!p)
        return BL_UNKNOWN;
    p += strlen(name);
    p += strspn(p, " \t");
    return bl_read_u64(&p, &kib) ? (int64_t)(kib * BL_KIB) : BL_UNKNOWN;
}

static int read_seccomp(const char *root) {
    static const char name[] = "\nSeccomp:";
    char file[PATH_MAX];
    char text[BL_STATUS_BYTES];
    uint64_t mode = 0;
    if (!join(file, sizeof file, root, "/proc/self/status", "") ||
        bl_machine_read_status(file, text) < 0)
        return BL_UNKNOWN;
    const char *p = strstr(text, name);
    if (!p)
        return BL_UNKNOWN;
    p += strlen(name);
    p += strspn(p, " \t");
    return bl_read_u64(&p, &mode) ? (int)mode : BL_UNKNOWN;
}

static void read_memory(struct bl_machine *m, const char *root) {
    char text[8192];
    m->memory_total = BL_UNKNOWN;
    m->memory_available = BL_UNKNOWN;
    if (read_text(root, "/proc/meminfo", text, sizeof text)) {
        m->memory_total = field_bytes(text, "MemTotal:");
        m->memory_available = field_bytes(text, "MemAvailable:");
    }
    m->overcommit = (int)read_number(root, "/proc/sys/vm/overcommit_memory");
    m->ptrace_scope =
        (int)read_number(root, "/proc/sys/kernel/yama/ptrace_scope");
    m->seccomp = read_seccomp(root);
    m->hypervisor = BL_UNKNOWN;
    if (read_text(root, "/proc/cpuinfo", text, sizeof text))
        m->hypervisor = strstr(text, " hypervisor") != NULL;
}

// Lines "Node 0, zone Normal 2093 720 ...": free blocks of order 0, 1, ...
static void read_contiguous(struct bl_machine *m, const char *root) {
    char text[8192];
    m->free_huge_blocks = BL_UNKNOWN;
    if (!read_text(root, "/proc/buddyinfo", text, sizeof text))
        return;
    m->free_huge_blocks = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        const char *p = strstr(line, "zone");
        if (!p)
            continue;
        p += strlen("zone");
        p += strspn(p, " ");
        p += strcspn(p, " ");
        uint64_t blocks = 0;
        for (int order = 0;; order++) {
            p += strspn(p, " ");
            if (!bl_read_u64(&p, &blocks))
                break;
            if (order >= HUGE_ORDER)
                m->free_huge_blocks +=
                    (int64_t)(blocks << (order - HUGE_ORDER));
        }
    }
}

// The path behind "controllers:" of one line of /proc/self/cgroup; v2 has no
// controllers there. False: no such line.
static bool cgroup_line(const char *text, const char *controller, char *path,
                        size_t capacity) {
    for (const char *p = text; p && *p; p = strchr(p, '\n')) {
        p += *p == '\n';
        const char *first = strchr(p, ':');
        const char *second = first ? strchr(first + 1, ':') : NULL;
        if (!second)
            return false;
        const size_t n = (size_t)(second - first - 1);
        if (n != strlen(controller) || strncmp(first + 1, controller, n) != 0)
            continue;
        struct bl_text t;
        bl_text_init(&t, path, capacity);
        bl_text_bytes(&t, second + 1, strcspn(second + 1, "\n"));
        return true;
    }
    return false;
}

static uint64_t limit_at(const char *root, const char *mount, const char *path,
                         const char *name) {
    char file[PATH_MAX];
    char text[64];
    const char *p = text;
    uint64_t x = 0;
    if (!join(file, sizeof file, mount, path, name) ||
        !read_text(root, file, text, sizeof text) || !bl_read_u64(&p, &x) ||
        x >= V1_NO_LIMIT)
        return BL_NO_LIMIT;
    return x;
}

// The tightest of the limits from `path` up to the root of the hierarchy;
// *usage is what the group that has it uses.
static uint64_t tightest(const char *root, const char *mount, char *path,
                         const char *limit_name, const char *usage_name,
                         uint64_t *usage) {
    uint64_t least = BL_NO_LIMIT;
    for (;;) {
        const uint64_t limit = limit_at(root, mount, path, limit_name);
        if (limit < least) {
            least = limit;
            *usage = usage_name ? limit_at(root, mount, path, usage_name) : 0;
        }
        char *slash = strrchr(path, '/');
        if (!slash)
            return least;
        *slash = '\0';
    }
}

static void read_cgroup(struct bl_machine *m, const char *root) {
    char text[CGROUP_LINES * BL_CGROUP_PATH];
    char path[BL_CGROUP_PATH];
    uint64_t ignored = 0;
    m->cgroup_limit = BL_NO_LIMIT;
    m->cgroup_usage = BL_NO_LIMIT;
    m->cgroup_hugetlb_limit = BL_NO_LIMIT;
    if (!read_text(root, "/proc/self/cgroup", text, sizeof text))
        return;
    if (cgroup_line(text, "memory", m->cgroup_path, sizeof m->cgroup_path)) {
        m->cgroup_version = 1;
        join(path, sizeof path, m->cgroup_path, "", "");
        m->cgroup_limit =
            tightest(root, CGROUP "/memory", path, "/memory.limit_in_bytes",
                     "/memory.usage_in_bytes", &m->cgroup_usage);
        if (cgroup_line(text, "hugetlb", path, sizeof path))
            m->cgroup_hugetlb_limit =
                tightest(root, CGROUP "/hugetlb", path,
                         "/hugetlb.2MB.limit_in_bytes", NULL, &ignored);
    } else if (cgroup_line(text, "", m->cgroup_path, sizeof m->cgroup_path)) {
        m->cgroup_version = 2;
        join(path, sizeof path, m->cgroup_path, "", "");
        m->cgroup_limit = tightest(root, CGROUP, path, "/memory.max",
                                   "/memory.current", &m->cgroup_usage);
        join(path, sizeof path, m->cgroup_path, "", "");
        m->cgroup_hugetlb_limit =
            tightest(root, CGROUP, path, "/hugetlb.2MB.max", NULL, &ignored);
    }
}

static void virtio_file(char *out, size_t capacity, unsigned device,
                        const char *name) {
    struct bl_text t;
    bl_text_init(&t, out, capacity);
    bl_text_str(&t, "/sys/bus/virtio/devices/virtio");
    bl_text_u64(&t, device);
    bl_text_str(&t, name);
}

// Where a balloon device has agreed to report free pages, the hypervisor takes
// them, and the next touch costs a fault there too.
static void read_balloon(struct bl_machine *m, const char *root) {
    char file[96];
    char text[192];
    m->page_reporting = exists(root, "/sys") ? 0 : BL_UNKNOWN;
    for (unsigned i = 0; i < 64; i++) {
        virtio_file(file, sizeof file, i, "/device");
        if (!read_text(root, file, text, sizeof text) ||
            !bl_str_starts(text, BALLOON_ID))
            continue;
        virtio_file(file, sizeof file, i, "/features");
        if (read_text(root, file, text, sizeof text) &&
            strlen(text) > BALLOON_REPORTING)
            m->page_reporting = text[BALLOON_REPORTING] == '1';
    }
}

// What system calls tell of this machine and this process.
static void read_here(struct bl_machine *m) {
    struct utsname names;
    struct rlimit limit;
    struct statvfs fs;
    if (uname(&names) == 0)
        join(m->kernel, sizeof m->kernel, names.release, "", "");
    join(m->libc, sizeof m->libc, "glibc ", gnu_get_libc_version(), "");
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        m->address_limit = limit.rlim_cur;
    m->shm = statvfs("/dev/shm", &fs) == 0;
    if (m->shm)
        m->shm_noexec = (fs.f_flag & ST_NOEXEC) != 0;
}

// Of a machine whose files were copied, files alone tell.
static void read_elsewhere(struct bl_machine *m, const char *root) {
    read_text(root, "/proc/sys/kernel/osrelease", m->kernel, sizeof m->kernel);
    m->kernel[strcspn(m->kernel, "\n")] = '\0';
}

void bl_machine_read(struct bl_machine *out, const char *root) {
    *out = (struct bl_machine){.address_limit = BL_NO_LIMIT,
                               .shm = BL_UNKNOWN,
                               .shm_noexec = BL_UNKNOWN,
                               .shadow_bytes = BL_UNKNOWN};
    out->proc = exists(root, "/proc/self/status");
    out->sys = exists(root, "/sys/kernel");
    if (root[0])
        read_elsewhere(out, root);
    else
        read_here(out);
    read_thp(out, root);
    read_pools(out, root);
    read_memory(out, root);
    read_contiguous(out, root);
    read_cgroup(out, root);
    read_balloon(out, root);
}

struct span {
    uint64_t start, end;
    uint64_t huge;
};

static void add_overlap(const struct bl_mapping *m, void *context) {
    struct span *s = context;
    if (m->start < s->end && s->start < m->end)
        s->huge += m->huge;
}

// Writes to every base page; the page faults that took.
static uint64_t touch(volatile char *at, size_t bytes) {
    struct rusage before;
    struct rusage after;
    getrusage(RUSAGE_SELF, &before);
    for (size_t i = 0; i < bytes; i += BL_BASE_SIZE)
        at[i] = 1;
    getrusage(RUSAGE_SELF, &after);
    return (uint64_t)(after.ru_minflt - before.ru_minflt);
}

// Two aligned spans of PROBE_BYTES, one behind the other, as mappings of their
// own; NULL and *error where there is no memory.
static char *map_aligned(int *error) {
    const size_t room = 2 * PROBE_BYTES + BL_HUGE_SIZE;
    char *p = mmap(NULL, room, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        *error = errno;
        return NULL;
    }
    return p + (bl_align_up((uintptr_t)p, BL_HUGE_SIZE) - (uintptr_t)p);
}

static uint64_t huge_bytes_at(const char *at, bool *known) {
    struct bl_backing all;
    struct span s = {(uintptr_t)at, (uintptr_t)at + PROBE_BYTES, 0};
    *known = bl_backing_read(0, &all, add_overlap, &s) == 0;
    return s.huge < PROBE_BYTES ? s.huge : PROBE_BYTES;
}

static int try_hugetlb(void) {
    char *p =
        mmap(NULL, BL_HUGE_SIZE, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (21 << 26), -1, 0);
    if (p == MAP_FAILED)
        return errno;
    touch(p, BL_HUGE_SIZE);
    munmap(p, BL_HUGE_SIZE);
    return 0;
}

static void probe_here(struct bl_probe *out) {
    bool known = false;
    const int disabled = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0);
    out->thp_disabled = disabled < 0 ? BL_UNKNOWN : disabled;
    out->disabled_errno = disabled < 0 ? errno : 0;
    char *first = map_aligned(&out->map_errno);
    if (!first)
        return;
    char *second = first + PROBE_BYTES;
    if (madvise(first, PROBE_BYTES, MADV_HUGEPAGE) != 0)
        out->advise_errno = errno;
    const uint64_t faults = touch(first, PROBE_BYTES);
    out->huge_bytes = huge_bytes_at(first, &known);
    if (!known) {
        out->by_faults = true;
        out->huge_bytes =
            faults <= 2 * PROBE_BYTES / BL_HUGE_SIZE ? PROBE_BYTES : 0;
    }
    touch(second, PROBE_BYTES);
    if (madvise(second, PROBE_BYTES, MADV_COLLAPSE) != 0)
        out->collapse_errno = errno;
    else
        out->collapsed_bytes =
            known ? huge_bytes_at(second, &known) : PROBE_BYTES;
    out->hugetlb_errno = try_hugetlb();
}

void bl_machine_probe(struct bl_probe *out) {
    struct bl_probe *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *out = (struct bl_probe){.thp_disabled = BL_UNKNOWN};
    if (shared == MAP_FAILED) {
        out->map_errno = errno;
        return;
    }
    (void)fflush(NULL); // what is buffered must not be written twice
    const int pid = fork();
    if (pid == 0) {
        probe_here(shared);
        shared->ran = true;
        _exit(0);
    }
    int status;
    if (pid > 0 && waitpid(pid, &status, 0) == pid)
        *out = *shared;
    munmap(shared, sizeof *shared);
}
