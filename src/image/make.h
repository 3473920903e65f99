// SPDX-License-Identifier: MIT
//
// Filling a shadow file. Private to `image`.
//
#ifndef BL_IMAGE_MAKE_H
#define BL_IMAGE_MAKE_H

#include "image/layout.h"
#include "image/shadow.h"

// The name of a file while it is made. One is enough: makers hold the lock.
#define BL_SHADOW_TEMPORARY "making"
#define BL_SHADOW_SEALING "sealing" // and of its seal

// Writes the finished shadow, mode 0400 and with the source's time of
// modification, under BL_SHADOW_TEMPORARY. NULL, or why not.
const char *bl_shadow_make(int directory, const struct bl_shadow_source *source,
                           struct bl_layout *layout);

// Makes room for `bytes` more among the shadows, those unused for longest
// first. False where they already take their share of the tmpfs.
bool bl_shadow_make_room(int directory, uint64_t bytes);

#endif
