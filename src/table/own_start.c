// SPDX-License-Identifier: MIT
//
// What the runtime does for its pools, and libbigleaf-table.a for its own: to
// have the locks held while a process forks; and to stay in the process, since
// threads that used the pools call them when they end.
//
#include "table/own_start.h"

#include "os/file.h"
#include "page/page.h"

#include <dlfcn.h>
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

// What dlopen brought, dlclose leaves from now on. Weak, since a static program
// is to have no loader for this; and a linker warns there of the name dlopen.
#ifdef __GLIBC__
#include <link.h>
#pragma weak dladdr1
#pragma weak dlsym

typedef void *open_function(const char *, int);

static void stay(void) {
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1 || !dlsym ||
        !dladdr1((void *)stay, &info, (void **)&map, RTLD_DL_LINKMAP))
        return;
    const bool is_program = map->l_name[0] == '\0';
    open_function *const open = (open_function *)dlsym(RTLD_DEFAULT, "dlopen");
    if (!is_program && open)
        open(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
#else
static void stay(void) {} // others' dlclose unloads nothing
#endif

// No lock: what is called may allocate, perhaps from these pools.
void bl_own_start(void) {
    static _Atomic(uint32_t) started;
    if (bl_exchange_acquire(&started, 1) != 0)
        return;
    stay();
    pthread_atfork(before_fork, after_in_parent, after_in_child);
}
