// SPDX-License-Identifier: MIT
#if defined(__x86_64__)

#include "os/trace.h"

#include "os/file.h"
#include "os/os.h"

#include <errno.h>

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
// Below the stack pointer lies the red zone; texts go further down.
#define TEXT_DISTANCE 4096
#define STAT_CAPACITY 1024
// Enough for the deepest of what serves a program from outside.
#define STACK_BYTES (256 * BL_KIB)

// Beside the kernel's requests: to the breakpoint at the end of a batch.
#define RUN_BATCH (-1)

_Static_assert(sizeof(struct user_regs_struct) <= 256, "registers fit");
_Static_assert(SYS_fork == SYS_clone + 1 && SYS_vfork == SYS_clone + 2,
               "one after the other");

static struct user_regs_struct saved(const struct bl_trace *t) {
    struct user_regs_struct r;
    __builtin_memcpy(&r, t->registers, sizeof r);
    return r;
}

bool bl_trace_may_step(void) {
    struct sigaction action;
    sigset_t blocked;
    return sigaction(SIGTRAP, NULL, &action) == 0 &&
           action.sa_handler != SIG_IGN &&
           sigprocmask(SIG_BLOCK, NULL, &blocked) == 0 &&
           !sigismember(&blocked, SIGTRAP);
}

int bl_trace_seize(int pid) {
    const long options =
        PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
    return ptrace(PTRACE_SEIZE, pid, 0, options) == 0 ? 0 : -errno;
}

// The end of a single step, or the breakpoint behind a batch, which the
// kernel tells of in its own name.
static bool is_trap(int pid, int status, int request) {
    siginfo_t info;
    return WSTOPSIG(status) == SIGTRAP && status >> 16 == 0 &&
           ptrace(PTRACE_GETSIGINFO, pid, 0, &info) == 0 && info.si_code > 0 &&
           (request == RUN_BATCH) == (info.si_code == SI_KERNEL);
}

static int native_request(int request) {
    return request == 0 || request == RUN_BATCH ? PTRACE_CONT : request;
}

// The next stop that is neither a signal nor job control; -errno when the
// process ended. Signals are passed on. With `request` 0 it runs already.
static int next_stop(int pid, int request, int *status) {
    long signal = 0;
    bool resume = request != 0;
    for (;;) {
        if (resume && ptrace(native_request(request), pid, 0, signal))
            return -errno;
        while (waitpid(pid, status, __WALL) < 0) {
            if (errno != EINTR)
                return -errno;
        }
        if (!WIFSTOPPED(*status))
            return -ESRCH;
        const int event = *status >> 16;
        const int stop = WSTOPSIG(*status);
        resume = true;
        signal = 0;
        if (event == PTRACE_EVENT_STOP) {
            // Stopped by job control: stays so until it is continued.
            if (stop != SIGTRAP && ptrace(PTRACE_LISTEN, pid, 0, 0) == 0)
                resume = false;
        } else if (event || stop == (SIGTRAP | 0x80) ||
                   ((request == PTRACE_SINGLESTEP || request == RUN_BATCH) &&
                    is_trap(pid, *status, request))) {
            return 0;
        } else {
            signal = stop;
        }
    }
}

