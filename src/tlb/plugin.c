// SPDX-License-Identifier: MIT
//
// The emulator's plug-in: QEMU in user mode loads it, tells it of each block
// of instructions that it translates, and calls what was registered on each of
// their executions and accesses.
//
//   access  a data access: the lane's TLBs
//   call    the access that stores a return address: the chain of calls
//   return  the access that reads it
//   block   a run of instructions begins, or goes on on another base page
//
// Sampling: of N windows of `WINDOW` instructions of a thread one is measured;
// in the others accesses are passed over. The first quarter of a measured
// window only warms the tables. (To register nothing in between would be
// faster; but it takes a reset, after which QEMU 7.2 uses callbacks that it has
// freed: see docs/design/tlb.md.)
//
// The program is never disturbed: what goes wrong here is a loss of figures.
//
#include "os/file.h"
#include "os/os.h"
#include "tlb/branch.h"
#include "tlb/follow.h"
#include "tlb/lane.h"
#include "tlb/qemu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LANES = 1 << 16, WIDEST_ACCESS = 64, LEAST_FLUSH = 33 };

#define WINDOW UINT64_C(100000000)

BL_EXPORT extern int qemu_plugin_version;
BL_EXPORT int qemu_plugin_install(qemu_plugin_id_t id,
                                  const struct qemu_plugin_info *info,
                                  int count, char **words);

int qemu_plugin_version = 1;

// Read when the constructors have run. What we use has been the same in all
// versions; but since QEMU 9 an emulator takes nothing below 2, the version
// that brought scoreboards, and those before it nothing above 1.
__attribute__((constructor)) static void take_version(void) {
    if (dlsym(RTLD_DEFAULT, "qemu_plugin_scoreboard_new"))
        qemu_plugin_version = 2;
}

// Instructions that are fetched together.
struct block {
    uint64_t address;
    struct bl_site *site;
    uint64_t instructions;
};

static struct {
    struct bl_tracker tracker;
    struct bl_tlb_geometry geometry;
    struct bl_emulator emulator;
    uint64_t guest_base; // added to its addresses makes them ours
    bool can_follow;
    bool x86_64;
    bool begun;     // the first block has been seen
    int pid;        // a forked child differs
    uint64_t every; // of so many windows one is measured; 1: all
    char directory[4096];
} self;

static struct bl_lane *lanes[MOST_LANES];

// Held over fork, and by whoever comes to the tracker from outside the
// program's code: as a system call or a thread begins or ends. Before the
// emulator forks it waits until all threads have left the program's code; so
// nobody waits there for a thread that forks, and the child finds all whole.
static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;

// Near the end of a base page: it may go on on the next one.
static BL_NOINLINE void access_edge(struct bl_lane *l, uint32_t info,
                                    uint64_t address, struct bl_site *site) {
    const uint64_t left = BL_BASE_SIZE - (address & (BL_BASE_SIZE - 1));
    bl_lane_access(l, site, address);
    if (left < (uint64_t)1 << qemu_plugin_mem_size_shift(info))
        bl_lane_access(l, site, address + left);
}

// Calls nothing but in its last step, so that the many accesses that hit save
// no registers.
static void on_access(unsigned processor, uint32_t info, uint64_t address,
                      void *data) {
    struct bl_lane *l = lanes[processor];
    if (BL_UNLIKELY((address & (BL_BASE_SIZE - 1)) >
                    BL_BASE_SIZE - WIDEST_ACCESS))
        access_edge(l, info, address, data);
    else
        bl_lane_access(l, data, address);
}

static void on_sampled_access(unsigned processor, uint32_t info,
                              uint64_t address, void *data) {
    if (!lanes[processor]->idle)
        on_access(processor, info, address, data);
}

// The chain of calls is kept in idle windows too.
static void on_call(unsigned processor, uint32_t info, uint64_t address,
                    void *data) {
    on_sampled_access(processor, info, address, data);
    bl_lane_call(lanes[processor], data, address);
}

