// SPDX-License-Identifier: MIT
//
// The library in Prolog, as bytes of the program.
//
#include "logic/engine.h"

#define TEXT(name, file)                                                       \
    __asm__(".section .rodata\n"                                               \
            ".globl " name "\n"                                                \
            ".hidden " name "\n"                                               \
            ".type " name ", %object\n" name ":\n"                             \
            ".incbin \"" file "\"\n"                                           \
            ".byte 0\n"                                                        \
            ".size " name ", . - " name "\n"                                   \
            ".previous\n")

TEXT("bl_library_text", BL_LIBRARY_FOLDER "/library.pl");
TEXT("bl_library_data_text", BL_LIBRARY_FOLDER "/library_data.pl");
