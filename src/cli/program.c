// SPDX-License-Identifier: MIT
//
// Reads headers, segments and dynamic symbols with libelf. Whether a libc
// knows the tunable glibc.malloc.hugetlb is read off the tunable's name in its
// table of tunables: in the program interpreter for a dynamic program, in the
// file itself for a static one. That holds for every version and build.
//
#include "cli/program.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SCRIPT_DEPTH 4 // as deep as the kernel follows "#!" lines
#define TUNABLE "glibc.malloc.hugetlb"
// The runtime's version, in whatever it is linked into.
#define RUNTIME_MARK "bigleaf-runtime "
#define RUNTIME_LIBRARY "libbigleaf.so"
// What packaging/glibc writes into a malloc of glibc.
#define THP_MARK "bigleaf-glibc-thp "
// What glibc's malloc says of a heap that was overwritten, since 2.29.
#define GLIBC_MALLOC_MARK "malloc(): corrupted top size"

static int check_executable(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0)
        return errno;
    if (!S_ISREG(st.st_mode))
        return EACCES;
    return access(path, X_OK) == 0 ? 0 : errno;
}

int bl_program_find(const char *name, char **path) {
    int error = ENOENT;
    *path = NULL;
    if (name[0] == '\0')
        return ENOENT;
    if (strchr(name, '/')) {
        *path = bl_xstrdup(name);
        return check_executable(name);
    }
    const char *list = getenv("PATH");
    if (!list)
        list = "/bin:/usr/bin";
    for (;;) {
        const size_t n = strcspn(list, ":");
        char *file =
            bl_xprintf("%.*s/%s", n ? (int)n : 1, n ? list : ".", name);
        const int found = check_executable(file);
        if (found == 0) {
            *path = file;
            return 0;
        }
        free(file);
        if (found == EACCES)
            error = EACCES;
        if (list[n] == '\0')
            return error;
        list += n + 1;
    }
}

uint16_t bl_program_own_machine(void) {
#if defined(__x86_64__)
    return EM_X86_64;
#else
    return EM_AARCH64;
#endif
}

const char *bl_program_machine_name(uint16_t machine) {
    static const struct {
        uint16_t machine;
        const char *name;
    } names[] = {{EM_X86_64, "x86-64"},   {EM_386, "i386"},
                 {EM_AARCH64, "aarch64"}, {EM_ARM, "arm"},
                 {EM_RISCV, "riscv"},     {EM_PPC64, "ppc64"},
                 {EM_S390, "s390"}};
    for (size_t i = 0; i < BL_ARRAY_LEN(names); i++) {
        if (names[i].machine == machine)
            return names[i].name;
    }
    return "unknown machine";
}

enum { FIRST_LINE = 256 }; // as much of it as the kernel reads

// The first line of a file, as a string. Returns its bytes, which are more
// where a zero byte ends the string early; 0: none can be read.
static size_t read_first_line(const char *path, char line[FIRST_LINE]) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? 0 : read(fd, line, FIRST_LINE - 1);
    const size_t bytes = n < 0 ? 0 : (size_t)n;
    if (fd >= 0)
        close(fd);
    line[bytes] = '\0';
    const size_t end = strcspn(line, "\n");
    const bool whole = end < bytes && line[end] == '\n';
    line[end] = '\0';
    return whole ? end : bytes;
}

bool bl_program_is_text(const char *path) {
    char line[FIRST_LINE];
    return read_first_line(path, line) == strlen(line);
}

// The interpreter named in the first line of a script; NULL: no script.
static char *script_interpreter(const char *path) {
    char line[FIRST_LINE];
    if (read_first_line(path, line) < 3 || line[0] != '#' || line[1] != '!')
        return NULL;
    char *p = line + 2 + strspn(line + 2, " \t");
    p[strcspn(p, " \t\r")] = '\0';
    return *p ? bl_xstrdup(p) : NULL;
}

// setuid and setgid count where they change something; the loader then
// ignores LD_PRELOAD and tunables.
static bool is_secure(const char *path) {
    struct stat st;
    char capability;
    if (stat(path, &st) != 0)
        return false;
    if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
        return true;
    if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) &&
        st.st_gid != getgid())
        return true;
    return getuid() != 0 &&
           getxattr(path, "security.capability", &capability, 0) > 0;
}

// The text that begins with `start`, to be freed; NULL: the file has none.
static char *find_text(const char *path, const char *start) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
    size_t size = 0;
    const char *bytes = elf ? elf_rawfile(elf, &size) : NULL;
    const char *at = bytes ? memmem(bytes, size, start, strlen(start)) : NULL;
    char *text = NULL;
    if (at) {
        const size_t n = strnlen(at, size - (size_t)(at - bytes));
        text = bl_xprintf("%.*s", (int)n, at);
    }
    elf_end(elf);
    if (fd >= 0)
        close(fd);
    return text;
}

