// SPDX-License-Identifier: MIT
//
// Segments with whole units are written through a mapping, whose pages are
// made huge while they are still empty (one base page in each unit is all
// that MADV_COLLAPSE asks for): collapsing after the copy costs a second copy
// (45 ms against 10 ms for 16 MiB). Room is reserved before a byte is
// touched, so a full tmpfs is a result here and no signal.
//
// On hugetlbfs the pages are the pool's and huge from the start; all else goes
// the same way, but that nothing is written there except through a mapping.
//
#include "image/make.h"

#include "os/os.h"

#include <errno.h>

#define CHUNK (256 * BL_KIB)

struct maker {
    const struct bl_shadow_source *source;
    const struct bl_layout *layout;
    struct bl_layout_sections sections;
    Elf64_Ehdr header;
    int directory;
    bool pool; // it is on hugetlbfs
    int fd;
    unsigned char *chunk; // CHUNK bytes
};

static const char no_pool_pages[] =
    "the pool of huge pages has too few for the shadow";

static const char *no_room(const struct maker *m, int result) {
    if (result != -ENOSPC && result != -ENOMEM && result != -EDQUOT)
        return "the shadow cannot be written";
    return m->pool ? no_pool_pages
                   : "the tmpfs of the shadow directory is full";
}

// What is shown while a piece with units is copied: whole units, but for the
// end.
struct view {
    uint64_t start;
    uint64_t bytes;
};

static struct view view_of(const struct bl_layout_piece *p) {
    const bool units = p->units_from < p->units_to;
    const uint64_t end = p->to + p->bytes;
    const uint64_t low = units && p->units_from < p->to ? p->units_from : p->to;
    const uint64_t high = units && p->units_to > end ? p->units_to : end;
    const uint64_t start = bl_align_down(low, BL_HUGE_SIZE);
    return (struct view){start, bl_align_up(high - start, BL_BASE_SIZE)};
}

static unsigned char *map_view(const struct maker *m, struct view v) {
    return bl_file_map_shared(v.bytes, m->fd, v.start);
}

static void unmap_view(unsigned char *at, struct view v) {
    bl_file_scratch_free(at, bl_align_up(v.bytes, BL_HUGE_SIZE));
}

// All pages at once, before one is cleared and filled: where the pool has too
// few, every start would do that in vain.
static bool set_pages_aside(const struct maker *m) {
    for (uint32_t i = 0; i < m->layout->count; i++) {
        const struct view v = view_of(&m->layout->pieces[i]);
        unsigned char *const at = map_view(m, v);
        if (!at)
            return false;
        unmap_view(at, v);
    }
    return true;
}

// Before the contents: a huge page costs least where nothing is. `at` shows
// the file from `start` on.
static int make_huge(const struct maker *m, unsigned char *at, uint64_t start,
                     const struct bl_layout_piece *p) {
    for (uint64_t unit = p->units_from; unit < p->units_to;
         unit += BL_HUGE_SIZE)
        bl_file_reserve(m->fd, unit, BL_BASE_SIZE);
    bl_os.collapse(at + (p->units_from - start), p->units_to - p->units_from);
    const int units =
        bl_file_reserve(m->fd, p->units_from, p->units_to - p->units_from);
    return units < 0 ? units : bl_file_reserve(m->fd, p->to, p->bytes);
}

static const char *compare(const struct maker *m, const unsigned char *copy,
                           uint64_t from, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes; done += CHUNK) {
        const size_t n = bytes - done < CHUNK ? bytes - done : CHUNK;
        if (bl_file_read_at(m->source->fd, m->chunk, n, from + done) < 0)
            return "the file cannot be read";
        if (__builtin_memcmp(m->chunk, copy + done, n) != 0)
            return "the file is being changed";
    }
    return NULL;
}

static const char *copy_units(const struct maker *m,
                              const struct bl_layout_piece *p) {
    const struct view v = view_of(p);
    unsigned char *const at = map_view(m, v);
    if (!at)
        return "no address space to make the shadow in";
    const int room = make_huge(m, at, v.start, p);
    const char *wrong = room < 0 ? no_room(m, room) : NULL;
    unsigned char *const to = at + (p->to - v.start);
    if (!wrong && bl_file_read_at(m->source->fd, to, p->bytes, p->from) < 0)
        wrong = "the file cannot be read";
    if (!wrong)
        wrong = compare(m, to, p->from, p->bytes);
    unmap_view(at, v);
    return wrong;
}

static const char *copy_plain(const struct maker *m,
                              const struct bl_layout_piece *p) {
    for (uint64_t done = 0; done < p->bytes; done += CHUNK) {
        const size_t n = p->bytes - done < CHUNK ? p->bytes - done : CHUNK;
        if (bl_file_read_at(m->source->fd, m->chunk, n, p->from + done) < 0)
            return "the file cannot be read";
        const int put = bl_file_write_at(m->fd, m->chunk, n, p->to + done);
        if (put < 0)
            return no_room(m, put);
    }
    return NULL;
}