static int open_memory(int pid) {
    char path[BL_PROC_PATH];
    const int fd =
        open(bl_os_proc_path(path, pid, 0, "/mem"), O_RDWR | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int bl_trace_await_exec(int pid, struct bl_trace *out) {
    struct user_regs_struct regs;
    int status;
    *out = (struct bl_trace){
        .pid = pid, .memory = -1, .single_step = out->single_step};
    int result = next_stop(pid, 0, &status);
    while (result == 0 && status >> 16 != PTRACE_EVENT_EXEC)
        result = next_stop(pid, PTRACE_CONT, &status);
    if (result < 0)
        return result;
    if (ptrace(PTRACE_GETREGS, pid, 0, &regs) != 0)
        return -errno;
    regs.rax = 0; // as execve is going to return
    __builtin_memcpy(out->registers, &regs, sizeof regs);
    out->in_exec = true;
    out->stack = regs.rsp;
    out->instruction = regs.rip;
    out->memory = open_memory(pid);
    if (regs.cs != 0x33 || out->memory < 0) {
        bl_trace_release(out);
        return -ENOSYS;
    }
    return 0;
}

static void let_go(struct bl_trace *t, int request) {
    struct user_regs_struct regs = saved(t);
    regs.rip = t->instruction;
    ptrace(PTRACE_SETREGS, t->pid, 0, &regs);
    ptrace(request, t->pid, 0, 0);
    if (t->memory >= 0)
        close(t->memory);
    t->memory = -1;
}

void bl_trace_release(struct bl_trace *t) { let_go(t, PTRACE_DETACH); }

int bl_trace_read(struct bl_trace *t, uint64_t at, void *to, size_t bytes) {
    return bl_file_read_at(t->memory, to, bytes, at);
}

int bl_trace_write(struct bl_trace *t, uint64_t at, const void *from,
                   size_t bytes) {
    return bl_file_write_at(t->memory, from, bytes, at);
}

bool bl_trace_find_call(struct bl_trace *t, uint64_t start, uint64_t end) {
    unsigned char code[4096];
    for (uint64_t at = start; at < end; at += sizeof code) {
        const size_t n = end - at < sizeof code ? end - at : sizeof code;
        if (bl_trace_read(t, at, code, n) < 0)
            return false;
        for (size_t i = 0; i + 1 < n; i++) {
            if (code[i] == 0x0f && code[i + 1] == 0x05) {
                t->call_address = at + i;
                return true;
            }
        }
    }
    return false;
}

// Makes the steps from rbx to r12, each 64 bytes, and stops where one fails.
static const unsigned char batch_loop[] = {
    0x4c, 0x39, 0xe3,                   // next: cmp %r12, %rbx
    0x73, 0x2f,                         // jae end
    0x48, 0x8b, 0x03,                   // mov (%rbx), %rax
    0x48, 0x8b, 0x7b, 0x08,             // mov 8(%rbx), %rdi
    0x48, 0x8b, 0x73, 0x10,             // mov 16(%rbx), %rsi
    0x48, 0x8b, 0x53, 0x18,             // mov 24(%rbx), %rdx
    0x4c, 0x8b, 0x53, 0x20,             // mov 32(%rbx), %r10
    0x4c, 0x8b, 0x43, 0x28,             // mov 40(%rbx), %r8
    0x4c, 0x8b, 0x4b, 0x30,             // mov 48(%rbx), %r9
    0x0f, 0x05,                         // syscall
    0x48, 0x89, 0x43, 0x38,             // mov %rax, 56(%rbx)
    0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff, // cmp $-4095, %rax
    0x73, 0x06,                         // jae end
    0x48, 0x83, 0xc3, 0x40,             // add $64, %rbx
    0xeb, 0xcc,                         // jmp next
    0xcc,                               // end: int3
};
_Static_assert(sizeof((struct bl_trace_batch *)0)->steps[0] == 64, "the loop");

// What the step would return if all went well.
static long note_step(struct bl_trace_batch *b, long nr,
                      const uint64_t *arguments) {
    if (b->count == BL_TRACE_STEPS)
        return -E2BIG;
    __typeof__(b->steps[0]) *s = &b->steps[b->count++];
    s->number = (uint64_t)nr;
    s->result = (uint64_t)-ECANCELED;
    __builtin_memcpy(s->arguments, arguments, sizeof s->arguments);
    return nr == SYS_mmap ? (long)arguments[0] : 0;
}

// A single step from within execve would end where execve does.
static int leave_exec(struct bl_trace *t) {
    int status;
    const bool inside = t->in_exec;
    t->in_exec = false;
    return inside ? next_stop(t->pid, PTRACE_SYSCALL, &status) : 0;
}

static long call(struct bl_trace *t, long nr, uint64_t a, uint64_t b,
                 uint64_t c, uint64_t d, uint64_t e, uint64_t f) {
    const uint64_t arguments[] = {a, b, c, d, e, f};
    if (t->batch)
        return note_step(t->batch, nr, arguments);
    struct user_regs_struct regs = saved(t);
    int status;
    int result = leave_exec(t);
    if (result < 0)
        return result;
    regs.rip = t->call_address;
    regs.rax = (unsigned long long)nr;
    regs.orig_rax = (unsigned long long)-1;
    regs.rdi = a;
    regs.rsi = b;
    regs.rdx = c;
    regs.r10 = d;
    regs.r8 = e;
    regs.r9 = f;
    if (ptrace(PTRACE_SETREGS, t->pid, 0, &regs) != 0)
        return -errno;
    if (t->single_step) {
        result = next_stop(t->pid, PTRACE_SINGLESTEP, &status);
    } else {
        // In and out again.
        result = next_stop(t->pid, PTRACE_SYSCALL, &status);
        if (result == 0)
            result = next_stop(t->pid, PTRACE_SYSCALL, &status);
    }
    if (result < 0)
        return result;
    if (ptrace(PTRACE_GETREGS, t->pid, 0, &regs) != 0)
        return -errno;
    return (long)regs.rax;
}

void bl_trace_batch_begin(struct bl_trace *t, struct bl_trace_batch *batch,
                          uint64_t code) {
    batch->code = code;
    batch->text = t->stack - TEXT_DISTANCE;
    batch->count = 0;
    t->batch = batch;
}

// The steps lie in the process at `table`, the loop at `code`. Also from
// within execve, which gives the program the registers it finds in the end, as
// it found those of its own making, but for rax.
static int run_batch(struct bl_trace *t, const struct bl_trace_batch *b,
                     uint64_t table) {
    struct user_regs_struct regs = saved(t);
    int status;
    regs.rip = b->code;
    regs.orig_rax = (unsigned long long)-1;
    regs.rbx = table;
    regs.r12 = table + b->count * sizeof b->steps[0];
    t->in_exec = false;
    if (ptrace(PTRACE_SETREGS, t->pid, 0, &regs) != 0)
        return -errno;
    return next_stop(t->pid, RUN_BATCH, &status);
}

static long result_of(const struct bl_trace_batch *b) {
    for (uint32_t i = 0; i < b->count; i++) {
        const long result = (long)b->steps[i].result;
        if (result < 0 && result > -4096)
            return result;
        if (b->steps[i].number == SYS_mmap &&
            b->steps[i].result != b->steps[i].arguments[0])
            return -EEXIST;
    }
    return 0;
}

long bl_trace_batch_end(struct bl_trace *t) {
    unsigned char before[sizeof batch_loop];
    struct bl_trace_batch *b = t->batch;
    t->batch = NULL;
    const size_t bytes = b->count * sizeof b->steps[0];
    const uint64_t table = bl_align_down(b->text - bytes, 16);
    int result = bl_trace_read(t, b->code, before, sizeof before);
    if (result == 0)
        result = bl_trace_write(t, table, b->steps, bytes);
    if (result == 0)
        result = bl_trace_write(t, b->code, batch_loop, sizeof batch_loop);
    if (result < 0)
        return result;
    result = run_batch(t, b, table);
    if (result == 0)
        result = bl_trace_read(t, table, b->steps, bytes);
    const int put = bl_trace_write(t, b->code, before, sizeof before);
    if (result == 0)
        result = put;
    return result < 0 ? result : result_of(b);
}

// Where the process may have `bytes` of ours until the call is made.
static uint64_t room_for(struct bl_trace *t, size_t bytes) {
    const uint64_t below = t->batch ? t->batch->text : t->stack - TEXT_DISTANCE;
    const uint64_t at = bl_align_down(below - bytes, 16);
    if (t->batch)
        t->batch->text = at;
    return at;
}

long bl_trace_open(struct bl_trace *t, const char *path) {
    size_t n = 0;
    while (path[n])
        n++;
    const uint64_t at = room_for(t, n + 1);
    const int put = bl_trace_write(t, at, path, n + 1);
    if (put < 0)
        return put;
    return call(t, SYS_openat, (uint64_t)AT_FDCWD, at,
                (uint64_t)(O_RDONLY | O_CLOEXEC | O_NOFOLLOW), 0, 0, 0);
}

long bl_trace_close(struct bl_trace *t, int fd) {
    return call(t, SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0);
}

long bl_trace_advise(struct bl_trace *t, uint64_t at, uint64_t bytes) {
    return call(t, SYS_madvise, at, bytes, MADV_HUGEPAGE, 0, 0, 0);
}

#define FIELD(name) (uint32_t) offsetof(struct seccomp_data, name)
#define LOAD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(at))
#define EQUAL(value, yes, no)                                                  \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define AT_LEAST(value, yes, no)                                               \
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, value, yes, no)
#define HIGH 4 // behind the lower half of an argument
#define PLAIN (MAP_PRIVATE | MAP_ANONYMOUS)
// Stacks and the like do not want huge pages, others cannot have them.
#define UNWANTED (MAP_STACK | MAP_HUGETLB | MAP_GROWSDOWN | MAP_32BIT)

// Of a jump, `yes` and `no` count the instructions to leave out. The last two
// let a call through and trap it.
static const struct sock_filter trap_filter[] = {
    LOAD(FIELD(arch)),
    EQUAL(AUDIT_ARCH_X86_64, 0, 33),
    LOAD(FIELD(nr)),
    EQUAL(SYS_brk, 32, 0),
    EQUAL(SYS_mremap, 31, 0),
    // What makes threads and processes: clone, fork, vfork; clone3.
    AT_LEAST(SYS_clone, 0, 1),
    AT_LEAST(SYS_vfork + 1, 0, 29),
    EQUAL(SYS_clone3, 28, 0),
    // A filter of the program's own, or strict mode?
    EQUAL(SYS_prctl, 0, 2),
    LOAD(FIELD(args[0])),
    EQUAL(PR_SET_SECCOMP, 25, 24),
    EQUAL(SYS_seccomp, 0, 2),
    LOAD(FIELD(args[0])),
    AT_LEAST(SECCOMP_SET_MODE_FILTER + 1, 21, 22),
    EQUAL(SYS_munmap, 0, 3),
    // Among the slots?
    LOAD(FIELD(args[0]) + HIGH),
    AT_LEAST(BL_TRACE_SLOTS_LOW >> 32, 0, 18),
    AT_LEAST(BL_TRACE_SLOTS_HIGH >> 32, 17, 18),
    EQUAL(SYS_mmap, 0, 16),
    LOAD(FIELD(args[0]) + HIGH),
    AT_LEAST(BL_TRACE_SLOTS_LOW >> 32, 0, 1),
    AT_LEAST(BL_TRACE_SLOTS_HIGH >> 32, 0, 14),
    // How much?
    LOAD(FIELD(args[1]) + HIGH),
    EQUAL(0, 0, 8),
    LOAD(FIELD(args[1])),
    AT_LEAST(BL_MIB, 6, 0),
    // A little: plain memory at an address of the kernel's choice.
    LOAD(FIELD(args[2])),
    EQUAL(PROT_READ | PROT_WRITE, 0, 7),
    LOAD(FIELD(args[0])),
    EQUAL(0, 0, 5),
    LOAD(FIELD(args[3])),
    EQUAL(PLAIN, 4, 3),
    // Much: anonymous memory of any kind that can be huge.
    LOAD(FIELD(args[3])),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, MAP_TYPE | MAP_ANONYMOUS | UNWANTED),
    EQUAL(PLAIN, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
};

// Puts the filter and what describes it on the stack, and has it installed.
// Without privilege the kernel wants a promise for it: that no program it
// starts gains any.
static long install_filter(struct bl_trace *t) {
    const uint64_t rules =
        bl_align_down(t->stack - TEXT_DISTANCE - sizeof trap_filter, 16);
    const struct sock_fprog program = {BL_ARRAY_LEN(trap_filter),
                                       (struct sock_filter *)(uintptr_t)rules};
    const uint64_t at = rules - bl_align_up(sizeof program, 16);
    if (bl_trace_write(t, rules, trap_filter, sizeof trap_filter) < 0 ||
        bl_trace_write(t, at, &program, sizeof program) < 0)
        return -EIO;
    long result = call(t, SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, at, 0, 0, 0);
    if (result != -EACCES)
        return result;
    result = call(t, SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0);
    if (result == 0)
        result = call(t, SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, at, 0, 0, 0);
    return result;
}

int bl_trace_release_trapped(struct bl_trace *t) {
    const long options = PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD |
                         PTRACE_O_EXITKILL | PTRACE_O_TRACESECCOMP |
                         PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                         PTRACE_O_TRACECLONE;
    if (ptrace(PTRACE_SETOPTIONS, t->pid, 0, options) != 0)
        return -errno;
    const long result = install_filter(t);
    if (result < 0)
        return (int)result;
    let_go(t, PTRACE_CONT);
    return 0;
}

static uint64_t native(unsigned protection) {
    return (protection & BL_FILE_READ ? PROT_READ : 0u) |
           (protection & BL_FILE_WRITE ? PROT_WRITE : 0u) |
           (protection & BL_FILE_EXECUTE ? PROT_EXEC : 0u);
}

static long map(struct bl_trace *t, uint64_t at, uint64_t bytes,
                unsigned protection, unsigned flags, int fd, uint64_t offset) {
    const uint64_t all = flags | MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0u);
    const long got = call(t, SYS_mmap, at, bytes, native(protection), all,
                          (uint64_t)(int64_t)fd, offset);
    if (got < 0 && got > -4096)
        return got;
    return (uint64_t)got == at ? 0 : -EEXIST;
}

