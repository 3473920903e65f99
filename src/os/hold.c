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
#define DEEP_TRIES 20 // of 10 ms each
#define TRIES 300     // of 1 ms each
#define LEFTOVER_TRIES 200
#define STUB_BYTES 112
#define ROOM_BYTES 128
#define MAPS_CAPACITY (4 * BL_MIB)
#define SYSCALL_STOP (SIGTRAP | 0x80)
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

// The registers with which the thread goes on where no kernel restarts its
// system call: what the kernel would make of them.
static struct user_regs_struct restarted(struct user_regs_struct r) {
    if ((long long)r.orig_rax < 0)
        return r;
    switch (-(long long)r.rax) {
    case RESTARTSYS:
    case RESTARTNOINTR:
    case RESTARTNOHAND:
        r.rax = r.orig_rax;
        r.rip -= 2;
        break;
    case RESTARTBLOCK:
        r.rax = SYS_restart_syscall;
        r.rip -= 2;
        break;
    default:
        break;
    }
    return r;
}

static bool peek(int tid, uint64_t at, void *to, size_t words) {
    for (size_t i = 0; i < words; i++) {
        errno = 0;
        const long word = ptrace(PTRACE_PEEKDATA, tid, at + i * 8, 0);
        if (errno)
            return false;
        memcpy((char *)to + i * 8, &word, sizeof word);
    }
    return true;
}

static bool poke(int tid, uint64_t at, const void *from, size_t words) {
    for (size_t i = 0; i < words; i++) {
        long word;
        memcpy(&word, (const char *)from + i * 8, sizeof word);
        if (ptrace(PTRACE_POKEDATA, tid, at + i * 8, word) != 0)
            return false;
    }
    return true;
}

// Backwards: a rest begins as a stub does, by which the next one knows it.
static void clear(int tid, uint64_t at, size_t words) {
    for (size_t i = words; i-- > 0;)
        ptrace(PTRACE_POKEDATA, tid, at + i * 8, 0);
}

// The system call, the registers it may change, and a jump home.
static void write_stub(unsigned char stub[STUB_BYTES],
                       const struct user_regs_struct *home) {
    const struct {
        unsigned char prefix, load; // mov $imm64, %register
        uint64_t value;
    } loads[] = {{0x48, 0xb8, home->rax}, {0x48, 0xb9, home->rcx},
                 {0x48, 0xba, home->rdx}, {0x48, 0xbe, home->rsi},
                 {0x48, 0xbf, home->rdi}, {0x49, 0xb8, home->r8},
                 {0x49, 0xb9, home->r9},  {0x49, 0xba, home->r10},
                 {0x49, 0xbb, home->r11}};
    static const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0}; // jmp *0(rip)
    unsigned char *p = stub;
    memset(stub, 0, STUB_BYTES);
    *p++ = 0x0f;
    *p++ = 0x05;
    for (size_t i = 0; i < BL_ARRAY_LEN(loads); i++) {
        *p++ = loads[i].prefix;
        *p++ = loads[i].load;
        memcpy(p, &loads[i].value, sizeof loads[i].value);
        p += sizeof loads[i].value;
    }
    memcpy(p, jump, sizeof jump);
    memcpy(p + sizeof jump, &home->rip, sizeof home->rip);
}

// Where the vdso ends; 0: there is none.
static uint64_t vdso_end(int pid) {
    uint64_t end = 0;
    char *text = malloc(MAPS_CAPACITY);
    const long n = text ? bl_file_read_maps(pid, text, MAPS_CAPACITY) : -ENOMEM;
    const char *name = n > 0 ? strstr(text, "[vdso]") : NULL;
    const char *line = name;
    while (line && line > text && line[-1] != '\n')
        line--;
    const char *dash = line ? strchr(line, '-') : NULL;
    if (dash) {
        dash++;
        bl_read_hex(&dash, &end);
    }
    free(text);
    return end;
}