bool bl_program_contains(const char *path, const char *start) {
    char *text = find_text(path, start);
    const bool found = text != NULL;
    free(text);
    return found;
}

static void read_segments(Elf *elf, struct bl_program *out) {
    size_t count = 0;
    if (elf_getphdrnum(elf, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr ph;
        if (!gelf_getphdr(elf, (int)i, &ph))
            return;
        if (ph.p_type == PT_INTERP) {
            size_t size = 0;
            const char *file = elf_rawfile(elf, &size);
            if (file && ph.p_offset < size && !out->interpreter) {
                const size_t room = size - ph.p_offset;
                const char *s = file + ph.p_offset;
                const size_t n =
                    strnlen(s, ph.p_filesz < room ? ph.p_filesz : room);
                out->interpreter = bl_xprintf("%.*s", (int)n, s);
            }
        }
        if (ph.p_type != PT_LOAD)
            continue;
        if ((ph.p_flags & PF_W) && ph.p_memsz > out->data_bytes)
            out->data_bytes = ph.p_memsz;
        if ((ph.p_flags & PF_X) && ph.p_memsz > out->text_bytes) {
            const uint64_t first = bl_align_up(ph.p_vaddr, BL_HUGE_SIZE);
            const uint64_t last =
                bl_align_down(ph.p_vaddr + ph.p_filesz, BL_HUGE_SIZE);
            out->text_bytes = ph.p_memsz;
            out->text_align = ph.p_align;
            out->text_whole = last > first ? last - first : 0;
        }
    }
}

static void read_symbols(Elf *elf, struct bl_program *out) {
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr sh;
        if (!gelf_getshdr(section, &sh) || sh.sh_type != SHT_DYNSYM ||
            sh.sh_entsize == 0)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        const size_t count = data ? sh.sh_size / sh.sh_entsize : 0;
        for (size_t i = 0; i < count; i++) {
            GElf_Sym symbol;
            if (!gelf_getsym(data, (int)i, &symbol) ||
                symbol.st_shndx == SHN_UNDEF)
                continue;
            const char *name = elf_strptr(elf, sh.sh_link, symbol.st_name);
            if (name && strcmp(name, "malloc") == 0)
                out->defines_malloc = true;
        }
    }
}

// Whether it names a library that begins so.
static bool needs(Elf *elf, const char *library) {
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr sh;
        if (!gelf_getshdr(section, &sh) || sh.sh_type != SHT_DYNAMIC ||
            sh.sh_entsize == 0)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        const size_t count = data ? sh.sh_size / sh.sh_entsize : 0;
        for (size_t i = 0; i < count; i++) {
            GElf_Dyn entry;
            if (!gelf_getdyn(data, (int)i, &entry) || entry.d_tag != DT_NEEDED)
                continue;
            const char *name = elf_strptr(elf, sh.sh_link, entry.d_un.d_val);
            if (name && strncmp(name, library, strlen(library)) == 0)
                return true;
        }
    }
    return false;
}

// The libraries that compilers bring for sanitizers have a malloc of their own,
// and most will not have another library before them.
static bool needs_sanitizer(Elf *elf) {
    static const char *const libraries[] = {
        "libasan.so",         "libtsan.so",         "liblsan.so",
        "libhwasan.so",       "libclang_rt.asan",   "libclang_rt.tsan",
        "libclang_rt.hwasan", "libclang_rt.memprof"};
    for (size_t i = 0; i < BL_ARRAY_LEN(libraries); i++) {
        if (needs(elf, libraries[i]))
            return true;
    }
    return false;
}

// What an ELF file is that nobody can execute. A shared library without a
// place to start at is none for sure.
static const char *other_kind(const GElf_Ehdr *header) {
    if (header->e_type == ET_REL)
        return "an object file";
    if (header->e_type == ET_CORE)
        return "a core dump";
    return header->e_type == ET_DYN && header->e_entry == 0 ? "a shared library"
                                                            : NULL;
}

// By the mark that all of them carry in their first bytes.
static bool is_app_image(const GElf_Ehdr *header) {
    const unsigned char *mark = header->e_ident + EI_ABIVERSION;
    return mark[0] == 'A' && mark[1] == 'I' && (mark[2] == 1 || mark[2] == 2);
}

