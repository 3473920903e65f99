// SPDX-License-Identifier: MIT
//
// `bigleaf align FILE`: marks a program or library that exists. The alignment
// of its read-only segments becomes 2 MiB, so that the loader puts it where
// huge pages can map it, and a bit of their flags says that they are wanted
// on huge pages. Not a byte of the contents changes and no offset moves, so
// the file runs as before on a machine without Bigleaf.
//
// What was there before is kept in a trailer behind the end of the file, and
// `--undo` gives back the file bit by bit. The new file is written beside the
// old one and takes its name when it is whole: a program that runs keeps its
// old one.
//
#include "cli/align.h"

#include "cli/options.h"
#include "image/elf.h"
#include "image/shadow.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MAGIC "bigleaf.align/1"

struct trailer {
    char magic[16];
    uint64_t file_bytes; // of the file without the trailer
    uint64_t count;
    struct {
        uint64_t header; // index of the program header
        uint64_t align;
        uint64_t flags;
    } before[BL_ELF_SEGMENTS];
};

struct job {
    const struct bl_command *command;
    char *file;         // no symbolic link
    const char *output; // NULL: in place
    bool undo;
    int fd;
    struct bl_file_facts facts;
    struct bl_elf elf;
    struct trailer trailer;
    char *temporary;
    int out;
};

static const char *target(const struct job *j) {
    return j->output ? j->output : j->file;
}

static int refuse(const struct job *j, const char *why) {
    bl_say(j->command, "%s: %s", j->file, why);
    return BL_EXIT_USAGE;
}

static int cannot(const struct job *j, const char *file, const char *what,
                  int error) {
    bl_say(j->command, "%s: cannot %s: %s", file, what, strerror(error));
    return BL_EXIT_MACHINE;
}

static int read_at(const struct job *j, void *buffer, size_t bytes,
                   uint64_t offset) {
    const int result = bl_file_read_at(j->fd, buffer, bytes, offset);
    return result < 0 ? cannot(j, j->file, "read", -result) : 0;
}

static int write_at(const struct job *j, const void *buffer, size_t bytes,
                    uint64_t offset) {
    const int result = bl_file_write_at(j->out, buffer, bytes, offset);
    return result < 0 ? cannot(j, target(j), "write", -result) : 0;
}

static bool read_trailer(struct job *j) {
    const uint64_t bytes = sizeof j->trailer;
    return j->facts.size > bytes &&
           bl_file_read_at(j->fd, &j->trailer, bytes, j->facts.size - bytes) ==
               0 &&
           memcmp(j->trailer.magic, MAGIC, sizeof MAGIC) == 0 &&
           j->trailer.file_bytes == j->facts.size - bytes &&
           j->trailer.count <= BL_ELF_SEGMENTS;
}

// Under bias 0: on a multiple of 2 MiB it lands once it is aligned.
static bool has_units(const struct bl_elf *elf, uint32_t index) {
    uint64_t start;
    uint64_t end;
    return bl_elf_units(elf, index, 0, &start, &end);
}

static bool is_congruent(const struct bl_elf_segment *s) {
    return (s->vaddr - s->offset) % BL_HUGE_SIZE == 0;
}

// What is to change, in the form of what was before.
static int plan(struct job *j) {
    bool aligned = !j->elf.position_independent;
    memcpy(j->trailer.magic, MAGIC, sizeof MAGIC);
    j->trailer.file_bytes = j->facts.size;
    for (uint32_t i = 0; i < j->elf.count; i++) {
        const struct bl_elf_segment *s = &j->elf.segments[i];
        if (!has_units(&j->elf, i))
            continue;
        const uint64_t k = j->trailer.count++;
        j->trailer.before[k].header = s->header;
        j->trailer.before[k].align = s->align;
        j->trailer.before[k].flags = s->flags;
        aligned |= is_congruent(s) || j->elf.interpreter;
    }
    if (j->trailer.count == 0)
        return refuse(j, "no segment of text or read-only data holds a whole "
                         "2 MiB unit");
    if (!aligned)
        return refuse(j, "offsets and addresses of its segments differ modulo "
                         "2 MiB, so loaders before glibc 2.35 would refuse "
                         "it; link it with -z max-page-size=0x200000");
    return 0;
}

