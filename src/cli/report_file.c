// SPDX-License-Identifier: MIT
#include "cli/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// The standard stream that writes to this plain file; -1: none does.
static int stream_of(const char *name) {
    struct stat file;
    struct stat stream;
    if (stat(name, &file) != 0 || !S_ISREG(file.st_mode))
        return -1;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fstat(fd, &stream) == 0 && stream.st_dev == file.st_dev &&
            stream.st_ino == file.st_ino)
            return fd;
    }
    return -1;
}

static FILE *copy_of(int stream) {
    const int copy = fcntl(stream, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return copy < 0 ? NULL : fdopen(copy, "w");
}

bool bl_report_file_open(struct bl_report_file *f, const char *name) {
    struct stat s;
    *f = (struct bl_report_file){.name = name};
    f->stream = !name                    ? STDERR_FILENO
                : strcmp(name, "-") == 0 ? STDOUT_FILENO
                                         : stream_of(name);
    f->is_new = f->stream < 0 && lstat(name, &s) != 0;
    f->out = f->stream < 0 ? fopen(name, "ae") : copy_of(f->stream);
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