long bl_trace_map_new(struct bl_trace *t, uint64_t at, uint64_t bytes,
                      unsigned protection, int fd, uint64_t offset) {
    return map(t, at, bytes, protection, MAP_FIXED_NOREPLACE, fd, offset);
}

long bl_trace_map_over(struct bl_trace *t, uint64_t at, uint64_t bytes,
                       unsigned protection, int fd, uint64_t offset) {
    return map(t, at, bytes, protection,
               MAP_FIXED | MAP_NORESERVE | MAP_POPULATE, fd, offset);
}

long bl_trace_move_over(struct bl_trace *t, uint64_t at, uint64_t bytes,
                        unsigned protection, int fd, uint64_t offset) {
    const long aside =
        call(t, SYS_mmap, 0, bytes, native(protection),
             MAP_PRIVATE | MAP_NORESERVE | MAP_POPULATE, (uint64_t)fd, offset);
    if (aside < 0 && aside > -4096)
        return aside;
    const long moved = call(t, SYS_mremap, (uint64_t)aside, bytes, bytes,
                            MREMAP_MAYMOVE | MREMAP_FIXED, at, 0);
    if ((uint64_t)moved == at)
        return 0;
    bl_trace_unmap(t, (uint64_t)aside, bytes);
    return bl_trace_map_over(t, at, bytes, protection, fd, offset);
}

