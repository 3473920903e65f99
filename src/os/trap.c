// SPDX-License-Identifier: MIT
#if defined(__x86_64__)

#include "os/trap.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#define SYSCALL_STOP (SIGTRAP | 0x80)
#define INSTRUCTION 2 // bytes of `syscall`
#define PLAIN (MAP_PRIVATE | MAP_ANONYMOUS)
#define FIXED (MAP_FIXED | MAP_FIXED_NOREPLACE)
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

// Of the call by which a thread makes another one or a process.
static uint64_t clone_flags(int tid, const struct user_regs_struct *r) {
    switch (r->orig_rax) {
    case SYS_vfork:
        return CLONE_VM;
    case SYS_clone:
        return r->rdi;
    case SYS_clone3:
        return (uint64_t)ptrace(PTRACE_PEEKDATA, tid, r->rdi, 0);
    default:
        return 0;
    }
}

static void set_clone_flags(int tid, uint64_t flags) {
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, tid, 0, &r) != 0)
        return;
    if (r.orig_rax == SYS_clone3) {
        ptrace(PTRACE_POKEDATA, tid, r.rdi, flags);
    } else {
        r.rdi = flags;
        ptrace(PTRACE_SETREGS, tid, 0, &r);
    }
}

// Whether what a thread has just made lives in the same memory.
static bool made_in_same_memory(int tid) {
    struct user_regs_struct r;
    return ptrace(PTRACE_GETREGS, tid, 0, &r) == 0 &&
           (clone_flags(tid, &r) & CLONE_VM);
}

static int event_number(int tid) {
    unsigned long number = 0;
    ptrace(PTRACE_GETEVENTMSG, tid, 0, &number);
    return (int)number;
}

// A stop that is no event of ours: signals are delivered, job control holds.
static void go_on(int tid, int status) {
    const int signal = WSTOPSIG(status);
    if (status >> 16 == PTRACE_EVENT_STOP)
        ptrace(signal == SIGTRAP ? PTRACE_CONT : PTRACE_LISTEN, tid, 0, 0);
    else
        ptrace(PTRACE_CONT, tid, 0,
               (long)(signal == SYSCALL_STOP ? 0 : signal));
}

void bl_trap_take(int tid, int status, struct bl_trap *out) {
    *out =
        (struct bl_trap){.tid = tid, .event = BL_TRAP_PASSED, .status = status};
    if (!WIFSTOPPED(status)) {
        out->event = BL_TRAP_END;
        return;
    }
    switch (status >> 16) {
    case PTRACE_EVENT_SECCOMP:
        out->event = BL_TRAP_CALL;
        break;
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE:
        out->event = BL_TRAP_CHILD;
        out->other = event_number(tid);
        out->shares_memory = made_in_same_memory(tid);
        break;
    case PTRACE_EVENT_EXEC:
        out->event = BL_TRAP_EXEC;
        out->other = event_number(tid);
        break;
    case PTRACE_EVENT_STOP:
        if (WSTOPSIG(status) == SIGTRAP) {
            out->event = BL_TRAP_BEGIN;
            break;
        }
        go_on(tid, status);
        break;
    default:
        go_on(tid, status);
        break;
    }
}

// What other threads told while one of them was served, in that order.
static struct told {
    int tid;
    int status;
} * told;
static size_t told_first, told_end, told_room;

static bool have_room(void) {
    if (told_end < told_room)
        return true;
    const size_t room = told_room ? told_room * 2 : 64;
    struct told *const more = realloc(told, room * sizeof *told);
    if (!more)
        return false;
    told = more;
    told_room = room;
    return true;
}

static bool take_told(struct told *out) {
    if (told_first == told_end)
        return false;
    *out = told[told_first++];
    if (told_first == told_end)
        told_first = told_end = 0;
    return true;
}

static struct told wait_for_told(int tid) {
    struct told t;
    do
        t.tid = waitpid(tid, &t.status, __WALL);
    while (t.tid < 0 && errno == EINTR);
    return t;
}

