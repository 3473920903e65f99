// SPDX-License-Identifier: MIT
//
// Signals. The program stays in this command's process group, so the terminal
// reaches it directly: what the terminal sends (Ctrl-C, Ctrl-Z) is left alone
// here, what is sent to this command alone (by kill) is passed on. Signals are
// blocked and taken one by one with sigtimedwait, whose sender field tells the
// two apart; no handler ever runs.
//
#include "cli/launch.h"

#include "cli/json.h"
#include "cli/sampler.h"
#include "image/place.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const int watched_signals[] = {
    SIGCHLD,  SIGINT,  SIGQUIT, SIGTERM, SIGHUP, SIGUSR1,   SIGUSR2, SIGALRM,
    SIGWINCH, SIGCONT, SIGXCPU, SIGIO,   SIGURG, SIGVTALRM, SIGPROF};

struct signals {
    sigset_t watched;
    sigset_t before;
    struct sigaction child_before;
};

static void signals_take(struct signals *s) {
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    sigemptyset(&s->watched);
    for (size_t i = 0; i < BL_ARRAY_LEN(watched_signals); i++)
        sigaddset(&s->watched, watched_signals[i]);
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
    const char *master = getenv("BIGLEAF");
    const bool wanted =
        image && (strcmp(image, "on") == 0 || strcmp(image, "1") == 0);
    if (!wanted || program->secure || (master && strcmp(master, "off") == 0))
        return;
    const bool runtime = plan->mechanism == BL_MECHANISM_BIGLEAF;
    bl_place_before_exec(program->path, getenv("BIGLEAF_SHADOW_DIR"), runtime);
}

static void exec_program(const struct bl_program *program,
                         const struct bl_plan *plan, char **argv) {
    const char *file = file_of(program);
    char *path =
        strchr(file, '/') ? bl_xstrdup(file) : bl_xprintf("./%s", file);
    bl_plan_apply(plan);
    place_text(program, plan);
    // A file without a header is a script for /bin/sh, as in a shell.
    execvp(path, argv);
}

int bl_launch_exec(const struct bl_command *command,
                   const struct bl_program *program, const struct bl_plan *plan,
                   char **argv) {
    exec_program(program, plan, argv);
    const int error = errno;
    bl_say(command, "%s: %s", argv[0], strerror(error));
    return exec_status(error);
}

static void use_streams(const struct bl_streams *streams) {
    if (streams->in >= 0)
        dup2(streams->in, 0);
    if (streams->out >= 0)
        dup2(streams->out, 1);
    if (streams->err >= 0)
        dup2(streams->err, 2);
}

// The child's half. The pipe closes at a successful exec; otherwise it carries
// the reason.
static void child(const struct bl_program *program, const struct bl_plan *plan,
                  const struct bl_streams *streams, char **argv,
                  const struct signals *signals, int pipe_end) {
    signals_give_back(signals);
    use_streams(streams);
    exec_program(program, plan, argv);
    const int error = errno;
    if (write(pipe_end, &error, sizeof error) < 0)
        _exit(BL_EXIT_BUG);
    _exit(exec_status(error));
}

static void pass_on(int pid, const siginfo_t *info) {
    const bool from_kernel = info->si_code > 0;
    if (!from_kernel && info->si_pid != pid)
        kill(pid, info->si_signo);
}

