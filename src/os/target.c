// SPDX-License-Identifier: MIT
#include "os/target.h"

#include "os/file.h"
#include "os/machine.h"
#include "os/os.h"
#include "os/pagemap.h"
#include "os/syscall.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_io_uring_enter
#define SYS_io_uring_enter 426
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define UNIT_PAGES (BL_HUGE_SIZE / BL_BASE_SIZE)
#define LEAST_THREADS 512 // room for them at the beginning
// Of a thread's flags: one of the kernel's; and one that works for the program
// but never runs its code, of io_uring (PF_IO_WORKER, Linux 5.12) or vhost
// (PF_USER_WORKER, 6.4).
#define KERNEL_THREAD 0x00200000
#define KERNEL_WORKER 0x00004010

// What stands behind "Name:" at the beginning of a line; NULL: no such line.
static const char *value_of(const char *text, const char *name) {
    for (const char *p = text; (p = strstr(p, name)); p++) {
        if (p != text && p[-1] != '\n')
            continue;
        p += strlen(name);
        return p + strspn(p, " \t");
    }
    return NULL;
}

static uint64_t number_of(const char *text, const char *name) {
    const char *p = value_of(text, name);
    uint64_t x = 0;
    if (p)
        bl_read_u64(&p, &x);
    return x;
}

static void read_program(struct bl_target *t) {
    char path[BL_PROC_PATH];
    unsigned char head[20];
    const ssize_t n = readlink(bl_os_proc_path(path, t->pid, 0, "/exe"),
                               t->program, sizeof t->program - 1);
    t->program[n > 0 ? n : 0] = '\0';
    const int fd = bl_file_open(path);
    if (fd < 0)
        return;
    if (bl_file_read_at(fd, head, sizeof head, 0) == 0) {
#if defined(__x86_64__)
        const unsigned machine = EM_X86_64;
#else
        const unsigned machine = EM_AARCH64;
#endif
        t->other_class = head[EI_CLASS] != ELFCLASS64 ||
                         (unsigned)(head[18] | head[19] << 8) != machine;
    }
    bl_os_close(fd);
}

// In a text of /proc/PID/stat the seventh word behind the name in brackets.
static uint64_t flags_of(const char *text) {
    uint64_t flags = 0;
    const char *p = strrchr(text, ')');
    for (int word = 0; p && word < 7; word++) {
        p = strchr(p, ' ');
        p += p != NULL;
    }
    if (p)
        bl_read_u64(&p, &flags);
    return flags;
}

static bool is_kernel_thread(int pid) {
    char path[BL_PROC_PATH];
    char text[512];
    return bl_os_read_file(bl_os_proc_path(path, pid, 0, "/stat"), text,
                           sizeof text) > 0 &&
           (flags_of(text) & KERNEL_THREAD);
}

// How many there are the kernel tells since Linux 5.9. Before, who may gain no
// privilege may have set one more than it was born with: without privilege that
// takes this promise.
static unsigned filters_of(const char *text) {
    const uint64_t mode = number_of(text, "Seccomp:");
    if (mode != 2)
        return mode ? UINT_MAX : 0;
    if (value_of(text, "Seccomp_filters:"))
        return (unsigned)number_of(text, "Seccomp_filters:");
    return number_of(text, "NoNewPrivs:") ? UINT_MAX : 1;
}

int bl_target_read(int pid, struct bl_target *out) {
    char path[BL_PROC_PATH];
    char text[BL_STATUS_BYTES];
    *out = (struct bl_target){.pid = pid};
    if (bl_machine_read_status(bl_os_proc_path(path, pid, 0, "/status"),
                               text) <= 0)
        return -ESRCH;
    const char *state = value_of(text, "State:");
    out->state = (char)(state ? *state : 0);
    out->process = (int)number_of(text, "Tgid:");
    out->parent = (int)number_of(text, "PPid:");
    out->tracer = (int)number_of(text, "TracerPid:");
    out->user = (uint32_t)number_of(text, "Uid:");
    out->threads = (unsigned)number_of(text, "Threads:");
    out->rss = number_of(text, "VmRSS:") * BL_KIB;
    const bool memory = value_of(text, "VmSize:") != NULL;
    out->kernel = !memory && is_kernel_thread(pid);
    if (!memory && !out->kernel && out->state != 'Z')
        out->state = 'X'; // it gives its memory back, which takes time
    const char *thp = value_of(text, "THP_enabled:");
    out->thp_disabled = thp && *thp == '0';
    out->filters = filters_of(text);
    read_program(out);
    return 0;
}

