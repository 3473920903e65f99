// SPDX-License-Identifier: MIT
//
// The launcher looks for the shadow and hands it and the program's own file
// down, open, to what it executes. Then it starts the companion, which needs
// no copy of the launcher's memory: the launcher gives it up when it executes
// the program. Until then only one of the two is at work: the launcher waits
// for the companion's word, the companion for the end of execve.
//
// The companion is no child of the program: it is started by a child that ends
// at once, so the program never meets one it did not start. Where orphans would
// come to the program itself there is no companion.
//
#include "image/place.h"

#if defined(__x86_64__)

#include "image/maps.h"
#include "image/shadow.h"
#include "os/file.h"
#include "os/os.h"
#include "os/trace.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAKER_WAIT_MS 500
// Arguments and environment are pointers here: 128 Ki of them.
#define VECTOR_LIMIT BL_MIB

struct place {
    struct bl_trace trace;
    struct bl_elf elf;
    struct bl_file_facts facts;
    int file;     // the program, here
    bool runtime; // will be inside
    bool verbose;
    const char *no_place;   // why the text is left alone; NULL: it is not
    bl_place_next_fn *next; // NULL: the program is on its own then
    const char *path;
    const char *shadow_root;
    bool random;       // addresses are
    uint64_t bias;     // as the kernel chose
    uint64_t new_bias; // as it shall be
    int shadow_fd;     // in the program
    int program_fd;    // in the program
    struct bl_shadow shadow;
    bool early;  // the shadow was found by the launcher, for phase 0
    int ends[2]; // of a socket: the launcher's and the companion's
    int target;
    // The auxiliary vector.
    Elf64_auxv_t *vector;
    uint64_t vector_at; // in the program
    size_t vector_count;
};

static const char no_call[] = "no system call instruction in the vdso";

static unsigned protection_of(const struct bl_elf_segment *s) {
    return (s->flags & PF_R ? BL_FILE_READ : 0u) |
           (s->flags & PF_W ? BL_FILE_WRITE : 0u) |
           (s->flags & PF_X ? BL_FILE_EXECUTE : 0u);
}

// Where the kernel put the program, and whether all there is the program's.
static bool find_image_as(struct place *p, const struct bl_maps *maps,
                          const struct bl_maps_entry *own) {
    struct bl_maps_entry e;
    bool found = false;
    for (const char *c = maps->text; bl_maps_next(&c, &e);) {
        if (!bl_maps_is_same_file(&e, own))
            continue;
        if (!found)
            p->bias = e.start - p->elf.low;
        found = true;
    }
    if (!found || (!p->elf.position_independent && p->bias != 0))
        return false;
    const uint64_t low = p->elf.low + p->bias;
    const uint64_t high = p->elf.high + p->bias;
    for (const char *c = maps->text; bl_maps_next(&c, &e);) {
        const bool program = bl_maps_is_same_file(&e, own);
        const bool inside = e.start >= low && e.end <= high;
        const bool outside = e.end <= low || e.start >= high;
        const bool fits =
            program ? inside : outside || (inside && e.inode == 0);
        if (!fits)
            return false;
    }
    return true;
}

static bool find_image(struct place *p, const struct bl_maps *maps) {
    struct bl_maps_entry own = bl_maps_of_file(&p->facts);
    return find_image_as(p, maps, &own) ||
           (bl_maps_identify(p->file, &own) && find_image_as(p, maps, &own));
}

static bool find_call(struct place *p, const struct bl_maps *maps) {
    struct bl_maps_entry e;
    for (const char *c = maps->text; bl_maps_next(&c, &e);) {
        if (bl_str_eq(e.path, "[vdso]"))
            return bl_trace_find_call(&p->trace, e.start, e.end);
    }
    return false;
}

