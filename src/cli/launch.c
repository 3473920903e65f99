// SPDX-License-Identifier: MIT
//
// Signals. The program stays in this command's process group, so what is sent
// to the group (by the terminal, or by timeout) reaches it directly; what is
// sent to this command alone (by kill) is passed on. The bystander tells these
// apart. Signals are blocked and taken one by one with sigtimedwait; no handler
// ever runs. Where the program stops, this command stops by the same signal, so
// that whoever waits for it sees what it would have seen.
//
#include "cli/launch.h"

#include "cli/clock.h"
#include "cli/inject.h"
#include "cli/lines.h"
#include "cli/sampler.h"
#include "cli/scratch.h"
#include "image/place.h"
#include "os/bystander.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_GLANCE_MS 20

// All that can be held back. A fault of this command ends it all the same.
struct signals {
    sigset_t watched;
    sigset_t before;
    sigset_t ignored; // by whoever started this command, and the program
    sigset_t early;   // came before there was a program
    struct sigaction child_before;
};

bool bl_signal_is_ignored(int signal) {
    struct sigaction now;
    return sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static void signals_take(struct signals *s) {
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    sigfillset(&s->watched);
    sigemptyset(&s->ignored);
    sigemptyset(&s->early);
    for (int i = 1; i <= SIGRTMAX; i++) {
        if (bl_signal_is_ignored(i))
            sigaddset(&s->ignored, i);
    }
    sigprocmask(SIG_BLOCK, &s->watched, &s->before);
    // An inherited SIG_IGN would take the exit status away from wait4.
    sigaction(SIGCHLD, &standard, &s->child_before);
}

static void signals_give_back(const struct signals *s) {
    sigaction(SIGCHLD, &s->child_before, NULL);
    sigprocmask(SIG_SETMASK, &s->before, NULL);
}

static int exec_status(int error) {
    return error == ENOENT ? BL_EXIT_NOT_FOUND : BL_EXIT_NOT_EXECUTABLE;
}

// What is executed is the script, where there is one.
static const char *file_of(const struct bl_program *program) {
    return program->script ? program->script : program->path;
}

// What the runtime cannot do from inside: an address that huge text needs, and
// a program that no preload reaches. A reason against it is no error; the
// report shows what the text got.
static void place_text(const struct bl_program *program,
                       const struct bl_plan *plan) {
    const char *image = getenv("BIGLEAF_IMAGE");
    const bool inject = plan->mechanism == BL_MECHANISM_INJECTED;
    if (program->secure || bl_plan_is_switched_off() ||
        (!inject && image && strcmp(image, "off") == 0))
        return;
    const bool runtime = plan->mechanism == BL_MECHANISM_BIGLEAF;
    const char *wrong =
        bl_place_before_exec(program->path, getenv("BIGLEAF_SHADOW_DIR"),
                             runtime, inject ? bl_inject_keep : NULL);
    if (inject && wrong)
        bl_inject_note(wrong);
}

// A text without a header is a script for /bin/sh, as in a shell. execvp hands
// any file over.
static void execute(const char *file, char **argv) {
    execv(file, argv);
    if (errno != ENOEXEC)
        return;
    if (bl_program_is_text(file))
        execvp(file, argv);
    else
        errno = ENOEXEC;
}

// Of a file that cannot be executed, the other one that is to blame; NULL: none
// is.
static const char *missing_interpreter(const struct bl_program *program) {
    const char *const files[] = {program->script ? program->path : NULL,
                                 program->interpreter};
    for (size_t i = 0; i < BL_ARRAY_LEN(files); i++) {
        if (files[i] && access(files[i], F_OK) != 0)
            return files[i];
    }
    return NULL;
}

// Says why; returns the status to leave with.
static int cannot_execute(const struct bl_command *command,
                          const struct bl_program *program, const char *name,
                          int error) {
    const char *missing = error == ENOENT && access(file_of(program), F_OK) == 0
                              ? missing_interpreter(program)
                              : NULL;
    if (missing)
        bl_say(command, "%s: its interpreter %s is not there", name, missing);
    else if (error == ENOEXEC && program->kind == BL_PROGRAM_FOREIGN)
        bl_say(command, "%s: is for %u-bit %s, this machine is %s", name,
               program->bits, bl_program_machine_name(program->machine),
               bl_program_machine_name(bl_program_own_machine()));
    else
        bl_say(command, "%s: %s", name, strerror(error));
    return exec_status(error);
}

static void exec_program(const struct bl_program *program,
                         const struct bl_plan *plan, char **argv) {
    bl_plan_apply(plan);
    place_text(program, plan);
    execute(file_of(program), argv);
}

int bl_launch_exec(const struct bl_command *command,
                   const struct bl_program *program, const struct bl_plan *plan,
                   char **argv) {
    exec_program(program, plan, argv);
    return cannot_execute(command, program, argv[0], errno);
}

static void use_streams(const struct bl_streams *streams) {
    if (streams->in >= 0)
        dup2(streams->in, 0);
    if (streams->out >= 0)
        dup2(streams->out, 1);
    if (streams->err >= 0)
        dup2(streams->err, 2);
}

// The file that processes write their lines to, in a folder of its own that
// goes with it: what outlives this command would make a file alone anew.
static char *make_lines(const struct bl_scratch_folder *folder) {
    char *lines = folder->path ? bl_xprintf("%s/lines", folder->path) : NULL;
    const int fd =
        lines ? open(lines, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (fd >= 0)
        close(fd);
    return lines;
}

// The child's half. The pipe closes at a successful exec; otherwise it carries
// the reason.
static void child(const struct bl_launch *what, const char *lines,
                  const struct signals *signals, int pipe_end) {
    signals_give_back(signals);
    if (what->mask)
        sigprocmask(SIG_SETMASK, what->mask, NULL);
    use_streams(&what->streams);
    if (lines)
        setenv("BIGLEAF_REPORT", lines, 1);
    exec_program(what->program, what->plan, what->argv);
    const int error = errno;
    if (write(pipe_end, &error, sizeof error) < 0)
        _exit(BL_EXIT_BUG);
    _exit(exec_status(error));
}

// One stop, also where the terminal has sent the signal to this command, too;
// and none where SIGCONT has come meanwhile, which takes it back.
static void stop_by(int signal) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    kill(getpid(), signal);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    sigprocmask(SIG_BLOCK, &one, NULL);
}

// Until the child has executed the program, or says why it cannot. Where it
// stops before that, so does this command.
static int await_exec(int pid, int pipe_end) {
    struct pollfd word = {.fd = pipe_end, .events = POLLIN};
    int error = 0;
    while (poll(&word, 1, START_GLANCE_MS) == 0) {
        siginfo_t stop = {0};
        if (waitid(P_PID, (id_t)pid, &stop, WSTOPPED | WNOHANG) == 0 &&
            stop.si_pid == pid)
            stop_by(stop.si_status);
    }
    return read(pipe_end, &error, sizeof error) == sizeof error ? error : 0;
}

// Starts the child and waits until it has executed the program. Its pid, or
// -1; *error is why it could not.
static int start(const struct bl_launch *what, const char *lines,
                 struct signals *signals, int *error) {
    int ends[2];
    *error = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        *error = errno;
        return -1;
    }
    fflush(NULL);
    sigpending(&signals->early);
    const int pid = fork();
    if (pid == 0)
        child(what, lines, signals, ends[1]);
    if (pid < 0)
        *error = errno;
    close(ends[1]);
    if (pid > 0)
        *error = await_exec(pid, ends[0]);
    close(ends[0]);
    return pid;
}