long bl_trace_unmap(struct bl_trace *t, uint64_t at, uint64_t bytes) {
    return call(t, SYS_munmap, at, bytes, 0, 0, 0, 0);
}

// Field n of /proc/PID/stat, counted as in proc(5): 3 is the first behind the
// name, which may itself hold spaces and brackets.
static uint64_t stat_field(const char *text, int n) {
    const char *p = text;
    uint64_t x = 0;
    for (const char *q = text; *q; q++)
        p = *q == ')' ? q + 2 : p;
    for (int field = 3; field < n && *p; p++)
        field += *p == ' ';
    bl_read_u64(&p, &x);
    return x;
}

static int open_of(int pid, const char *name) {
    char path[BL_PROC_PATH];
    return bl_file_open(bl_os_proc_path(path, pid, 0, name));
}

int bl_trace_read_layout(struct bl_trace *t, struct bl_trace_layout *out) {
    char text[STAT_CAPACITY];
    const int fd = open_of(t->pid, "/stat");
    if (fd < 0)
        return fd;
    const ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    if (got <= 0)
        return -EIO;
    text[got] = '\0';
    *out = (struct bl_trace_layout){
        .start_code = stat_field(text, 26),
        .end_code = stat_field(text, 27),
        .start_stack = stat_field(text, 28),
        .start_data = stat_field(text, 45),
        .end_data = stat_field(text, 46),
        .start_brk = stat_field(text, 47),
        .arg_start = stat_field(text, 48),
        .arg_end = stat_field(text, 49),
        .env_start = stat_field(text, 50),
        .env_end = stat_field(text, 51),
    };
    out->brk = out->start_brk; // nothing has moved it yet
    return out->start_stack && out->start_brk ? 0 : -EPERM;
}

