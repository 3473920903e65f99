// SPDX-License-Identifier: MIT
#include "runtime/report.h"

#include "os/backing.h"
#include "os/os.h"

#define LINE_CAPACITY 6144

static struct {
    _Atomic(int) busy;
    int pid; // whose peak it is; 0: none yet
    struct bl_backing backing;
} peak;

// Pairs with the release of `unlock_peak`.
static bool try_lock_peak(void) {
    return bl_exchange_acquire(&peak.busy, 1) == 0;
}

static void unlock_peak(void) { bl_store_release(&peak.busy, 0); }

void bl_report_peak(void) {
    struct bl_backing now;
    const int pid = bl_os_pid();
    if (!try_lock_peak())
        return;
    if (bl_backing_read(0, &now, NULL, NULL) == 0 &&
        (peak.pid != pid || bl_backing_total(&now).bytes >
                                bl_backing_total(&peak.backing).bytes)) {
        peak.backing = now;
        peak.pid = pid;
    }
    unlock_peak();
}

static void put_key(struct bl_text *t, const char *key) {
    bl_text_json(t, key);
    bl_text_char(t, ':');
}

static void put_number(struct bl_text *t, const char *key, uint64_t value) {
    bl_text_char(t, ',');
    put_key(t, key);
    bl_text_u64(t, value);
}

static void put_backing(struct bl_text *t, const char *key,
                        const struct bl_backing *b) {
    bl_text_char(t, ',');
    put_key(t, key);
    for (int i = 0; i < BL_REGIONS; i++) {
        const struct bl_region_backing *r = &b->region[i];
        bl_text_char(t, i ? ',' : '{');
        put_key(t, bl_region_names[i]);
        bl_text_str(t, "{\"bytes\":");
        bl_text_u64(t, r->bytes);
        put_number(t, "huge_bytes", r->huge);
        put_number(t, "hugetlb_bytes", r->hugetlb);
        put_number(t, "pss_bytes", r->pss);
        bl_text_char(t, '}');
    }
    bl_text_char(t, '}');
}

static void put_statistics(struct bl_text *t) {
    const char *comma = "";
    bl_text_str(t, ",\"statistics\":{");
#define BL_STAT(name, help)                                                    \
    bl_text_str(t, comma);                                                     \
    put_key(t, #name);                                                         \
    bl_text_u64(t, bl_load_relaxed(&bl_stats.name));                           \
    comma = ",";
#include "base/stats.def"
#undef BL_STAT
    bl_text_char(t, '}');
}

// The program itself is the first file mapped with code.
static void note_program(const struct bl_mapping *m, void *context) {
    struct bl_text *name = context;
    if (name->len == 0 && m->executable && m->path[0] == '/')
        bl_text_str(name, m->path);
}

static void put_regions(struct bl_text *t, const struct bl_backing *end,
                        int pid) {
    const bool own = try_lock_peak();
    const struct bl_backing *most = end;
    if (own && peak.pid == pid &&
        bl_backing_total(&peak.backing).bytes > bl_backing_total(end).bytes)
        most = &peak.backing;
    put_backing(t, "peak", most);
    put_backing(t, "end", end);
    if (own)
        unlock_peak();
}

static void append(const char *path, const struct bl_text *line) {
    const int fd = bl_os_open_append(path);
    if (fd < 0)
        return;
    // One write, so that lines of several processes do not mix; what is not
    // written whole cannot be mended.
    (void)bl_os_write(fd, line->data, line->len);
    bl_os_close(fd);
}

void bl_report_exit(const char *path) {
    char buffer[LINE_CAPACITY];
    char program_buffer[256];
    struct bl_text t;
    struct bl_text program;
    struct bl_backing end;
    const int pid = bl_os_pid();
    bl_text_init(&program, program_buffer, sizeof program_buffer);
    const int error = bl_backing_read(0, &end, note_program, &program);
    bl_text_init(&t, buffer, sizeof buffer);
    bl_text_str(&t, "{\"schema\":\"bigleaf.process/1\"");
    put_number(&t, "pid", (uint64_t)pid);
    put_number(&t, "ppid", (uint64_t)bl_os_parent_pid());
    bl_text_str(&t, ",\"exe\":");
    bl_text_json(&t, program.data);
    put_number(&t, "thp_disabled", (uint64_t)(bl_os_thp_disabled() > 0));
    if (error == 0)
        put_regions(&t, &end, pid);
    else
        put_number(&t, "backing_unknown_errno", (uint64_t)-error);
    put_statistics(&t);
    bl_text_str(&t, "}\n");
    if (!t.cut)
        append(path, &t);
}
