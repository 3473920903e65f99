// SPDX-License-Identifier: MIT
//
// Fork at any moment: what the pages need (page/fork.c), and what the process
// does that has malloc from us. No signal handler forks in between.
//
#include "runtime/fork.h"

#include "os/file.h"
#include "os/os.h"
#include "page/page.h"
#include "runtime/handlers.h"
#include "runtime/runtime.h"

// The C library's list of streams, which glibc's fork locks after our handler
// has run: a thread that holds it and waits for malloc would wait for ever, so
// it is ours before malloc is. Not in every C library.
extern void _IO_list_lock(void) __attribute__((weak));
extern void _IO_list_unlock(void) __attribute__((weak));
extern void _IO_list_resetlock(void) __attribute__((weak));

// From `before` to `after`: of the one thread that holds the locks.
static struct {
    uint64_t signals; // blocked until then: their handlers may fork
    bool streams;     // the list of streams is ours
} fork_now;

static void before(void) {
    const uint64_t signals = bl_file_block_signals();
    const bool streams = !bl_is_single_threaded() && _IO_list_lock &&
                         _IO_list_unlock && _IO_list_resetlock;
    if (streams)
        _IO_list_lock();
    bl_pages_before_fork();
    fork_now.signals = signals;
    fork_now.streams = streams;
}

static void after_in_parent(void) {
    const uint64_t signals = fork_now.signals;
    const bool streams = fork_now.streams;
    bl_pages_after_fork(false);
    if (streams)
        _IO_list_unlock();
    bl_file_restore_signals(signals);
}

// glibc has reset the list of streams; it is done again where it has not.
static void after_in_child(void) {
    bl_pages_after_fork(true);
    if (fork_now.streams)
        _IO_list_resetlock();
    bl_runtime_after_fork_in_child();
    bl_file_restore_signals(fork_now.signals);
}

void bl_fork_start(void) {
    static _Atomic(uint32_t) started;
    if (bl_exchange_acquire(&started, 1) == 0)
        bl_at_fork(before, after_in_parent, after_in_child);
}
