// SPDX-License-Identifier: MIT
//
// Include this in one source file of a program or library to mark it: its
// text and read-only data are wanted on huge pages. The mark is a note
// (`bigleaf.huge`: name "bigleaf", type 1, one word of the segments wanted:
// 1 text, 2 read-only data) that a machine without Bigleaf passes over.
//
// Link with -Wl,-z,max-page-size=0x200000 (GNU ld, gold, lld and mold know
// it), so that loaders place the object at a multiple of 2 MiB.
//
#ifndef BIGLEAF_HUGE_H
#define BIGLEAF_HUGE_H

#ifdef __ELF__
__asm__(".pushsection .note.bigleaf.huge,\"a\",%note\n"
        ".balign 4\n"
        ".long 8, 4, 1\n"
        ".asciz \"bigleaf\"\n"
        ".long 3\n"
        ".popsection\n");
#endif

#endif
