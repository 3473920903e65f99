// SPDX-License-Identifier: MIT
#include "os/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool within_limit(uint64_t size) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || size <= limit.rlim_cur;
}

// A signal may break it off.
static bool reserve(int fd, uint64_t offset, size_t bytes) {
    int error;
    do
        error = posix_fallocate(fd, (off_t)offset, (off_t)bytes);
    while (error == EINTR);
    return error == 0;
}

void *bl_guest_extend(const char *path, uint64_t offset, size_t bytes) {
    const int how = offset == 0 ? O_CREAT | O_EXCL : 0;
    const int fd = open(path, O_RDWR | O_CLOEXEC | how, 0600);
    if (fd < 0)
        return NULL;
    void *at = MAP_FAILED;
    if (within_limit(offset + bytes) && reserve(fd, offset, bytes))
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                  (off_t)offset);
    close(fd);
    return at == MAP_FAILED ? NULL : at;
}

void bl_guest_unmap(void *at, size_t bytes) {
    if (at)
        munmap(at, bytes);
}

// "start-end rwxp offset major:minor inode   path"
static bool parse(const char *p, struct bl_guest_mapping *m) {
    if (!bl_read_hex(&p, &m->start) || *p++ != '-' ||
        !bl_read_hex(&p, &m->end) || strnlen(p, 6) < 6)
        return false;
    m->writable = p[2] == 'w';
    p += 6;
    if (!bl_read_hex(&p, &m->offset))
        return false;
    // Files stand behind their inode; "[stack]" and the like are none.
    const char *path = strchr(p, '/');
    struct bl_text t;
    bl_text_init(&t, m->path, sizeof m->path);
    if (path)
        bl_text_bytes(&t, path, strcspn(path, "\n"));
    return true;
}

void bl_guest_mappings(void (*each)(const struct bl_guest_mapping *m,
                                    void *context),
                       void *context) {
    char line[4608];
    FILE *in = fopen("/proc/self/maps", "re");
    while (in && fgets(line, sizeof line, in)) {
        struct bl_guest_mapping m;
        if (parse(line, &m))
            each(&m, context);
    }
    if (in)
        (void)fclose(in);
}

void bl_guest_own_word(const char *option, unsigned further, char *word,
                       size_t capacity) {
    char *line = NULL;
    size_t room = 0;
    unsigned left = 0; // words until ours; 0: the option has not been seen
    struct bl_text t;
    bl_text_init(&t, word, capacity);
    FILE *in = fopen("/proc/self/cmdline", "re");
    while (in && getdelim(&line, &room, '\0', in) > 0) {
        if (left == 0 && strcmp(line, option) == 0)
            left = further;
        else if (left > 0 && --left == 0) {
            bl_text_str(&t, line);
            break;
        }
    }
    free(line);
    if (in)
        (void)fclose(in);
}

// A thread is no fork; vfork is one, as the emulator makes it.
static bool makes_thread(uint64_t clone_flags) {
    return (clone_flags & (CLONE_VM | CLONE_VFORK)) == CLONE_VM;
}

enum bl_guest_change bl_guest_change_of(int64_t call, uint64_t argument) {
    switch (call) {
    case SYS_mmap:
        return BL_GUEST_MAP;
    case SYS_munmap:
        return BL_GUEST_UNMAP;
    case SYS_mremap:
        return BL_GUEST_MOVE;
    case SYS_brk:
        return BL_GUEST_BREAK;
    case SYS_execve:
        return BL_GUEST_EXEC;
    case SYS_clone:
        return makes_thread(argument) ? BL_GUEST_NOTHING : BL_GUEST_FORK;
#if defined(SYS_fork)
    case SYS_fork:
    case SYS_vfork:
        return BL_GUEST_FORK;
#endif
    default:
        return BL_GUEST_NOTHING;
    }
}

struct bl_guest_map_flags bl_guest_map_flags(uint64_t protection,
                                             uint64_t flags) {
    return (struct bl_guest_map_flags){
        .file = (flags & MAP_ANONYMOUS) == 0,
        .private_memory = (flags & MAP_TYPE) == MAP_PRIVATE,
        .stack = (flags & (MAP_STACK | MAP_GROWSDOWN)) != 0,
        .writable = (protection & PROT_WRITE) != 0,
        .executable = (protection & PROT_EXEC) != 0};
}
