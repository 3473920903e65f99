// SPDX-License-Identifier: MIT
#include "logic/bench.h"
#include <stdio.h>
int bl_bench_main(int argc, char **argv) {
    (void)argc; (void)argv;
    return 2;
}
