// SPDX-License-Identifier: MIT
//
// Holds memory and waits on standard input: each 'g' takes MIB more. At the
// end of input it checks all of it and prints "right" or "wrong".
//
//   hoard MIB [epoll|filter|headless|mappings|no-thp|populate|ring|vfork]
//
// epoll   waits by epoll_pwait2, which no EINTR may end, while another thread
//         waits in a call that begins anew
// filter  puts itself under a seccomp filter that allows everything
// headless  its first thread has ended
// mappings  has 60000 of them, whose list takes 17 MB
// no-thp  switches huge pages off for itself
// populate  each 'p' is a system call of 1.5 s that nothing breaks off
// ring    has a thread of the kernel's that looks at an io_uring for 10 s
// vfork   waits, in uninterruptible sleep, for a child that shares its memory
//
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#define SYS_io_uring_enter 426
#endif

enum { MOST = 64 };

static unsigned char *blocks[MOST];
static int count;
static size_t bytes;

static void grow(void) {
    if (count == MOST || !(blocks[count] = malloc(bytes)))
        exit(2);
    memset(blocks[count], 'a' + count, bytes);
    count++;
    puts("ready");
    fflush(stdout);
}

static void filter_nothing(void) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        exit(77);
}

static void wait_in_vfork(void) {
    char c;
    if (vfork() == 0) {
        while (read(0, &c, 1) > 0)
            ;
        _exit(0);
    }
}

static char *room;
static size_t room_bytes;

// Maps one page of zeros again and again. Takes memory for page tables only.
static double populate(void) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    if (madvise(room, room_bytes, MADV_POPULATE_READ) != 0)
        exit(77);
    clock_gettime(CLOCK_MONOTONIC, &b);
    madvise(room, room_bytes, MADV_DONTNEED);
    return (double)(b.tv_sec - a.tv_sec) +
           (double)(b.tv_nsec - a.tv_nsec) / 1e9;
}

static void prepare_room(void) {
    const size_t most = (size_t)1 << 38;
    room = mmap(NULL, most, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        exit(77);
    madvise(room, most, MADV_NOHUGEPAGE);
    room_bytes = (size_t)1 << 32;
    const double times = 1.5 / populate();
    room_bytes = times < 64 ? (size_t)(times * (1 << 20)) << 12 : most;
}

static void start_ring(void) {
    struct {
        unsigned entries, room, flags, processor, idle_ms, rest[25];
    } parameters = {.flags = 2 /* IORING_SETUP_SQPOLL */, .idle_ms = 10000};
    const long ring = syscall(SYS_io_uring_setup, 4, &parameters);
    const int wake_up = 2; // IORING_ENTER_SQ_WAKEUP
    // It goes to sleep once before it can be woken.
    for (int i = 0; i < 20; i++) {
        if (ring < 0 ||
            syscall(SYS_io_uring_enter, ring, 0, 0, wake_up, 0, 0) < 0)
            exit(77);
        usleep(5000);
    }
}

static int check(void) {
    for (int i = 0; i < count; i++) {
        for (size_t k = 0; k < bytes; k++) {
            if (blocks[i][k] != 'a' + i)
                return 1;
        }
    }
    return 0;
}

static int line[2];

static void *receive(void *unused) {
    char c;
    recv(line[0], &c, 1, 0);
    return unused;
}

static void wait_by_epoll(void) {
    pthread_t other;
    struct epoll_event event = {.events = EPOLLIN | EPOLLHUP};
    const int queue = epoll_create1(0);
    if (queue < 0 || epoll_ctl(queue, EPOLL_CTL_ADD, 0, &event) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, line) != 0 ||
        pthread_create(&other, NULL, receive, NULL) != 0)
        exit(77);
    if (syscall(SYS_epoll_pwait2, queue, &event, 1, NULL, NULL, 0) != 1)
        exit(errno == ENOSYS ? 77 : 3);
}

static void map_much(void) {
    char path[] = "/tmp/hoard-XXXXXX-that-has-a-long-name-as-files-of-programs-"
                  "that-are-made-of-many-parts-may-have-and-so-its-mappings-"
                  "take-many-bytes-in-the-list-of-them-that-the-kernel-shows-"
                  "to-us-and-to-everybody";
    const int file = mkstemps(path, (int)strlen(path) - 17);
    if (file < 0 || ftruncate(file, 4096) != 0)
        exit(77);
    unlink(path);
    for (int i = 0; i < 60000; i++) {
        const int way = i % 2 ? PROT_READ : PROT_READ | PROT_WRITE;
        if (mmap(NULL, 4096, way, MAP_PRIVATE, file, 0) == MAP_FAILED)
            exit(77);
    }
}

static int work(const char *kind) {
    char c;
    ssize_t got;
    grow();
    if (strcmp(kind, "epoll") == 0)
        wait_by_epoll();
    if (strcmp(kind, "vfork") == 0)
        wait_in_vfork();
    while ((got = read(0, &c, 1)) > 0) {
        if (c == 'g')
            grow();
        if (c == 'p') {
            populate();
            puts("ready");
            fflush(stdout);
        }
    }
    const int wrong = got < 0 || check();
    puts(wrong ? "wrong" : "right");
    return wrong;
}

static void *work_apart(void *unused) {
    exit(work(""));
    return unused;
}

int main(int argc, char **argv) {
    const char *kind = argc > 2 ? argv[2] : "";
    pthread_t other;
    if (argc < 2)
        return 2;
    bytes = (size_t)atoi(argv[1]) << 20;
    if (strcmp(kind, "filter") == 0)
        filter_nothing();
    if (strcmp(kind, "no-thp") == 0)
        prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    if (strcmp(kind, "populate") == 0)
        prepare_room();
    if (strcmp(kind, "ring") == 0)
        start_ring();
    if (strcmp(kind, "mappings") == 0)
        map_much();
    if (strcmp(kind, "headless") != 0)
        return work(kind);
    if (pthread_create(&other, NULL, work_apart, NULL) != 0)
        return 77;
    pthread_exit(NULL);
}