// What the kernel does with system calls whose thread is stopped and let go:
// most start again by themselves (signal(7)); these return EINTR.
static enum bl_calm calm_in_call(uint64_t number) {
    static const long ending[] = {
#if defined(SYS_epoll_wait)
        SYS_epoll_wait,
#endif
        SYS_epoll_pwait,
        SYS_epoll_pwait2,
        SYS_io_uring_enter,
        SYS_semop,
        SYS_semtimedop,
        SYS_rt_sigtimedwait,
        SYS_io_getevents
    };
    static const long restarting[] = {
#if defined(SYS_poll)
        SYS_poll,
        SYS_select,
        SYS_pause,
#endif
        SYS_futex,
        SYS_nanosleep,
        SYS_clock_nanosleep,
        SYS_ppoll,
        SYS_pselect6,
        SYS_read,
        SYS_write,
        SYS_wait4,
        SYS_waitid,
        SYS_rt_sigsuspend,
        SYS_restart_syscall
    };
    for (size_t i = 0; i < BL_ARRAY_LEN(ending); i++) {
        if (number == (uint64_t)ending[i])
            return BL_CALM_EINTR;
    }
    for (size_t i = 0; i < BL_ARRAY_LEN(restarting); i++) {
        if (number == (uint64_t)restarting[i])
            return BL_CALM_RESTART;
    }
    return BL_CALM_UNKNOWN;
}

static enum bl_calm calm_of(int pid, int tid) {
    char path[BL_PROC_PATH];
    char text[512];
    uint64_t number;
    if (bl_os_read_file(bl_os_proc_path(path, pid, tid, "/stat"), text,
                        sizeof text) <= 0)
        return BL_CALM_ENDED;
    const char *p = strrchr(text, ')');
    const char state = (char)(p && p[1] ? p[2] : 0);
    if (state == 'Z' || state == 'X' || (flags_of(text) & KERNEL_WORKER))
        return BL_CALM_ENDED;
    if (state == 'T' || state == 't')
        return BL_CALM_STOPPED;
    if (state == 'D')
        return BL_CALM_DEEP;
    if (bl_os_read_file(bl_os_proc_path(path, pid, tid, "/syscall"), text,
                        sizeof text) <= 0)
        return BL_CALM_UNKNOWN;
    p = text;
    if (bl_str_starts(text, "running") || *p == '-')
        return BL_CALM_RUNNING;
    return bl_read_u64(&p, &number) ? calm_in_call(number) : BL_CALM_UNKNOWN;
}

bool bl_target_has_ended(int pid, int tid) {
    return calm_of(pid, tid) == BL_CALM_ENDED;
}

// The last word of the file is the instruction's address.
bool bl_target_goes_on_at(int pid, int tid, uint64_t *out) {
    char path[BL_PROC_PATH];
    char text[512];
    if (bl_os_read_file(bl_os_proc_path(path, pid, tid, "/syscall"), text,
                        sizeof text) <= 0)
        return false;
    const char *p = strrchr(text, ' ');
    if (!p || !bl_str_starts(p, " 0x"))
        return false;
    p += strlen(" 0x");
    return bl_read_hex(&p, out);
}

static int calmer(const void *a, const void *b) {
    const struct bl_target_thread *x = a;
    const struct bl_target_thread *y = b;
    return (int)x->calm - (int)y->calm;
}

// As the kernel lists them.
static size_t list_some(int pid, int *tids, size_t capacity) {
    char path[BL_PROC_PATH];
    size_t n = 0;
    DIR *directory = opendir(bl_os_proc_path(path, pid, 0, "/task"));
    if (!directory)
        return 0;
    const struct dirent *entry;
    while (n < capacity && (entry = readdir(directory))) {
        const char *p = entry->d_name;
        uint64_t tid;
        if (bl_read_u64(&p, &tid) && *p == '\0' && tid <= INT_MAX)
            tids[n++] = (int)tid;
    }
    closedir(directory);
    return n;
}

bool bl_target_list(int pid, const int **out, size_t *count) {
    static int *tids;
    static size_t room;
    for (;;) {
        *count = list_some(pid, tids, room);
        *out = tids;
        if (*count < room)
            return true;
        const size_t more = room ? 2 * room : LEAST_THREADS;
        int *const larger = realloc(tids, more * sizeof *tids);
        if (!larger)
            return false;
        tids = larger;
        room = more;
    }
}

size_t bl_target_threads(int pid, unsigned turn, struct bl_target_thread *out,
                         size_t capacity) {
    const int *tids;
    size_t all;
    size_t n = 0;
    bl_target_list(pid, &tids, &all);
    for (size_t i = 0; i < all && n < capacity; i++) {
        const int tid = tids[(turn + i) % all];
        const enum bl_calm calm = calm_of(pid, tid);
        if (calm == BL_CALM_ENDED)
            continue;
        out[n++] = (struct bl_target_thread){tid, calm};
        if (calm == BL_CALM_RUNNING)
            break;
    }
    qsort(out, n, sizeof *out, calmer);
    return n;
}

int bl_target_other_thread(int pid, int tid) {
    int tids[2];
    const size_t n = list_some(pid, tids, BL_ARRAY_LEN(tids));
    for (size_t i = 0; i < n; i++) {
        if (tids[i] != tid)
            return tids[i];
    }
    return 0;
}

bool bl_target_has_thread(int pid, const char *name) {
    const int *tids;
    size_t n;
    char path[BL_PROC_PATH];
    char text[32];
    bl_target_list(pid, &tids, &n);
    for (size_t i = 0; i < n; i++) {
        const long got = bl_os_read_file(
            bl_os_proc_path(path, pid, tids[i], "/comm"), text, sizeof text);
        if (got > 0 && (size_t)got == strlen(name) + 1 &&
            memcmp(text, name, strlen(name)) == 0)
            return true;
    }
    return false;
}

