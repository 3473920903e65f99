// SPDX-License-Identifier: MIT
//
// Tells a signal that was sent to a whole process group (by timeout(1), or
// kill(1) with a negative number) from one that was sent to this process alone.
// The kernel says only who sent it. So a process of ours stands in the group,
// the *bystander*: it blocks all signals, does nothing, and is asked which of
// them it was sent, too. Whatever it got, every process of the group got.
//
// It ends with the process that began it, however that ends. It does not bear
// its name or command line: whoever sends signals by name does not mean it.
//
// Built into the `bigleaf` command only. One thread at a time.
//
#ifndef BL_OS_BYSTANDER_H
#define BL_OS_BYSTANDER_H

#include "base/base.h"

struct bl_bystander {
    int pid;
    int link;      // to it; < 0: there is none
    uint64_t sent; // signals that it has told of and that were not asked for
};

// It stands when this returns. Where the kernel refuses one, there is none.
void bl_bystander_begin(struct bl_bystander *b);
void bl_bystander_end(struct bl_bystander *b);
// Once for each signal that came: whether it was sent to the whole group.
bool bl_bystander_was_sent(struct bl_bystander *b, int signal);

#endif