static void on_return(unsigned processor, uint32_t info, uint64_t address,
                      void *data) {
    on_sampled_access(processor, info, address, data);
    bl_lane_return(lanes[processor], address);
}

static void on_block(unsigned processor, void *data) {
    const struct block *b = data;
    struct bl_lane *l = lanes[processor];
    l->instructions += b->instructions;
    bl_lane_fetch(l, b->site, b->address);
}

// Measured and idle windows take turns. A lane begins with a measured one.
static void keep_windows(struct bl_lane *l, uint64_t instructions) {
    l->window += instructions;
    if (!l->idle && !l->counting && l->window > WINDOW / 4)
        bl_lane_count(l, true);
    if (l->window > (l->idle ? (self.every - 1) * WINDOW : WINDOW)) {
        bl_lane_count(l, false);
        l->window = 0;
        l->idle = !l->idle;
    }
}

static void on_sampled_block(unsigned processor, void *data) {
    const struct block *b = data;
    struct bl_lane *l = lanes[processor];
    keep_windows(l, b->instructions);
    l->instructions += b->instructions;
    if (!l->idle)
        bl_lane_fetch(l, b->site, b->address);
}

static void register_accesses(struct qemu_plugin_insn *insn,
                              struct bl_site *site) {
    const enum bl_branch branch =
        self.x86_64 ? bl_branch_kind(qemu_plugin_insn_haddr(insn),
                                     qemu_plugin_insn_size(insn))
                    : BL_BRANCH_OTHER;
    const bool call = branch == BL_BRANCH_CALL;
    const bool back = branch == BL_BRANCH_RETURN;
    qemu_plugin_accessed *f = self.every == 1 ? on_access : on_sampled_access;
    qemu_plugin_register_vcpu_mem_cb(insn, back ? on_return : f,
                                     QEMU_PLUGIN_NO_REGISTERS,
                                     QEMU_PLUGIN_READS, site);
    qemu_plugin_register_vcpu_mem_cb(insn, call ? on_call : f,
                                     QEMU_PLUGIN_NO_REGISTERS,
                                     QEMU_PLUGIN_WRITES, site);
}

static struct bl_site *site_of(const struct qemu_plugin_insn *insn) {
    return bl_tracker_site(&self.tracker, qemu_plugin_insn_vaddr(insn),
                           (uint32_t)qemu_plugin_insn_size(insn));
}

// A block of the emulator may go on on a second base page: two of ours then.
// They live as long as the process; the emulator may use them at any time.
static struct block *begin_block(struct qemu_plugin_tb *tb, size_t i,
                                 struct qemu_plugin_insn *insn) {
    struct block *b = calloc(1, sizeof *b);
    struct bl_site *site = b ? site_of(insn) : NULL;
    if (!site) {
        free(b);
        return NULL;
    }
    b->address = qemu_plugin_insn_vaddr(insn);
    b->site = site;
    qemu_plugin_executed *f = self.every == 1 ? on_block : on_sampled_block;
    if (i == 0)
        qemu_plugin_register_vcpu_tb_exec_cb(tb, f, QEMU_PLUGIN_NO_REGISTERS,
                                             b);
    else
        qemu_plugin_register_vcpu_insn_exec_cb(insn, f,
                                               QEMU_PLUGIN_NO_REGISTERS, b);
    return b;
}

