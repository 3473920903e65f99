// SPDX-License-Identifier: MIT
//
// With BIGLEAF=off a program is to run on the malloc of its libc. In a static
// program ours stands in its place, so that the linker leaves that one out.
// It comes back under other names: malloc.o of the very libc.a that the link
// will use, each name that our object defines too with `bl_libc_` in front.
// The runtime chooses between the two (runtime/switch.c, libc_heap.c). All
// other names stay: fork and the end of a thread reach that malloc by them.
//
// Only glibc has such an object. The changed copy is a file in memory, which
// the compiler and the linker inherit as an open descriptor: nothing is left
// to be removed, and nothing old can be linked.
//
#include "cli/libc_malloc.h"

#include "os/machine.h"

#include <fcntl.h>
#include <gelf.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PREFIX "bl_libc_"
#define MEMBER "malloc.o"

extern char **environ;

// ---------------------------------------------------------------------------
// Which libc

// The first line that a command prints, without its end; NULL: none.
static char *first_line(char *const *words) {
    int ends[2];
    pid_t pid = 0;
    posix_spawn_file_actions_t actions;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    const int error =
        posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *out = error ? NULL : fdopen(ends[0], "r");
    char *line = NULL;
    size_t capacity = 0;
    const ssize_t n = out ? getline(&line, &capacity, out) : 0;
    if (out)
        fclose(out);
    else
        close(ends[0]);
    if (!error)
        waitpid(pid, NULL, 0);
    if (n > 0) {
        line[strcspn(line, "\n")] = '\0';
        return line;
    }
    free(line);
    return NULL;
}

// What the compiler says to `question` behind so many of the words given.
static char *ask(const struct bl_compiler_call *call, size_t given,
                 const char *const *question) {
    size_t asked = 0;
    while (question[asked])
        asked++;
    const size_t own = call->compiler_words;
    char **all = bl_xrealloc(NULL, (own + given + asked + 1) * sizeof *all);
    memcpy(all, call->compiler, own * sizeof *all);
    memcpy(all + own, call->given, given * sizeof *all);
    memcpy(all + own + given, question, (asked + 1) * sizeof *all);
    char *line = first_line(all);
    free(all);
    return line;
}

// By a header that glibc alone has: a wrapper such as musl-gcc names the libc.a
// of the compiler behind it.
static bool compiles_for_glibc(const struct bl_compiler_call *call) {
    static const char *const question[] = {
        "-M", "-include", "gnu/libc-version.h", "-x", "c", "/dev/null", NULL};
    char *answer = ask(call, 0, question);
    free(answer);
    return answer != NULL;
}

static char *libc_archive(const struct bl_compiler_call *call) {
    static const char *const question[] = {"-print-file-name=libc.a", NULL};
    return ask(call, call->given_words, question);
}

// ---------------------------------------------------------------------------
// Its malloc.o

// A member of an archive, or a changed copy of one, and its symbols.
struct object {
    Elf *elf;
    Elf_Data *symbols;
    size_t count;
    size_t strings; // index of the section of names
};

struct elf_file {
    int fd;
    Elf *elf;
};

static bool open_elf(const char *path, Elf_Kind kind, struct elf_file *out) {
    elf_version(EV_CURRENT);
    out->fd = open(path, O_RDONLY | O_CLOEXEC);
    out->elf = out->fd < 0 ? NULL : elf_begin(out->fd, ELF_C_READ_MMAP, NULL);
    return out->elf && elf_kind(out->elf) == kind;
}

static void close_elf(struct elf_file *file) {
    elf_end(file->elf);
    if (file->fd >= 0)
        close(file->fd);
}

// elf_end() it; NULL: there is no such member.
static Elf *find_member(const struct elf_file *archive, const char *name) {
    Elf_Cmd next = ELF_C_READ_MMAP;
    while (next != ELF_C_NULL) {
        Elf *member = elf_begin(archive->fd, next, archive->elf);
        const Elf_Arhdr *header = member ? elf_getarhdr(member) : NULL;
        if (header && header->ar_name && strcmp(header->ar_name, name) == 0)
            return member;
        next = member ? elf_next(member) : ELF_C_NULL;
        elf_end(member);
    }
    return NULL;
}

