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

// Writes the finished shadow, mode 0400 and with the source's time of
// modification, under BL_SHADOW_TEMPORARY. NULL, or why not.
const char *bl_shadow_make(int directory, const struct bl_shadow_source *source,
                           struct bl_layout *layout);

#endif
