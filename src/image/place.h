// SPDX-License-Identifier: MIT
//
// Leads a program to an address that huge pages can map, before it has run a
// single instruction. Built into the `bigleaf` command only.
//
// The kernel loads a position-independent program at a multiple of 4 KiB, and
// a shadow can be shared only at a multiple of 2 MiB. Nothing of the program
// is relocated yet when execve returns: a companion process holds it there,
// has it map itself once more, aligned and with its shadow, corrects what the
// kernel told it of its address (the auxiliary vector, on its stack and in
// /proc), and lets it go. The program's file stays the one that was executed,
// so /proc/self/exe, $ORIGIN, debuggers and profilers see what they always
// see. A static program, which no preload reaches, gets its shadow this way.
//
// Whatever fails before the old mapping is given up leaves the program as the
// kernel loaded it.
//
#ifndef BL_IMAGE_PLACE_H
#define BL_IMAGE_PLACE_H

#include "base/base.h"
#include "os/trace.h"

// Takes over a program that is held at its first instruction, and returns when
// it has let it go, or when it has ended.
typedef void bl_place_next_fn(struct bl_trace *held);

// For the process that is about to execute the file `path`; it may have one
// thread only. `runtime` says that the runtime will be inside, and do what it
// can itself. A program that is not marked is left alone unless BIGLEAF_IMAGE
// is on. With `next`, there is a companion in any case, and in it `next` takes
// over afterwards. NULL: a companion waits for the execve, which must follow
// soon. Else the reason why none is needed or possible. A program with raised
// privileges must not get here: it would lose them.
const char *bl_place_before_exec(const char *path, const char *shadow_root,
                                 bool runtime, bl_place_next_fn *next);

#endif