// Waits for the end of `pid`, looking at it now and then. *interrupt is the
// last signal that asked this command to end.
static int wait_watching(int pid, const struct signals *signals,
                         struct bl_sampler *sampler, struct rusage *usage,
                         int *interrupt) {
    uint64_t due = bl_now_us();
    for (;;) {
        int status;
        const int got = wait4(pid, &status, WNOHANG | WUNTRACED, usage);
        BL_CHECK(got >= 0 || errno == EINTR);
        if (got == pid && !WIFSTOPPED(status))
            return status;
        // Stopped by hand: stop as well, so that whoever waits for this
        // command sees it. The terminal's stops reach this command directly.
        if (got == pid && WSTOPSIG(status) == SIGSTOP)
            raise(SIGSTOP);
        const uint64_t now = bl_now_us();
        if (now >= due)
            due = bl_now_us() + bl_sampler_look(sampler);
        const uint64_t left = due > now ? due - now : 0;
        const struct timespec timeout = {(time_t)(left / 1000000),
                                         (long)(left % 1000000 * 1000)};
        siginfo_t info;
        const int sig = sigtimedwait(&signals->watched, &info, &timeout);
        if (sig > 0 && sig != SIGCHLD)
            pass_on(pid, &info);
        if (sig == SIGINT || sig == SIGQUIT || sig == SIGTERM || sig == SIGHUP)
            *interrupt = sig;
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

int bl_launch(const struct bl_command *command,
              const struct bl_program *program, const struct bl_plan *plan,
              const struct bl_streams *streams, char **argv,
              struct bl_result *out) {
    struct signals signals;
    struct bl_sampler sampler;
    struct rusage usage = {0};
    int ends[2];
    *out = (struct bl_result){.argv = argv,
                              .mechanism = plan->mechanism,
                              .mechanism_failed = plan->failed,
                              .mechanism_why = bl_xstrdup(plan->why)};
    if (pipe2(ends, O_CLOEXEC) != 0) {
        bl_say(command, "cannot make a pipe: %s", strerror(errno));
        return BL_EXIT_MACHINE;
    }
    fflush(NULL);
    signals_take(&signals);
    const uint64_t start = bl_now_us();
    const int pid = fork();
    if (pid == 0)
        child(program, plan, streams, argv, &signals, ends[1]);
    close(ends[1]);
    if (pid < 0) {
        bl_say(command, "cannot start a process: %s", strerror(errno));
        signals_give_back(&signals);
        close(ends[0]);
        return BL_EXIT_MACHINE;
    }
    int error = 0;
    const bool failed = read(ends[0], &error, sizeof error) > 0;
    close(ends[0]);
    bl_sampler_init(&sampler, pid);
    const int status =
        wait_watching(pid, &signals, &sampler, &usage, &out->interrupt);
    out->wall = (double)(bl_now_us() - start) / 1e6;
    signals_give_back(&signals);
    take_usage(out, status, &usage);
    take_samples(out, &sampler);
    bl_sampler_free(&sampler);
    if (failed) {
        bl_say(command, "%s: %s", argv[0], strerror(error));
        return exec_status(error);
    }
    return 0;
}

char *bl_launch_lines_file(void) {
    const char *places[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"};
    for (size_t i = 0; i < BL_ARRAY_LEN(places); i++) {
        if (!places[i] || !places[i][0])
            continue;
        char *file = bl_xprintf("%s/bigleaf-XXXXXX", places[i]);
        const int fd = mkostemp(file, O_CLOEXEC | O_APPEND);
        if (fd >= 0) {
            close(fd);
            return file;
        }
        free(file);
    }
    return NULL;
}

static bool read_backing(const char *line, const char *moment,
                         struct bl_backing *out) {
    *out = (struct bl_backing){0};
    bool any = false;
    for (int i = 0; i < BL_REGIONS; i++) {
        struct bl_region_backing *r = &out->region[i];
        char path[64];
        const struct {
            const char *key;
            uint64_t *value;
        } members[] = {{"bytes", &r->bytes},
                       {"huge_bytes", &r->huge},
                       {"hugetlb_bytes", &r->hugetlb},
                       {"pss_bytes", &r->pss}};
        for (size_t k = 0; k < BL_ARRAY_LEN(members); k++) {
            snprintf(path, sizeof path, "%s.%s.%s", moment, bl_region_names[i],
                     members[k].key);
            any |= bl_json_get_u64(line, path, members[k].value);
        }
    }
    return any;
}

// The index of a string member among `count` names; `count`: none of them.
static int name_index(const char *text, const char *key,
                      const char *const *names, int count) {
    char *word = bl_json_get_string(text, key);
    int i = 0;
    while (i < count && (!word || strcmp(word, names[i]) != 0))
        i++;
    free(word);
    return i;
}

static void read_parts(const char *line, struct bl_snapshot *out) {
    const char *array = bl_json_find(line, "parts");
    for (const char *p = NULL; array && (p = bl_json_next(array, p));) {
        const int region = name_index(p, "region", bl_region_names, BL_REGIONS);
        const int cause = name_index(p, "cause", bl_cause_names, BL_CAUSES);
        uint64_t bytes = 0;
        char *object = bl_json_get_string(p, "object");
        if (object && region < BL_REGIONS && cause < BL_CAUSES &&
            bl_json_get_u64(p, "bytes", &bytes))
            bl_snapshot_add_object(out, (enum bl_region)region, object,
                                   (enum bl_cause)cause, bytes);
        free(object);
    }
}

static void add_note(struct bl_result *result, char *object, char *reason) {
    for (size_t i = 0; i < result->note_count; i++) {
        if (strcmp(result->notes[i].object, object) == 0) {
            free(object);
            free(reason);
            return;
        }
    }
    result->notes = bl_xrealloc(result->notes, (result->note_count + 1) *
                                                   sizeof *result->notes);
    result->notes[result->note_count++] =
        (struct bl_image_note){object, reason};
}

static void read_image(const char *line, struct bl_result *result,
                       struct bl_snapshot *peak) {
    const char *array = bl_json_find(line, "image");
    for (const char *p = NULL; array && (p = bl_json_next(array, p));) {
        const int mechanism = name_index(
            p, "mechanism", bl_text_mechanism_names, BL_TEXT_MECHANISMS);
        uint64_t huge = 0;
        char *object = bl_json_get_string(p, "object");
        char *reason = bl_json_get_string(p, "reason");
        if (bl_json_get_u64(p, "huge_bytes", &huge) && huge &&
            mechanism < BL_TEXT_MECHANISMS && mechanism > (int)peak->text)
            peak->text = (enum bl_text_mechanism)mechanism;
        if (object && reason)
            add_note(result, object, reason);
    }
}

static void take_line(struct bl_result *result, const char *line) {
    struct bl_process p = {0};
    uint64_t pid = 0;
    uint64_t parent = 0;
    uint64_t disabled = 0;
    char *schema = bl_json_get_string(line, "schema");
    const bool ours = schema && strcmp(schema, "bigleaf.process/1") == 0 &&
                      bl_json_get_u64(line, "pid", &pid);
    free(schema);
    if (!ours)
        return;
    bl_json_get_u64(line, "ppid", &parent);
    p.pid = (int)pid;
    p.parent = (int)parent;
    p.executable = bl_json_get_string(line, "exe");
    p.have_backing = read_backing(line, "end", &p.end);
    bl_snapshot_init(&p.peak);
    p.peak.processes = p.have_backing;
    if (!read_backing(line, "peak", &p.peak.backing))
        p.peak.backing = p.end;
    read_parts(line, &p.peak);
    read_image(line, result, &p.peak);
    p.thp_disabled =
        bl_json_get_u64(line, "thp_disabled", &disabled) && disabled;
    p.line = bl_xstrdup(line);
    result->processes =
        bl_xrealloc(result->processes,
                    (result->process_count + 1) * sizeof *result->processes);
    result->processes[result->process_count++] = p;
}

static void append(const char *file, const char *line) {
    FILE *out = fopen(file, "ae");
    if (!out)
        return;
    fputs(line, out);
    fclose(out);
}

static void prefer_peak(struct bl_result *r, struct bl_process *p) {
    const uint64_t bytes = bl_backing_total(&p->peak.backing).bytes;
    const enum bl_text_mechanism text =
        p->peak.text > r->peak.text ? p->peak.text : r->peak.text;
    if (bytes > bl_backing_total(&r->peak.backing).bytes) {
        bl_snapshot_free(&r->peak);
        r->peak = p->peak;
        // The process keeps the sums, the result has the objects.
        p->peak.objects = NULL;
        p->peak.object_count = 0;
    }
    r->peak.text = text;
    if (bytes > r->peak_rss)
        r->peak_rss = bytes;
}

// A process knows its own peak and end better than a sampler does; the first
// process outlives its children, so its end is the end.
static void prefer_own_lines(struct bl_result *r) {
    for (size_t i = 0; i < r->process_count; i++) {
        struct bl_process *p = &r->processes[i];
        r->thp_disabled |= p->thp_disabled;
        if (!p->have_backing)
            continue;
        prefer_peak(r, p);
        if (p->pid == r->pid) {
            r->end.backing = p->end;
            r->end.processes = 1;
        }
    }
}

void bl_launch_collect(struct bl_result *result, char *lines_file,
                       const char *onward) {
    FILE *in = lines_file ? fopen(lines_file, "re") : NULL;
    char *line = NULL;
    size_t capacity = 0;
    while (in && getline(&line, &capacity, in) > 0) {
        if (onward && onward[0])
            append(onward, line);
        line[strcspn(line, "\n")] = '\0';
        take_line(result, line);
    }
    free(line);
    if (in)
        fclose(in);
    if (lines_file)
        unlink(lines_file);
    free(lines_file);
    prefer_own_lines(result);
    if (result->end.processes == 0) {
        result->end.backing = result->peak.backing;
        result->end.processes = result->peak.processes;
    }
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
    free(r->pages);
    r->processes = NULL;
    r->process_count = 0;
    r->notes = NULL;
    r->note_count = 0;
    r->mechanism_why = NULL;
    r->pages = NULL;
}
