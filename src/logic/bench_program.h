// SPDX-License-Identifier: MIT
//
// The benchmark programs: those that can be generated are, the others are read
// from a folder that bench/tabling/programs.py fills.
//
#ifndef BL_LOGIC_BENCH_PROGRAM_H
#define BL_LOGIC_BENCH_PROGRAM_H

#include "logic/writer.h"

struct bl_bench_program {
    const char *name;
    const char *set;
    const char *note; // what sets it apart from the source's, or NULL
    bool brief;       // one of those that --short keeps
};

extern const struct bl_bench_program bl_bench_programs[];
extern const size_t bl_bench_program_count;

// The text of a program; its goal is `run`. False where it is not there.
bool bl_bench_program_text(const char *name, const char *folder,
                           struct bl_out *out);

#endif
