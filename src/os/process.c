// SPDX-License-Identifier: MIT
//
// This process and its files, by raw system calls.
//
#include "os/os.h"
#include "os/syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>

static int open_at(const char *path, int flags) {
    long fd;
    do
        fd = bl_syscall4(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0644);
    while (fd == -EINTR);
    return (int)fd;
}

int bl_os_open_read(const char *path) { return open_at(path, O_RDONLY); }

int bl_os_open_append(const char *path) {
    return open_at(path, O_WRONLY | O_CREAT | O_APPEND);
}

long bl_os_read(int fd, void *buffer, size_t bytes) {
    long got;
    do
        got = bl_syscall3(SYS_read, fd, buffer, bytes);
    while (got == -EINTR);
    return got;
}

long bl_os_write(int fd, const void *buffer, size_t bytes) {
    long put;
    do
        put = bl_syscall3(SYS_write, fd, buffer, bytes);
    while (put == -EINTR);
    return put;
}

void bl_os_close(int fd) { bl_syscall1(SYS_close, fd); }

long bl_os_read_file(const char *path, char *buffer, size_t capacity) {
    const int fd = bl_os_open_read(path);
    if (fd < 0)
        return fd;
    size_t len = 0;
    long got = 0;
    while (len + 1 < capacity &&
           (got = bl_os_read(fd, buffer + len, capacity - 1 - len)) > 0)
        len += (size_t)got;
    bl_os_close(fd);
    buffer[len] = '\0';
    return got < 0 ? got : (long)len;
}

const char *bl_os_proc_path(char path[BL_PROC_PATH], int pid, int tid,
                            const char *name) {
    struct bl_text t;
    bl_text_init(&t, path, BL_PROC_PATH);
    bl_text_str(&t, "/proc/");
    if (pid)
        bl_text_i64(&t, pid);
    else
        bl_text_str(&t, "self");
    if (tid) {
        bl_text_str(&t, "/task/");
        bl_text_i64(&t, tid);
    }
    bl_text_str(&t, name);
    return path;
}

int bl_os_pipe(int ends[2]) {
    return (int)bl_syscall2(SYS_pipe2, ends, O_CLOEXEC);
}

// The kernel leaves in `left` what is left when a signal interrupts it.
void bl_os_await_input(int fd, uint64_t ms) {
    struct pollfd input = {.fd = fd, .events = POLLIN};
    struct timespec left = {.tv_sec = (time_t)(ms / 1000),
                            .tv_nsec = (long)(ms % 1000) * 1000000};
    while (bl_syscall5(SYS_ppoll, &input, 1, &left, 0, sizeof(uint64_t)) ==
           -EINTR)
        ;
}

// A kernel or a filter that refuses process_vm_readv leaves the plain copy.
int bl_os_copy_own(void *to, const void *from, size_t bytes) {
    const struct iovec local = {to, bytes};
    const struct {
        const void *base;
        size_t bytes;
    } remote = {from, bytes};
    const long got = bl_syscall6(SYS_process_vm_readv, bl_os_pid(),
                                 (long)&local, 1, (long)&remote, 1, 0);
    if (got == (long)bytes)
        return 0;
    if (got >= 0 || got == -EFAULT)
        return -EFAULT;
    __builtin_memcpy(to, from, bytes);
    return 0;
}

int bl_os_pid(void) { return (int)bl_syscall0(SYS_getpid); }
int bl_os_parent_pid(void) { return (int)bl_syscall0(SYS_getppid); }
int bl_os_thread_id(void) { return (int)bl_syscall0(SYS_gettid); }

void bl_os_abort(void) {
    const int pid = bl_os_pid();
    bl_syscall3(SYS_tgkill, pid, bl_os_thread_id(), SIGABRT);
    // SIGABRT is blocked, ignored or handled: end all the same, as abort does.
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } plain = {SIG_DFL, 0, 0, 0};
    bl_syscall4(SYS_rt_sigaction, SIGABRT, &plain, 0, sizeof plain.mask);
    unsigned long only_abort = 1ul << (SIGABRT - 1);
    bl_syscall4(SYS_rt_sigprocmask, SIG_UNBLOCK, &only_abort, 0,
                sizeof only_abort);
    bl_syscall3(SYS_tgkill, pid, bl_os_thread_id(), SIGABRT);
    for (;;)
        bl_syscall1(SYS_exit_group, 127);
}

void bl_os_exit(int status) {
    for (;;)
        bl_syscall1(SYS_exit_group, status);
}

static bool is_limited(int resource) {
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    bl_syscall4(SYS_prlimit64, 0, resource, 0, &limit);
    return limit.rlim_cur != RLIM_INFINITY;
}

bool bl_os_memory_is_limited(void) {
    return is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA);
}

uint64_t bl_os_random(void) {
    uint64_t bits = 0;
    const unsigned nonblocking = 1;
    if (bl_syscall3(SYS_getrandom, &bits, sizeof bits, nonblocking) ==
        (long)sizeof bits)
        return bits;
    return bl_os.now_ms() * 0x9e3779b97f4a7c15u ^ (uintptr_t)&bits;
}

int bl_os_thp_disabled(void) {
    const long got = bl_syscall5(SYS_prctl, PR_GET_THP_DISABLE, 0, 0, 0, 0);
    return got == 1;
}

void bl_os_wait(_Atomic(uint32_t) *word, uint32_t expected) {
    bl_syscall4(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, 0);
}

void bl_os_wake(_Atomic(uint32_t) *word, int count) {
    bl_syscall3(SYS_futex, word, FUTEX_WAKE_PRIVATE, count);
}

void bl_os_yield(void) { bl_syscall0(SYS_sched_yield); }
