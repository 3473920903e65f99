// SPDX-License-Identifier: MIT
//
// Whom `bigleaf attach` serves: everything that is no program of this user's,
// runs no 64-bit code, or is somebody else's already is refused with one line.
//
#include "cli/attach.h"

#include "os/file.h"
#include "os/machine.h"
#include "os/os.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *user_name(uint32_t user) {
    const struct passwd *entry = getpwuid(user);
    return entry ? bl_xstrdup(entry->pw_name) : bl_xprintf("%u", user);
}

static char *stranger(const struct bl_target *t) {
    char *name = user_name(t->user);
    char *text = bl_xprintf("belongs to user %s; run bigleaf as that user or "
                            "as root",
                            name);
    free(name);
    return text;
}

// Why there is nothing to attach to; NULL: there is.
static char *no_program(const struct bl_target *t) {
    if (t->process && t->process != t->pid)
        return bl_xprintf("is a thread of process %d; name that", t->process);
    if (t->pid == getpid())
        return bl_xstrdup("is this command itself");
    if (t->pid == 1)
        return bl_xstrdup("is init, which is left alone");
    if (t->state == 'Z' && t->threads > 1)
        return bl_xstrdup("goes on without its first thread, and the kernel "
                          "no longer shows its memory");
    if (t->state == 'Z' || t->state == 'X')
        return bl_xstrdup("has ended and waits for its parent (a zombie)");
    if (t->kernel)
        return bl_xstrdup("is a thread of the kernel");
    return NULL;
}

// Why this program is refused; NULL: it is not.
static char *refusal(const struct bl_target *t) {
    char *text = no_program(t);
    if (text)
        return text;
    if (t->user != getuid() && geteuid() != 0)
        return stranger(t);
    if (t->tracer)
        return bl_xprintf("is traced already, by process %d; end that first",
                          t->tracer);
    if (t->state == 'T' || t->state == 't')
        return bl_xprintf("is stopped; let it go on first: kill -CONT %d",
                          t->pid);
    if (t->other_class)
        return bl_xstrdup("is no 64-bit program of this machine");
    if (t->thp_disabled)
        return bl_xstrdup("has huge pages switched off (PR_SET_THP_DISABLE)");
    return NULL;
}

// A filter that this command does not have might end the program at a call it
// does not know.
static bool may_inject(const struct bl_target *t) {
    struct bl_target own;
    return t->filters == 0 ||
           (t->filters != UINT_MAX && bl_target_read(getpid(), &own) == 0 &&
            t->filters <= own.filters);
}

void bl_attach_unseen(struct bl_attach *a, int error) {
    const bool shortage =
        error == -EMFILE || error == -ENFILE || error == -ENOMEM;
    a->ended |= !shortage;
    if (shortage && !a->wrong)
        a->wrong = bl_xprintf("cannot be looked at: %s", strerror(-error));
}

int bl_attach_open(struct bl_attach *a, int pid) {
    *a = (struct bl_attach){.handle = -1, .claim = -1};
    a->begin_ns = bl_hold_now_ns();
    if (bl_target_read(pid, &a->target) < 0) {
        a->wrong = bl_xstrdup("does not exist");
        return -1;
    }
    a->wrong = refusal(&a->target);
    if (a->wrong)
        return -1;
    a->claim = bl_target_claim(pid);
    if (a->claim == -EADDRINUSE) {
        a->wrong = bl_xstrdup("is being attached to by another bigleaf");
        return -1;
    }
    a->handle = bl_target_handle(pid);
    a->may_collapse = bl_target_may_collapse();
    a->outside = a->handle >= 0 && a->may_collapse;
    a->may_inject = may_inject(&a->target);
    const int error = bl_backing_read(pid, &a->before, NULL, NULL);
    a->after = a->before;
    if (error == 0)
        return 0;
    if (error == -EACCES || error == -EPERM)
        a->wrong = bl_xstrdup("does not let its memory be looked at; run "
                              "bigleaf as root");
    else
        bl_attach_unseen(a, error);
    if (!a->wrong)
        a->wrong = bl_xstrdup("has ended");
    return -1;
}

void bl_attach_close(struct bl_attach *a) {
    if (a->handle >= 0)
        bl_os_close(a->handle);
    if (a->claim >= 0)
        bl_os_close(a->claim);
    free(a->wrong);
    a->wrong = NULL;
}