// Argument count, arguments, 0, environment, 0, auxiliary vector.
static const char *read_vector(struct place *p,
                               const struct bl_trace_layout *layout) {
    const uint64_t sp = p->trace.stack;
    if (layout->arg_start <= sp || layout->arg_start - sp > VECTOR_LIMIT)
        return "a stack of an unknown form";
    const size_t words = (layout->arg_start - sp) / sizeof(uint64_t);
    uint64_t *stack = bl_file_scratch(words * sizeof *stack);
    if (!stack ||
        bl_trace_read(&p->trace, sp, stack, words * sizeof *stack) < 0)
        return "the program's stack cannot be read";
    size_t at = 1 + stack[0] + 1;
    while (at < words && stack[at])
        at++;
    at++;
    if (at >= words)
        return "a stack of an unknown form";
    p->vector = (Elf64_auxv_t *)(void *)(stack + at);
    p->vector_at = sp + at * sizeof *stack;
    for (; at + 1 < words; at += 2) {
        p->vector_count++;
        if (stack[at] == AT_NULL)
            return NULL;
    }
    return "a stack of an unknown form";
}

static uint64_t vector_value(const struct place *p, uint64_t type) {
    for (size_t i = 0; i < p->vector_count; i++) {
        if (p->vector[i].a_type == type)
            return p->vector[i].a_un.a_val;
    }
    return 0;
}

static int write_vector(struct place *p, uint64_t shift) {
    for (size_t i = 0; i < p->vector_count; i++) {
        Elf64_auxv_t *v = &p->vector[i];
        if (v->a_type == AT_PHDR || v->a_type == AT_ENTRY)
            v->a_un.a_val += shift;
    }
    return bl_trace_write(&p->trace, p->vector_at, p->vector,
                          p->vector_count * sizeof *p->vector);
}

// A file of the program's must be the one that was checked here.
static bool has_opened(const struct place *p, int there, uint64_t device,
                       uint64_t inode) {
    struct bl_file_facts facts;
    const int fd = bl_trace_open_descriptor(p->trace.pid, there);
    const bool same = fd >= 0 && bl_file_facts(fd, &facts) == 0 &&
                      facts.device == device && facts.inode == inode;
    if (fd >= 0)
        bl_os_close(fd);
    return same;
}

static const char *find_shadow(struct place *p, uint64_t phase) {
    int directory;
    const struct bl_shadow_source source = {
        .fd = p->file,
        .path = p->path,
        .facts = p->facts,
        .elf = &p->elf,
        .phase = phase,
    };
    const char *wrong = bl_shadow_open_directory(p->shadow_root, &directory);
    if (wrong)
        return wrong;
    wrong = bl_shadow_get(directory, &source, MAKER_WAIT_MS, &p->shadow);
    bl_os_close(directory);
    return wrong;
}

// Where the phase is known before the kernel has loaded the program.
static const char *find_shadow_early(struct place *p) {
    if (p->elf.position_independent && !p->random)
        return NULL;
    const char *wrong = find_shadow(p, 0);
    p->early = !wrong;
    return wrong;
}

// To be called by what executes the program, right before that.
static void hand_down(struct place *p) {
    bl_trace_hand_down(p->shadow.fd);
    bl_trace_hand_down(p->file);
}

// The program opens its shadow itself where it was handed none.
static const char *open_shadow(struct place *p) {
    char path[PATH_MAX];
    const uint64_t phase = p->bias % BL_HUGE_SIZE;
    if (p->early)
        return phase == 0 ? NULL : "mapped otherwise than its headers say";
    const char *wrong = find_shadow(p, phase);
    if (wrong)
        return wrong;
    if (bl_file_path(p->shadow.fd, path, sizeof path) < 0)
        return "the shadow has no path";
    p->shadow_fd = (int)bl_trace_open(&p->trace, path);
    bl_os_close(p->shadow.fd);
    return p->shadow_fd >= 0 && has_opened(p, p->shadow_fd, p->shadow.device,
                                           p->shadow.inode)
               ? NULL
               : "the program may not open its shadow";
}

