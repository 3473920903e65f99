// SPDX-License-Identifier: MIT
//
// `bigleaf attach --all`: the large processes, the largest first. Each is
// served by a child of this command, so that whatever a process does to its
// tracer, the next one is served.
//
#include "cli/attach.h"

#include "os/machine.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct found {
    int pid;
    uint64_t rss;
};

struct finds {
    const struct bl_attach_choice *choice;
    struct found *at;
    size_t count;
};

static void consider(int pid, int parent, void *context) {
    struct finds *f = context;
    struct bl_target t;
    (void)parent;
    if (pid == 1 || pid == getpid() || bl_target_read(pid, &t) < 0 ||
        t.kernel || t.rss < f->choice->least || t.rss == 0)
        return;
    if (f->choice->user >= 0 && t.user != f->choice->user)
        return;
    f->at = bl_xrealloc(f->at, (f->count + 1) * sizeof *f->at);
    f->at[f->count++] = (struct found){pid, t.rss};
}

static int larger(const void *a, const void *b) {
    const struct found *x = a;
    const struct found *y = b;
    return (x->rss < y->rss) - (x->rss > y->rss);
}

// The status, or BL_EXIT_SIGNAL and the error of standard output.
static int serve(int pid, struct bl_json *j, bool json) {
    struct bl_attach a;
    if (bl_attach_open(&a, pid) == 0)
        bl_attach_round(&a);
    if (json)
        bl_attach_json(j, &a);
    else
        bl_attach_line(stdout, &a);
    const int status = a.rounds && !a.wrong ? 0 : BL_EXIT_MACHINE;
    bl_attach_close(&a);
    bl_output_flush();
    return bl_output_error() ? BL_EXIT_SIGNAL + bl_output_error() : status;
}

// In a child; its status.
static int serve_apart(int pid, struct bl_json *j, bool json) {
    int status = 0;
    bl_output_flush();
    const int child = fork();
    if (child == 0)
        _exit(serve(pid, j, json));
    if (child < 0 || waitpid(child, &status, 0) != child)
        return BL_EXIT_BUG;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE)
        bl_output_lost(EPIPE);
    if (!WIFEXITED(status)) // it has said nothing
        return BL_EXIT_BUG;
    j->comma = true;
    if (WEXITSTATUS(status) > BL_EXIT_SIGNAL)
        bl_output_lost(WEXITSTATUS(status) - BL_EXIT_SIGNAL);
    return WEXITSTATUS(status);
}

int bl_attach_all(const struct bl_command *self,
                  const struct bl_attach_choice *choice) {
    struct finds f = {.choice = choice};
    struct bl_json j = {.out = stdout};
    size_t served = 0;
    bl_machine_each_process(consider, &f);
    if (f.count)
        qsort(f.at, f.count, sizeof *f.at, larger);
    if (choice->json) {
        bl_json_open(&j, NULL, '{');
        bl_json_string(&j, "schema", "bigleaf.attach/1");
        bl_json_open(&j, "processes", '[');
    }
    for (size_t i = 0; i < f.count && !bl_attach_interrupted(); i++)
        served += serve_apart(f.at[i].pid, &j, choice->json) == 0;
    if (choice->json) {
        bl_json_close(&j, ']');
        bl_json_close(&j, '}');
        fputc('\n', stdout);
    }
    if (f.count == 0)
        bl_say(self, "no process is that large");
    free(f.at);
    return served || f.count == 0 ? 0 : BL_EXIT_MACHINE;
}
