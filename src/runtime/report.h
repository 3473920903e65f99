// SPDX-License-Identifier: MIT
//
// What a process says of itself when it ends: one line of JSON, schema
// `bigleaf.process/1`, appended to the file that BIGLEAF_REPORT names. It
// holds what the kernel says backs each region, at the peak and at the end,
// the parts that are not huge at the peak with their causes, what became of
// the image, and the runtime's statistics.
//
// The peak is read when the reservoir is about to shrink for the first time
// after it grew; a process that never shrinks has its peak at its end.
//
// Allocates nothing, keeps errno, never fails loudly: a report must not
// disturb the program. Needs 4 KiB of stack.
//
#ifndef BL_RUNTIME_REPORT_H
#define BL_RUNTIME_REPORT_H

// Keeps what backs the process now, where it is more than what was kept. Any
// thread; of two at once, one does nothing. May run with runtime locks held.
void bl_report_peak(void);

// Appends the line, at the end of the process: once, whoever else ends it at
// the same time, and who comes second returns when it is written. A forked
// child has an end of its own, and forgets its parent's peak.
void bl_report_exit(const char *path);

// The threads of the parent are not here.
void bl_report_after_fork_in_child(void);

#endif
