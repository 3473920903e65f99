// SPDX-License-Identifier: MIT
#include "image/maps.h"

#include "os/file.h"
#include "os/os.h"

#include <errno.h>

// 256 KiB hold some 2500 mappings; only what is read takes memory. More are
// not expected at the start of a program, and what is cut is left alone.
#define TEXT_CAPACITY (256 * BL_KIB)

int bl_maps_read(int pid, struct bl_maps *out) {
    *out = (struct bl_maps){.bytes = TEXT_CAPACITY};
    out->text = bl_file_scratch(TEXT_CAPACITY);
    if (!out->text)
        return -ENOMEM;
    const long got = bl_file_read_maps(pid, out->text, TEXT_CAPACITY);
    if (got < 0)
        bl_maps_free(out);
    return got < 0 ? (int)got : 0;
}

void bl_maps_free(struct bl_maps *maps) {
    bl_file_scratch_free(maps->text, maps->bytes);
    maps->text = NULL;
}

static const char *skip_spaces(const char *p) {
    while (*p == ' ')
        p++;
    return p;
}

// "start-end rwxp offset major:minor inode   path\n"
static bool read_numbers(const char **p, struct bl_maps_entry *e) {
    uint64_t major;
    uint64_t minor;
    if (!bl_read_hex(p, &e->start) || *(*p)++ != '-' ||
        !bl_read_hex(p, &e->end) || *(*p)++ != ' ')
        return false;
    for (int i = 0; i < 4; i++) {
        if ((*p)[i] == '\0')
            return false;
    }
    e->readable = (*p)[0] == 'r';
    e->writable = (*p)[1] == 'w';
    e->executable = (*p)[2] == 'x';
    e->shared = (*p)[3] == 's';
    *p = skip_spaces(*p + 4);
    if (!bl_read_hex(p, &e->offset) || *(*p)++ != ' ' ||
        !bl_read_hex(p, &major) || *(*p)++ != ':' || !bl_read_hex(p, &minor) ||
        *(*p)++ != ' ' || !bl_read_u64(p, &e->inode))
        return false;
    e->major = (uint32_t)major;
    e->minor = (uint32_t)minor;
    return true;
}

bool bl_maps_next(const char **cursor, struct bl_maps_entry *out) {
    const char *p = *cursor;
    *out = (struct bl_maps_entry){0};
    if (*p == '\0' || !read_numbers(&p, out))
        return false;
    p = skip_spaces(p);
    size_t n = 0;
    for (; *p && *p != '\n'; p++) {
        if (n + 1 < sizeof out->path)
            out->path[n++] = *p;
    }
    out->path[n] = '\0';
    // A last line without its end was cut off.
    if (*p != '\n')
        return false;
    *cursor = p + 1;
    return true;
}
