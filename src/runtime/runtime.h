// SPDX-License-Identifier: MIT
//
// Moments of a process's life, in their order, and what happens at each:
//
//   first allocation   options are read if the environment is there yet; the
//                      reservoir is told what they say
//   constructor        options, if that did not happen; image; fork handlers
//                      where they matter from the start, else they come with
//                      the first fork or thread (late_fork.c)
//   thread end         its local is given up (page/local.c)
//   fork               locks taken before, freed after in parent and child
//   before a purge     the peak is read, where a report is wanted
//   process end        the report is written
//
#ifndef BL_RUNTIME_RUNTIME_H
#define BL_RUNTIME_RUNTIME_H

// Version of the runtime, also found by `bigleaf doctor FILE`.
extern const char bl_runtime_version[];

// Writes the report, where one is wanted and none was written yet.
void bl_runtime_end(void);

// A forked child is a process of its own, with an end of its own to report.
void bl_runtime_after_fork_in_child(void);

#endif