static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// The first that waits; 0: none does.
static int waiting_ending(void) {
    sigset_t pending;
    if (sigpending(&pending) != 0)
        return 0;
    for (size_t i = 0; i < BL_ARRAY_LEN(endings); i++) {
        if (sigismember(&pending, endings[i]))
            return endings[i];
    }
    return 0;
}

static int copy(struct job *j, uint64_t bytes) {
    static unsigned char chunk[1 << 16];
    for (uint64_t done = 0; done < bytes;) {
        const int signal = waiting_ending();
        if (signal)
            return BL_EXIT_SIGNAL + signal;
        const size_t n =
            bytes - done < sizeof chunk ? bytes - done : sizeof chunk;
        int status = read_at(j, chunk, n, done);
        if (!status)
            status = write_at(j, chunk, n, done);
        if (status)
            return status;
        done += n;
    }
    return 0;
}

static int patch(struct job *j, uint64_t header, uint64_t align,
                 uint32_t flags) {
    Elf64_Phdr p;
    const uint64_t at = j->elf.headers_offset + header * sizeof p;
    const int status = read_at(j, &p, sizeof p, at);
    p.p_align = align;
    p.p_flags = flags;
    return status ? status : write_at(j, &p, sizeof p, at);
}

static int mark(struct job *j) {
    int status = copy(j, j->facts.size);
    for (uint32_t i = 0; i < j->elf.count && !status; i++) {
        const struct bl_elf_segment *s = &j->elf.segments[i];
        if (!has_units(&j->elf, i))
            continue;
        const bool align = is_congruent(s) || j->elf.interpreter;
        status =
            patch(j, s->header,
                  align && s->align < BL_HUGE_SIZE ? BL_HUGE_SIZE : s->align,
                  s->flags | BL_ELF_WANTED);
    }
    if (!status)
        status = write_at(j, &j->trailer, sizeof j->trailer, j->facts.size);
    return status;
}

static int unmark(struct job *j) {
    int status = copy(j, j->trailer.file_bytes);
    for (uint64_t i = 0; i < j->trailer.count && !status; i++) {
        if (j->trailer.before[i].header >= j->elf.headers)
            return refuse(j, "its trailer does not fit it");
        status =
            patch(j, j->trailer.before[i].header, j->trailer.before[i].align,
                  (uint32_t)j->trailer.before[i].flags);
    }
    return status;
}

// The new file would take the place of whatever has that name.
static bool is_special(const char *name) {
    struct stat s;
    return lstat(name, &s) == 0 && !S_ISREG(s.st_mode);
}

// Who may not give a file away may still give it to one of his groups. Else its
// new group may do what it could as one of all others.
static int keep_owner(struct job *j) {
    struct bl_file_facts *f = &j->facts;
    if (fchown(j->out, f->owner, f->group) == 0)
        return 0;
    if (geteuid() == 0)
        return cannot(j, j->file, "keep its owner", errno);
    if (fchown(j->out, (uid_t)-1, f->group) != 0)
        f->mode = (f->mode & ~(uint32_t)S_IRWXG) | (f->mode & S_IRWXO) << 3;
    return 0;
}

