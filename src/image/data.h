// SPDX-License-Identifier: MIT
//
// What a program writes, on huge pages by THP: the data of its objects, the
// memory behind brk, and the first thread's stack. Private to `image`.
//
// .bss, brk and stack are anonymous memory: the kernel is asked for huge pages
// at their first touch. The written part of a file is not, and no kernel makes
// huge pages of what a process has changed of a file: its whole units become
// anonymous memory with the same bytes.
//
#ifndef BL_IMAGE_DATA_H
#define BL_IMAGE_DATA_H

#include "image/maps.h"

// Both for a process with one thread.
void bl_image_take_data(const struct bl_maps *maps);
// Grows the stack to the limit the user has set, but not beyond 64 MiB: a unit
// can be huge only where the stack already reaches below it. Takes no memory,
// but addresses: nothing is done where those are limited.
void bl_image_take_stack(const struct bl_maps *maps);

#endif