// Of any thread; `slow` is asked to stop after a second. It does so also where
// its cgroup is frozen, and else when its call is made.
static struct told hurry(int slow) {
    const struct timespec second = {1, 0};
    struct told t = {0};
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    while ((t.tid = waitpid(-1, &t.status, __WALL | WNOHANG)) == 0) {
        if (sigtimedwait(&child, NULL, &second) < 0 && errno == EAGAIN) {
            ptrace(PTRACE_INTERRUPT, slow, 0, 0);
            return wait_for_told(-1);
        }
    }
    return t;
}

// Not for the thread alone: the end of a program's first thread is told only
// after that of all others has been. And where others wait, not for long.
static struct told wait_beside_others(int tid) {
    if (!have_room())
        return wait_for_told(tid);
    return told_first == told_end ? wait_for_told(-1) : hurry(tid);
}

static bool wait_for(int tid, int *status) {
    for (;;) {
        const struct told t = wait_beside_others(tid);
        *status = t.status;
        if (t.tid == tid || t.tid < 0)
            return t.tid == tid;
        told[told_end++] = t;
    }
}

bool bl_trap_next(struct bl_trap *out) {
    struct told t;
    if (!take_told(&t))
        t = wait_for_told(-1);
    if (t.tid < 0)
        return false;
    bl_trap_take(t.tid, t.status, out);
    return true;
}

void bl_trap_pass(int tid) { ptrace(PTRACE_CONT, tid, 0, 0); }

static struct user_regs_struct saved(const struct bl_trap_call *c) {
    struct user_regs_struct r;
    memcpy(&r, c->registers, sizeof r);
    return r;
}

static enum bl_trap_number number_of(uint64_t call) {
    switch (call) {
    case SYS_brk:
        return BL_TRAP_BRK;
    case SYS_mmap:
        return BL_TRAP_MAP;
    case SYS_munmap:
        return BL_TRAP_UNMAP;
    case SYS_mremap:
        return BL_TRAP_REMAP;
    case SYS_prctl:
    case SYS_seccomp:
        return BL_TRAP_FILTER;
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork:
        return BL_TRAP_MAKE;
    default:
        return BL_TRAP_OTHER;
    }
}

bool bl_trap_read(int tid, struct bl_trap_call *out) {
    struct user_regs_struct r;
    *out = (struct bl_trap_call){.tid = tid, .number = BL_TRAP_OTHER};
    if (ptrace(PTRACE_GETREGS, tid, 0, &r) != 0)
        return false;
    memcpy(out->registers, &r, sizeof r);
    const uint64_t arguments[] = {r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9};
    memcpy(out->arguments, arguments, sizeof arguments);
    out->number = number_of(r.orig_rax);
    return true;
}

// Runs on to the end of the call at hand. Where the thread has not begun it,
// the beginning and our own filter stop it as well.
static bool run_call(struct bl_trap_call *c, unsigned ends) {
    while (ends) {
        int status;
        // Refused where it has been killed: that, or another thread's execve
        // under its number, is told next.
        ptrace(PTRACE_SYSCALL, c->tid, 0, 0);
        if (!wait_for(c->tid, &status)) {
            c->away = true;
            c->status = 0;
            return false;
        }
        if (WIFSTOPPED(status) && WSTOPSIG(status) == SYSCALL_STOP) {
            ends--;
        } else if (!WIFSTOPPED(status) ||
                   status >> 16 != PTRACE_EVENT_SECCOMP) {
            c->away = true;
            c->status = status;
            return false;
        }
    }
    return true;
}

// A program flooded by signals (Go's) would hardly ever come to a second call.
// Nothing is lost: they wait, and should we be killed, the program is too.
static void hold_signals(struct bl_trap_call *c) {
    const uint64_t all = ~UINT64_C(0);
    if (c->masked ||
        ptrace(PTRACE_GETSIGMASK, c->tid, sizeof c->signals, &c->signals) != 0)
        return;
    c->masked = ptrace(PTRACE_SETSIGMASK, c->tid, sizeof all, &all) == 0;
}

