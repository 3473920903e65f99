// SPDX-License-Identifier: MIT
#include "image/elf.h"

#include "os/file.h"

#if defined(__x86_64__)
#define NATIVE_MACHINE EM_X86_64
#else
#define NATIVE_MACHINE EM_AARCH64
#endif

// A note segment is read whole; the build-id's lies in the first KiB.
#define NOTE_LIMIT 1024
#define DYNAMIC_BATCH 32
// Less than this of a unit is not worth a huge page of its own.
#define FILL_LEAST (64 * BL_KIB)

static bool fits(uint64_t offset, uint64_t bytes, uint64_t file_bytes) {
    return offset <= file_bytes && bytes <= file_bytes - offset;
}

static const char *check_header(const Elf64_Ehdr *h) {
    if (__builtin_memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
        return "not an ELF file";
    if (h->e_ident[EI_CLASS] != ELFCLASS64)
        return "a 32-bit program";
    if (h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_machine != NATIVE_MACHINE)
        return "built for another machine";
    if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
        return "neither a program nor a library";
    if (h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phnum == 0 ||
        h->e_phnum > BL_ELF_HEADERS)
        return "program headers of an unknown form";
    return NULL;
}

static const char *add_segment(struct bl_elf *elf, const Elf64_Phdr *p,
                               uint32_t index, uint64_t file_bytes) {
    uint64_t end;
    if (p->p_memsz == 0)
        return NULL;
    if (elf->count == BL_ELF_SEGMENTS)
        return "more segments than expected";
    if (!fits(p->p_offset, p->p_filesz, file_bytes) ||
        p->p_filesz > p->p_memsz ||
        bl_add_overflows(p->p_vaddr, p->p_memsz, &end) ||
        end > UINT64_MAX - BL_HUGE_SIZE ||
        (p->p_vaddr - p->p_offset) % BL_BASE_SIZE != 0)
        return "a segment that does not fit the file";
    if (elf->count && p->p_vaddr < elf->high)
        return "segments that overlap or are out of order";
    if (elf->count == 0)
        elf->low = bl_align_down(p->p_vaddr, BL_BASE_SIZE);
    elf->segments[elf->count++] = (struct bl_elf_segment){
        .vaddr = p->p_vaddr,
        .offset = p->p_offset,
        .file_bytes = p->p_filesz,
        .memory_bytes = p->p_memsz,
        .align = p->p_align,
        .flags = p->p_flags,
        .header = index,
    };
    elf->high = end;
    elf->marked |= (p->p_flags & BL_ELF_WANTED) != 0;
    return NULL;
}

struct note {
    uint32_t type;
    const char *name;
    size_t name_bytes;
    const unsigned char *text;
    size_t text_bytes;
};

// Takes the note at *at and moves *at behind it; false at the end or where
// what is there is no note.
static bool next_note(const unsigned char *notes, size_t bytes, size_t align,
                      size_t *at, struct note *out) {
    Elf64_Nhdr n;
    if (bytes < sizeof n || *at > bytes - sizeof n)
        return false;
    __builtin_memcpy(&n, notes + *at, sizeof n);
    const size_t name = *at + sizeof n;
    const size_t text = name + bl_align_up(n.n_namesz, align);
    const size_t next = text + bl_align_up(n.n_descsz, align);
    if (text < name || text > bytes || n.n_descsz > bytes - text || next < text)
        return false;
    *out = (struct note){
        .type = n.n_type,
        .name = (const char *)(notes + name),
        .name_bytes = n.n_namesz,
        .text = notes + text,
        .text_bytes = n.n_descsz,
    };
    *at = next;
    return true;
}

static bool is_named(const struct note *n, const char *name, size_t bytes) {
    return n->name_bytes == bytes &&
           __builtin_memcmp(n->name, name, bytes) == 0;
}

bool bl_elf_note_marks(const void *notes, size_t bytes, size_t align) {
    struct note n;
    for (size_t at = 0; next_note(notes, bytes, align == 8 ? 8 : 4, &at, &n);) {
        if (n.type == BL_ELF_NOTE_HUGE &&
            is_named(&n, BL_ELF_NOTE_NAME, sizeof BL_ELF_NOTE_NAME))
            return true;
    }
    return false;
}

static void read_notes(int fd, const Elf64_Phdr *p, struct bl_elf *elf) {
    unsigned char notes[NOTE_LIMIT];
    struct note n;
    const size_t bytes =
        p->p_filesz < sizeof notes ? p->p_filesz : sizeof notes;
    const size_t align = p->p_align == 8 ? 8 : 4;
    if (bl_file_read_at(fd, notes, bytes, p->p_offset) < 0)
        return;
    elf->marked |= bl_elf_note_marks(notes, bytes, align);
    for (size_t at = 0; next_note(notes, bytes, align, &at, &n);) {
        if (n.type != NT_GNU_BUILD_ID || !is_named(&n, "GNU", 4) ||
            n.text_bytes > BL_ELF_BUILD_ID || elf->build_id_bytes)
            continue;
        __builtin_memcpy(elf->build_id, n.text, n.text_bytes);
        elf->build_id_bytes = (uint32_t)n.text_bytes;
    }
}

static void read_dynamic(int fd, const Elf64_Phdr *p, struct bl_elf *elf) {
    Elf64_Dyn entries[DYNAMIC_BATCH];
    const uint64_t count = p->p_filesz / sizeof entries[0];
    for (uint64_t done = 0; done < count;) {
        const uint64_t n =
            count - done < DYNAMIC_BATCH ? count - done : DYNAMIC_BATCH;
        if (bl_file_read_at(fd, entries, n * sizeof entries[0],
                            p->p_offset + done * sizeof entries[0]) < 0)
            return;
        for (uint64_t i = 0; i < n; i++) {
            const Elf64_Dyn *d = &entries[i];
            if (d->d_tag == DT_NULL)
                return;
            if (d->d_tag == DT_TEXTREL ||
                (d->d_tag == DT_FLAGS && (d->d_un.d_val & DF_TEXTREL)))
                elf->text_relocations = true;
        }
        done += n;
    }
}

static const char *take_header(int fd, struct bl_elf *elf, const Elf64_Phdr *p,
                               uint32_t index, uint64_t file_bytes) {
    switch (p->p_type) {
    case PT_LOAD:
        return add_segment(elf, p, index, file_bytes);
    case PT_INTERP:
        elf->interpreter = true;
        return NULL;
    case PT_NOTE:
        read_notes(fd, p, elf);
        return NULL;
    case PT_DYNAMIC:
        read_dynamic(fd, p, elf);
        return NULL;
    default:
        return NULL;
    }
}

const char *bl_elf_read(int fd, uint64_t file_bytes, struct bl_elf *out) {
    Elf64_Ehdr h;
    Elf64_Phdr headers[BL_ELF_HEADERS];
    *out = (struct bl_elf){0};
    if (bl_file_read_at(fd, &h, sizeof h, 0) < 0)
        return "not an ELF file";
    const char *wrong = check_header(&h);
    if (wrong)
        return wrong;
    const size_t bytes = h.e_phnum * sizeof headers[0];
    if (!fits(h.e_phoff, bytes, file_bytes) ||
        bl_file_read_at(fd, headers, bytes, h.e_phoff) < 0)
        return "program headers outside the file";
    out->headers = h.e_phnum;
    out->headers_offset = h.e_phoff;
    out->entry = h.e_entry;
    out->position_independent = h.e_type == ET_DYN;
    for (uint32_t i = 0; i < h.e_phnum && !wrong; i++)
        wrong = take_header(fd, out, &headers[i], i, file_bytes);
    if (wrong)
        return wrong;
    if (out->count == 0)
        return "nothing to load";
    out->high = bl_align_up(out->high, BL_BASE_SIZE);
    return NULL;
}

bool bl_elf_is_read_only(const struct bl_elf_segment *segment) {
    return (segment->flags & PF_R) && !(segment->flags & PF_W);
}

static uint64_t first_page(const struct bl_elf_segment *s) {
    return bl_align_down(s->vaddr, BL_BASE_SIZE);
}

static uint64_t last_page_end(const struct bl_elf_segment *s) {
    return bl_align_up(s->vaddr + s->memory_bytes, BL_BASE_SIZE);
}

// Nothing lies below the first segment or behind the last that would be ours
// to take: those ends stay.
static void widen(const struct bl_elf *elf, uint32_t index, uint64_t bias,
                  uint64_t *start, uint64_t *end) {
    const struct bl_elf_segment *s = &elf->segments[index];
    const uint64_t first = first_page(s) + bias;
    const uint64_t last = last_page_end(s) + bias;
    const uint64_t low = bl_align_down(first, BL_HUGE_SIZE);
    const uint64_t high = bl_align_up(last, BL_HUGE_SIZE);
    const bool one_unit = low + BL_HUGE_SIZE == high;
    const uint64_t below = one_unit ? last - first : *start - first;
    const uint64_t above = one_unit ? last - first : last - *end;
    const bool free_below =
        low == first || (index > 0 && last_page_end(s - 1) + bias <= low);
    const bool free_above = high == last || (index + 1 < elf->count &&
                                             first_page(s + 1) + bias >= high);
    if (one_unit && !(free_below && free_above))
        return;
    if (free_below && below >= FILL_LEAST)
        *start = low;
    if (free_above && above >= FILL_LEAST)
        *end = high;
}

// The last base page of a read-only segment is mapped whole, so a unit may
// reach beyond the segment's last byte up to the end of that page; a .bss
// behind read-only bytes is no part of the file.
bool bl_elf_units(const struct bl_elf *elf, uint32_t index, uint64_t bias,
                  uint64_t *start, uint64_t *end) {
    const struct bl_elf_segment *s = &elf->segments[index];
    *start = bl_align_up(first_page(s) + bias, BL_HUGE_SIZE);
    *end = bl_align_down(last_page_end(s) + bias, BL_HUGE_SIZE);
    if (!bl_elf_is_read_only(s) || s->file_bytes != s->memory_bytes)
        return false;
    if (s->align >= BL_HUGE_SIZE)
        widen(elf, index, bias, start, end);
    return *start < *end;
}

uint64_t bl_elf_unit_bytes(const struct bl_elf *elf, uint64_t bias) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < elf->count; i++) {
        uint64_t start;
        uint64_t end;
        if (bl_elf_units(elf, i, bias, &start, &end))
            sum += end - start;
    }
    return sum;
}
