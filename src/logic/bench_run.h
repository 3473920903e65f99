// SPDX-License-Identifier: MIT
//
// One measurement of `leaflog bench`, in a process of its own.
//
#ifndef BL_LOGIC_BENCH_RUN_H
#define BL_LOGIC_BENCH_RUN_H

// argv[0] is "run"; prints one line of JSON, schema leaflog.bench/1.
int bl_bench_run(int argc, char **argv);

#endif