// The last bytes of the vdso are nobody's where they are zero, or what a
// killed command left, whose thread may still be on its way home: for that it
// is given time.
static enum bl_hold_result find_room(struct bl_hold *h) {
    unsigned char there[STUB_BYTES];
    static const unsigned char ours[] = {0x0f, 0x05, 0x48, 0xb8};
    bool zero = true;
    if (h->room)
        return BL_HOLD_OK;
    const uint64_t end = vdso_end(h->pid);
    if (end == 0 || !peek(h->tid, end - ROOM_BYTES, there, STUB_BYTES / 8))
        return BL_HOLD_UNFIT;
    for (size_t i = 0; i < STUB_BYTES; i++)
        zero &= there[i] == 0;
    if (!zero && memcmp(there, ours, sizeof ours) != 0)
        return BL_HOLD_UNFIT;
    if (!zero && h->leftovers++ < LEFTOVER_TRIES)
        return BL_HOLD_AGAIN;
    h->room = end - ROOM_BYTES;
    return BL_HOLD_OK;
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
    if (!peek(tid, c.area + 8, &sequence, 1) || sequence == 0)
        return false;
    return !peek(tid, sequence, part, BL_ARRAY_LEN(part)) ||
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

// Waits until `tid` stops or ends; 0: neither within the time.
static int await(int tid, int *status, uint64_t ms) {
    const uint64_t deadline = bl_hold_now_ns() + ms * 1000000;
    const struct timespec pause = {0, 5000000};
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (;;) {
        const int got = waitpid(tid, status, __WALL | WNOHANG);
        if (got != 0 || bl_hold_now_ns() > deadline)
            return got;
        sigtimedwait(&child, NULL, &pause);
    }
}

// Waits for the stop that was asked for; signals that come before go on.
static enum bl_hold_result await_interrupt(int tid) {
    for (;;) {
        int status;
        const int got = await(tid, &status, STOP_WAIT_MS);
        if (got == 0)
            return BL_HOLD_STUCK;
        if (got < 0 || !WIFSTOPPED(status))
            return BL_HOLD_GONE;
        const int signal = WSTOPSIG(status);
        if (status >> 16 == PTRACE_EVENT_STOP)
            return signal == SIGTRAP ? BL_HOLD_OK : BL_HOLD_STOPPED;
        const long passed = status >> 16 ? 0 : signal;
        if (ptrace(PTRACE_CONT, tid, 0, passed) != 0)
            return BL_HOLD_GONE;
    }
}

static enum bl_hold_result seize(int tid) {
    if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD) != 0)
        return errno == ESRCH ? BL_HOLD_AGAIN : BL_HOLD_DENIED;
    if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0)
        return BL_HOLD_GONE;
    const enum bl_hold_result result = await_interrupt(tid);
    if (result == BL_HOLD_STOPPED)
        ptrace(PTRACE_DETACH, tid, 0, 0);
    return result;
}

static enum bl_hold_result examine(struct bl_hold *h) {
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, h->tid, 0, &r) != 0)
        return BL_HOLD_GONE;
    if (in_sequence(h->tid, r.rip))
        return BL_HOLD_AGAIN;
    if (r.cs != LONG_MODE_CODE || dispatches_calls(h->tid))
        return BL_HOLD_UNFIT;
    memcpy(h->registers, &r, sizeof r);
    return find_room(h);
}

static enum bl_hold_result hold_thread(struct bl_hold *h, int tid) {
    h->since_ns = bl_hold_now_ns();
    enum bl_hold_result result = seize(tid);
    if (result != BL_HOLD_OK)
        return result;
    h->stopped_ns = bl_hold_now_ns();
    h->tid = tid;
    h->called = false;
    result = examine(h);
    if (result != BL_HOLD_OK) {
        ptrace(PTRACE_DETACH, tid, 0, 0);
        h->tid = 0;
    }
    return result;
}

// One try with the calmest thread that can be had.
static enum bl_hold_result try_once(struct bl_hold *h) {
    struct bl_target_thread threads[64];
    const size_t n =
        bl_target_threads(h->pid, h->turn++, threads, BL_ARRAY_LEN(threads));
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
    h->pid = pid;
    h->signals = bl_file_block_signals();
    unsigned deep = 0;
    for (unsigned i = 0; i < TRIES && result == BL_HOLD_AGAIN; i++) {
        result = try_once(h);
        if (result == BL_HOLD_DEEP && deep++ < DEEP_TRIES) {
            bl_file_sleep_ms(10);
            result = BL_HOLD_AGAIN;
        } else if (result == BL_HOLD_AGAIN) {
            bl_file_sleep_ms(1);
        }
    }
    if (result != BL_HOLD_OK)
        bl_file_restore_signals(h->signals);
    return result;
}

