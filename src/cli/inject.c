// SPDX-License-Identifier: MIT
//
// The keeper's loop: who there is, which memory each has, and what happens to
// them. A new thread may show itself before the thread that made it does; it
// waits then, because its memory is not known yet.
//
#include "cli/inject.h"

#if defined(__x86_64__)

#include "cli/clock.h"
#include "cli/json.h"
#include "cli/plan.h"
#include "image/elf.h"
#include "os/backing.h"
#include "os/file.h"
#include "os/os.h"
#include "os/target.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct kept {
    int tid;
    struct bl_inject_space *space; // NULL: not known yet
    bool waits;                    // stands before its first instruction
    int parent; // of one that waits: the process that made it; 0: a thread
};

struct keeper {
    int program; // its first process
    bool noted;  // what was done for it
    struct kept *at;
    size_t count;
    struct bl_inject_count made;
};

static struct kept *find(struct keeper *k, int tid) {
    for (size_t i = 0; i < k->count; i++) {
        if (k->at[i].tid == tid)
            return &k->at[i];
    }
    return NULL;
}

static struct kept *find_or_add(struct keeper *k, int tid) {
    struct kept *old = find(k, tid);
    if (old)
        return old;
    k->at = bl_xrealloc(k->at, (k->count + 1) * sizeof *k->at);
    k->at[k->count] = (struct kept){.tid = tid};
    return &k->at[k->count++];
}

static struct bl_inject_space *new_space(bool idle) {
    struct bl_inject_space *s = bl_xrealloc(NULL, sizeof *s);
    bl_inject_space_begin(s, idle);
    return s;
}

static void leave_space(struct kept *t) {
    if (t->space && --t->space->users == 0) {
        bl_inject_space_end(t->space);
        free(t->space);
    }
    t->space = NULL;
}

static void forget(struct keeper *k, int tid) {
    struct kept *t = find(k, tid);
    if (!t)
        return;
    leave_space(t);
    *t = k->at[--k->count];
}

// A process whose maker has been killed before it could tell of it: it has a
// copy of the memory.
static void let_go(struct kept *child, const struct bl_inject_space *from) {
    child->space = new_space(from == NULL || from->idle);
    if (from) {
        bl_inject_space_end(child->space);
        bl_inject_space_copy(child->space, from);
    }
    child->waits = false;
    bl_trap_pass(child->tid);
}

// `tid` and with it all threads of that process have ended.
static void let_go_children(struct keeper *k, int tid) {
    const struct kept *maker = find(k, tid);
    for (size_t i = 0; maker && i < k->count; i++) {
        if (k->at[i].waits && k->at[i].parent == tid)
            let_go(&k->at[i], maker->space);
    }
}

static void take_child(struct keeper *k, const struct bl_trap *e) {
    if (!e->other) { // it has been killed meanwhile
        bl_trap_pass(e->tid);
        return;
    }
    struct kept *child = find_or_add(k, e->other);
    struct kept *parent = find(k, e->tid); // `find_or_add` may have moved it
    if (!child->space && parent && parent->space) {
        if (e->shares_memory) {
            child->space = parent->space;
            child->space->users++;
        } else {
            child->space = bl_xrealloc(NULL, sizeof *child->space);
            bl_inject_space_copy(child->space, parent->space);
        }
    }
    if (child->waits)
        bl_trap_pass(child->tid);
    child->waits = false;
    bl_trap_pass(e->tid);
}

static bool has_loader(int pid) {
    struct bl_file_facts facts;
    struct bl_elf elf;
    const int fd = bl_trace_open_program(pid);
    const bool known = fd >= 0 && bl_file_facts(fd, &facts) == 0 &&
                       !bl_elf_read(fd, facts.size, &elf);
    if (fd >= 0)
        bl_os_close(fd);
    return !known || elf.interpreter;
}

// What a new program's environment says. The runtime stands first in our own
// LD_PRELOAD.
struct wish {
    bool runtime; // comes in by its loader, if it has one
    bool off;
};

static struct wish read_wish(int pid) {
    const char *list = getenv("LD_PRELOAD");
    const size_t n = list ? strcspn(list, ": ") : 0;
    const int fd = bl_trace_open_environment(pid);
    FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;
    struct wish w = {0};
    char *line = NULL;
    size_t room = 0;
    while (in && getdelim(&line, &room, '\0', in) > 0) {
        const char *value = line + strlen("LD_PRELOAD=");
        w.off |= bl_str_starts(line, "BIGLEAF=") &&
                 bl_plan_is_off(line + strlen("BIGLEAF="));
        w.runtime |= n && bl_str_starts(line, "LD_PRELOAD=") &&
                     strncmp(value, list, n) == 0;
    }
    free(line);
    if (in)
        fclose(in);
    return w;
}

// What runs after execve is served, but where the runtime serves it.
static bool is_left_alone(int pid) {
    const struct wish w = read_wish(pid);
    return w.off || (w.runtime && has_loader(pid));
}

