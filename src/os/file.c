// SPDX-License-Identifier: MIT
//
// Files by raw system calls; see the header. `bl_file_list` needs 2 KiB of
// stack, `bl_file_has_private_pages` 7 KiB where
// pagemap is not to be had, else 4 KiB.
//
#include "os/file.h"

#include "os/os.h"
#include "os/syscall.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <time.h>

#define ST_NOEXEC_FLAG 8

#ifndef HUGETLBFS_MAGIC
#define HUGETLBFS_MAGIC 0x958458f6
#endif

static void facts_from_stat(const struct stat *s, struct bl_file_facts *out) {
    *out = (struct bl_file_facts){
        .device = s->st_dev,
        .inode = s->st_ino,
        .size = (uint64_t)s->st_size,
        .allocated = (uint64_t)s->st_blocks * 512,
        .modified = {s->st_mtim.tv_sec, s->st_mtim.tv_nsec},
        .changed = {s->st_ctim.tv_sec, s->st_ctim.tv_nsec},
        .owner = s->st_uid,
        .group = s->st_gid,
        .mode = s->st_mode & 07777,
        .links = (uint32_t)s->st_nlink,
        .regular = S_ISREG(s->st_mode),
        .directory = S_ISDIR(s->st_mode),
    };
}

int bl_file_facts(int fd, struct bl_file_facts *out) {
    struct stat s;
    const long result = bl_syscall2(SYS_fstat, fd, &s);
    if (result == 0)
        facts_from_stat(&s, out);
    return (int)result;
}

int bl_file_system_facts(int fd, struct bl_file_system_facts *out) {
    struct statfs s;
    const long result = bl_syscall2(SYS_fstatfs, fd, &s);
    if (result < 0)
        return (int)result;
    const unsigned long magic = (unsigned long)s.f_type;
    *out = (struct bl_file_system_facts){
        .kind = magic == TMPFS_MAGIC       ? BL_FILE_TMPFS
                : magic == HUGETLBFS_MAGIC ? BL_FILE_HUGETLBFS
                                           : BL_FILE_OTHER,
        .free_bytes = (uint64_t)s.f_bavail * (uint64_t)s.f_bsize,
        .bytes = (uint64_t)s.f_blocks * (uint64_t)s.f_bsize,
        .page_bytes = (uint64_t)s.f_bsize,
        .no_exec = (s.f_flags & ST_NOEXEC_FLAG) != 0,
    };
    // One without a limit says 0 of 0 blocks.
    if (s.f_blocks == 0) {
        out->free_bytes = UINT64_MAX;
        out->bytes = UINT64_MAX;
    }
    return 0;
}

void bl_file_device_parts(uint64_t device, uint32_t *maj, uint32_t *min) {
    *maj = major(device);
    *min = minor(device);
}

static int open_at(int directory, const char *path, int flags, uint32_t mode) {
    long fd;
    do
        fd = bl_syscall4(SYS_openat, directory, path, flags | O_CLOEXEC, mode);
    while (fd == -EINTR);
    return (int)fd;
}

int bl_file_open(const char *path) {
    return open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
}

uint64_t bl_file_inode(const char *path) {
    struct stat s;
    return bl_syscall4(SYS_newfstatat, AT_FDCWD, path, &s, 0) < 0 ? 0
                                                                  : s.st_ino;
}

int bl_file_open_program(void) { return bl_file_open("/proc/self/exe"); }

void bl_file_program_path(char *path, size_t capacity) {
    const long n = bl_syscall4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path,
                               capacity - 1);
    path[n > 0 ? n : 0] = '\0';
}

int bl_file_path(int fd, char *path, size_t capacity) {
    char link[40];
    struct bl_text t;
    bl_text_init(&t, link, sizeof link);
    bl_text_str(&t, "/proc/self/fd/");
    bl_text_i64(&t, fd);
    const long n = bl_syscall4(SYS_readlinkat, AT_FDCWD, link, path, capacity);
    const bool fits = n >= 0 && (size_t)n < capacity;
    path[fits ? n : 0] = '\0';
    return fits ? 0 : n < 0 ? (int)n : -ENAMETOOLONG;
}