// Lays the shadow over the units of the segments at `bias`.
static long map_units(struct place *p, uint64_t bias) {
    for (uint32_t i = 0; i < p->elf.count; i++) {
        uint64_t start;
        uint64_t end;
        uint64_t offset;
        if (!bl_elf_units(&p->elf, i, bias, &start, &end))
            continue;
        if (!bl_shadow_offset(&p->shadow, bias, start, end, &offset))
            return -EINVAL;
        const long mapped =
            (p->shadow.pool ? bl_trace_move_over : bl_trace_map_over)(
                &p->trace, start, end - start,
                protection_of(&p->elf.segments[i]), p->shadow_fd, offset);
        if (mapped < 0)
            return mapped;
    }
    return 0;
}

// As the kernel's loader: the file part, anonymous memory behind; and
// `clear_tails`: zeros up to the end of the file part's last base page.
static long map_segment(struct place *p, const struct bl_elf_segment *s) {
    struct bl_trace *t = &p->trace;
    const uint64_t start = bl_align_down(s->vaddr, BL_BASE_SIZE);
    const uint64_t file_end = s->vaddr + s->file_bytes;
    const uint64_t middle =
        s->file_bytes ? bl_align_up(file_end, BL_BASE_SIZE) : start;
    const uint64_t end = bl_align_up(s->vaddr + s->memory_bytes, BL_BASE_SIZE);
    long result = 0;
    if (middle > start)
        result = bl_trace_map_new(t, start + p->new_bias, middle - start,
                                  protection_of(s), p->program_fd,
                                  bl_align_down(s->offset, BL_BASE_SIZE));
    if (result == 0 && end > middle)
        result = bl_trace_map_new(t, middle + p->new_bias, end - middle,
                                  protection_of(s), -1, 0);
    return result;
}

static int clear_tails(struct place *p) {
    static const unsigned char zeros[BL_BASE_SIZE];
    for (uint32_t i = 0; i < p->elf.count; i++) {
        const struct bl_elf_segment *s = &p->elf.segments[i];
        const uint64_t end = s->vaddr + s->file_bytes;
        const uint64_t bytes = bl_align_up(end, BL_BASE_SIZE) - end;
        if (!s->file_bytes || s->memory_bytes == s->file_bytes ||
            !(s->flags & PF_W) || !bytes)
            continue;
        const int put =
            bl_trace_write(&p->trace, end + p->new_bias, zeros, bytes);
        if (put < 0)
            return put;
    }
    return 0;
}

static long map_again(struct place *p) {
    for (uint32_t i = 0; i < p->elf.count; i++) {
        const long result = map_segment(p, &p->elf.segments[i]);
        if (result < 0)
            return result;
    }
    return p->shadow.pool ? 0 : map_units(p, p->new_bias);
}

static long tell_place(struct place *p, struct bl_trace_layout layout,
                       uint64_t shift) {
    layout.start_code += shift;
    layout.end_code += shift;
    layout.start_data += shift;
    layout.end_data += shift;
    layout.auxv = p->vector_at;
    layout.auxv_bytes = (uint32_t)(p->vector_count * sizeof *p->vector);
    return bl_trace_set_layout(&p->trace, &layout);
}

// Bytes of the first image that are never needed again, for a batch to run in.
static uint64_t spare_code(const struct place *p) {
    for (uint32_t i = 0; i < p->elf.count; i++) {
        const struct bl_elf_segment *s = &p->elf.segments[i];
        if ((s->flags & PF_X) && s->file_bytes)
            return bl_align_down(s->vaddr, BL_BASE_SIZE) + p->bias;
    }
    return 0;
}

static long close_one(struct place *p, int *fd) {
    const long result = *fd < 0 ? 0 : bl_trace_close(&p->trace, *fd);
    *fd = -1;
    return result;
}

// The program shall find nothing of ours open, where it can be made to call.
static long close_there(struct place *p) {
    if (!p->trace.call_address)
        return 0;
    const long shadow = close_one(p, &p->shadow_fd);
    const long program = close_one(p, &p->program_fd);
    return shadow < 0 ? shadow : program;
}

