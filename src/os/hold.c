// SPDX-License-Identifier: MIT
#include "os/hold.h"

#include "os/file.h"
#include "os/target.h"

#include <time.h>

uint64_t bl_hold_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#if defined(__x86_64__)

#include "os/os.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#define STOP_WAIT_MS 1000
#define DEEP_TRIES 20       // of 10 ms each
#define TRIES 300           // of 1 ms each
#define LONG_MODE_CODE 0x33 // the code segment of 64-bit programs

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif
#ifndef PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG
#define PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG 0x4211
#endif

// What the kernel leaves in rax of a system call it has broken off.
enum { RESTARTSYS = 512, RESTARTNOINTR, RESTARTNOHAND, RESTARTBLOCK = 516 };

_Static_assert(sizeof(struct user_regs_struct) <=
                   sizeof((struct bl_hold *)0)->registers,
               "registers fit");

static struct user_regs_struct saved(const struct bl_hold *h) {
    struct user_regs_struct r;
    memcpy(&r, h->registers, sizeof r);
    return r;
}

void bl_hold_home(const struct bl_hold *h, struct user_regs_struct *out) {
    struct user_regs_struct r = saved(h);
    *out = r;
    if ((long long)r.orig_rax < 0)
        return;
    switch (-(long long)r.rax) {
    case RESTARTSYS:
    case RESTARTNOINTR:
    case RESTARTNOHAND:
        out->rax = r.orig_rax;
        out->rip -= 2;
        break;
    case RESTARTBLOCK:
        out->rax = SYS_restart_syscall;
        out->rip -= 2;
        break;
    default:
        break;
    }
}

bool bl_hold_peek(int tid, uint64_t at, void *to, size_t words) {
    for (size_t i = 0; i < words; i++) {
        errno = 0;
        const long word = ptrace(PTRACE_PEEKDATA, tid, at + i * 8, 0);
        if (errno)
            return false;
        memcpy((char *)to + i * 8, &word, sizeof word);
    }
    return true;
}

bool bl_hold_poke(int tid, uint64_t at, const void *from, size_t words) {
    for (size_t i = 0; i < words; i++) {
        long word;
        memcpy(&word, (const char *)from + i * 8, sizeof word);
        if (ptrace(PTRACE_POKEDATA, tid, at + i * 8, word) != 0)
            return false;
    }
    return true;
}

// In a restartable sequence: the kernel aborts it only where it finds the
// thread inside when it lets it go.
static bool in_sequence(int tid, uint64_t rip) {
    struct {
        uint64_t area;
        uint32_t size, signature, flags, pad;
    } c;
    uint64_t sequence;
    uint64_t part[4]; // version and flags, start, length, abort
    const long got = ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof c, &c);
    if (got != (long)sizeof c || c.area == 0)
        return false;
    if (!bl_hold_peek(tid, c.area + 8, &sequence, 1) || sequence == 0)
        return false;
    return !bl_hold_peek(tid, sequence, part, BL_ARRAY_LEN(part)) ||
           rip - part[1] < part[2];
}

// System calls of the process go to itself (as in Wine).
static bool dispatches_calls(int tid) {
    struct {
        uint64_t mode, selector, offset, length;
    } c = {0};
    return ptrace(PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, tid, sizeof c, &c) ==
               0 &&
           c.mode != 0;
}

// The end of a program's first thread is told only after that of all others,
// and of one that this command traces, as a visitor just made, it must have
// been told. What has not ended, or is not traced, takes no harm.
// A stop of what is traced the kernel tells whether asked for or not: it is
// left to who waits for it.
static void reap_another(int pid, int tid) {
    const int look = WEXITED | WNOHANG | __WALL;
    siginfo_t end = {0};
    const int other = bl_target_other_thread(pid, tid);
    if (!other || waitid(P_PID, (id_t)other, &end, look | WNOWAIT) != 0)
        return;
    if (end.si_code == CLD_EXITED || end.si_code == CLD_KILLED ||
        end.si_code == CLD_DUMPED)
        waitid(P_PID, (id_t)other, &end, look);
}