long bl_trace_set_layout(struct bl_trace *t, const struct bl_trace_layout *l) {
    const struct prctl_mm_map m = {
        .start_code = l->start_code,
        .end_code = l->end_code,
        .start_data = l->start_data,
        .end_data = l->end_data,
        .start_brk = l->start_brk,
        .brk = l->brk,
        .start_stack = l->start_stack,
        .arg_start = l->arg_start,
        .arg_end = l->arg_end,
        .env_start = l->env_start,
        .env_end = l->env_end,
        .auxv = (__u64 *)(uintptr_t)l->auxv,
        .auxv_size = l->auxv_bytes,
        .exe_fd = (__u32)-1, // stays: setting it takes a privilege
    };
    const uint64_t at = room_for(t, sizeof m);
    const int put = bl_trace_write(t, at, &m, sizeof m);
    if (put < 0)
        return put;
    return call(t, SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, at, sizeof m, 0, 0);
}

// The new process shares the C library's thread-local data (errno) with its
// caller, so at no time both may need it. glibc ends it by itself when
// `function` returns.
int bl_trace_start_beside(int (*function)(void *), void *context) {
    static _Alignas(64) unsigned char stack[STACK_BYTES];
    const int pid =
        clone(function, stack + sizeof stack, CLONE_VM | SIGCHLD, context);
    return pid < 0 ? -errno : 0;
}