// The kernel counts the NUL. What it cannot reach does not begin with '/'.
size_t bl_file_working_folder(char *path, size_t capacity) {
    const long n = bl_syscall2(SYS_getcwd, path, capacity - 1);
    if (n < 2 || path[0] != '/')
        return 0;
    struct bl_text t = {
        .data = path, .len = (size_t)n - 1, .capacity = capacity};
    if (n > 2)
        bl_text_char(&t, '/');
    return t.len;
}

int bl_file_open_directory(const char *path) {
    return open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

int bl_file_make_directory(const char *path, uint32_t mode) {
    return (int)bl_syscall3(SYS_mkdirat, AT_FDCWD, path, mode);
}

int bl_file_open_at(int directory, const char *name) {
    return open_at(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
}

int bl_file_create_at(int directory, const char *name, uint32_t mode) {
    return open_at(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
                   mode);
}

int bl_file_rename_at(int directory, const char *from, const char *to) {
    return (int)bl_syscall4(SYS_renameat, directory, from, directory, to);
}

int bl_file_unlink_at(int directory, const char *name) {
    return (int)bl_syscall3(SYS_unlinkat, directory, name, 0);
}

struct directory_entry {
    uint64_t inode;
    int64_t next;
    unsigned short length;
    unsigned char type;
    char name[];
};

int bl_file_list(int directory, bool (*each)(const char *name, void *context),
                 void *context) {
    _Alignas(struct directory_entry) char buffer[2048];
    bl_syscall3(SYS_lseek, directory, 0, SEEK_SET);
    for (;;) {
        const long got =
            bl_syscall3(SYS_getdents64, directory, buffer, sizeof buffer);
        if (got <= 0)
            return (int)got;
        for (long at = 0; at < got;) {
            const struct directory_entry *e =
                (const struct directory_entry *)(const void *)(buffer + at);
            at += e->length;
            if (bl_str_eq(e->name, ".") || bl_str_eq(e->name, ".."))
                continue;
            if (!each(e->name, context))
                return 0;
        }
    }
}

int bl_file_lock(int fd, uint32_t wait_ms) {
    for (uint32_t waited = 0;; waited++) {
        const long result = bl_syscall2(SYS_flock, fd, LOCK_EX | LOCK_NB);
        if (result != -EAGAIN && result != -EINTR)
            return (int)result;
        if (waited >= wait_ms)
            return -EAGAIN;
        bl_file_sleep_ms(1);
    }
}

static uint64_t limit_of(int resource, uint64_t unknown) {
    struct rlimit limit;
    if (bl_syscall4(SYS_prlimit64, 0, resource, 0, &limit) < 0)
        return unknown;
    return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

uint64_t bl_file_size_limit(void) { return limit_of(RLIMIT_FSIZE, UINT64_MAX); }

uint64_t bl_file_stack_room(void) {
    return limit_of(RLIMIT_AS, 0) == UINT64_MAX ? limit_of(RLIMIT_STACK, 0) : 0;
}

// The kernel reads a set of signals there, which is empty: nothing is blocked.
bool bl_file_reach(const void *at) {
    return bl_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, at, 0,
                       sizeof(uint64_t)) == 0;
}

bool bl_file_kernel_is_at_least(uint64_t major_wanted, uint64_t minor_wanted) {
    char text[80];
    uint64_t first = 0;
    uint64_t second = 0;
    const char *p = text;
    if (bl_os_read_file("/proc/sys/kernel/osrelease", text, sizeof text) <= 0 ||
        !bl_read_u64(&p, &first) || *p++ != '.' || !bl_read_u64(&p, &second))
        return false;
    return first > major_wanted ||
           (first == major_wanted && second >= minor_wanted);
}

// The bias follows from the entry for the headers themselves; a program that
// has none is loaded where it says.
const void *bl_file_program_headers(size_t *count, uint64_t *bias) {
    const uintptr_t at = getauxval(AT_PHDR);
    const Elf64_Phdr *p = (const Elf64_Phdr *)at;
    *count = p ? getauxval(AT_PHNUM) : 0;
    *bias = 0;
    for (size_t i = 0; i < *count; i++) {
        // A static program has no PT_PHDR; its headers follow the ELF header.
        if (p[i].p_type == PT_LOAD && p[i].p_offset == 0)
            *bias = at - sizeof(Elf64_Ehdr) - p[i].p_vaddr;
        if (p[i].p_type == PT_PHDR) {
            *bias = at - p[i].p_vaddr;
            break;
        }
    }
    return p;
}

// The kernel's set has 64 bits.
uint64_t bl_file_block_signals(void) {
    const uint64_t all = ~UINT64_C(0);
    uint64_t before = 0;
    bl_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof all);
    return before;
}

void bl_file_restore_signals(uint64_t before) {
    bl_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof before);
}

