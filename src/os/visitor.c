// SPDX-License-Identifier: MIT
#include "os/visitor.h"

#if defined(__x86_64__)

#include "os/file.h"
#include "os/os.h"
#include "os/target.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#define MOST_VDSO (64 * BL_KIB)
#define SYSCALL_STOP (SIGTRAP | 0x80)
#define STUB_STOPS 4       // of the two system calls up to clone
#define ERESTARTNOINTR 513 // the kernel's: the call begins anew
#define TRIES 300          // of 1 ms each, until a thread has no signal to take
#define HOME_TRIES 3000    // of 1 ms each, for a thread on its way home
#define CLONE_A_THREAD                                                         \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |        \
     CLONE_SYSVSEM)

// The stub. The held thread runs it from `BEGIN`, the visitor finds itself at
// `visit` after each call: behind that is its end.
enum { NAME = 0, ALL_SIGNALS = 16, MASK = 24, BEGIN = 32, STUB_BYTES = 176 };
static const char visitor_name[16] = "bigleaf-visitor";
// Of its name: the stub's first word is written first and cleared last, so it
// tells what a killed command has left at any moment.
enum { MARK_BYTES = sizeof(long) };

struct stub {
    unsigned char bytes[STUB_BYTES];
    size_t used;
    size_t visit;
};

static void put(struct stub *s, const void *bytes, size_t n) {
    BL_CHECK(n <= sizeof s->bytes - s->used);
    memcpy(s->bytes + s->used, bytes, n);
    s->used += n;
}

// An instruction of one or two bytes with an operand.
static void put_with(struct stub *s, const char *code, const void *operand,
                     size_t n) {
    put(s, code, strlen(code));
    put(s, operand, n);
}

static void put_call(struct stub *s, uint32_t number) {
    put_with(s, "\xb8", &number, sizeof number); // mov $number,%eax
    put(s, "\x0f\x05", 2);                       // syscall
}

// rt_sigprocmask(SIG_SETMASK, what lies at `MASK`, ...)
static void put_set_mask(struct stub *s) {
    const uint32_t how = SIG_SETMASK;
    const uint32_t distance = MASK - (uint32_t)s->used - 7;
    // lea MASK(%rip),%rsi; mov $how,%edi
    put_with(s, "\x48\x8d\x35", &distance, sizeof distance);
    put_with(s, "\xbf", &how, sizeof how);
    put_call(s, SYS_rt_sigprocmask);
}

// Loads what the calls have changed, and jumps to where the thread was.
static void put_way_home(struct stub *s, const struct user_regs_struct *home) {
    const struct {
        char move[3]; // to the register
        uint64_t value;
    } loads[] = {{"\x48\xb8", home->rax}, {"\x48\xb9", home->rcx},
                 {"\x48\xba", home->rdx}, {"\x48\xbe", home->rsi},
                 {"\x48\xbf", home->rdi}, {"\x49\xba", home->r10},
                 {"\x49\xbb", home->r11}};
    for (size_t i = 0; i < BL_ARRAY_LEN(loads); i++)
        put_with(s, loads[i].move, &loads[i].value, sizeof loads[i].value);
    put(s, "\xff\x25\0\0\0\0", 6); // jmp *(%rip)
    put(s, &home->rip, sizeof home->rip);
}

