// SPDX-License-Identifier: MIT
//
// A tree of calls as a flame graph: an SVG that needs nothing else. A frame is
// as wide as its share of the walks; below stands who called it. A click on a
// frame makes it as wide as the picture.
//
#ifndef BL_CLI_FLAME_H
#define BL_CLI_FLAME_H

#include "cli/misses.h"

void bl_flame_write(FILE *out, const struct bl_misses *misses,
                    enum bl_tlb_policy policy, const char *title);

#endif