static void take_exec(struct keeper *k, const struct bl_trap *e) {
    const struct kept *was = find(k, e->other);
    const bool filtered = was && was->space && was->space->filtered;
    if (e->other != e->tid)
        forget(k, e->other);
    struct kept *t = find_or_add(k, e->tid);
    let_go_children(k, e->tid);
    leave_space(t);
    t->space = new_space(filtered || is_left_alone(e->tid));
    t->space->filtered = filtered;
    bl_trap_pass(e->tid);
}

// One line for the report, if there is one.
static void note(const char *reason, const struct bl_inject_count *made) {
    const char *file = getenv("BIGLEAF_REPORT");
    FILE *out = file && file[0] ? fopen(file, "ae") : NULL;
    struct bl_json j = {.out = out};
    if (!out)
        return;
    bl_json_open(&j, NULL, '{');
    bl_json_string(&j, "schema", BL_INJECT_SCHEMA);
    if (reason)
        bl_json_string(&j, "reason", reason);
    bl_json_u64(&j, "calls", made->calls);
    bl_json_u64(&j, "answered", made->answered);
    bl_json_u64(&j, "moves", made->moves);
    bl_json_u64(&j, "filtered", made->filtered);
    bl_json_u64(&j, "cpu_us", bl_cpu_us());
    bl_json_close(&j, '}');
    fputc('\n', out);
    fclose(out);
}

// The number stays taken: what else would get it, a complaint would go into.
static void let_go_stderr(void) {
    bl_os_close(STDERR_FILENO);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0 && nowhere != STDERR_FILENO) { // a lower one was free
        dup2(nowhere, STDERR_FILENO);
        bl_os_close(nowhere);
    }
}

// With the program ends what is said for it: who reads its messages to their
// end does not wait for children that it has left behind.
static void take_end(struct keeper *k, int tid) {
    let_go_children(k, tid);
    forget(k, tid);
    if (tid != k->program || k->noted)
        return;
    note(NULL, &k->made);
    k->noted = true;
    let_go_stderr();
}

static void take(struct keeper *k, const struct bl_trap *e);

static void take_call(struct keeper *k, int tid) {
    struct kept *t = find(k, tid);
    struct bl_trap_call call;
    if (!t || !t->space) {
        bl_trap_pass(tid);
    } else if (!bl_inject_serve(t->space, tid, &k->made, &call)) {
        struct bl_trap next;
        bl_trap_take(tid, call.status, &next);
        take(k, &next);
    }
}

static void take_begin(struct keeper *k, int tid) {
    struct kept *t = find_or_add(k, tid);
    t->waits = t->space == NULL;
    if (!t->waits) {
        bl_trap_pass(tid);
        return;
    }
    struct bl_target now;
    t->parent =
        bl_target_read(tid, &now) == 0 && now.process == tid ? now.parent : 0;
    if (t->parent && !find(k, t->parent))
        let_go(t, NULL);
}

static void take(struct keeper *k, const struct bl_trap *e) {
    switch (e->event) {
    case BL_TRAP_CALL:
        take_call(k, e->tid);
        break;
    case BL_TRAP_CHILD:
        take_child(k, e);
        break;
    case BL_TRAP_EXEC:
        take_exec(k, e);
        break;
    case BL_TRAP_BEGIN:
        take_begin(k, e->tid);
        break;
    case BL_TRAP_END:
        take_end(k, e->tid);
        break;
    case BL_TRAP_PASSED:
        break;
    }
}

static void say(const char *reason) {
    char buffer[512];
    struct bl_text t;
    bl_message_begin(&t, buffer, sizeof buffer);
    bl_text_str(&t, "heap left to the program's own malloc: ");
    bl_text_str(&t, reason);
    bl_message_end(&t);
}

void bl_inject_note(const char *reason) {
    const struct bl_inject_count none = {0};
    const char *verbose = getenv("BIGLEAF_VERBOSE");
    note(reason, &none);
    if (verbose && strcmp(verbose, "1") == 0)
        say(reason);
}

static void advise_if_data(const struct bl_mapping *m, void *context) {
    const bool whole =
        bl_align_up(m->start, BL_HUGE_SIZE) + BL_HUGE_SIZE <= m->end;
    if (m->writable && !m->path[0] && whole)
        bl_trace_advise(context, m->start, m->end - m->start);
}

// With --data=on: what the program finds zeroed (.bss), before it is touched.
// No other memory without a name is there yet.
static void advise_data(struct bl_trace *held) {
    const char *data = getenv("BIGLEAF_DATA");
    struct bl_backing all;
    if (data && strcmp(data, "on") == 0)
        bl_backing_read(held->pid, &all, advise_if_data, held);
}

void bl_inject_keep(struct bl_trace *held) {
    struct keeper k = {.program = held->pid};
    struct bl_trap e;
    advise_data(held);
    if (bl_trace_release_trapped(held) < 0) {
        bl_trace_release(held);
        bl_inject_note("the kernel refused the filter that traps its calls");
        return;
    }
    find_or_add(&k, k.program)->space = new_space(false);
    while (bl_trap_next(&e))
        take(&k, &e);
    free(k.at);
}

bool bl_inject_is_possible(void) { return true; }

#else

void bl_inject_keep(struct bl_trace *held) { (void)held; }
void bl_inject_note(const char *reason) { (void)reason; }
bool bl_inject_is_possible(void) { return false; }

#endif