// Up to the way home no instruction changes a flag: they stay the thread's.
// It is to begin with the registers of `begin_stub`.
static void make_stub(struct stub *s, const struct user_regs_struct *home,
                      uint64_t mask) {
    const uint64_t all = UINT64_MAX;
    const uint32_t flags = CLONE_A_THREAD;
    *s = (struct stub){.used = 0};
    put(s, visitor_name, sizeof visitor_name);
    put(s, &all, sizeof all);
    put(s, &mask, sizeof mask);
    put_call(s, SYS_rt_sigprocmask);
    put_with(s, "\xbf", &flags, sizeof flags); // mov $flags,%edi
    put(s, "\xbe\0\0\0\0", 5);                 // mov $0,%esi
    put_call(s, SYS_clone);
    put(s, "\x48\x89\xc1\xe3", 5); // mov %rax,%rcx; jrcxz the visitor's end
    const size_t branch = s->used - 1;
    put_set_mask(s);
    put_way_home(s, home);
    s->visit = s->used;
    put(s, "\x0f\x05", 2); // syscall
    s->bytes[branch] = (unsigned char)(s->used - branch - 1);
    put(s, "\x31\xff", 2); // xor %edi,%edi
    put_call(s, SYS_exit);
}

// Sets the registers for rt_sigprocmask(SIG_SETMASK, all, NULL, their size).
static void begin_stub(struct user_regs_struct *r, uint64_t stub) {
    r->rip = stub + BEGIN;
    r->orig_rax = (unsigned long long)-1;
    r->rdi = SIG_SETMASK;
    r->rsi = stub + ALL_SIGNALS;
    r->rdx = 0;
    r->r10 = sizeof(uint64_t);
}

// The vdso of a process, as far as it matters here.
struct vdso {
    uint64_t start, end;
    unsigned char bytes[MOST_VDSO];
};

static bool is_vdso(const char *line, struct vdso *v) {
    return strstr(line, " [vdso]\n") && !strchr(line, '/') &&
           bl_read_hex(&line, &v->start) && *line++ == '-' &&
           bl_read_hex(&line, &v->end) &&
           v->end - v->start <= sizeof v->bytes &&
           v->end - v->start > STUB_BYTES;
}

// Behind all other mappings, which may be many.
static bool find_vdso(int pid, struct vdso *v) {
    char path[BL_PROC_PATH];
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    FILE *maps = fopen(bl_os_proc_path(path, pid, 0, "/maps"), "re");
    while (maps && !found && getline(&line, &room, maps) > 0)
        found = is_vdso(line, v);
    free(line);
    if (maps)
        (void)fclose(maps);
    return found;
}

static enum bl_hold_result read_vdso(int pid, struct vdso *v) {
    const size_t n = v->end - v->start;
    const struct iovec here = {v->bytes, n};
    const struct iovec there = {(void *)(uintptr_t)v->start, n};
    if (process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)n)
        return BL_HOLD_OK;
    return errno == ESRCH   ? BL_HOLD_GONE
           : errno == EPERM ? BL_HOLD_DENIED
                            : BL_HOLD_UNFIT;
}

// Where a system call instruction lies; 0: nowhere.
static uint64_t find_call(const struct vdso *v) {
    for (size_t i = 0; i + 1 < v->end - v->start; i++) {
        if (v->bytes[i] == 0x0f && v->bytes[i + 1] == 0x05)
            return v->start + i;
    }
    return 0;
}

static bool is_zero(const unsigned char *p, size_t n) {
    while (n && p[n - 1] == 0)
        n--;
    return n == 0;
}

// Of what a killed command has left: its visitor may still make a call, and
// the thread that was held may be on its way home, or about to make a visitor
// that was not in the list of threads yet. Hence twice nobody.
static bool is_left_alone(const struct bl_visitor *v) {
    return !bl_target_has_thread(v->pid, visitor_name) &&
           !bl_hold_any_within(v->pid, v->stub, STUB_BYTES) &&
           !bl_hold_any_within(v->pid, v->stub, STUB_BYTES);
}