// All calls that the new image takes, in one go where that is possible.
static const char *make_image(struct place *p,
                              const struct bl_trace_layout *layout,
                              uint64_t shift) {
    struct bl_trace_batch batch;
    const uint64_t code = spare_code(p);
    const bool batched = p->trace.single_step && code != 0;
    if (batched)
        bl_trace_batch_begin(&p->trace, &batch, code);
    const int shadow_fd = p->shadow_fd;
    const int program_fd = p->program_fd;
    long result = map_again(p);
    if (result == 0)
        result = tell_place(p, *layout, shift);
    if (result == 0 && !p->shadow.pool)
        result = close_there(p);
    if (batched) {
        const long made = bl_trace_batch_end(&p->trace);
        result = result < 0 ? result : made;
    }
    // Units from a pool take single calls, and the runtime can make them.
    if (result == 0 && p->shadow.pool && !p->runtime)
        result = map_units(p, p->new_bias);
    if (result < 0) {
        p->shadow_fd = shadow_fd;
        p->program_fd = program_fd;
    }
    return result < 0 || clear_tails(p) < 0
               ? "the kernel refused to map the program anew"
               : NULL;
}

// From here on the program has two images; all that goes wrong takes the new
// one down again. Giving up the old one is the last step and cannot fail but
// by a fault of ours.
static const char *move(struct place *p, const struct bl_trace_layout *layout) {
    const uint64_t bytes = p->elf.high - p->elf.low;
    const uint64_t shift = p->new_bias - p->bias;
    if (write_vector(p, shift) < 0)
        return "the program's stack cannot be written";
    const char *wrong = make_image(p, layout, shift);
    if (wrong) {
        write_vector(p, 0 - shift);
        tell_place(p, *layout, 0);
        bl_trace_unmap(&p->trace, p->elf.low + p->new_bias, bytes);
        return wrong;
    }
    if (bl_trace_unmap(&p->trace, p->elf.low + p->bias, bytes) < 0)
        return "the program's first mapping was not given up";
    if (!p->elf.interpreter)
        p->trace.instruction += shift;
    return NULL;
}

// A multiple of 2 MiB below the image, so that old and new do not overlap;
// the position stays as random as it was but for the last 9 bits.
static uint64_t better_bias(const struct place *p) {
    const uint64_t bytes = p->elf.high - p->elf.low;
    return bl_align_down(p->bias - bytes, BL_HUGE_SIZE) - BL_HUGE_SIZE;
}

static bool is_free(const struct place *p, const struct bl_maps *maps) {
    struct bl_maps_entry e;
    const uint64_t low = p->elf.low + p->new_bias;
    const uint64_t high = p->elf.high + p->new_bias;
    for (const char *c = maps->text; bl_maps_next(&c, &e);) {
        if (e.end > low && e.start < high)
            return false;
    }
    return true;
}

static const char *look(struct place *p, const struct bl_maps *maps,
                        struct bl_trace_layout *layout) {
    struct bl_file_facts there;
    const int fd = bl_trace_open_program(p->trace.pid);
    if (fd < 0 || bl_file_facts(fd, &there) < 0 ||
        there.device != p->facts.device || there.inode != p->facts.inode)
        return "it became another program";
    if (!find_image(p, maps))
        return "mapped otherwise than its headers say";
    if (bl_trace_read_layout(&p->trace, layout) < 0)
        return "the kernel does not show its memory layout";
    const char *wrong = read_vector(p, layout);
    if (wrong)
        return wrong;
    if (vector_value(p, AT_SECURE) != 0)
        return "it has raised privileges";
    const bool at_entry =
        p->elf.interpreter || p->trace.instruction == p->elf.entry + p->bias;
    return at_entry && vector_value(p, AT_ENTRY) == p->elf.entry + p->bias
               ? NULL
               : "it starts in an unknown way";
}

static const char *place(struct place *p, const struct bl_maps *maps) {
    struct bl_trace_layout layout;
    const char *wrong = look(p, maps, &layout);
    if (wrong)
        return wrong;
    const bool moves = p->bias % BL_HUGE_SIZE != 0 && p->random;
    if (!moves && p->runtime)
        return NULL;
    p->new_bias = moves ? better_bias(p) : p->bias;
    if (moves)
        return is_free(p, maps) ? move(p, &layout)
                                : "no room for it at a multiple of 2 MiB";
    wrong = open_shadow(p);
    if (wrong)
        return wrong;
    return map_units(p, p->bias) < 0 ? "the kernel refused to map the shadow"
                                     : NULL;
}