static void release_signals(struct bl_trap_call *c) {
    if (c->masked)
        ptrace(PTRACE_SETSIGMASK, c->tid, sizeof c->signals, &c->signals);
    c->masked = false;
}

static long call(struct bl_trap_call *c, long number,
                 const uint64_t arguments[6]) {
    struct user_regs_struct r = saved(c);
    if (c->away)
        return -EINTR;
    r.rdi = arguments[0];
    r.rsi = arguments[1];
    r.rdx = arguments[2];
    r.r10 = arguments[3];
    r.r8 = arguments[4];
    r.r9 = arguments[5];
    unsigned ends = 1;
    if (c->made) {
        hold_signals(c);
        // Once more through the same instruction.
        r.rip -= INSTRUCTION;
        r.rax = (unsigned long long)number;
        r.orig_rax = (unsigned long long)-1;
        ends = 2;
    } else {
        r.orig_rax = (unsigned long long)number;
    }
    if (ptrace(PTRACE_SETREGS, c->tid, 0, &r) != 0) {
        c->away = true;
        wait_for(c->tid, &c->status);
        return -ESRCH;
    }
    c->made = true;
    if (!run_call(c, ends) || ptrace(PTRACE_GETREGS, c->tid, 0, &r) != 0)
        return -EINTR;
    return (long)r.rax;
}

long bl_trap_brk(struct bl_trap_call *c, uint64_t to) {
    const uint64_t a[6] = {to};
    return call(c, SYS_brk, a);
}

long bl_trap_map(struct bl_trap_call *c, uint64_t hint) {
    uint64_t a[6];
    memcpy(a, c->arguments, sizeof a);
    a[0] = hint;
    return call(c, SYS_mmap, a);
}

long bl_trap_map_new(struct bl_trap_call *c, uint64_t hint, uint64_t bytes) {
    const uint64_t a[6] = {hint,  bytes,      PROT_READ | PROT_WRITE,
                           PLAIN, UINT64_MAX, 0};
    return call(c, SYS_mmap, a);
}

long bl_trap_map_open(struct bl_trap_call *c, uint64_t hint) {
    uint64_t a[6];
    memcpy(a, c->arguments, sizeof a);
    a[0] = hint;
    a[2] = PROT_READ | PROT_WRITE;
    return call(c, SYS_mmap, a);
}

long bl_trap_reserve(struct bl_trap_call *c, uint64_t hint, uint64_t bytes) {
    const uint64_t a[6] = {hint,       bytes, PROT_NONE, PLAIN | MAP_NORESERVE,
                           UINT64_MAX, 0};
    return call(c, SYS_mmap, a);
}

long bl_trap_remap(struct bl_trap_call *c, uint64_t at, uint64_t from_bytes,
                   uint64_t to_bytes, uint64_t to) {
    const uint64_t flags = to ? MREMAP_MAYMOVE | MREMAP_FIXED : 0;
    const uint64_t a[6] = {at, from_bytes, to_bytes, flags, to};
    return call(c, SYS_mremap, a);
}

long bl_trap_unmap(struct bl_trap_call *c, uint64_t at, uint64_t bytes) {
    const uint64_t a[6] = {at, bytes};
    return call(c, SYS_munmap, a);
}

long bl_trap_advise(struct bl_trap_call *c, uint64_t at, uint64_t bytes) {
    const uint64_t a[6] = {at, bytes, MADV_HUGEPAGE};
    return call(c, SYS_madvise, a);
}

int bl_trap_copy(const struct bl_trap_call *c, uint64_t to, uint64_t from,
                 uint64_t bytes) {
    static char chunk[1 << 18];
    for (uint64_t done = 0; done < bytes;) {
        const size_t n =
            bytes - done < sizeof chunk ? bytes - done : sizeof chunk;
        const struct iovec here = {chunk, n};
        const struct iovec source = {(void *)(uintptr_t)(from + done), n};
        const struct iovec target = {(void *)(uintptr_t)(to + done), n};
        if (process_vm_readv(c->tid, &here, 1, &source, 1, 0) != (ssize_t)n ||
            process_vm_writev(c->tid, &here, 1, &target, 1, 0) != (ssize_t)n)
            return -EFAULT;
        done += n;
    }
    return 0;
}

