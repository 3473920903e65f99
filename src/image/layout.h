// SPDX-License-Identifier: MIT
//
// Where the parts of an ELF file lie in its shadow, and the headers that say
// so. Private to `image`.
//
#ifndef BL_IMAGE_LAYOUT_H
#define BL_IMAGE_LAYOUT_H

#include "image/elf.h"

// Part of the source that is copied; all in bytes.
struct bl_layout_piece {
    uint64_t from;
    uint64_t to;
    uint64_t bytes;
    // The 2 MiB units of the loaded image in the shadow; empty: none. They
    // may begin before `to` and end behind `to` + `bytes`: zeros there.
    uint64_t units_from;
    uint64_t units_to;
};

#define BL_LAYOUT_PIECES (BL_ELF_SEGMENTS + 4)
// Section headers held at most; a file with more keeps none.
#define BL_LAYOUT_SECTIONS 1024

struct bl_layout {
    struct bl_layout_piece pieces[BL_LAYOUT_PIECES];
    uint32_t count;
    uint32_t loads; // pieces[0..loads) are read-only segments
    uint32_t segment[BL_ELF_SEGMENTS]; // of piece i < loads
    uint64_t size;                     // of the shadow
    uint64_t copied;                   // bytes in all pieces
    bool moved;                        // some segment lies at another offset
};

// The source's section table; `count` 0 where it has none.
struct bl_layout_sections {
    Elf64_Shdr *table;
    uint32_t count;
    uint32_t names; // index of the section that holds their names
};

void bl_layout_make(const struct bl_elf *elf, uint64_t file_bytes,
                    uint64_t phase, const struct bl_layout_sections *sections,
                    struct bl_layout *out);

// Rewrites the headers of the source into those of the shadow.
void bl_layout_fix_programs(const struct bl_elf *elf,
                            const struct bl_layout *layout,
                            Elf64_Phdr *headers);
void bl_layout_fix_sections(const struct bl_elf *elf,
                            const struct bl_layout *layout,
                            const struct bl_layout_sections *sections);

#endif