static void say(const struct place *p, const char *wrong) {
    char buffer[512];
    struct bl_text t;
    bl_message_begin(&t, buffer, sizeof buffer);
    bl_text_str(&t, "text of ");
    bl_text_str(&t, p->path);
    bl_text_str(&t, " left where it is: ");
    bl_text_str(&t, wrong);
    bl_message_end(&t);
}

// What the companion holds of its starter: the socket, the program's file,
// and standard error for what it may have to say.
static void leave_caller(const struct place *p, int socket) {
    const int low = p->file < socket ? p->file : socket;
    const int high = p->file < socket ? socket : p->file;
    const int keep[] = {STDERR_FILENO, low, high};
    bl_trace_detach_from_caller(keep, BL_ARRAY_LEN(keep));
}

// What the two say to each other: one word from the companion, and where it
// lacks the right to trace, its number first and the leave to try again.
struct word {
    int ask; // process number; 0: no question
    bool seized;
};

// One that has been killed is no listener, and no reason to end.
static bool tell(int socket, const void *what, size_t bytes) {
    return send(socket, what, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
}

static bool seize(int target, int socket) {
    struct word w = {.seized = bl_trace_seize(target) == 0};
    char leave;
    if (!w.seized) {
        w.ask = bl_os_pid();
        if (!tell(socket, &w, sizeof w) || bl_os_read(socket, &leave, 1) != 1)
            return false;
        w = (struct word){.seized = bl_trace_seize(target) == 0};
    }
    return tell(socket, &w, sizeof w) && w.seized;
}

// What is done to the text; NULL, or why nothing is.
static const char *serve(struct place *p) {
    struct bl_maps maps;
    const char *wrong = p->no_place;
    if (bl_maps_read(p->trace.pid, &maps) < 0)
        return "its mappings cannot be read";
    if (!find_call(p, &maps))
        wrong = no_call;
    else if (!wrong)
        wrong = place(p, &maps);
    bl_maps_free(&maps);
    close_there(p);
    return wrong;
}

static int companion(void *context) {
    struct place *p = context;
    leave_caller(p, p->ends[1]);
    const bool seized = seize(p->target, p->ends[1]);
    bl_os_close(p->ends[1]);
    if (!seized || bl_trace_await_exec(p->target, &p->trace) < 0)
        return 1;
    const char *wrong = serve(p);
    // Before the program runs: it may find nothing of ours in use.
    bl_os_close(p->file);
    if (wrong && p->verbose)
        say(p, wrong);
    if (p->next && p->trace.call_address)
        p->next(&p->trace);
    else
        bl_trace_release(&p->trace);
    return wrong != NULL;
}

static bool await_companion(int socket) {
    struct word w;
    const char leave = 'y';
    if (bl_os_read(socket, &w, sizeof w) != sizeof w)
        return false;
    if (w.ask) {
        bl_trace_permit(w.ask);
        if (!tell(socket, &leave, 1) ||
            bl_os_read(socket, &w, sizeof w) != sizeof w)
            return false;
    }
    return w.seized;
}

// True where there is one now. Ctrl-Z waits meanwhile: who waits for a child of
// vfork that has been stopped does not stop itself.
static bool fork_companion(struct place *p) {
    sigset_t stops, before;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTSTP);
    sigaddset(&stops, SIGTTIN);
    sigaddset(&stops, SIGTTOU);
    sigprocmask(SIG_BLOCK, &stops, &before);
    const int middle = vfork();
    if (middle == 0)
        _exit(bl_trace_start_beside(companion, p) < 0);
    while (middle > 0 && waitpid(middle, NULL, 0) < 0 && errno == EINTR)
        ;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return middle > 0;
}

