// SPDX-License-Identifier: MIT
//
// Two clocks of this process, in microseconds.
//
#ifndef BL_CLI_CLOCK_H
#define BL_CLI_CLOCK_H

#include <stdint.h>

uint64_t bl_now_us(void); // never goes back
// Processor time of this process. What looking at others costs is that: on a
// busy machine the clock on the wall would charge for other programs.
uint64_t bl_cpu_us(void);

#endif