// Waits until `tid` stops or ends; 0: neither within the time.
static int await(int pid, int tid, int *status, uint64_t ms) {
    const uint64_t deadline = bl_hold_now_ns() + ms * 1000000;
    const struct timespec pause = {0, 5000000};
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (;;) {
        const int got = waitpid(tid, status, __WALL | WNOHANG);
        if (got != 0 || bl_hold_now_ns() > deadline)
            return got;
        if (sigtimedwait(&child, NULL, &pause) < 0)
            reap_another(pid, tid);
    }
}

// What asks this command to end ends it here: threads that it leaves go on by
// themselves.
static void heed_ends(void) {
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_UNBLOCK, &ends, NULL);
    sigprocmask(SIG_BLOCK, &ends, NULL);
}

bool bl_hold_await(int pid, int tid, int *status, bool *asked) {
    int got;
    while ((got = await(pid, tid, status, STOP_WAIT_MS)) == 0) {
        if (*asked)
            heed_ends();
        else
            ptrace(PTRACE_INTERRUPT, tid, 0, 0);
        *asked = true;
    }
    return got > 0 && WIFSTOPPED(*status);
}

// The thread has ended, which is not to say that the process has. Seen to its
// end: others wait for that.
static enum bl_hold_result see_end(int pid, int tid) {
    int status;
    await(pid, tid, &status, STOP_WAIT_MS);
    return BL_HOLD_AGAIN;
}

// Waits for the stop that was asked for; signals that come before go on.
static enum bl_hold_result await_interrupt(int pid, int tid) {
    for (;;) {
        int status;
        const int got = await(pid, tid, &status, STOP_WAIT_MS);
        if (got == 0)
            return BL_HOLD_STUCK;
        if (got < 0 || !WIFSTOPPED(status))
            return BL_HOLD_AGAIN; // the thread has ended, not yet the process
        const int signal = WSTOPSIG(status);
        if (status >> 16 == PTRACE_EVENT_STOP)
            return signal == SIGTRAP ? BL_HOLD_OK : BL_HOLD_STOPPED;
        const long passed = status >> 16 ? 0 : signal;
        if (ptrace(PTRACE_CONT, tid, 0, passed) != 0)
            return see_end(pid, tid);
    }
}

// The thread that did not stop in time; 0: none.
static int stuck;

bool bl_hold_has_let_go(void) {
    int status;
    const int got = stuck ? waitpid(stuck, &status, __WALL | WNOHANG) : -1;
    if (got == 0)
        return false;
    if (got > 0 && WIFSTOPPED(status))
        ptrace(PTRACE_DETACH, stuck, 0,
               (long)(status >> 16 ? 0 : WSTOPSIG(status)));
    stuck = 0;
    return true;
}

static enum bl_hold_result seize(int pid, int tid) {
    if (!bl_hold_has_let_go())
        return BL_HOLD_STUCK;
    if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD) != 0)
        return errno == ESRCH || bl_target_has_ended(pid, tid) ? BL_HOLD_AGAIN
                                                               : BL_HOLD_DENIED;
    if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0)
        return see_end(pid, tid);
    const enum bl_hold_result result = await_interrupt(pid, tid);
    if (result == BL_HOLD_STOPPED)
        ptrace(PTRACE_DETACH, tid, 0, 0);
    if (result == BL_HOLD_STUCK)
        stuck = tid;
    return result;
}

static bool may_go_on_within(int pid, int tid, uint64_t start, uint64_t bytes) {
    struct user_regs_struct r;
    uint64_t at;
    if (bl_target_goes_on_at(pid, tid, &at))
        return at - start < bytes;
    const enum bl_hold_result result = seize(pid, tid);
    if (result != BL_HOLD_OK)
        return result != BL_HOLD_AGAIN; // it has ended
    const bool known = ptrace(PTRACE_GETREGS, tid, 0, &r) == 0;
    ptrace(PTRACE_DETACH, tid, 0, 0);
    return !known || r.rip - start < bytes;
}

bool bl_hold_any_within(int pid, uint64_t start, uint64_t bytes) {
    const int *tids;
    size_t n;
    bool within = !bl_target_list(pid, &tids, &n);
    for (size_t i = 0; i < n && !within; i++)
        within = may_go_on_within(pid, tids[i], start, bytes);
    return within;
}

