// SPDX-License-Identifier: MIT
//
// One ELF file, read by hand: what of it is loaded where, and by what name the
// world knows it. Nothing is believed before it is checked against the size of
// the file; a file that is not a plain 64-bit ELF of this machine is refused
// with a reason. Allocates nothing.
//
#ifndef BL_IMAGE_ELF_H
#define BL_IMAGE_ELF_H

#include "base/base.h"

#include <elf.h>

#define BL_ELF_SEGMENTS 16 // PT_LOADs; linkers make 2 to 6
#define BL_ELF_HEADERS 64  // program headers
#define BL_ELF_BUILD_ID 32 // bytes; 20 is usual

// The mark: this bit in the flags of a PT_LOAD (one that is left to systems;
// kernels and loaders pass over it; libhugetlbfs uses its neighbour), or a
// note of this name and type. See include/bigleaf/huge.h.
#define BL_ELF_WANTED 0x00200000u
#define BL_ELF_NOTE_NAME "bigleaf"
#define BL_ELF_NOTE_HUGE 1

// A PT_LOAD.
struct bl_elf_segment {
    uint64_t vaddr;
    uint64_t offset;
    uint64_t file_bytes;
    uint64_t memory_bytes;
    uint64_t align;
    uint32_t flags;  // PF_R | PF_W | PF_X
    uint32_t header; // its index among the program headers
};

struct bl_elf {
    struct bl_elf_segment segments[BL_ELF_SEGMENTS];
    uint32_t count;
    uint32_t headers;        // program headers
    uint64_t headers_offset; // of the first
    uint64_t entry;
    uint64_t low;  // first base page of the image, a virtual address
    uint64_t high; // end of its last
    bool position_independent;
    bool interpreter; // PT_INTERP: ld.so is to run first
    bool text_relocations;
    bool marked; // wanted on huge pages
    uint8_t build_id[BL_ELF_BUILD_ID];
    uint32_t build_id_bytes; // 0: none
};

// Reads the open file. NULL when all is well, else why not, as part of a
// sentence: "not an ELF file".
const char *bl_elf_read(int fd, uint64_t file_bytes, struct bl_elf *out);

// The mark, looked for in the note segment of which these are the bytes.
bool bl_elf_note_marks(const void *notes, size_t bytes, size_t align);

// True for a segment whose bytes no part of the program may write.
bool bl_elf_is_read_only(const struct bl_elf_segment *segment);

// The 2 MiB units of read-only segment `index` loaded with `bias` added to
// its addresses: false where there is none. Whole units of the segment; and
// where it was linked for huge pages (p_align), at either end also a unit
// that it fills in part and no other segment touches.
bool bl_elf_units(const struct bl_elf *elf, uint32_t index, uint64_t bias,
                  uint64_t *start, uint64_t *end);

// Bytes in the units of all read-only segments under `bias`.
uint64_t bl_elf_unit_bytes(const struct bl_elf *elf, uint64_t bias);

#endif
