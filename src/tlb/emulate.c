// SPDX-License-Identifier: MIT
#include "tlb/emulate.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MOST_SCRIPTS = 4,
    FIRST_BYTES = 256,
    MOST_NAMES = 2 * MOST_SCRIPTS,
    MOST_FRONT = 11 + MOST_NAMES
};

static void add_escaped(struct bl_text *t, const char *word) {
    for (; *word; word++) {
        bl_text_char(t, *word);
        if (*word == ',')
            bl_text_char(t, ',');
    }
}

// The first bytes of a file that may be executed, as a string: their number,
// 0 where it is none.
static size_t first_bytes(const char *path, char bytes[FIRST_BYTES]) {
    struct stat s;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    const ssize_t n = read(fd, bytes, FIRST_BYTES - 1);
    // Privileges are raised by a real execve only.
    const bool plain = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) &&
                       (s.st_mode & (S_ISUID | S_ISGID)) == 0;
    close(fd);
    if (n <= 0 || !plain || access(path, X_OK) != 0)
        return 0;
    bytes[n] = '\0';
    return (size_t)n;
}

// e_machine of a 64-bit ELF file; EM_NONE: it is none.
static uint16_t machine_of(const char *bytes, size_t n) {
    Elf64_Ehdr h;
    if (n < sizeof h)
        return EM_NONE;
    memcpy(&h, bytes, sizeof h);
    const bool is_elf = memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 &&
                        h.e_ident[EI_CLASS] == ELFCLASS64;
    return is_elf ? h.e_machine : EM_NONE;
}

bool bl_emulator_init(struct bl_emulator *e, const char *file,
                      const char *plugin, const char *const *words,
                      size_t count) {
    struct bl_text t;
    char own[PATH_MAX];
    char bytes[FIRST_BYTES];
    if (!realpath(plugin, own) || !realpath(file, e->file))
        return false;
    e->machine = machine_of(bytes, first_bytes(e->file, bytes));
    bl_text_init(&t, e->plugin, sizeof e->plugin);
    bl_text_str(&t, "file=");
    add_escaped(&t, own);
    for (size_t i = 0; i < count; i++) {
        bl_text_char(&t, ',');
        add_escaped(&t, words[i]);
    }
    return !t.cut && e->machine != EM_NONE;
}

// "#! interpreter [one word of the rest]"; cuts `line` into both.
static char *split_script(char *line, char **word) {
    line[strcspn(line, "\n")] = '\0';
    char *name = line + 2 + strspn(line + 2, " \t");
    char *end = name + strcspn(name, " \t");
    *word = NULL;
    if (*end) {
        *end++ = '\0';
        end += strspn(end, " \t");
        size_t n = strlen(end);
        while (n && (end[n - 1] == ' ' || end[n - 1] == '\t'))
            end[--n] = '\0';
        *word = *end ? end : NULL;
    }
    return *name ? name : NULL;
}

// A command line that grows at its front, with the names it needs.
struct line {
    const char *names[MOST_NAMES]; // reversed
    size_t count;
    char bytes[MOST_SCRIPTS][FIRST_BYTES];
};

// Puts script interpreters in front until a file of the machine stands there;
// NULL: none does. What is returned takes the place of argv[0].
static const char *resolve(const struct bl_emulator *e, const char *path,
                           struct line *l, const char **file) {
    const char *zeroth = NULL;
    for (size_t i = 0; i < MOST_SCRIPTS; i++) {
        char *bytes = l->bytes[i];
        const size_t n = first_bytes(path, bytes);
        if (machine_of(bytes, n) == e->machine) {
            *file = path;
            return zeroth ? zeroth : path;
        }
        char *word;
        if (n < 3 || bytes[0] != '#' || bytes[1] != '!')
            return NULL;
        char *name = split_script(bytes, &word);
        if (!name)
            return NULL;
        if (!zeroth)
            zeroth = path;
        else
            l->names[l->count++] = path;
        if (word)
            l->names[l->count++] = word;
        path = name;
    }
    return NULL;
}

// Copies the words into one block of pointers and bytes.
static char **pack(const char *const *front, size_t n, char *const *rest) {
    size_t count = n;
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += strlen(front[i]) + 1;
    for (; rest[count - n]; count++)
        bytes += strlen(rest[count - n]) + 1;
    char **words = malloc((count + 1) * sizeof *words + bytes);
    if (!words)
        return NULL;
    char *at = (char *)(words + count + 1);
    for (size_t i = 0; i < count; i++) {
        words[i] = at;
        at = stpcpy(at, i < n ? front[i] : rest[i - n]) + 1;
    }
    words[count] = NULL;
    return words;
}

char **bl_emulator_words(const struct bl_emulator *e, const char *path,
                         char *const *argv) {
    struct line l = {.count = 0};
    const char *file;
    const char *zeroth = resolve(e, path, &l, &file);
    if (!zeroth)
        return NULL;
    const bool script = zeroth != file;
    // Without fast string instructions memset writes in words, which the
    // emulator does faster and the counts show as the processor's chunks.
    const char *processor = e->machine == EM_X86_64 ? "max,-erms" : "max";
    const char *front[MOST_FRONT] = {e->file, "-cpu", processor, "-plugin",
                                     e->plugin};
    size_t n = 5;
    if (e->unset) {
        front[n++] = "-U";
        front[n++] = e->unset;
    }
    front[n++] = "-0";
    front[n++] = script ? file : argv[0];
    front[n++] = file;
    while (l.count)
        front[n++] = l.names[--l.count];
    if (script)
        front[n++] = zeroth;
    return pack(front, n, argv + 1);
}
