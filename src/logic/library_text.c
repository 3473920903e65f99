// SPDX-License-Identifier: MIT
//
// The library in Prolog, as bytes of the program.
//
#include "logic/engine.h"

__asm__(".section .rodata\n"
        ".globl bl_library_text\n"
        ".hidden bl_library_text\n"
        ".type bl_library_text, %object\n"
        "bl_library_text:\n"
        ".incbin \"" BL_LIBRARY_FILE "\"\n"
        ".byte 0\n"
        ".size bl_library_text, . - bl_library_text\n"
        ".previous\n");
