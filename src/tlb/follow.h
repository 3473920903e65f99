// SPDX-License-Identifier: MIT
//
// The execve of an emulated program: where the emulator can run the file, it
// becomes one of the emulator on that file, under the same name, arguments and
// environment.
//
#ifndef BL_TLB_FOLLOW_H
#define BL_TLB_FOLLOW_H

#include "tlb/emulate.h"

// Addresses are the emulated program's; `guest_base` makes them ours. Returns
// where the emulator cannot run the file, or nothing can: then execve is to go
// its own way.
void bl_follow_exec(const struct bl_emulator *e, uint64_t guest_base,
                    uint64_t path, uint64_t argv, uint64_t envp);

#endif