static void begin(const struct qemu_plugin_insn *insn) {
    self.begun = true;
    self.guest_base = (uint64_t)(uintptr_t)qemu_plugin_insn_haddr(insn) -
                      qemu_plugin_insn_vaddr(insn);
    // "-0 NAME PROGRAM": the interface has a function for it, but QEMU 10.0
    // has left that out of its emulators of programs.
    char program[4096];
    bl_guest_own_word("-0", 2, program, sizeof program);
    bl_tracker_lock(&self.tracker);
    bl_recorder_name(&self.tracker.recorder, program);
    bl_areas_begin(&self.tracker.areas, self.guest_base);
    bl_tracker_unlock(&self.tracker);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    (void)id;
    struct block *b = NULL;
    uint64_t page = UINT64_MAX;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        const uint64_t address = qemu_plugin_insn_vaddr(insn);
        if (!self.begun)
            begin(insn);
        if (address >> BL_BASE_SHIFT != page) {
            page = address >> BL_BASE_SHIFT;
            b = begin_block(tb, i, insn);
        }
        if (b)
            b->instructions++;
        struct bl_site *site = site_of(insn);
        if (site)
            register_accesses(insn, site);
    }
}

static void on_processor(qemu_plugin_id_t id, unsigned processor) {
    (void)id;
    BL_CHECK(processor < MOST_LANES);
    if (processor > 0)
        bl_store_relaxed(&self.tracker.threads, true);
    pthread_mutex_lock(&fork_lock);
    lanes[processor] = bl_lane_new(&self.tracker, &self.geometry);
    pthread_mutex_unlock(&fork_lock);
    BL_CHECK(lanes[processor]);
}

static void on_processor_end(qemu_plugin_id_t id, unsigned processor) {
    (void)id;
    struct bl_lane *l = lanes[processor];
    lanes[processor] = NULL;
    if (l)
        bl_lane_free(l);
}

static void on_end(qemu_plugin_id_t id, void *data) {
    (void)id;
    (void)data;
    for (size_t i = 0; i < MOST_LANES; i++) {
        if (lanes[i])
            bl_lane_publish(lanes[i]);
    }
}

static void on_system_call(qemu_plugin_id_t id, unsigned processor,
                           int64_t call, uint64_t a1, uint64_t a2, uint64_t a3,
                           uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7,
                           uint64_t a8) {
    (void)id, (void)a7, (void)a8;
    struct bl_lane *l = lanes[processor];
    const uint64_t arguments[BL_LANE_ARGUMENTS] = {a1, a2, a3, a4, a5, a6};
    memcpy(l->arguments, arguments, sizeof arguments);
    bl_lane_publish(l);
    const enum bl_guest_change change = bl_guest_change_of(call, a1);
    if (change == BL_GUEST_FORK)
        pthread_mutex_lock(&fork_lock);
    if (change == BL_GUEST_EXEC && self.can_follow)
        bl_follow_exec(&self.emulator, self.guest_base, a1, a2, a3);
}

static void after_map(const uint64_t *a, uint64_t result) {
    char path[1024];
    struct bl_area_map m = {.address = result,
                            .bytes = bl_align_up(a[1], BL_BASE_SIZE),
                            .flags = bl_guest_map_flags(a[2], a[3]),
                            .offset = a[5]};
    if (m.flags.file && bl_file_path((int)a[4], path, sizeof path) == 0 &&
        path[0] == '/')
        m.path = strdup(path);
    bl_areas_map(&self.tracker.areas, &m);
}

static bool is_error(int64_t result) { return result < 0 && result > -4096; }

// Under the lock. Returns the bytes that went away.
static uint64_t take_change(enum bl_guest_change change, const uint64_t *a,
                            uint64_t result) {
    struct bl_areas *areas = &self.tracker.areas;
    const uint64_t old_break = areas->brk;
    switch (change) {
    case BL_GUEST_MAP:
        after_map(a, result);
        return 0;
    case BL_GUEST_UNMAP:
        bl_areas_unmap(areas, a[0], a[0] + bl_align_up(a[1], BL_BASE_SIZE));
        return a[1];
    case BL_GUEST_MOVE:
        bl_areas_move(areas, a[0], bl_align_up(a[1], BL_BASE_SIZE), result,
                      bl_align_up(a[2], BL_BASE_SIZE));
        return result == a[0] && a[2] >= a[1] ? 0 : a[1];
    case BL_GUEST_BREAK:
        bl_areas_break(areas, result);
        return result < old_break ? old_break - result : 0;
    case BL_GUEST_NOTHING:
    case BL_GUEST_EXEC:
    case BL_GUEST_FORK:
        break;
    }
    return 0;
}