// Units that are huge already need nothing.
static void drop_huge(int pagemap, uint64_t start, size_t units,
                      uint16_t *own) {
    struct scan_region regions[SCAN_REGIONS];
    struct scan_arguments scan = {
        .size = sizeof scan,
        .start = start,
        .end = start + units * BL_HUGE_SIZE,
        .regions = (uintptr_t)regions,
        .region_count = SCAN_REGIONS,
        .category_mask = SCAN_HUGE,
        .return_mask = SCAN_HUGE,
    };
    long found;
    do {
        found = bl_syscall3(SYS_ioctl, pagemap, SCAN_REQUEST, &scan);
        for (long i = 0; i < found; i++) {
            const uint64_t first = bl_align_up(regions[i].start, BL_HUGE_SIZE);
            for (uint64_t at = first; at + BL_HUGE_SIZE <= regions[i].end;
                 at += BL_HUGE_SIZE)
                own[(at - start) / BL_HUGE_SIZE] = 0;
        }
        scan.start = scan.walk_end;
    } while (found > 0 && scan.start < scan.end);
}

static uint16_t count_own(const uint64_t *entries) {
    const uint64_t both = PAGEMAP_PRESENT | PAGEMAP_OWN;
    unsigned own = 0;
    for (size_t i = 0; i < UNIT_PAGES; i++)
        own += (entries[i] & both) == both;
    return (uint16_t)own;
}

int bl_target_resident(int pid, uint64_t start, size_t units, uint16_t *own) {
    uint64_t entries[UNIT_PAGES];
    char path[BL_PROC_PATH];
    const int fd = bl_file_open(bl_os_proc_path(path, pid, 0, "/pagemap"));
    if (fd < 0)
        return fd;
    int result = 0;
    for (size_t u = 0; u < units && result == 0; u++) {
        const uint64_t first = (start + u * BL_HUGE_SIZE) / BL_BASE_SIZE;
        result = bl_file_read_at(fd, entries, sizeof entries,
                                 first * sizeof *entries);
        own[u] = result == 0 ? count_own(entries) : 0;
    }
    drop_huge(fd, start, units, own);
    bl_os_close(fd);
    return result;
}

bool bl_target_may_collapse(void) {
    return bl_syscall3(SYS_madvise, 0, 0, MADV_COLLAPSE) != -EINVAL;
}

void bl_target_prepare(void) {
    static char *room;
    if (!room) {
        room = bl_file_scratch(2 * BL_HUGE_SIZE);
        bl_syscall3(SYS_madvise, room, BL_HUGE_SIZE, MADV_HUGEPAGE);
    }
    if (!room)
        return;
    __atomic_store_n(room, 1, __ATOMIC_RELAXED);
    bl_syscall3(SYS_madvise, room, BL_HUGE_SIZE, MADV_DONTNEED);
    // Of nothing: what comes before the collapse itself is what counts.
    bl_syscall3(SYS_madvise, room + BL_HUGE_SIZE, BL_HUGE_SIZE, MADV_COLLAPSE);
}

int bl_target_handle(int pid) {
    return (int)bl_syscall2(SYS_pidfd_open, pid, 0);
}

int bl_target_collapse(int handle, uint64_t start, uint64_t bytes) {
    const struct iovec range = {(void *)(uintptr_t)start, bytes};
    const long done =
        bl_syscall5(SYS_process_madvise, handle, &range, 1, MADV_COLLAPSE, 0);
    return done < 0 ? (int)done : 0;
}

// The last of its numbers is that in its own namespace; with that one's name it
// is the same for all who see the process, and no other's. Claims are seen
// within one network namespace.
static void put_identity(struct bl_text *t, int pid) {
    char path[BL_PROC_PATH];
    char text[8192];
    char space[64];
    uint64_t number = (uint64_t)pid;
    if (bl_os_read_file(bl_os_proc_path(path, pid, 0, "/status"), text,
                        sizeof text) > 0) {
        const char *p = value_of(text, "NSpid:");
        while (p && bl_read_u64(&p, &number))
            p += strspn(p, " \t");
    }
    const ssize_t n =
        readlink(bl_os_proc_path(path, pid, 0, "/ns/pid"), space, sizeof space);
    bl_text_u64(t, number);
    bl_text_char(t, '-');
    bl_text_bytes(t, space, n > 0 ? (size_t)n : 0);
}

int bl_target_claim(int pid) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct bl_text t;
    // The NUL in front makes it a name that is no file.
    bl_text_init(&t, name.sun_path + 1, sizeof name.sun_path - 1);
    bl_text_str(&t, "bigleaf-attach-");
    put_identity(&t, pid);
    const size_t length = offsetof(struct sockaddr_un, sun_path) + 1 + t.len;
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (bind(fd, (const struct sockaddr *)&name, (socklen_t)length) == 0)
        return fd;
    const int error = errno;
    close(fd);
    return -error;
}