int bl_file_set_size(int fd, uint64_t size) {
    return (int)bl_syscall2(SYS_ftruncate, fd, size);
}

int bl_file_reserve(int fd, uint64_t offset, uint64_t bytes) {
    long result;
    do
        result = bl_syscall4(SYS_fallocate, fd, 0, offset, bytes);
    while (result == -EINTR);
    return (int)result;
}

int bl_file_set_mode(int fd, uint32_t mode) {
    return (int)bl_syscall2(SYS_fchmod, fd, mode);
}

int bl_file_set_modified(int fd, struct bl_file_time time) {
    const struct timespec times[2] = {
        {.tv_sec = 0, .tv_nsec = UTIME_NOW},
        {.tv_sec = time.seconds, .tv_nsec = time.nanoseconds},
    };
    return (int)bl_syscall4(SYS_utimensat, fd, 0, times, 0);
}

int bl_file_touch(int fd) {
    return (int)bl_syscall4(SYS_utimensat, fd, 0, 0, 0);
}

int bl_file_read_at(int fd, void *buffer, size_t bytes, uint64_t offset) {
    char *p = buffer;
    while (bytes) {
        const long got = bl_syscall4(SYS_pread64, fd, p, bytes, offset);
        if (got == -EINTR)
            continue;
        if (got <= 0)
            return got ? (int)got : -ENODATA;
        p += got;
        bytes -= (size_t)got;
        offset += (uint64_t)got;
    }
    return 0;
}

static bool is_on_hugetlbfs(int fd) {
    struct bl_file_system_facts system;
    return bl_file_system_facts(fd, &system) == 0 &&
           system.kind == BL_FILE_HUGETLBFS;
}

int bl_file_write_at(int fd, const void *buffer, size_t bytes,
                     uint64_t offset) {
    const char *p = buffer;
    while (bytes) {
        const long put = bl_syscall4(SYS_pwrite64, fd, p, bytes, offset);
        if (put == -EINTR)
            continue;
        if (put == -EINVAL && is_on_hugetlbfs(fd))
            return bl_file_write_mapped(fd, p, bytes, offset);
        if (put <= 0)
            return put ? (int)put : -EIO;
        p += put;
        bytes -= (size_t)put;
        offset += (uint64_t)put;
    }
    return 0;
}

// CLOCK_REALTIME_COARSE: what the kernel stamps files with, so never behind
// the time of a change that is over.
struct bl_file_time bl_file_now(void) {
    struct timespec t = {0};
    bl_syscall2(SYS_clock_gettime, CLOCK_REALTIME_COARSE, &t);
    return (struct bl_file_time){t.tv_sec, t.tv_nsec};
}

void bl_file_sleep_ms(uint32_t ms) {
    const struct timespec t = {.tv_sec = ms / 1000,
                               .tv_nsec = (long)(ms % 1000) * 1000000};
    bl_syscall4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, 0);
}

uint32_t bl_file_user(void) { return (uint32_t)bl_syscall0(SYS_geteuid); }

bool bl_file_has_raised_privileges(void) { return getauxval(AT_SECURE) != 0; }

bool bl_file_is_traced(void) {
    static const char key[] = "\nTracerPid:\t";
    char text[4096];
    if (bl_os_read_file("/proc/self/status", text, sizeof text) <= 0)
        return false;
    for (const char *p = text; *p; p++) {
        if (bl_str_starts(p, key))
            return p[sizeof key - 1] != '0';
    }
    return false;
}

// The link count of a process's task directory is 2 and its threads.
uint32_t bl_file_thread_count(void) {
    struct stat s;
    if (bl_syscall4(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &s, 0) < 0 ||
        s.st_nlink < 3)
        return 0;
    return (uint32_t)s.st_nlink - 2;
}
