// SPDX-License-Identifier: MIT
#include "image/maps.h"

#include "os/os.h"

#include <errno.h>

// 256 KiB hold some 2500 mappings; only what is read takes memory. More are
// not expected at the start of a program, and what is cut is left alone.
#define TEXT_CAPACITY (256 * BL_KIB)

// What lies behind the last end of a line was cut off.
static void split_lines(struct bl_maps *maps, size_t length) {
    size_t end = 0;
    for (size_t i = 0; i < length; i++) {
        if (maps->text[i] != '\n')
            continue;
        maps->text[i] = '\0';
        end = i + 1;
    }
    maps->text[end] = '\0';
    maps->cut = length + 1 >= maps->bytes;
}

int bl_maps_read(int pid, struct bl_maps *out) {
    *out = (struct bl_maps){.bytes = TEXT_CAPACITY};
    out->text = bl_file_scratch(TEXT_CAPACITY);
    if (!out->text)
        return -ENOMEM;
    const long got = bl_file_read_maps(pid, out->text, TEXT_CAPACITY);
    if (got < 0)
        bl_maps_free(out);
    else
        split_lines(out, (size_t)got);
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

// "start-end rwxp offset major:minor inode   path"
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
    *out = (struct bl_maps_entry){.path = ""};
    if (*p == '\0' || !read_numbers(&p, out))
        return false;
    out->path = skip_spaces(p);
    for (p = out->path; *p; p++)
        ;
    *cursor = p + 1;
    return true;
}

struct bl_maps_entry bl_maps_of_file(const struct bl_file_facts *facts) {
    struct bl_maps_entry e = {.inode = facts->inode, .path = ""};
    bl_file_device_parts(facts->device, &e.major, &e.minor);
    return e;
}

bool bl_maps_is_same_file(const struct bl_maps_entry *a,
                          const struct bl_maps_entry *b) {
    return a->inode == b->inode && a->major == b->major && a->minor == b->minor;
}

bool bl_maps_identify(int fd, struct bl_maps_entry *out) {
    struct bl_maps maps;
    bool found = false;
    char *const at = bl_file_scratch(BL_BASE_SIZE);
    if (!at)
        return false;
    if (bl_file_map_over(at, BL_BASE_SIZE, BL_FILE_READ, fd, 0, false) == 0 &&
        bl_maps_read(0, &maps) == 0) {
        for (const char *p = maps.text; !found && bl_maps_next(&p, out);)
            found = out->start <= (uintptr_t)at && (uintptr_t)at < out->end;
        bl_maps_free(&maps);
    }
    bl_file_scratch_free(at, BL_BASE_SIZE);
    out->path = "";
    return found;
}