struct watch {
    int pid;
    struct signals *signals;
    struct bl_bystander bystander;
    struct bl_sampler sampler;
    sigset_t taken; // what came to this command
    int interrupt;  // the last signal that asked it to end
};

static void note(struct watch *w, int signal) {
    sigaddset(&w->taken, signal);
    if ((signal == SIGINT || signal == SIGQUIT || signal == SIGTERM ||
         signal == SIGHUP) &&
        !sigismember(&w->signals->ignored, signal))
        w->interrupt = signal;
}

// With what sigqueue(3) has given it.
static void send_on(const struct watch *w, const siginfo_t *info) {
    if (info->si_code == SI_QUEUE)
        sigqueue(w->pid, info->si_signo, info->si_value);
    else
        kill(w->pid, info->si_signo);
}

static void pass_on(struct watch *w, const siginfo_t *info) {
    const int signal = info->si_signo;
    // As SIGPIPE is, for what this command has written.
    const bool ours = info->si_code <= 0 && info->si_pid == getpid();
    // An alarm(2) set before this command was executed is the program's.
    const bool from_kernel = info->si_code > 0 && signal != SIGALRM;
    const bool to_group = bl_bystander_was_sent(&w->bystander, signal);
    const bool early = sigismember(&w->signals->early, signal);
    const bool has_it = !early && (from_kernel || to_group);
    if (ours)
        return;
    sigdelset(&w->signals->early, signal);
    if (!has_it && info->si_pid != w->pid)
        send_on(w, info);
    note(w, signal);
}

// The program may end by a signal of the terminal before this command has taken
// its own, which would end it as soon as signals are given back.
static void take_pending(struct watch *w) {
    const struct timespec none = {0, 0};
    int signal = 0;
    while ((signal = sigtimedwait(&w->signals->watched, NULL, &none)) > 0)
        note(w, signal);
}

// Waits for the program's end, looking at it now and then.
static int wait_watching(struct watch *w, struct rusage *usage) {
    uint64_t due = bl_now_us();
    for (;;) {
        int status;
        const int got = wait4(w->pid, &status, WNOHANG | WUNTRACED, usage);
        BL_CHECK(got >= 0 || errno == EINTR);
        if (got == w->pid && !WIFSTOPPED(status))
            return status;
        if (got == w->pid)
            stop_by(WSTOPSIG(status));
        const uint64_t now = bl_now_us();
        if (now >= due)
            due = bl_now_us() + bl_sampler_look(&w->sampler);
        const uint64_t left = due > now ? due - now : 0;
        const struct timespec timeout = {(time_t)(left / 1000000),
                                         (long)(left % 1000000 * 1000)};
        siginfo_t info;
        const int sig = sigtimedwait(&w->signals->watched, &info, &timeout);
        if (sig > 0 && sig != SIGCHLD)
            pass_on(w, &info);
    }
}

