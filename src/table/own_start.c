// SPDX-License-Identifier: MIT
//
// What the runtime does for its pools, and libbigleaf-table.a for its own: to
// have the locks held while a process forks.
//
#include "table/own_start.h"

#include "os/file.h"
#include "page/page.h"

#include <pthread.h>

// Of the thread that forks, from before to after: blocked until then.
static uint64_t fork_signals;

static void before_fork(void) {
    const uint64_t signals = bl_file_block_signals();
    bl_pages_before_fork();
    fork_signals = signals;
}

static void after_in_parent(void) {
    const uint64_t signals = fork_signals;
    bl_pages_after_fork(false);
    bl_file_restore_signals(signals);
}

static void after_in_child(void) {
    bl_pages_after_fork(true);
    bl_file_restore_signals(fork_signals);
}

// No lock: what is called may allocate, perhaps from these pools.
void bl_own_start(void) {
    static _Atomic(uint32_t) started;
    if (bl_exchange_acquire(&started, 1) == 0)
        pthread_atfork(before_fork, after_in_parent, after_in_child);
}