bool bl_trace_adopts_orphans(void) {
    int is_subreaper = 0;
    return getpid() == 1 ||
           (prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper);
}

void bl_trace_hand_down(int fd) { fcntl(fd, F_SETFD, 0); }

struct kept {
    const int *fds;
    size_t count;
    int list; // itself one of those that are listed
};

static bool close_unless_kept(const char *name, void *context) {
    const struct kept *k = context;
    uint64_t fd = 0;
    if (!bl_read_u64(&name, &fd))
        return true;
    bool kept = (int)fd == k->list;
    for (size_t i = 0; i < k->count; i++)
        kept |= (int)fd == k->fds[i];
    if (!kept)
        close((int)fd);
    return true;
}

// Before Linux 5.9, or where a filter knows no ranges.
static void close_one_by_one(const int *keep, size_t count) {
    struct kept k = {keep, count, bl_file_open_directory("/proc/self/fd")};
    if (k.list < 0)
        return;
    bl_file_list(k.list, close_unless_kept, &k);
    close(k.list);
}

void bl_trace_detach_from_caller(const int *keep, size_t count) {
    unsigned from = 0;
    long failed = 0;
    setsid();
    for (size_t i = 0; i < count; i++) {
        const unsigned fd = (unsigned)keep[i];
        BL_CHECK(fd >= from);
        if (fd > from)
            failed |= syscall(SYS_close_range, from, fd - 1, 0);
        from = fd + 1;
    }
    failed |= syscall(SYS_close_range, from, ~0u, 0);
    if (failed)
        close_one_by_one(keep, count);
}

void bl_trace_permit(int pid) { prctl(PR_SET_PTRACER, pid, 0, 0, 0); }

int bl_trace_open_program(int pid) { return open_of(pid, "/exe"); }

int bl_trace_open_environment(int pid) { return open_of(pid, "/environ"); }

int bl_trace_open_descriptor(int pid, int fd) {
    char name[24];
    struct bl_text t;
    bl_text_init(&t, name, sizeof name);
    bl_text_str(&t, "/fd/");
    bl_text_i64(&t, fd);
    return open_of(pid, name);
}

#endif