// True for a program or library for this machine.
static bool read_header(Elf *elf, struct bl_program *out) {
    GElf_Ehdr header;
    if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
        return false;
    out->machine = header.e_machine;
    out->bits = gelf_getclass(elf) == ELFCLASS64 ? 64 : 32;
    if (out->machine != bl_program_own_machine() || out->bits != 64) {
        out->kind = BL_PROGRAM_FOREIGN;
        return false;
    }
    out->other = other_kind(&header);
    out->app_image = is_app_image(&header);
    out->position_independent = header.e_type == ET_DYN;
    return header.e_type == ET_EXEC || header.e_type == ET_DYN;
}

static void read_elf(Elf *elf, struct bl_program *out) {
    const bool native = read_header(elf, out);
    if (native || out->kind == BL_PROGRAM_FOREIGN)
        read_segments(elf, out);
    if (!native)
        return;
    out->kind = out->interpreter ? BL_PROGRAM_DYNAMIC : BL_PROGRAM_STATIC;
    if (out->interpreter) {
        read_symbols(elf, out);
        out->sanitized = needs_sanitizer(elf);
        out->defines_malloc |= out->sanitized;
    }
    out->tunable = bl_program_contains(
        out->interpreter ? out->interpreter : out->path, TUNABLE);
    if (!out->interpreter || out->defines_malloc)
        out->runtime = find_text(out->path, RUNTIME_MARK);
    out->needs_runtime = out->interpreter && needs(elf, RUNTIME_LIBRARY);
    out->thp_malloc =
        !out->interpreter && bl_program_contains(out->path, THP_MARK);
    out->libc_malloc =
        out->interpreter || bl_program_contains(out->path, GLIBC_MALLOC_MARK);
}

// elf_begin refuses a file that is too short for its header; class and machine
// stand in the first 20 bytes all the same.
static void read_short_header(int fd, struct bl_program *out) {
    unsigned char b[20];
    if (pread(fd, b, sizeof b, 0) != (ssize_t)sizeof b ||
        memcmp(b, ELFMAG, SELFMAG) != 0)
        return;
    out->bits = b[EI_CLASS] == ELFCLASS64 ? 64 : 32;
    const unsigned low = b[EI_DATA] == ELFDATA2LSB ? b[18] : b[19];
    const unsigned high = b[EI_DATA] == ELFDATA2LSB ? b[19] : b[18];
    out->machine = (uint16_t)(high << 8 | low);
    if (out->machine != bl_program_own_machine() || out->bits != 64)
        out->kind = BL_PROGRAM_FOREIGN;
}

static void read_file(struct bl_program *out,
                      void read_it(Elf *elf, struct bl_program *out)) {
    const int fd = open(out->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf)
        read_it(elf, out);
    if (out->machine == 0)
        read_short_header(fd, out);
    elf_end(elf);
    close(fd);
}

static void read_library(Elf *elf, struct bl_program *out) {
    if (read_header(elf, out))
        out->kind = BL_PROGRAM_DYNAMIC;
}

void bl_program_inspect_library(const char *path, struct bl_program *out) {
    *out = (struct bl_program){.path = bl_xstrdup(path),
                               .kind = BL_PROGRAM_UNKNOWN};
    read_file(out, read_library);
}

void bl_program_inspect(const char *path, struct bl_program *out) {
    *out = (struct bl_program){.path = bl_xstrdup(path),
                               .kind = BL_PROGRAM_UNKNOWN};
    for (int depth = 0; depth < SCRIPT_DEPTH; depth++) {
        char *interpreter = script_interpreter(out->path);
        if (!interpreter)
            break;
        if (!out->script)
            out->script = out->path;
        else
            free(out->path);
        out->path = interpreter;
    }
    out->secure = is_secure(out->path);
    read_file(out, read_elf);
    if (out->kind == BL_PROGRAM_UNKNOWN && !out->other &&
        access(out->path, X_OK) != 0)
        out->other = "no program";
}

bool bl_program_has_runtime(const struct bl_program *program) {
    return program->runtime || program->needs_runtime;
}

void bl_program_free(struct bl_program *program) {
    free(program->path);
    free(program->script);
    free(program->interpreter);
    free(program->runtime);
}

char *bl_program_describe(const struct bl_program *p) {
    const char *kind = "";
    if (p->other)
        return bl_xstrdup(p->other);
    switch (p->kind) {
    case BL_PROGRAM_DYNAMIC:
        kind = "dynamic";
        break;
    case BL_PROGRAM_STATIC:
        kind = "static";
        break;
    case BL_PROGRAM_FOREIGN:
        kind = "for another machine";
        break;
    case BL_PROGRAM_UNKNOWN:
        return bl_xstrdup("no ELF program");
    }
    return bl_xprintf("%s, %u-bit %s%s%s", kind, p->bits,
                      bl_program_machine_name(p->machine),
                      p->position_independent ? ", position independent" : "",
                      p->app_image ? ", AppImage" : "");
}
