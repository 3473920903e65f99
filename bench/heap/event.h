// SPDX-License-Identifier: MIT
//
// The form of a heap trace: a file of events, each of 32 bytes, written by
// record.c and read by replay.c and summary.py. Threads write to chunks of
// their own, so the file is in order within a thread; `order` gives the order
// among all. What a process did not fill of its last chunks is zero.
//
#ifndef BL_BENCH_HEAP_EVENT_H
#define BL_BENCH_HEAP_EVENT_H

#include <stdint.h>

enum event_kind {
    EVENT_NONE, // an unused place at the end of a chunk
    EVENT_MALLOC,
    EVENT_CALLOC,
    EVENT_REALLOC, // `old` becomes `result`
    EVENT_ALIGNED, // `old` is the alignment
    EVENT_FREE,    // of `old`
};

struct event {
    uint64_t order : 48; // 1 for the first event of the process
    uint64_t kind : 8;
    uint64_t thread : 8; // 0 for the first; the 256th is 0 again
    uint64_t result;     // address; 0: there was no memory
    uint64_t old;
    uint64_t size : 40; // bytes asked for
    uint64_t site : 24; // of the call: low bits of its address / 4
};

_Static_assert(sizeof(struct event) == 32, "the form of the file");

#define CHUNK_EVENTS 32768
#define CHUNK_BYTES (CHUNK_EVENTS * sizeof(struct event))

#endif
