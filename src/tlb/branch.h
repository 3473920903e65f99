// SPDX-License-Identifier: MIT
//
// Which instructions of x86-64 call and return.
//
#ifndef BL_TLB_BRANCH_H
#define BL_TLB_BRANCH_H

#include "base/base.h"

enum bl_branch { BL_BRANCH_OTHER, BL_BRANCH_CALL, BL_BRANCH_RETURN };

BL_INLINE bool bl_branch_is_prefix(unsigned char byte) {
    return byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 ||
           byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 ||
           byte == 0x64 || byte == 0x65 || (byte & 0xf0) == 0x40;
}

BL_INLINE enum bl_branch bl_branch_kind(const unsigned char *bytes, size_t n) {
    size_t i = 0;
    while (i < n && bl_branch_is_prefix(bytes[i]))
        i++;
    if (i == n)
        return BL_BRANCH_OTHER;
    if (bytes[i] == 0xc3 || bytes[i] == 0xc2)
        return BL_BRANCH_RETURN;
    // ff /2: through a register or memory.
    const bool indirect =
        bytes[i] == 0xff && i + 1 < n && (bytes[i + 1] >> 3 & 7) == 2;
    return bytes[i] == 0xe8 || indirect ? BL_BRANCH_CALL : BL_BRANCH_OTHER;
}

#endif
