// SPDX-License-Identifier: MIT
#include "image/layout.h"

// Symbols beyond this are left out: a shadow takes memory as long as it lives.
#define SYMBOL_LIMIT (64 * BL_MIB)

static void add_piece(struct bl_layout *l, uint64_t from, uint64_t to,
                      uint64_t bytes, bool units) {
    BL_ASSERT(l->count < BL_LAYOUT_PIECES);
    l->pieces[l->count++] = (struct bl_layout_piece){from, to, bytes, units};
    l->copied += bytes;
    if (to + bytes > l->size)
        l->size = to + bytes;
}

// The smallest offset at or above `low` that fits the address `vaddr` + phase.
static uint64_t fitting_offset(uint64_t low, uint64_t vaddr, uint64_t phase) {
    const uint64_t want = (vaddr + phase) % BL_HUGE_SIZE;
    return bl_align_down(low + (BL_HUGE_SIZE - 1 - want), BL_HUGE_SIZE) + want;
}

static bool has_units(const struct bl_elf_segment *s, uint64_t phase) {
    uint64_t start;
    uint64_t end;
    return bl_elf_units(s, phase, &start, &end);
}

static bool fits_in_place(const struct bl_elf_segment *s, uint64_t phase) {
    return (s->vaddr + phase - s->offset) % BL_HUGE_SIZE == 0;
}

// When one segment moves, the program headers change; then a segment that is
// mapped with those headers in it moves too, and keeps them as they were.
static bool something_moves(const struct bl_elf *elf, uint64_t phase) {
    for (uint32_t i = 0; i < elf->count; i++) {
        const struct bl_elf_segment *s = &elf->segments[i];
        if (bl_elf_is_read_only(s) && has_units(s, phase) &&
            !fits_in_place(s, phase))
            return true;
    }
    return false;
}

static void place_segments(const struct bl_elf *elf, uint64_t file_bytes,
                           uint64_t phase, struct bl_layout *l) {
    const bool moves = something_moves(elf, phase);
    for (uint32_t i = 0; i < elf->count; i++) {
        const struct bl_elf_segment *s = &elf->segments[i];
        if (!bl_elf_is_read_only(s) || s->file_bytes == 0)
            continue;
        const uint64_t from = bl_align_down(s->offset, BL_BASE_SIZE);
        uint64_t stop = bl_align_up(s->offset + s->file_bytes, BL_BASE_SIZE);
        if (stop > file_bytes)
            stop = file_bytes;
        const uint64_t vaddr = bl_align_down(s->vaddr, BL_BASE_SIZE);
        const bool units = has_units(s, phase);
        const bool stays =
            !units || (fits_in_place(s, phase) && !(moves && from == 0));
        const uint64_t to =
            stays ? from : fitting_offset(l->size, vaddr, phase);
        l->moved |= to != from;
        l->segment[l->count] = i;
        add_piece(l, from, to, stop - from, units);
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
        add_piece(l, s->sh_offset, s->sh_offset, s->sh_size, false);
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
