// SPDX-License-Identifier: MIT
#include "image/layout.h"

// Symbols beyond this are left out: a shadow takes memory as long as it lives.
#define SYMBOL_LIMIT (64 * BL_MIB)

static struct bl_layout_piece *add_piece(struct bl_layout *l, uint64_t from,
                                         uint64_t to, uint64_t bytes) {
    BL_ASSERT(l->count < BL_LAYOUT_PIECES);
    struct bl_layout_piece *p = &l->pieces[l->count++];
    *p = (struct bl_layout_piece){.from = from, .to = to, .bytes = bytes};
    l->copied += bytes;
    if (to + bytes > l->size)
        l->size = to + bytes;
    return p;
}

// One read-only segment: its base pages in the file, and its units relative
// to the first of them.
struct part {
    uint64_t from;
    uint64_t bytes;
    uint64_t before; // the units begin so much before it (0: inside)
    uint64_t behind; // and end so much behind it
    uint64_t inside; // or begin so much inside
    uint64_t units;  // bytes of all units; 0: none
    uint64_t phase;  // of its first base page, modulo 2 MiB
};

static bool part_of(const struct bl_elf *elf, uint32_t index,
                    uint64_t file_bytes, uint64_t phase, struct part *out) {
    const struct bl_elf_segment *s = &elf->segments[index];
    uint64_t start;
    uint64_t end;
    if (!bl_elf_is_read_only(s) || s->file_bytes == 0)
        return false;
    const uint64_t from = bl_align_down(s->offset, BL_BASE_SIZE);
    uint64_t stop = bl_align_up(s->offset + s->file_bytes, BL_BASE_SIZE);
    if (stop > file_bytes)
        stop = file_bytes;
    const uint64_t first = bl_align_down(s->vaddr, BL_BASE_SIZE) + phase;
    const uint64_t last = first + (stop - from);
    *out = (struct part){
        .from = from, .bytes = stop - from, .phase = first % BL_HUGE_SIZE};
    if (bl_elf_units(elf, index, phase, &start, &end)) {
        out->before = start < first ? first - start : 0;
        out->inside = start > first ? start - first : 0;
        out->behind = end > last ? end - last : 0;
        out->units = end - start;
    }
    return true;
}

static bool is_alone(const struct bl_elf *elf, uint32_t index, uint64_t low,
                     uint64_t high) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < elf->count; i++) {
        const struct bl_elf_segment *s = &elf->segments[i];
        const uint64_t end = s->offset + s->file_bytes;
        if (end > most)
            most = end;
        if (i != index && s->file_bytes && s->offset < high && end > low)
            return false;
    }
    return high <= most; // what no segment loads lies behind them all
}

// True where the units can be mapped from the place that the segment has in
// the source already.
static bool fits_in_place(const struct bl_elf *elf, uint32_t index,
                          const struct part *p) {
    if (p->units == 0)
        return true;
    if (p->from % BL_HUGE_SIZE != p->phase)
        return false;
    return (p->before == 0 && p->behind < BL_BASE_SIZE) ||
           (p->before <= p->from && is_alone(elf, index, p->from - p->before,
                                             p->from + p->bytes + p->behind));
}

// When one segment moves, the program headers change; then a segment that is
// mapped with those headers in it moves too, and keeps them as they were.
static bool something_moves(const struct bl_elf *elf, uint64_t file_bytes,
                            uint64_t phase) {
    struct part p;
    for (uint32_t i = 0; i < elf->count; i++) {
        if (part_of(elf, i, file_bytes, phase, &p) &&
            !fits_in_place(elf, i, &p))
            return true;
    }
    return false;
}

static void place_segments(const struct bl_elf *elf, uint64_t file_bytes,
                           uint64_t phase, struct bl_layout *l) {
    struct part p;
    l->moved = something_moves(elf, file_bytes, phase);
    for (uint32_t i = 0; i < elf->count; i++) {
        if (!part_of(elf, i, file_bytes, phase, &p))
            continue;
        const bool stays =
            fits_in_place(elf, i, &p) && !(l->moved && p.units && p.from == 0);
        const uint64_t to =
            stays ? p.from : bl_align_up(l->size, BL_HUGE_SIZE) + p.phase;
        l->segment[l->count] = i;
        struct bl_layout_piece *piece = add_piece(l, p.from, to, p.bytes);
        piece->units_from = to - p.before + p.inside;
        piece->units_to = piece->units_from + p.units;
        if (piece->units_to > l->size)
            l->size = piece->units_to;
    }
    l->loads = l->count;
}