long bl_trap_empty(struct bl_trap_call *c, uint64_t at, uint64_t bytes) {
    const uint64_t a[6] = {at, bytes, MADV_DONTNEED};
    return call(c, SYS_madvise, a);
}

int bl_trap_zero(const struct bl_trap_call *c, uint64_t at, uint64_t bytes) {
    static char zeros[1 << 16];
    for (uint64_t done = 0; done < bytes;) {
        const size_t n =
            bytes - done < sizeof zeros ? bytes - done : sizeof zeros;
        const struct iovec here = {zeros, n};
        const struct iovec there = {(void *)(uintptr_t)(at + done), n};
        if (process_vm_writev(c->tid, &here, 1, &there, 1, 0) != (ssize_t)n)
            return -EFAULT;
        done += n;
    }
    return 0;
}

long bl_trap_run(struct bl_trap_call *c) {
    struct user_regs_struct r = saved(c);
    const uint64_t flags = clone_flags(c->tid, &r);
    const bool hidden = (flags & CLONE_UNTRACED) != 0;
    if (hidden)
        set_clone_flags(c->tid, flags & ~(uint64_t)CLONE_UNTRACED);
    ptrace(PTRACE_SYSCALL, c->tid, 0, 0);
    c->away = true;
    if (!wait_for(c->tid, &c->status)) {
        c->status = 0;
        return -EINTR;
    }
    if (hidden)
        set_clone_flags(c->tid, flags);
    const bool ends =
        WIFSTOPPED(c->status) && WSTOPSIG(c->status) == SYSCALL_STOP;
    return ends && ptrace(PTRACE_GETREGS, c->tid, 0, &r) == 0 ? (long)r.rax
                                                              : -EINTR;
}

void bl_trap_answer(struct bl_trap_call *c, long result) {
    struct user_regs_struct r = saved(c);
    if (c->away && result == -EINTR) {
        // The program's own call, through the same instruction.
        r.rip -= INSTRUCTION;
        r.rax = r.orig_rax;
    } else {
        r.rax = (unsigned long long)result;
    }
    r.orig_rax = (unsigned long long)-1;
    // What executed another program is no longer the thread that made the call.
    if (c->away &&
        (!WIFSTOPPED(c->status) || c->status >> 16 == PTRACE_EVENT_EXEC))
        return;
    ptrace(PTRACE_SETREGS, c->tid, 0, &r);
    release_signals(c);
    if (!c->away)
        ptrace(PTRACE_CONT, c->tid, 0, 0);
}

bool bl_trap_is_fixed(const struct bl_trap_call *c) {
    return (c->arguments[3] & FIXED) != 0;
}

bool bl_trap_is_plain(const struct bl_trap_call *c) {
    return c->arguments[2] == (PROT_READ | PROT_WRITE) &&
           c->arguments[3] == PLAIN;
}

// HEAP_MAX_SIZE of glibc on 64-bit machines, or twice that, to find a place.
bool bl_trap_is_arena(const struct bl_trap_call *c) {
    const uint64_t most = 64 * BL_MIB;
    return c->arguments[2] == PROT_NONE &&
           c->arguments[3] == (PLAIN | MAP_NORESERVE) &&
           (c->arguments[1] == most || c->arguments[1] == 2 * most);
}

bool bl_trap_may_move(const struct bl_trap_call *c) {
    return c->arguments[3] == MREMAP_MAYMOVE && c->arguments[1] != 0 &&
           c->arguments[2] != 0 && c->arguments[0] % BL_BASE_SIZE == 0;
}

bool bl_trap_is_aimed(const struct bl_trap_call *c) {
    return (c->arguments[3] & MREMAP_FIXED) != 0;
}

#endif