// The last bytes of the vdso are nobody's where they are zero, or where they
// are a rest in which nobody is.
static enum bl_hold_result find_room(struct bl_visitor *v) {
    static struct vdso vdso;
    if (!find_vdso(v->pid, &vdso))
        return BL_HOLD_UNFIT;
    const unsigned char *room =
        vdso.bytes + (vdso.end - vdso.start) - STUB_BYTES;
    v->stub = vdso.end - STUB_BYTES;
    for (unsigned i = 0; i < HOME_TRIES; i++) {
        const enum bl_hold_result result = read_vdso(v->pid, &vdso);
        if (result != BL_HOLD_OK)
            return result;
        v->system_call = find_call(&vdso);
        const bool empty = is_zero(room, STUB_BYTES);
        if (v->system_call == 0 ||
            (!empty && memcmp(room, visitor_name, MARK_BYTES) != 0))
            return BL_HOLD_UNFIT;
        if (empty || is_left_alone(v))
            return BL_HOLD_OK;
        bl_file_sleep_ms(1);
    }
    return BL_HOLD_BUSY;
}

// Backwards: a rest begins as a stub does, by which the next one knows it.
static void clear(int tid, uint64_t stub) {
    for (size_t i = STUB_BYTES; i > 0; i -= sizeof(long))
        ptrace(PTRACE_POKEDATA, tid, stub + i - sizeof(long), 0);
}

// Lets a thread run on. A signal of its last stop goes with it: under the
// stub's mask that is SIGSTOP, whose stop is over for this thread at once.
static bool go_on(int tid, int status) {
    const int signal = WSTOPSIG(status);
    const bool pass = status >> 16 == 0 && signal != SYSCALL_STOP;
    return ptrace(PTRACE_SYSCALL, tid, 0, (long)(pass ? signal : 0)) == 0;
}

// SIGSTOP came while the kernel was in clone: it is taken first.
static bool begins_anew(int tid) {
    struct user_regs_struct r;
    return ptrace(PTRACE_GETREGS, tid, 0, &r) == 0 &&
           (long)r.rax == -ERESTARTNOINTR;
}

// As if it had never been in the stub, which has made no visitor yet.
static enum bl_hold_result turn_back(struct bl_visitor *v, int signal,
                                     enum bl_hold_result why) {
    bl_hold_restore(&v->hold);
    clear(v->hold.tid, v->stub);
    bl_hold_release(&v->hold, signal);
    return why;
}

// Has the held thread run the stub up to the end of clone.
static enum bl_hold_result run_stub(struct bl_visitor *v) {
    const int tid = v->hold.tid;
    int status = W_STOPCODE(SYSCALL_STOP);
    bool asked = false;
    for (unsigned stops = 0; stops < STUB_STOPS;) {
        if (!go_on(tid, status) ||
            !bl_hold_await(v->pid, tid, &status, &asked)) {
            bl_hold_lost(&v->hold);
            return BL_HOLD_GONE;
        }
        unsigned long made = 0;
        if (status >> 16 == PTRACE_EVENT_CLONE) {
            ptrace(PTRACE_GETEVENTMSG, tid, 0, &made);
            v->tid = (int)made;
        } else if (WSTOPSIG(status) == SYSCALL_STOP) {
            stops++;
            if (stops == STUB_STOPS && !v->tid && begins_anew(tid))
                stops -= 2;
        } else if (status >> 16 == 0 && stops == 0) {
            // A signal that came before the stub could block it.
            return turn_back(v, WSTOPSIG(status), BL_HOLD_AGAIN);
        } else if (asked && !v->tid && status >> 16 == PTRACE_EVENT_STOP &&
                   WSTOPSIG(status) == SIGTRAP) {
            return turn_back(v, 0, BL_HOLD_FROZEN);
        }
    }
    return BL_HOLD_OK;
}

static enum bl_hold_result let_home(struct bl_visitor *v) {
    int signal = 0;
    if (!bl_hold_settle(&v->hold, &signal)) {
        bl_hold_lost(&v->hold);
        return BL_HOLD_GONE;
    }
    bl_hold_restore(&v->hold);
    if (!v->tid)
        clear(v->hold.tid, v->stub);
    bl_hold_release(&v->hold, signal);
    return v->tid ? BL_HOLD_OK : BL_HOLD_FULL;
}