static int write_new(struct job *j) {
    const char *name = target(j);
    if (is_special(name)) {
        bl_say(j->command, "%s: is no plain file, and is left alone", name);
        return BL_EXIT_USAGE;
    }
    j->temporary = bl_xprintf("%s.bigleaf-XXXXXX", name);
    j->out = mkostemp(j->temporary, O_CLOEXEC);
    if (j->out < 0)
        return cannot(j, name, "write beside it", errno);
    int status = j->undo ? unmark(j) : mark(j);
    if (!status && !j->output)
        status = keep_owner(j);
    if (!status && (fchmod(j->out, j->facts.mode) != 0 || fsync(j->out) != 0 ||
                    rename(j->temporary, name) != 0))
        status = cannot(j, name, "put the new file in place", errno);
    if (status)
        unlink(j->temporary);
    close(j->out);
    free(j->temporary);
    return status;
}

// Neither past a limit on files' sizes nor by a signal that ends this command
// may the unfinished file stay.
static int write_undisturbed(struct job *j) {
    sigset_t held;
    sigset_t before;
    sigemptyset(&held);
    for (size_t i = 0; i < BL_ARRAY_LEN(endings); i++)
        sigaddset(&held, endings[i]);
    signal(SIGXFSZ, SIG_IGN);
    sigprocmask(SIG_BLOCK, &held, &before);
    const int status = write_new(j);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

static int examine(struct job *j) {
    j->fd = bl_file_open(j->file);
    if (j->fd < 0)
        return refuse(j, strerror(-j->fd));
    if (bl_file_facts(j->fd, &j->facts) < 0 || !j->facts.regular)
        return refuse(j, "is no plain file");
    const char *wrong = bl_elf_read(j->fd, j->facts.size, &j->elf);
    if (wrong)
        return refuse(j, wrong);
    if (j->facts.mode & (S_ISUID | S_ISGID) ||
        getxattr(j->file, "security.capability", NULL, 0) > 0)
        return refuse(j, "has raised privileges and is left alone");
    if (!j->output && j->facts.links > 1)
        return refuse(j, "has other names that would keep the old file; "
                         "name a new one with --output");
    const bool marked = read_trailer(j);
    if (j->undo)
        return marked ? 0 : refuse(j, "was not marked by bigleaf align");
    if (marked)
        return refuse(j, "is marked already");
    j->trailer = (struct trailer){0};
    return plan(j);
}

static int align(struct job *j, const char *name) {
    j->file = realpath(name, NULL);
    if (!j->file) {
        bl_say(j->command, "%s: %s", name, strerror(errno));
        return BL_EXIT_USAGE;
    }
    int status = examine(j);
    if (!status)
        status = write_undisturbed(j);
    if (j->fd >= 0)
        bl_os_close(j->fd);
    free(j->file);
    return status;
}

int bl_align_main(const struct bl_command *self, int argc, char **argv) {
    struct job j = {.command = self, .fd = -1, .out = -1};
    struct bl_cursor cursor = {
        .command = self, .argv = argv, .argc = argc, .at = 1};
    enum bl_step step;
    while ((step = bl_cursor_next(&cursor)) == BL_STEP_OPTION) {
        if (strcmp(cursor.option->name, "undo") == 0)
            j.undo = true;
        else
            j.output = cursor.value;
    }
    if (step != BL_STEP_END)
        return step == BL_STEP_HELP ? 0 : BL_EXIT_USAGE;
    if (argc - cursor.at != 1)
        return bl_usage(self, "one FILE is needed, behind all options");
    if (j.output && !j.output[0])
        return bl_usage(self, "--output= needs the name of a file");
    return align(&j, argv[cursor.at]);
}

int bl_clean_shadows(const struct bl_command *self) {
    struct bl_shadow_census census;
    char path[BL_SHADOW_PATH];
    const char *root = getenv("BIGLEAF_SHADOW_DIR");
    const char *wrong = bl_shadow_clean(root, 0, &census);
    if (wrong) {
        bl_shadow_directory(root, path);
        bl_say(self, "%s: %s", path, wrong);
        return BL_EXIT_MACHINE;
    }
    printf("%u shadow copies removed, %.1f MiB\n", census.removed,
           (double)census.removed_bytes / (double)BL_MIB);
    return 0;
}
