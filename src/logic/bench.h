// SPDX-License-Identifier: MIT
//
// `leaflog bench`: the tables of the source, measured here.
//
#ifndef BL_LOGIC_BENCH_H
#define BL_LOGIC_BENCH_H

// argv[0] is "bench"; the exit status.
int bl_bench_main(int argc, char **argv);

#endif