static enum bl_hold_result clone_visitor(struct bl_visitor *v) {
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE;
    struct user_regs_struct r;
    struct stub stub;
    const int tid = v->hold.tid;
    bl_hold_home(&v->hold, &r);
    if (r.rip - v->stub < STUB_BYTES) { // not home yet from a killed attach
        bl_hold_release(&v->hold, 0);
        return BL_HOLD_AGAIN;
    }
    make_stub(&stub, &r, v->hold.mask);
    begin_stub(&r, v->stub);
    if (!bl_hold_poke(tid, v->stub, stub.bytes, STUB_BYTES / sizeof(long)) ||
        ptrace(PTRACE_SETOPTIONS, tid, 0, options) != 0 ||
        ptrace(PTRACE_SETREGS, tid, 0, &r) != 0) {
        bl_hold_release(&v->hold, 0);
        return BL_HOLD_UNFIT;
    }
    v->visit = v->stub + stub.visit;
    const enum bl_hold_result result = run_stub(v);
    return result == BL_HOLD_OK ? let_home(v) : result;
}

// It has been killed, with the program. Seen to its end: the program's own
// parent waits for that.
static void lost(struct bl_visitor *v) {
    int status;
    while (waitpid(v->tid, &status, __WALL) > 0 && WIFSTOPPED(status))
        ;
    v->tid = 0;
}

// To its next stop.
static enum bl_hold_result run_on(const struct bl_visitor *v, int *status) {
    bool asked = false;
    if (!go_on(v->tid, *status) ||
        !bl_hold_await(v->pid, v->tid, status, &asked))
        return BL_HOLD_GONE;
    return asked && *status >> 16 == PTRACE_EVENT_STOP ? BL_HOLD_FROZEN
                                                       : BL_HOLD_OK;
}

// Runs into a system call and out of it.
static enum bl_hold_result run_call(const struct bl_visitor *v) {
    int status = W_STOPCODE(SYSCALL_STOP);
    enum bl_hold_result result = BL_HOLD_OK;
    for (unsigned stops = 0; stops < 2 && result == BL_HOLD_OK;) {
        result = run_on(v, &status);
        stops += WSTOPSIG(status) == SYSCALL_STOP;
    }
    return result;
}

static enum bl_hold_result try_call(const struct bl_visitor *v, long number,
                                    uint64_t a, uint64_t b, uint64_t c,
                                    long *out) {
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, v->tid, 0, &r) != 0)
        return BL_HOLD_GONE;
    r.rip = v->visit;
    r.rax = (unsigned long long)number;
    r.orig_rax = (unsigned long long)-1;
    r.rdi = a;
    r.rsi = b;
    r.rdx = c;
    if (ptrace(PTRACE_SETREGS, v->tid, 0, &r) != 0)
        return BL_HOLD_GONE;
    const enum bl_hold_result result = run_call(v);
    if (result != BL_HOLD_OK)
        return result;
    if (ptrace(PTRACE_GETREGS, v->tid, 0, &r) != 0)
        return BL_HOLD_GONE;
    *out = (long)r.rax;
    return BL_HOLD_OK;
}

static enum bl_hold_result call(struct bl_visitor *v, long number, uint64_t a,
                                uint64_t b, uint64_t c, long *out) {
    const enum bl_hold_result result = try_call(v, number, a, b, c, out);
    if (result == BL_HOLD_GONE)
        lost(v);
    return result;
}

_Static_assert(sizeof(cpu_set_t) <= sizeof((struct bl_visitor *)0)->processors,
               "processors fit");

// Not where its cpuset lacks the processor: then it runs where it may.
static void share_processor(struct bl_visitor *v) {
    cpu_set_t before;
    cpu_set_t one;
    const int here = sched_getcpu();
    if (here < 0 || sched_getaffinity(0, sizeof before, &before) != 0)
        return;
    CPU_ZERO(&one);
    CPU_SET((size_t)here, &one);
    v->pinned = sched_setaffinity(v->tid, sizeof one, &one) == 0 &&
                sched_setaffinity(0, sizeof one, &one) == 0;
    memcpy(v->processors, &before, sizeof before);
}