static enum bl_hold_result examine(struct bl_hold *h, int tid) {
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, tid, 0, &r) != 0 ||
        ptrace(PTRACE_GETSIGMASK, tid, sizeof h->mask, &h->mask) != 0)
        return see_end(h->pid, tid);
    // A thread of the kernel's that works for the program is nowhere in it.
    if (r.rip == 0 || in_sequence(tid, r.rip))
        return BL_HOLD_AGAIN;
    if (r.cs != LONG_MODE_CODE || dispatches_calls(tid))
        return BL_HOLD_UNFIT;
    memcpy(h->registers, &r, sizeof r);
    return BL_HOLD_OK;
}

static enum bl_hold_result hold_thread(struct bl_hold *h, int tid) {
    h->since_ns = bl_hold_now_ns();
    enum bl_hold_result result = seize(h->pid, tid);
    if (result != BL_HOLD_OK)
        return result;
    result = examine(h, tid);
    if (result == BL_HOLD_OK)
        h->tid = tid;
    else
        ptrace(PTRACE_DETACH, tid, 0, 0);
    return result;
}

// One try with the calmest thread that can be had.
static enum bl_hold_result try_once(struct bl_hold *h, int pid) {
    struct bl_target_thread threads[64];
    const size_t n =
        bl_target_threads(pid, h->turn++, threads, BL_ARRAY_LEN(threads));
    if (n == 0)
        return BL_HOLD_GONE;
    switch (threads[0].calm) {
    case BL_CALM_DEEP:
        return BL_HOLD_DEEP;
    case BL_CALM_STOPPED:
        return BL_HOLD_STOPPED;
    case BL_CALM_RUNNING:
    case BL_CALM_RESTART:
    case BL_CALM_UNKNOWN:
    case BL_CALM_EINTR:
    case BL_CALM_ENDED:
        break;
    }
    return hold_thread(h, threads[0].tid);
}

enum bl_hold_result bl_hold_begin(struct bl_hold *h, int pid) {
    enum bl_hold_result result = BL_HOLD_AGAIN;
    unsigned deep = 0;
    h->pid = pid;
    for (unsigned i = 0; i < TRIES && result == BL_HOLD_AGAIN; i++) {
        result = try_once(h, pid);
        if (result == BL_HOLD_DEEP && deep++ < DEEP_TRIES) {
            bl_file_sleep_ms(10);
            result = BL_HOLD_AGAIN;
        } else if (result == BL_HOLD_AGAIN) {
            bl_file_sleep_ms(1);
        }
    }
    return result;
}

static void note_end(struct bl_hold *h) {
    const uint64_t ns = bl_hold_now_ns() - h->since_ns;
    h->tid = 0;
    h->count++;
    h->total_ns += ns;
    if (ns > h->longest_ns)
        h->longest_ns = ns;
}

// Seen to its end: others wait for that.
void bl_hold_lost(struct bl_hold *h) {
    int status;
    await(h->pid, h->tid, &status, STOP_WAIT_MS);
    note_end(h);
}

bool bl_hold_settle(struct bl_hold *h, int *signal) {
    int status = 0;
    bool asked = true;
    if (ptrace(PTRACE_INTERRUPT, h->tid, 0, 0) != 0 ||
        ptrace(PTRACE_CONT, h->tid, 0, 0) != 0 ||
        !bl_hold_await(h->pid, h->tid, &status, &asked))
        return false;
    *signal = status >> 16 ? 0 : WSTOPSIG(status);
    return true;
}

// The registers last: until then the thread would find home by itself.
void bl_hold_restore(struct bl_hold *h) {
    struct user_regs_struct r = saved(h);
    ptrace(PTRACE_SETSIGMASK, h->tid, sizeof h->mask, &h->mask);
    ptrace(PTRACE_SETREGS, h->tid, 0, &r);
}

void bl_hold_release(struct bl_hold *h, int signal) {
    ptrace(PTRACE_DETACH, h->tid, 0, (long)signal);
    note_end(h);
}

#else

bool bl_hold_has_let_go(void) { return true; }

#endif
