// SPDX-License-Identifier: MIT
//
// `bigleaf attach`: the command line, one process once, and one watched.
//
// Watching comes back as the process grows. The pause between rounds halves
// where a round gained and doubles where it did not, and is never so short
// that looking costs more than a hundredth of the time.
//
#include "cli/attach.h"

#include "cli/launch.h"
#include "cli/options.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define LEAST_PAUSE_MS 500
#define MOST_PAUSE_MS 60000
#define GLANCE_MS 500
#define STUCK_GLANCE_MS 10
#define PRIORITY (-10)
#define COST_SHARE 100
#define GAIN_BYTES (8 * BL_MIB)

struct request {
    bool watch;
    bool all;
    bool size_given;
    bool user_given;
    bool own_given; // --user without a name
    struct bl_attach_choice choice;
};

static sigset_t ending_signals(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < BL_ARRAY_LEN(signals); i++)
        if (!bl_signal_is_ignored(signals[i]))
            sigaddset(&set, signals[i]);
    return set;
}

// "64M", "2G", "1500k", or bytes.
static bool parse_size(const char *text, uint64_t *out) {
    static const char letters[] = "kmgt";
    const char *p = text;
    if (!bl_read_u64(&p, out))
        return false;
    const char *letter = *p ? strchr(letters, *p | 0x20) : NULL;
    const unsigned shift = letter ? 10 * (unsigned)(letter - letters + 1) : 0;
    p += letter != NULL;
    if (*out > UINT64_MAX >> shift)
        return false;
    *out <<= shift;
    return *p == '\0' || strcmp(p, "B") == 0 || strcmp(p, "iB") == 0;
}

static bool parse_user(const char *name, int64_t *out) {
    const struct passwd *entry = name ? getpwnam(name) : NULL;
    uint64_t number = 0;
    const char *p = name;
    if (!name)
        *out = getuid();
    else if (entry)
        *out = entry->pw_uid;
    else if (bl_read_u64(&p, &number) && *p == '\0' && number <= UINT32_MAX)
        *out = (int64_t)number;
    else
        return false;
    return true;
}

static enum bl_step take_option(const struct bl_cursor *c, struct request *r) {
    const char *name = c->option->name;
    if (strcmp(name, "watch") == 0) {
        r->watch = true;
    } else if (strcmp(name, "all") == 0) {
        r->all = true;
    } else if (strcmp(name, "json") == 0) {
        r->choice.json = true;
    } else if (strcmp(name, "min-rss") == 0) {
        r->size_given = true;
        if (!parse_size(c->value, &r->choice.least)) {
            bl_usage(c->command,
                     "wrong value '%s' for --min-rss: a size such "
                     "as 64M or 2G",
                     c->value);
            return BL_STEP_WRONG;
        }
    } else {
        BL_CHECK(strcmp(name, "user") == 0);
        r->user_given = true;
        r->own_given = !c->value;
        if (!parse_user(c->value, &r->choice.user)) {
            bl_usage(c->command, "there is no user '%s'", c->value);
            return BL_STEP_WRONG;
        }
    }
    return BL_STEP_OPTION;
}

static bool did_something(const struct bl_attach *a) {
    return a->visitor.calls || a->longest_collapse_ns;
}

static int print(const struct bl_command *self, const struct bl_attach *a,
                 bool json) {
    if (a->ended)
        bl_say(self, "process %d has ended", a->target.pid);
    else if (a->wrong)
        bl_say(self, "process %d %s", a->target.pid, a->wrong);
    if (json) {
        struct bl_json j = {.out = stdout};
        bl_json_open(&j, NULL, '{');
        bl_json_string(&j, "schema", "bigleaf.attach/1");
        bl_json_open(&j, "processes", '[');
        bl_attach_json(&j, a);
        bl_json_close(&j, ']');
        bl_json_close(&j, '}');
        fputc('\n', stdout);
    } else if (did_something(a) || !(a->wrong || a->ended)) {
        bl_attach_text(stdout, a);
    }
    return a->ended || a->wrong ? BL_EXIT_MACHINE : 0;
}

// Waits; true where the process has ended or a signal came.
static bool pause_for(const struct bl_attach *a, int signals,
                      int milliseconds) {
    struct pollfd on[] = {{.fd = a->handle, .events = POLLIN},
                          {.fd = signals, .events = POLLIN}};
    return poll(on, BL_ARRAY_LEN(on), milliseconds) > 0;
}

// What did not stop when it was asked to waits for this command once it does.
static uint64_t glance_ms(void) {
    return bl_hold_has_let_go() ? GLANCE_MS : STUCK_GLANCE_MS;
}

// Until the pause is over or the process has grown by an eighth.
static bool pause_between(const struct bl_attach *a, int signals,
                          uint64_t pause_ms) {
    const uint64_t rss = bl_backing_total(&a->after).bytes;
    uint64_t glance;
    for (uint64_t waited = 0; waited < pause_ms; waited += glance) {
        struct bl_target now;
        const uint64_t left = pause_ms - waited;
        glance = glance_ms();
        if (pause_for(a, signals, (int)(left < glance ? left : glance)))
            return false;
        if (bl_target_read(a->target.pid, &now) < 0 || now.state == 'Z')
            return false;
        if (waited >= LEAST_PAUSE_MS && now.rss > rss + rss / 8 + GAIN_BYTES)
            return true;
    }
    return true;
}

