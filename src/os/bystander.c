// SPDX-License-Identifier: MIT
#include "os/bystander.h"

#include "os/os.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME "bystander"
#define ANSWER_MS 200
#define MOST_WAITS 100 // for an answer, each of ANSWER_MS

static uint64_t bit_of(int signal) { return UINT64_C(1) << (signal - 1); }

static void take_another_name(void) {
    char line[4096];
    char *words = program_invocation_name; // where the command line begins
    const long n = bl_os_read_file("/proc/self/cmdline", line, sizeof line);
    prctl(PR_SET_NAME, NAME, 0, 0, 0);
    if (n < (long)sizeof NAME)
        return;
    memset(words, 0, (size_t)n);
    memcpy(words, NAME, sizeof NAME);
}

// Answers each byte with the signals that came since the last one.
static _Noreturn void stand_by(int link) {
    const struct timespec now = {0, 0};
    sigset_t all;
    char question;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    take_another_name();
    while (bl_os_read(link, &question, 1) == 1) {
        uint64_t sent = 0;
        int signal;
        while ((signal = sigtimedwait(&all, NULL, &now)) > 0)
            sent |= bit_of(signal);
        bl_os_write(link, &sent, sizeof sent);
    }
    _exit(0);
}

static bool can_answer(const struct bl_bystander *b) {
    siginfo_t stop = {0};
    return waitid(P_PID, (id_t)b->pid, &stop,
                  WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
           stop.si_pid == 0;
}

// On a busy machine it may be long before it runs: only where it has ended or
// stands still is no answer to be expected.
static bool ask(const struct bl_bystander *b, uint64_t *sent) {
    struct pollfd answer = {.fd = b->link, .events = POLLIN};
    if (send(b->link, "?", 1, MSG_NOSIGNAL) != 1)
        return false;
    for (int i = 0; i < MOST_WAITS; i++) {
        if (poll(&answer, 1, ANSWER_MS) == 1)
            return bl_os_read(b->link, sent, sizeof *sent) ==
                   (long)sizeof *sent;
        if (!can_answer(b))
            break;
    }
    return false;
}

void bl_bystander_end(struct bl_bystander *b) {
    if (b->link < 0)
        return;
    bl_os_close(b->link);
    b->link = -1;
    kill(b->pid, SIGKILL);
    waitpid(b->pid, NULL, 0);
}

// It answers only once it blocks all signals and has its own name.
void bl_bystander_begin(struct bl_bystander *b) {
    int ends[2];
    *b = (struct bl_bystander){.link = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    b->pid = fork();
    if (b->pid == 0) {
        bl_os_close(ends[0]); // so that it learns of our end
        stand_by(ends[1]);
    }
    bl_os_close(ends[1]);
    if (b->pid > 0)
        b->link = ends[0];
    else
        bl_os_close(ends[0]);
    if (b->link >= 0 && !ask(b, &b->sent))
        bl_bystander_end(b);
}

static bool is_pending(int signal) {
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, signal) == 1;
}

// The kernel keeps one pending signal of a kind: an answer for one that came
// here may stand for the next one as well, if that is here already.
bool bl_bystander_was_sent(struct bl_bystander *b, int signal) {
    uint64_t sent = 0;
    if (b->link >= 0 && !ask(b, &sent))
        bl_bystander_end(b); // somebody has ended or stopped it
    b->sent |= sent;
    const bool was = (b->sent & bit_of(signal)) != 0;
    if (was && !is_pending(signal))
        b->sent &= ~bit_of(signal);
    return was;
}