static double seconds(struct timeval t) {
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void take_usage(struct bl_result *out, int status,
                       const struct rusage *usage) {
    out->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    out->exit_status =
        out->signal ? BL_EXIT_SIGNAL + out->signal : WEXITSTATUS(status);
    out->user = seconds(usage->ru_utime);
    out->system = seconds(usage->ru_stime);
    out->largest_rss = (uint64_t)usage->ru_maxrss * BL_KIB;
    out->minor_faults = (uint64_t)usage->ru_minflt;
    out->major_faults = (uint64_t)usage->ru_majflt;
}

static void take_samples(struct bl_result *out, struct bl_sampler *s) {
    out->thp_disabled = s->thp_disabled;
    out->peak = s->peak;
    out->end = s->later;
    bl_snapshot_init(&s->peak);
    bl_snapshot_init(&s->later);
    const struct bl_region_backing total = bl_backing_total(&out->peak.backing);
    // Of several processes, shared pages count once: by proportion.
    const uint64_t sampled =
        out->peak.processes > 1 ? total.pss + total.hugetlb : total.bytes;
    out->peak_rss = sampled > out->largest_rss ? sampled : out->largest_rss;
    if (out->peak.processes <= 1 && s->pid_count == 1 &&
        s->peak_bytes > out->peak_rss)
        out->peak_rss = s->peak_bytes;
}

static void watch(struct watch *w, struct bl_result *out) {
    struct rusage usage = {0};
    bl_sampler_init(&w->sampler, w->pid);
    const int status = wait_watching(w, &usage);
    take_usage(out, status, &usage);
    take_samples(out, &w->sampler);
    bl_sampler_free(&w->sampler);
}

int bl_launch(const struct bl_launch *what, struct bl_result *out) {
    struct signals signals;
    int error;
    *out = (struct bl_result){.argv = what->argv,
                              .pages = what->pages,
                              .huge_percent = bl_plan_huge_percent(what->plan),
                              .mechanism = what->plan->mechanism,
                              .mechanism_failed = what->plan->failed,
                              .mechanism_why = bl_xstrdup(what->plan->why)};
    signals_take(&signals);
    struct bl_scratch_folder folder = bl_scratch_folder_make();
    char *lines = make_lines(&folder);
    struct watch w = {.signals = &signals};
    sigemptyset(&w.taken);
    bl_bystander_begin(&w.bystander); // there before anybody sends a signal
    const uint64_t before = bl_now_us();
    out->pid = w.pid = start(what, lines, &signals, &error);
    if (out->pid < 0 && w.bystander.link >= 0) { // its place is the program's
        bl_bystander_end(&w.bystander);
        out->pid = w.pid = start(what, lines, &signals, &error);
    }
    if (out->pid > 0 && w.bystander.link < 0)
        bl_say(what->command, "no process is left for a bystander: a signal to "
                              "the whole group may reach the program twice");
    if (out->pid > 0)
        watch(&w, out);
    bl_bystander_end(&w.bystander);
    out->wall = (double)(bl_now_us() - before) / 1e6;
    bl_lines_collect(out, lines, getenv("BIGLEAF_REPORT"));
    free(lines);
    bl_scratch_folder_remove(&folder);
    if (out->pid > 0)
        take_pending(&w);
    // What has ended the program was to end this command, whatever it is.
    out->interrupt = out->signal && sigismember(&w.taken, out->signal)
                         ? out->signal
                         : w.interrupt;
    signals_give_back(&signals);
    if (error == 0)
        return 0;
    if (out->pid > 0)
        return cannot_execute(what->command, what->program, what->argv[0],
                              error);
    bl_say(what->command, "%s: %s", what->argv[0], strerror(error));
    return BL_EXIT_MACHINE;
}

int bl_launch_end_like(const struct bl_result *r) {
    if (r->signal) {
        const struct rlimit no_core = {0, 0};
        sigset_t one;
        setrlimit(RLIMIT_CORE, &no_core);
        signal(r->signal, SIG_DFL);
        sigemptyset(&one);
        sigaddset(&one, r->signal);
        sigprocmask(SIG_UNBLOCK, &one, NULL);
        raise(r->signal);
    }
    return r->exit_status;
}

void bl_result_free(struct bl_result *r) {
    for (size_t i = 0; i < r->process_count; i++) {
        free(r->processes[i].executable);
        free(r->processes[i].line);
        bl_snapshot_free(&r->processes[i].peak);
    }
    for (size_t i = 0; i < r->note_count; i++) {
        free(r->notes[i].object);
        free(r->notes[i].reason);
    }
    free(r->processes);
    free(r->notes);
    bl_snapshot_free(&r->peak);
    bl_snapshot_free(&r->end);
    free(r->mechanism_why);
    r->processes = NULL;
    r->process_count = 0;
    r->notes = NULL;
    r->note_count = 0;
    r->mechanism_why = NULL;
}