static const char *start_companion(struct place *p) {
    if (bl_trace_adopts_orphans())
        return "it would find our helper among its children, as process 1 "
               "or a subreaper";
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->ends) != 0)
        return "no socket to be had";
    p->target = bl_os_pid();
    const bool forked = fork_companion(p);
    bl_os_close(p->ends[1]);
    const bool seized = forked && await_companion(p->ends[0]);
    bl_os_close(p->ends[0]);
    return seized ? NULL : "the program cannot be traced";
}

static const char *need_none(const struct place *p) {
    if (bl_elf_unit_bytes(&p->elf, 0) == 0)
        return "no whole 2 MiB unit of text or read-only data";
    if (p->elf.text_relocations)
        return "its text is relocated";
    if (!p->runtime)
        return NULL;
    uint64_t align = 0;
    for (uint32_t i = 0; i < p->elf.count; i++) {
        if (p->elf.segments[i].align > align)
            align = p->elf.segments[i].align;
    }
    // The kernel heeds alignment since Linux 5.10.
    if (!p->elf.position_independent ||
        (align >= BL_HUGE_SIZE && bl_file_kernel_is_at_least(5, 10)))
        return "the runtime can do it";
    return p->random ? NULL : "the runtime can do it";
}

// Why the text is to be left alone; NULL: it is not.
static const char *examine(struct place *p) {
    const char *image = getenv("BIGLEAF_IMAGE");
    if (image && bl_str_eq(image, "off"))
        return "asked for";
    if (p->facts.mode & (S_ISUID | S_ISGID))
        return "it has raised privileges";
    const char *wrong = bl_elf_read(p->file, p->facts.size, &p->elf);
    if (!wrong && !p->elf.marked && !(image && bl_str_eq(image, "on")))
        wrong = "it is not marked";
    if (!wrong)
        wrong = need_none(p);
    // With nothing to call by, what it is handed it could not close again.
    return !wrong && getauxval(AT_SYSINFO_EHDR) == 0 ? no_call : wrong;
}

// What is opened here must not take the place of a closed standard stream:
// messages would go into it. So the file itself does, which nobody can write
// to, until execve.
static int open_above_streams(const char *path) {
    int fd;
    do
        fd = bl_file_open(path);
    while (fd >= 0 && fd <= STDERR_FILENO);
    return fd;
}

// Static, since the companion has it for as long as it lives.
static struct place placed;

const char *bl_place_before_exec(const char *path, const char *shadow_root,
                                 bool runtime, bl_place_next_fn *next) {
    const char *verbose = getenv("BIGLEAF_VERBOSE");
    struct place *const p = &placed;
    *p = (struct place){
        .path = path,
        .shadow_root = shadow_root,
        .shadow_fd = -1,
        .program_fd = -1,
        .trace.single_step = bl_trace_may_step(),
        .random = bl_file_addresses_are_random(),
        .runtime = runtime,
        .next = next,
        .verbose = verbose && bl_str_eq(verbose, "1"),
    };
    p->file = open_above_streams(path);
    if (p->file < 0 || bl_file_facts(p->file, &p->facts) < 0)
        return "it cannot be read";
    const char *wrong = examine(p);
    const bool wanted = !wrong;
    if (wanted)
        wrong = find_shadow_early(p);
    if (p->early) {
        p->shadow_fd = p->shadow.fd;
        p->program_fd = p->file;
    }
    p->no_place = wrong;
    if (!wrong || next)
        wrong = start_companion(p);
    // What keeps a companion from its work, it says itself.
    if (wrong && wanted && p->verbose)
        say(p, wrong);
    if (!wrong && p->early) {
        hand_down(p);
    } else {
        bl_os_close(p->file);
        if (p->early)
            bl_os_close(p->shadow.fd);
    }
    return wrong;
}

#else

const char *bl_place_before_exec(const char *path, const char *shadow_root,
                                 bool runtime, bl_place_next_fn *next) {
    (void)path;
    (void)shadow_root;
    (void)runtime;
    (void)next;
    return "programs are placed on x86-64 only";
}

#endif
