// SPDX-License-Identifier: MIT
//
// A command that is killed leaves its folder behind. Each folder is locked by
// the command that made it, and the kernel takes a lock back with its holder;
// so a later command may remove those that it can lock, at its end. One
// younger than a day stays: its maker may wait for the lock, or share a file
// system with machines that do not see its locks. A process id in its name
// would not do: who shares TMPDIR may be in another container.
//
#include "cli/scratch.h"

#include "cli/cli.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILE_NAME "bigleaf-XXXXXX"
#define FOLDER_NAME "bigleaf-run-XXXXXX"
#define YOUNG_SECONDS (24 * 3600)

static bool make_file(char *name) {
    const int fd = mkostemp(name, O_CLOEXEC | O_APPEND);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool make_folder(char *name) { return mkdtemp(name) != NULL; }

// By its full path: who writes there may run in another folder.
static char *make_scratch(const char *pattern, bool (*make)(char *name)) {
    const char *places[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"};
    char place[PATH_MAX];
    for (size_t i = 0; i < BL_ARRAY_LEN(places); i++) {
        if (!places[i] || !realpath(places[i], place))
            continue;
        char *name = bl_xprintf("%s/%s", place, pattern);
        if (make(name))
            return name;
        free(name);
    }
    return NULL;
}

char *bl_scratch_file(void) { return make_scratch(FILE_NAME, make_file); }

// Calls `each` for every name in a folder, "." and ".." left out.
static void each_name(int folder, void (*each)(int folder, const char *name)) {
    const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    while (names && (entry = readdir(names)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            each(folder, entry->d_name);
    }
    if (names)
        closedir(names);
    else if (fd >= 0)
        close(fd);
}

static void remove_file(int folder, const char *name) {
    unlinkat(folder, name, 0);
}

static int open_folder(int place, const char *name) {
    return openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool is_old_and_ours(int folder) {
    struct stat s;
    return fstat(folder, &s) == 0 && s.st_uid == geteuid() &&
           s.st_mtime + YOUNG_SECONDS < time(NULL);
}

static void remove_if_left(int place, const char *name) {
    if (strlen(name) != strlen(FOLDER_NAME) ||
        strncmp(name, FOLDER_NAME, strcspn(FOLDER_NAME, "X")) != 0)
        return;
    const int folder = open_folder(place, name);
    if (folder < 0)
        return;
    if (is_old_and_ours(folder) && flock(folder, LOCK_EX | LOCK_NB) == 0) {
        each_name(folder, remove_file);
        unlinkat(place, name, AT_REMOVEDIR);
    }
    close(folder);
}

static void remove_left(char *path) {
    *strrchr(path, '/') = '\0';
    const int fd = open_folder(AT_FDCWD, path[0] ? path : "/");
    if (fd >= 0) {
        each_name(fd, remove_if_left);
        close(fd);
    }
}

// Not in the place of a standard stream that is closed.
static int lock_folder(const char *path) {
    const int fd = open_folder(AT_FDCWD, path);
    const int lock =
        fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
    if (fd >= 0)
        close(fd);
    if (lock >= 0)
        flock(lock, LOCK_EX | LOCK_NB);
    return lock;
}

struct bl_scratch_folder bl_scratch_folder_make(void) {
    char *path = make_scratch(FOLDER_NAME, make_folder);
    if (!path)
        return (struct bl_scratch_folder){NULL, -1};
    return (struct bl_scratch_folder){path, lock_folder(path)};
}

void bl_scratch_folder_remove(struct bl_scratch_folder *folder) {
    if (!folder->path)
        return;
    const int fd = open_folder(AT_FDCWD, folder->path);
    if (fd >= 0) {
        each_name(fd, remove_file);
        close(fd);
    }
    rmdir(folder->path);
    if (folder->lock >= 0)
        close(folder->lock);
    remove_left(folder->path);
    free(folder->path);
    *folder = (struct bl_scratch_folder){NULL, -1};
}
