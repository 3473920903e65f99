// SPDX-License-Identifier: MIT
#include "cli/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Where two names for one thing are two ways to write to it, or only one of
// them is: a socket cannot be opened.
static bool is_shared(mode_t mode) {
    return S_ISREG(mode) || S_ISFIFO(mode) || S_ISSOCK(mode);
}

// The standard stream that writes to this file or pipe; -1: none does.
static int stream_of(const char *name) {
    struct stat file;
    struct stat stream;
    if (stat(name, &file) != 0 || !is_shared(file.st_mode))
        return -1;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fstat(fd, &stream) == 0 && stream.st_dev == file.st_dev &&
            stream.st_ino == file.st_ino)
            return fd;
    }
    return -1;
}

static int copy_of(int stream) {
    return fcntl(stream, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

// Not in the place of a standard stream that is closed: messages would go into
// the file.
static int open_file(const char *name) {
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    const int fd = open(name, flags, 0666);
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    const int copy = copy_of(fd);
    close(fd);
    return copy;
}

void bl_report_undisturbed(void) {
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

// The descriptor that is named by its number; -1: none is. What a shell has
// opened by >> would lose what it held, were it opened anew.
static int named_descriptor(const char *name) {
    static const char folder[] = "/dev/fd/";
    const size_t n = strlen(folder);
    const char *number = name + n;
    uint64_t fd = 0;
    return strncmp(name, folder, n) == 0 && bl_read_u64(&number, &fd) &&
                   *number == '\0' && fd <= INT_MAX
               ? (int)fd
               : -1;
}

bool bl_report_file_open(struct bl_report_file *f, const char *name) {
    struct stat s;
    *f = (struct bl_report_file){.name = name};
    f->stream = !name                    ? STDERR_FILENO
                : strcmp(name, "-") == 0 ? STDOUT_FILENO
                                         : named_descriptor(name);
    if (f->stream < 0)
        f->stream = stream_of(name);
    f->is_new = f->stream < 0 && lstat(name, &s) != 0;
    const int fd = f->stream < 0 ? open_file(name) : copy_of(f->stream);
    f->out = fd < 0 ? NULL : fdopen(fd, f->stream < 0 ? "a" : "w");
    return f->out != NULL;
}

FILE *bl_report_file_begin(struct bl_report_file *f) {
    BL_REQUIRE(f->out);
    if (f->stream < 0 && !f->begun)
        (void)!ftruncate(fileno(f->out), 0); // it may be no plain file
    f->begun = true;
    return f->out;
}

bool bl_report_file_close(struct bl_report_file *f) {
    if (!f->out)
        return true;
    const bool failed = ferror(f->out) != 0;
    const bool whole = fclose(f->out) == 0 && !failed;
    const int error = errno;
    f->out = NULL;
    if (f->is_new && !f->begun)
        unlink(f->name);
    errno = error;
    return whole;
}