static void after_change(struct bl_lane *l, enum bl_guest_change change,
                         uint64_t result) {
    struct bl_tracker *t = &self.tracker;
    pthread_mutex_lock(&fork_lock);
    bl_tracker_lock(t);
    const uint64_t gone = take_change(change, l->arguments, result);
    // Release: pairs with the acquire of a lane that looks for changes. The
    // kernel drops a few pages one by one, and all of them above that.
    if (gone > LEAST_FLUSH * BL_BASE_SIZE)
        bl_add_acq_rel(&t->flush_version, 1);
    bl_add_acq_rel(&t->area_version, 1);
    bl_tracker_unlock(t);
    pthread_mutex_unlock(&fork_lock);
}

static void after_fork(struct bl_lane *l) {
    const int pid = bl_os_pid();
    if (pid == self.pid) {
        pthread_mutex_unlock(&fork_lock);
        return;
    }
    self.pid = pid;
    pthread_mutex_init(&fork_lock, NULL);
    bl_tracker_after_fork(&self.tracker);
    for (size_t i = 0; i < MOST_LANES; i++) {
        if (lanes[i] && lanes[i] != l)
            lanes[i]->record = NULL; // of a thread that is not here
    }
    bl_lane_after_fork(l);
}

static void on_system_return(qemu_plugin_id_t id, unsigned processor,
                             int64_t call, int64_t result) {
    (void)id;
    struct bl_lane *l = lanes[processor];
    const enum bl_guest_change change =
        bl_guest_change_of(call, l->arguments[0]);
    if (change == BL_GUEST_FORK)
        after_fork(l);
    else if (change != BL_GUEST_NOTHING && change != BL_GUEST_EXEC &&
             !is_error(result))
        after_change(l, change, (uint64_t)result);
}

static void register_all(qemu_plugin_id_t id) {
    qemu_plugin_register_vcpu_init_cb(id, on_processor);
    qemu_plugin_register_vcpu_exit_cb(id, on_processor_end);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_vcpu_syscall_cb(id, on_system_call);
    qemu_plugin_register_vcpu_syscall_ret_cb(id, on_system_return);
    qemu_plugin_register_atexit_cb(id, on_end, NULL);
}

static const char *word_of(int count, char **words, const char *key) {
    for (int i = 0; i < count; i++) {
        if (strncmp(words[i], key, strlen(key)) == 0)
            return words[i] + strlen(key);
    }
    return "";
}

static bool read_geometry(const char *directory) {
    char path[4200];
    char text[16384];
    unsigned line;
    struct bl_text t;
    bl_text_init(&t, path, sizeof path);
    bl_text_str(&t, directory);
    bl_text_str(&t, "/geometry");
    return bl_os_read_file(path, text, sizeof text) > 0 &&
           !bl_tlb_geometry_parse(text, &self.geometry, &line);
}

int qemu_plugin_install(qemu_plugin_id_t id,
                        const struct qemu_plugin_info *info, int count,
                        char **words) {
    Dl_info own;
    char program[4096];
    struct bl_text t;
    bl_text_init(&t, self.directory, sizeof self.directory);
    bl_text_str(&t, word_of(count, words, "dir="));
    if (!read_geometry(self.directory))
        return 1;
    self.every = strtoull(word_of(count, words, "every="), NULL, 10);
    self.every += self.every == 0;
    self.x86_64 = strcmp(info->target_name, "x86_64") == 0;
    self.pid = bl_os_pid();
    bl_file_program_path(program, sizeof program);
    self.can_follow =
        dladdr(&self, &own) && own.dli_fname &&
        bl_emulator_init(&self.emulator, program, own.dli_fname,
                         (const char *const *)words, (size_t)count);
    bl_tracker_start(&self.tracker, self.directory);
    register_all(id);
    return 0;
}