static void note_end(struct bl_hold *h) {
    const uint64_t ns = bl_hold_now_ns() - h->since_ns;
    h->tid = 0;
    h->holds++;
    h->held_ns += ns;
    if (ns > h->longest_ns)
        h->longest_ns = ns;
    bl_file_restore_signals(h->signals);
}

// At a stop inside the kernel's handling of signals.
static void give_back(struct bl_hold *h, long signal) {
    struct user_regs_struct r = saved(h);
    if (h->called) {
        ptrace(PTRACE_SETREGS, h->tid, 0, &r);
        clear(h->tid, h->room, STUB_BYTES / 8);
    }
    ptrace(PTRACE_DETACH, h->tid, 0, signal);
    note_end(h);
}

// Runs up to the next stop, which should be one of a system call.
static enum bl_hold_result step(struct bl_hold *h) {
    int status;
    if (ptrace(PTRACE_SYSCALL, h->tid, 0, 0) != 0 ||
        waitpid(h->tid, &status, __WALL) < 0 || !WIFSTOPPED(status)) {
        note_end(h);
        return BL_HOLD_GONE;
    }
    if (WSTOPSIG(status) == SYSCALL_STOP)
        return BL_HOLD_OK;
    give_back(h, status >> 16 ? 0 : WSTOPSIG(status));
    return BL_HOLD_AGAIN;
}

static bool prepare(struct bl_hold *h) {
    unsigned char stub[STUB_BYTES];
    const struct user_regs_struct home = restarted(saved(h));
    if (h->called)
        return true;
    write_stub(stub, &home);
    h->called = poke(h->tid, h->room, stub, STUB_BYTES / 8);
    return h->called;
}

enum bl_hold_result bl_hold_madvise(struct bl_hold *h, uint64_t at,
                                    uint64_t bytes, int advice, long *result) {
    if (!prepare(h)) {
        give_back(h, 0);
        return BL_HOLD_UNFIT;
    }
    struct user_regs_struct r = restarted(saved(h));
    r.rip = h->room;
    r.rax = SYS_madvise;
    r.orig_rax = (unsigned long long)-1;
    r.rdi = at;
    r.rsi = bytes;
    r.rdx = (unsigned long long)advice;
    if (ptrace(PTRACE_SETREGS, h->tid, 0, &r) != 0) {
        note_end(h);
        return BL_HOLD_GONE;
    }
    enum bl_hold_result stopped = step(h); // in
    if (stopped == BL_HOLD_OK)
        stopped = step(h); // and out
    if (stopped != BL_HOLD_OK)
        return stopped;
    if (ptrace(PTRACE_GETREGS, h->tid, 0, &r) != 0) {
        note_end(h);
        return BL_HOLD_GONE;
    }
    h->calls++;
    *result = (long)r.rax;
    return BL_HOLD_OK;
}

// Where calls were made the thread stands at the end of one. It is brought on,
// without an instruction of its own, to where the kernel restarts calls.
void bl_hold_end(struct bl_hold *h) {
    int status = 0;
    if (!h->called) {
        give_back(h, 0);
        return;
    }
    if (ptrace(PTRACE_INTERRUPT, h->tid, 0, 0) != 0 ||
        ptrace(PTRACE_CONT, h->tid, 0, 0) != 0 ||
        waitpid(h->tid, &status, __WALL) < 0 || !WIFSTOPPED(status)) {
        note_end(h);
        return;
    }
    give_back(h, status >> 16 ? 0 : WSTOPSIG(status));
}

#else

enum bl_hold_result bl_hold_begin(struct bl_hold *h, int pid) {
    h->pid = pid;
    return BL_HOLD_UNFIT;
}

enum bl_hold_result bl_hold_madvise(struct bl_hold *h, uint64_t at,
                                    uint64_t bytes, int advice, long *result) {
    (void)h;
    (void)at;
    (void)bytes;
    (void)advice;
    *result = 0;
    return BL_HOLD_UNFIT;
}

void bl_hold_end(struct bl_hold *h) { h->tid = 0; }

#endif
