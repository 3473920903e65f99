// SPDX-License-Identifier: MIT
//
// All contact with the kernel. What manages memory reaches it through one
// struct of hooks, `bl_os`, which the tests replace by a simulated kernel whose
// n-th call fails. Every function returns 0 (or a count) or -errno, leaves
// `errno` alone, allocates nothing, and may be called from any thread, in a
// signal handler, and before any constructor has run.
//
// Out of memory is an ordinary result. An errno that only a mistake of ours
// can cause (EFAULT, EINVAL where the arguments were right) is returned too:
// a seccomp filter may answer anything.
//
#ifndef BL_OS_OS_H
#define BL_OS_OS_H

#include "base/base.h"
#include "os/lock.h"
#include "os/message.h"

enum bl_os_page_kind {
    BL_OS_BASE_PAGES,   // anonymous memory
    BL_OS_HUGETLB_PAGES // from the pool of 2 MiB pages; reserved, not touched
};

struct bl_os_hooks {
    // Maps zeroed read-write memory at exactly `at`, over nothing that is
    // there: -EEXIST where something is. Base page aligned; huge page aligned
    // for BL_OS_HUGETLB_PAGES.
    int (*map)(void *at, size_t bytes, enum bl_os_page_kind kind);
    int (*unmap)(void *at, size_t bytes);
    // Gives back the memory and not the addresses; zeros are read there then.
    int (*discard)(void *at, size_t bytes);
    // Asks for huge pages at the first touch (MADV_HUGEPAGE).
    int (*advise_huge)(void *at, size_t bytes);
    // Asks for base pages only, also where THP is set to always.
    int (*advise_base)(void *at, size_t bytes);
    // Makes huge pages of what is there now (MADV_COLLAPSE, Linux 6.1).
    int (*collapse)(void *at, size_t bytes);
    // Touches every page for writing, as a result and not as a signal: what
    // cannot be backed makes it fail.
    int (*populate)(void *at, size_t bytes);
    // Whether more than half of it are pages that another process shares, as
    // after a fork; false where the kernel does not say.
    bool (*is_shared)(const void *at, size_t bytes);
    // Pages of the hugetlb pool that nobody holds or was promised.
    size_t (*pool_free)(void);
    // Whether free memory goes back to a hypervisor (free page reporting).
    bool (*reports_free_pages)(void);
    // Moves the mapping, not the bytes, to `to`, over nothing: -EEXIST where
    // something is there.
    int (*move)(void *from, size_t bytes, void *to);
    // Milliseconds on a clock that never goes back.
    uint64_t (*now_ms)(void);
    // CPU time of the process (in a child of fork, its own) and of the thread;
    // 0 where the kernel refuses to say.
    uint64_t (*process_ns)(void);
    uint64_t (*thread_ns)(void);
};

// Const after start-up but for the tests, which set it before the first call.
extern struct bl_os_hooks bl_os;

// Files under /proc, /sys and the report. A file handle is a small number,
// as the kernel's; negative is -errno.
int bl_os_open_read(const char *path);
int bl_os_open_append(const char *path); // made with mode 0644 if absent
long bl_os_read(int fd, void *buffer, size_t bytes);
long bl_os_write(int fd, const void *buffer, size_t bytes);
void bl_os_close(int fd);
// Reads a small file whole and ends it with a NUL; the length or -errno.
long bl_os_read_file(const char *path, char *buffer, size_t capacity);

// "/proc/PID" (pid 0: this process) and `name`, of a thread where `tid` is not
// 0; returns `path`.
#define BL_PROC_PATH 64 // bytes
const char *bl_os_proc_path(char path[BL_PROC_PATH], int pid, int tid,
                            const char *name);

// Both ends close on exec; 0 or -errno.
int bl_os_pipe(int ends[2]); // {read, write}
// Until there is something to read, or all other ends are closed: at most `ms`.
void bl_os_await_input(int fd, uint64_t ms);
// Copies bytes of this process; -errno where a plain copy would be a signal.
int bl_os_copy_own(void *to, const void *from, size_t bytes);

int bl_os_pid(void);
int bl_os_parent_pid(void);
int bl_os_thread_id(void);
BL_NORETURN void bl_os_abort(void);
BL_NORETURN void bl_os_exit(int status); // all threads, no handlers
// Whether there is a soft limit on address space, or on memory to write to.
bool bl_os_memory_is_limited(void);
// A few unpredictable bits, for keys; never blocks.
uint64_t bl_os_random(void);
// 0, or 1 where huge pages are refused to this process (PR_SET_THP_DISABLE).
int bl_os_thp_disabled(void);

// Futex: waits while *word is `expected`; wakes at most `count` waiters.
void bl_os_wait(_Atomic(uint32_t) *word, uint32_t expected);
void bl_os_wake(_Atomic(uint32_t) *word, int count);
void bl_os_yield(void);

#endif
