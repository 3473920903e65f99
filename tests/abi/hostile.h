// SPDX-License-Identifier: MIT
//
// A workload, and the means to run it where the kernel refuses things: once
// in a process that was started before the refusal, once in one that starts
// under it.
//
#ifndef BL_TESTS_ABI_HOSTILE_H
#define BL_TESTS_ABI_HOSTILE_H

#include "bl_test.h"
#include "sizes.h"

// Small, medium and large blocks, growth, zeroes, threads, forks; at most
// 24 MiB live. Every block's contents are checked.
void hostile_workload(void);

// Applies the refusal in a child and works there; then in a second child,
// which executes this program anew. `restrict_process` returns NULL, or why
// the refusal cannot be had here, which skips the test.
void hostile_run(const char *(*restrict_process)(void));

// The same, with more restriction by an argument.
void hostile_run_with(const char *(*restrict_process)(const void *),
                      const void *arg);

// Tests that change the machine for a moment run only where this is set.
void hostile_need_machine(void);

#endif