static void leave_processor(struct bl_visitor *v) {
    cpu_set_t before;
    memcpy(&before, v->processors, sizeof before);
    if (v->pinned)
        sched_setaffinity(0, sizeof before, &before);
    v->pinned = false;
}

// Waits for the visitor at its first instruction, and names it.
static enum bl_hold_result receive(struct bl_visitor *v) {
    int status;
    long got;
    if (waitpid(v->tid, &status, __WALL) < 0 || !WIFSTOPPED(status)) {
        lost(v);
        return BL_HOLD_GONE;
    }
    share_processor(v);
    return call(v, SYS_prctl, PR_SET_NAME, v->stub + NAME, 0, &got);
}

// One that was made, but whose maker has come to its end meanwhile.
static void dismiss(struct bl_visitor *v) {
    int status;
    if (v->tid && waitpid(v->tid, &status, __WALL) > 0 && WIFSTOPPED(status))
        ptrace(PTRACE_DETACH, v->tid, 0, 0);
    v->tid = 0;
}

// By an instruction of the vdso's own, for the stub goes first. One that is
// frozen is left to do it when it may.
void bl_visitor_end(struct bl_visitor *v) {
    struct user_regs_struct r;
    int status = W_STOPCODE(SYSCALL_STOP);
    enum bl_hold_result result = BL_HOLD_OK;
    if (v->tid && ptrace(PTRACE_GETREGS, v->tid, 0, &r) == 0) {
        r.rip = v->system_call;
        r.rax = SYS_exit;
        r.orig_rax = (unsigned long long)-1;
        r.rdi = 0;
        if (ptrace(PTRACE_SETREGS, v->tid, 0, &r) == 0)
            clear(v->tid, v->stub);
        while (result == BL_HOLD_OK)
            result = run_on(v, &status);
    }
    if (result == BL_HOLD_FROZEN)
        ptrace(PTRACE_DETACH, v->tid, 0, 0);
    else if (v->tid)
        lost(v);
    v->tid = 0;
    leave_processor(v);
    bl_file_restore_signals(v->signals);
}

enum bl_hold_result bl_visitor_begin(struct bl_visitor *v, int pid) {
    v->pid = pid;
    v->tid = 0;
    v->signals = bl_file_block_signals();
    enum bl_hold_result result = find_room(v);
    bool again = result == BL_HOLD_OK;
    for (unsigned i = 0; i < TRIES && again; i++) {
        result = bl_hold_begin(&v->hold, pid);
        if (result == BL_HOLD_OK)
            result = clone_visitor(v);
        again = result == BL_HOLD_AGAIN;
        if (again)
            bl_file_sleep_ms(1);
    }
    if (result == BL_HOLD_OK)
        result = receive(v);
    else
        dismiss(v);
    if (result != BL_HOLD_OK)
        bl_visitor_end(v);
    return result;
}

enum bl_hold_result bl_visitor_madvise(struct bl_visitor *v, uint64_t at,
                                       uint64_t bytes, int advice,
                                       long *result) {
    v->calls++;
    return call(v, SYS_madvise, at, bytes, (uint64_t)advice, result);
}

#else

enum bl_hold_result bl_visitor_begin(struct bl_visitor *v, int pid) {
    v->pid = pid;
    return BL_HOLD_UNFIT;
}

enum bl_hold_result bl_visitor_madvise(struct bl_visitor *v, uint64_t at,
                                       uint64_t bytes, int advice,
                                       long *result) {
    (void)v;
    (void)at;
    (void)bytes;
    (void)advice;
    *result = 0;
    return BL_HOLD_GONE;
}

void bl_visitor_end(struct bl_visitor *v) { v->tid = 0; }

#endif