static const char *copy_pieces(const struct maker *m) {
    for (uint32_t i = 0; i < m->layout->count; i++) {
        const struct bl_layout_piece *p = &m->layout->pieces[i];
        const char *wrong =
            p->units_from < p->units_to ? copy_units(m, p) : copy_plain(m, p);
        if (wrong)
            return wrong;
    }
    return NULL;
}

// Headers last: they lie over what the first piece brought.
static const char *write_headers(struct maker *m) {
    const struct bl_elf *elf = m->source->elf;
    Elf64_Phdr programs[BL_ELF_HEADERS];
    Elf64_Ehdr h = m->header;
    const size_t bytes = elf->headers * sizeof programs[0];
    if (bl_file_read_at(m->source->fd, programs, bytes, elf->headers_offset) <
        0)
        return "the file cannot be read";
    bl_layout_fix_programs(elf, m->layout, programs);
    // perf takes addresses of position-independent files for offsets and
    // corrects them in others only (6.1); nobody ever loads a shadow. The
    // layout leaves out the build-id of such a shadow as well.
    if (m->layout->moved)
        h.e_type = ET_EXEC;
    bl_layout_fix_sections(elf, m->layout, &m->sections);
    if (m->sections.count == 0) {
        h.e_shoff = 0;
        h.e_shnum = 0;
        h.e_shstrndx = 0;
    }
    int put = bl_file_write_at(m->fd, &h, sizeof h, 0);
    if (put == 0)
        put = bl_file_write_at(m->fd, programs, bytes, elf->headers_offset);
    if (put == 0 && m->sections.count)
        put =
            bl_file_write_at(m->fd, m->sections.table,
                             m->sections.count * sizeof(Elf64_Shdr), h.e_shoff);
    return put < 0 ? no_room(m, put) : NULL;
}

// A table of an unknown form, or inside what is loaded, is left out.
static void read_sections(struct maker *m, Elf64_Shdr *table) {
    const Elf64_Ehdr *h = &m->header;
    const uint64_t size = m->source->facts.size;
    const size_t bytes = h->e_shnum * sizeof *table;
    const struct bl_elf *elf = m->source->elf;
    m->sections = (struct bl_layout_sections){.table = table};
    if (h->e_shnum == 0 || h->e_shnum > BL_LAYOUT_SECTIONS ||
        h->e_shentsize != sizeof *table || h->e_shoff > size ||
        bytes > size - h->e_shoff)
        return;
    for (uint32_t i = 0; i < elf->count; i++) {
        const struct bl_elf_segment *s = &elf->segments[i];
        if (h->e_shoff < s->offset + s->file_bytes &&
            h->e_shoff + bytes > s->offset)
            return;
    }
    if (bl_file_read_at(m->source->fd, table, bytes, h->e_shoff) < 0)
        return;
    m->sections.count = h->e_shnum;
    m->sections.names = h->e_shstrndx;
}

static const char *fill(struct maker *m, struct bl_layout *layout) {
    const struct bl_shadow_source *source = m->source;
    bl_layout_make(source->elf, source->facts.size, source->phase, &m->sections,
                   layout);
    m->layout = layout;
    if (m->pool)
        layout->size = bl_align_up(layout->size, BL_HUGE_SIZE);
    if (!bl_shadow_make_room(m->directory, layout->copied))
        return m->pool ? no_pool_pages
                       : "the shadows would take too much of the tmpfs";
    if (layout->size > bl_file_size_limit())
        return "the copy would exceed the limit on file sizes";
    const int sized = bl_file_set_size(m->fd, layout->size);
    if (sized < 0)
        return no_room(m, sized);
    if (m->pool && !set_pages_aside(m))
        return no_pool_pages;
    const char *wrong = copy_pieces(m);
    if (!wrong)
        wrong = write_headers(m);
    if (wrong)
        return wrong;
    if (bl_file_set_modified(m->fd, source->facts.modified) < 0 ||
        bl_file_set_mode(m->fd, 0400) < 0)
        return "the shadow cannot be protected";
    return NULL;
}

const char *bl_shadow_make(int directory, const struct bl_shadow_source *source,
                           struct bl_layout *layout) {
    struct maker m = {.source = source, .directory = directory};
    struct bl_file_system_facts system;
    const size_t table = BL_LAYOUT_SECTIONS * sizeof(Elf64_Shdr);
    if (bl_file_read_at(source->fd, &m.header, sizeof m.header, 0) < 0)
        return "the file cannot be read";
    m.pool = bl_file_system_facts(directory, &system) == 0 &&
             system.kind == BL_FILE_HUGETLBFS;
    m.chunk = bl_file_scratch(CHUNK + table);
    if (!m.chunk)
        return "no memory to make the shadow with";
    read_sections(&m, (Elf64_Shdr *)(void *)(m.chunk + CHUNK));
    bl_file_unlink_at(directory, BL_SHADOW_TEMPORARY);
    m.fd = bl_file_create_at(directory, BL_SHADOW_TEMPORARY, 0600);
    const char *wrong =
        m.fd < 0 ? "the shadow cannot be created" : fill(&m, layout);
    if (m.fd >= 0)
        bl_os_close(m.fd);
    bl_file_scratch_free(m.chunk, CHUNK + table);
    return wrong;
}
