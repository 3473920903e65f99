// SPDX-License-Identifier: MIT
//
// What the command says to its user, and memory that is never NULL.
//
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

// Why standard output has not taken something; 0: it took all.
static int output_error;

void bl_output_lost(int error) {
    if (output_error == 0)
        output_error = error;
}

// What a stream could not write is no longer in its buffer: the next fflush
// has nothing to complain of.
void bl_output_flush(void) {
    if (fflush(stdout) != 0)
        bl_output_lost(errno);
    else if (ferror(stdout))
        bl_output_lost(EIO);
}

int bl_output_error(void) { return output_error == EBADF ? 0 : output_error; }

// A line of progress stands on standard error.
static bool has_progress;

static int columns(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1
               ? size.ws_col
               : 80;
}

// One that was broken by the right margin could not be erased.
void bl_progress(const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\r\033[K%.*s", columns() - 1, text);
    fflush(stderr);
    has_progress = true;
}

void bl_progress_end(void) {
    if (has_progress)
        fputs("\r\033[K", stderr);
    has_progress = false;
}

static void say(const struct bl_command *command, const char *format,
                va_list arguments) {
    bl_output_flush();
    bl_progress_end();
    if (command)
        fprintf(stderr, "bigleaf %s: ", command->name);
    else
        fputs("bigleaf: ", stderr);
    // The callers have started it.
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized)
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void bl_say(const struct bl_command *command, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(command, format, arguments);
    va_end(arguments);
}

int bl_usage(const struct bl_command *command, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(command, format, arguments);
    va_end(arguments);
    if (command)
        fprintf(stderr, "try: bigleaf %s --help\n", command->name);
    else
        fputs("try: bigleaf --help\n", stderr);
    return BL_EXIT_USAGE;
}

static void *check_memory(void *p) {
    if (!p) {
        bl_say(NULL, "out of memory");
        exit(BL_EXIT_BUG);
    }
    return p;
}

void *bl_xrealloc(void *old, size_t bytes) {
    return check_memory(realloc(old, bytes ? bytes : 1));
}

char *bl_xstrdup(const char *s) { return check_memory(strdup(s)); }

char *bl_xprintf(const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    return check_memory(text);
}

// Edits (insert, drop, replace) that turn one word into the other.
static size_t distance(const char *a, const char *b) {
    enum { LONGEST = 64 };
    size_t row[LONGEST + 1];
    const size_t columns = strlen(b);
    if (columns > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= columns; j++)
        row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < columns; j++) {
            const size_t replaced = diagonal + (a[i] != b[j]);
            const size_t edited =
                1 + (row[j] < row[j + 1] ? row[j] : row[j + 1]);
            diagonal = row[j + 1];
            row[j + 1] = replaced < edited ? replaced : edited;
        }
    }
    return row[columns];
}

const char *bl_nearest(const char *word, const char *const *words) {
    const char *best = NULL;
    size_t least = strlen(word) / 2 + 1;
    for (; *words; words++) {
        const size_t d = distance(word, *words);
        if (d < least) {
            least = d;
            best = *words;
        }
    }
    return best;
}