static uint64_t next_pause(uint64_t pause, uint64_t gain, uint64_t cost_ms) {
    pause = gain >= GAIN_BYTES ? pause / 2 : pause * 2;
    const uint64_t least = cost_ms * COST_SHARE > LEAST_PAUSE_MS
                               ? cost_ms * COST_SHARE
                               : LEAST_PAUSE_MS;
    if (pause < least)
        pause = least;
    return pause < MOST_PAUSE_MS ? pause : MOST_PAUSE_MS;
}

// What hindered a round need not hinder the next one.
static bool hindered_for_good(struct bl_attach *a) {
    if (a->wrong && a->passing) {
        free(a->wrong);
        a->wrong = NULL;
        a->passing = false;
    }
    return a->wrong != NULL;
}

static void watch(struct bl_attach *a, bool json) {
    const sigset_t set = ending_signals();
    const int signals = signalfd(-1, &set, SFD_CLOEXEC);
    if (signals < 0) {
        a->wrong = bl_xprintf("cannot be watched: %s", strerror(errno));
        return;
    }
    uint64_t pause_ms = 2 * LEAST_PAUSE_MS;
    do {
        const struct bl_backing before = a->after;
        const double cpu = a->cpu_seconds;
        const uint64_t held = a->visitor.hold.total_ns;
        bl_attach_round(a);
        const uint64_t huge = bl_backing_total(&a->after).huge;
        const uint64_t was = bl_backing_total(&before).huge;
        const uint64_t gain = huge > was ? huge - was : 0;
        if (gain >= GAIN_BYTES && !json && !a->ended) {
            bl_attach_round_line(stdout, a, &before);
            bl_output_flush();
        }
        const uint64_t cost = (a->visitor.hold.total_ns - held) / 1000000 +
                              (uint64_t)((a->cpu_seconds - cpu) * 1000);
        pause_ms = next_pause(pause_ms, gain, cost);
    } while (!hindered_for_good(a) && !a->ended &&
             pause_between(a, signals, pause_ms));
    close(signals);
}

static int attach_one(const struct bl_command *self, const struct request *r,
                      int pid) {
    struct bl_attach a;
    int status = BL_EXIT_MACHINE;
    if (bl_attach_open(&a, pid) < 0) {
        status = print(self, &a, r->choice.json);
    } else if (r->watch) {
        watch(&a, r->choice.json);
        if (a.ended) { // that is how a watch ends, whatever it hindered
            free(a.wrong);
            a.wrong = NULL;
        }
        a.ended = false;
        status = print(self, &a, r->choice.json);
    } else {
        bl_attach_round(&a);
        status = print(self, &a, r->choice.json);
    }
    bl_attach_close(&a);
    return status;
}

// What came of it has been said: a signal that ended the work early, and has
// waited since, ends this command.
static int take_signals(const sigset_t *set, int status) {
    bl_output_flush();
    sigprocmask(SIG_UNBLOCK, set, NULL);
    return status;
}

// The process that the command line names; 0: the user has been told.
static int take_pid(const struct bl_command *self, const char *word) {
    const char *p = word;
    uint64_t pid = 0;
    if (bl_read_u64(&p, &pid) && *p == '\0' && pid > 0 && pid <= INT_MAX)
        return (int)pid;
    bl_usage(self, "'%s' is no process number", word);
    return 0;
}

static int fault_of(const struct bl_command *self, const struct request *r,
                    int words, char **argv) {
    if (r->all && r->watch)
        return bl_usage(self, "--all and --watch do not go together");
    if (r->all && r->own_given && words == 1)
        return bl_usage(self,
                        "--all takes no PID, and no other word; as a user's "
                        "name: --user=%s",
                        argv[0]);
    if (r->all && words)
        return bl_usage(self, "--all takes no PID, and no other word");
    if (!r->all && words != 1)
        return bl_usage(self, "one PID is needed, behind the options, or "
                              "--all");
    if (!r->all && (r->size_given || r->user_given))
        return bl_usage(self, "--min-rss and --user go with --all");
    return 0;
}

int bl_attach_main(const struct bl_command *self, int argc, char **argv) {
    struct request r = {.choice = {.least = 64 * BL_MIB, .user = -1}};
    struct bl_cursor cursor = {
        .command = self, .argv = argv, .argc = argc, .at = 1};
    enum bl_step step;
    while ((step = bl_cursor_next(&cursor)) == BL_STEP_OPTION &&
           (step = take_option(&cursor, &r)) == BL_STEP_OPTION)
        ;
    if (step != BL_STEP_END)
        return step == BL_STEP_HELP ? 0 : BL_EXIT_USAGE;
    const int fault = fault_of(self, &r, argc - cursor.at, argv + cursor.at);
    if (fault)
        return fault;
    const sigset_t set = ending_signals();
    // An inherited SIG_IGN would take the word of ends and stops away.
    signal(SIGCHLD, SIG_DFL);
    // Whoever is held waits for this command. Without the right, so be it.
    setpriority(PRIO_PROCESS, 0, PRIORITY);
    if (geteuid() != 0 && !r.user_given)
        r.choice.user = getuid();
    const int pid = r.all ? 0 : take_pid(self, argv[cursor.at]);
    if (!pid && !r.all)
        return BL_EXIT_USAGE;
    sigprocmask(SIG_BLOCK, &set, NULL);
    const int status =
        r.all ? bl_attach_all(self, &r.choice) : attach_one(self, &r, pid);
    return r.watch ? status : take_signals(&set, status);
}