static bool in_file(const Elf64_Shdr *s, uint64_t file_bytes) {
    return s->sh_type != SHT_NOBITS && s->sh_offset <= file_bytes &&
           s->sh_size <= file_bytes - s->sh_offset;
}

// The symbol table, its strings and the names of sections: all, or none where
// they are beyond the limit.
static void place_symbols(uint64_t file_bytes,
                          const struct bl_layout_sections *sections,
                          struct bl_layout *l) {
    uint32_t wanted[3];
    uint32_t n = 0;
    uint64_t sum = 0;
    for (uint32_t i = 1; i < sections->count && n == 0; i++) {
        if (sections->table[i].sh_type != SHT_SYMTAB)
            continue;
        wanted[n++] = i;
        wanted[n++] = sections->table[i].sh_link;
    }
    if (sections->names && (n < 2 || sections->names != wanted[1]))
        wanted[n++] = sections->names;
    for (uint32_t i = 0; i < n; i++) {
        if (wanted[i] >= sections->count ||
            !in_file(&sections->table[wanted[i]], file_bytes))
            return;
        sum += sections->table[wanted[i]].sh_size;
    }
    if (sum > SYMBOL_LIMIT)
        return;
    for (uint32_t i = 0; i < n; i++) {
        const Elf64_Shdr *s = &sections->table[wanted[i]];
        add_piece(l, s->sh_offset, s->sh_offset, s->sh_size);
    }
}

// The shadow is at least as long as the source, so that every header that is
// not touched still points inside it; what is not copied is a hole.
void bl_layout_make(const struct bl_elf *elf, uint64_t file_bytes,
                    uint64_t phase, const struct bl_layout_sections *sections,
                    struct bl_layout *out) {
    *out = (struct bl_layout){.size = file_bytes};
    place_segments(elf, file_bytes, phase, out);
    place_symbols(file_bytes, sections, out);
}

// What was at `from` + x of segment piece p is now at `to` + x.
static uint64_t shift_of(const struct bl_layout *l, uint32_t piece) {
    return l->pieces[piece].to - l->pieces[piece].from;
}

// perf looks a build-id up in its cache and takes offsets from the file it
// finds there: a shadow with other offsets must not carry the same one.
void bl_layout_fix_programs(const struct bl_elf *elf,
                            const struct bl_layout *layout,
                            Elf64_Phdr *headers) {
    for (uint32_t p = 0; p < layout->loads; p++) {
        const struct bl_elf_segment *s = &elf->segments[layout->segment[p]];
        for (uint32_t i = 0; i < elf->headers; i++) {
            Elf64_Phdr *h = &headers[i];
            if (h->p_filesz && h->p_vaddr >= s->vaddr &&
                h->p_vaddr < s->vaddr + s->file_bytes)
                h->p_offset += shift_of(layout, p);
        }
    }
    for (uint32_t i = 0; i < elf->headers && layout->moved; i++) {
        if (headers[i].p_type == PT_NOTE)
            headers[i].p_type = PT_NULL;
    }
}

static bool is_copied(const struct bl_layout *l, const Elf64_Shdr *s) {
    for (uint32_t i = l->loads; i < l->count; i++) {
        if (l->pieces[i].from == s->sh_offset &&
            l->pieces[i].bytes == s->sh_size)
            return true;
    }
    return false;
}

static bool move_with_segment(const struct bl_elf *elf,
                              const struct bl_layout *layout, Elf64_Shdr *s) {
    for (uint32_t p = 0; p < layout->loads; p++) {
        const struct bl_elf_segment *g = &elf->segments[layout->segment[p]];
        if ((s->sh_flags & SHF_ALLOC) && s->sh_addr >= g->vaddr &&
            s->sh_addr < g->vaddr + g->file_bytes) {
            s->sh_offset += shift_of(layout, p);
            return true;
        }
    }
    return false;
}

// Readers look for sections by name and take for granted that one they find
// has contents, so what is left out loses its name as well.
static void leave_out(Elf64_Shdr *s) {
    s->sh_type = SHT_NOBITS;
    s->sh_name = 0;
}

void bl_layout_fix_sections(const struct bl_elf *elf,
                            const struct bl_layout *layout,
                            const struct bl_layout_sections *sections) {
    for (uint32_t i = 1; i < sections->count; i++) {
        Elf64_Shdr *s = &sections->table[i];
        const bool present =
            is_copied(layout, s) || move_with_segment(elf, layout, s);
        if (!present || (layout->moved && s->sh_type == SHT_NOTE))
            leave_out(s);
    }
}