static bool read_symbols(Elf *elf, struct object *out) {
    GElf_Shdr header;
    *out = (struct object){.elf = elf};
    for (Elf_Scn *s = elf_nextscn(elf, NULL); s; s = elf_nextscn(elf, s)) {
        if (!gelf_getshdr(s, &header) || header.sh_type != SHT_SYMTAB ||
            header.sh_entsize == 0)
            continue;
        out->symbols = elf_getdata(s, NULL);
        out->count = header.sh_size / header.sh_entsize;
        out->strings = header.sh_link;
    }
    return out->symbols != NULL;
}

// The name of symbol `i` where the object defines it for others, else NULL.
static const char *defined_name(const struct object *o, size_t i) {
    GElf_Sym symbol;
    if (!gelf_getsym(o->symbols, (int)i, &symbol) ||
        symbol.st_shndx == SHN_UNDEF ||
        GELF_ST_BIND(symbol.st_info) == STB_LOCAL)
        return NULL;
    return elf_strptr(o->elf, o->strings, symbol.st_name);
}

static bool defines(const struct object *o, const char *name) {
    for (size_t i = 1; i < o->count; i++) {
        const char *other = defined_name(o, i);
        if (other && strcmp(other, name) == 0)
            return true;
    }
    return false;
}

// Gives symbol `i` the name at `offset` of the section of names.
static void set_name(struct object *o, size_t i, size_t offset) {
    GElf_Sym symbol;
    if (!gelf_getsym(o->symbols, (int)i, &symbol))
        return;
    symbol.st_name = (GElf_Word)offset;
    gelf_update_sym(o->symbols, (int)i, &symbol);
}

// Puts PREFIX before each name of `o` that `ours` defines too. The new names,
// which `o` refers to until it is written; NULL: there is none.
static char *rename_symbols(struct object *o, const struct object *ours) {
    GElf_Shdr strings;
    Elf_Scn *section = elf_getscn(o->elf, o->strings);
    Elf_Data *more = section ? elf_newdata(section) : NULL;
    char *text = NULL;
    size_t size = 0;
    if (!more || !gelf_getshdr(section, &strings))
        return NULL;
    for (size_t i = 1; i < o->count; i++) {
        const char *name = defined_name(o, i);
        if (!name || !defines(ours, name))
            continue;
        text = bl_xrealloc(text, size + strlen(PREFIX) + strlen(name) + 1);
        const char *end = stpcpy(stpcpy(text + size, PREFIX), name);
        set_name(o, i, strings.sh_size + size);
        size = (size_t)(end - text) + 1;
    }
    *more = (Elf_Data){.d_buf = text,
                       .d_type = ELF_T_BYTE,
                       .d_size = size,
                       .d_align = 1,
                       .d_version = EV_CURRENT};
    elf_flagdata(o->symbols, ELF_C_SET, ELF_F_DIRTY);
    elf_flagdata(more, ELF_C_SET, ELF_F_DIRTY);
    return text;
}

static bool rewrite(int fd, const struct object *ours) {
    Elf *elf = elf_begin(fd, ELF_C_RDWR, NULL);
    struct object copy;
    char *names =
        elf && read_symbols(elf, &copy) ? rename_symbols(&copy, ours) : NULL;
    const bool written = names && elf_update(elf, ELF_C_WRITE) > 0;
    elf_end(elf);
    free(names);
    return written;
}

static char *changed_copy(Elf *member, const struct object *ours) {
    char path[64];
    size_t size = 0;
    const char *bytes = elf_rawfile(member, &size);
    const int fd =
        bytes ? bl_machine_memory_file(MEMBER, path, sizeof path) : -1;
    if (fd < 0)
        return NULL;
    if (write(fd, bytes, size) == (ssize_t)size && rewrite(fd, ours))
        return bl_xstrdup(path);
    close(fd);
    return NULL;
}

static char *from_archive(struct elf_file *libc, const struct object *ours) {
    Elf *theirs = find_member(libc, MEMBER);
    char *path = theirs ? changed_copy(theirs, ours) : NULL;
    elf_end(theirs);
    return path;
}

char *bl_libc_malloc_object(const struct bl_compiler_call *call) {
    struct elf_file libc = {.fd = -1};
    struct elf_file runtime = {.fd = -1};
    struct object ours;
    char *path = NULL;
    char *archive = compiles_for_glibc(call) ? libc_archive(call) : NULL;
    if (archive && open_elf(archive, ELF_K_AR, &libc) &&
        open_elf(call->runtime, ELF_K_ELF, &runtime) &&
        read_symbols(runtime.elf, &ours))
        path = from_archive(&libc, &ours);
    close_elf(&runtime);
    close_elf(&libc);
    free(archive);
    return path;
}
