// SPDX-License-Identifier: MIT
//
// Threads that run goals, and the queues they talk through.
//
#ifndef BL_LOGIC_WORKER_H
#define BL_LOGIC_WORKER_H

#include "logic/machine.h"

struct bl_record;

// Runs a copy of the goal, a record, in `threads` threads, each with a machine
// of its own, and waits for all. Returns the worst of how they ended
// (BL_RUN_TRUE, FAIL, ERROR, HALT); the ball of an error is printed.
struct bl_worker_report {
    int status;
    int halt_code;
    double cpu_seconds; // of all threads together
    double wall_seconds;
};
// `m` is the caller's own, for the messages.
struct bl_worker_report
bl_workers_run(struct bl_machine *m, const struct bl_record *goal, int threads);

// A main thread's id and queue, so that it can be named and sent to.
void bl_worker_adopt(struct bl_machine *m);

#endif
